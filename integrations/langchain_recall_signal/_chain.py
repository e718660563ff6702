"""`create_recall_chain`: an answer that carries both reports, also where nothing was found."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    BaseMessageChunk,
    convert_to_messages,
    message_chunk_to_message,
)
from langchain_core.prompts import BasePromptTemplate, ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda, RunnableSequence

from langchain_recall_signal._reporter import reporter
from langchain_recall_signal._response import RecallResponse
from langchain_recall_signal._steps import (
    GraphSteps,
    Run,
    Step,
    as_runnable,
    as_step,
    attempted,
    said_text,
    survive,
)
from recall_signal import ConfigurationError, InvalidInputError, InvalidResultError
from recall_signal._given import kind_of
from recall_signal._steps.compute import computed_if
from recall_signal.agents._absent import REFUSAL, Elsewhere, OnAbsent, answer_elsewhere
from recall_signal.agents._prompts import (
    ANSWER_SYSTEM_PROMPT,
    STANDALONE_PROMPT,
    WEAK,
    answer_warning,
    quoted_sources,
)
from recall_signal.agents._tool import is_large

__all__ = ["ANSWER_PROMPT", "create_recall_chain"]

_HISTORY = MessagesPlaceholder("chat_history", optional=True)

ANSWER_PROMPT = ChatPromptTemplate.from_messages(
    [("system", ANSWER_SYSTEM_PROMPT), _HISTORY, ("human", "{input}")]
)
"""The default prompt of `create_recall_chain`."""

_STANDALONE = ChatPromptTemplate.from_messages(
    [("system", STANDALONE_PROMPT), _HISTORY, ("human", "{input}")]
)

Variables = Mapping[str, Any]
"""Variables of a prompt, and the response."""

_VARIABLES = frozenset({"input", "question", "context", "chat_history"})
"""Variables that a prompt may ask for."""

_NO_STREAM = "nostream"
"""LangGraph's tag for a model whose tokens are not part of the answer."""


def create_recall_chain(
    retriever: Step,
    model: Step,
    *,
    prompt: BasePromptTemplate[Any] = ANSWER_PROMPT,
    rewrite: object = None,
    on_absent: OnAbsent = "answer",
    refusal: str = REFUSAL,
) -> Runnable[Any, AIMessage]:
    """Make a chain that answers a question from what the retriever finds.

    Its input is a question, or a mapping with `input` and, in a conversation, `chat_history`
    (messages); other keys are left alone. Its output is the model's `AIMessage` with both
    reports in `response_metadata["recall"]` (under the retriever's own `metadata_key`), also where
    nothing was found; of a stream, the last chunk has them. `parse_report(message)` reads them.
    `k`, `use_rerank` and `select` go with any call.

    What the retriever and the model raise passes through. A rewrite that raises costs only
    itself: the question is then searched as it is.

    Args:
        retriever: A `RecallRetriever`, also with a bound configuration, retries, fallbacks or
            configurable fields, or what it can wrap.
        model: A chat model, or a chain from a prompt to a message or a text.
        prompt: Template of the request. It has `context` (the sources, quoted, without their
            metadata, under a line that warns of a weak match), `input`, `question` (as it was
            searched) and `chat_history`.
        rewrite: In a conversation, makes the question one that stands alone: a model, or a step
            from a dict with `input` and `chat_history` to a text or a message. None takes `model`.
        on_absent: After a search whose advice is `fallback`: `"answer"` asks the model all the
            same, `"refuse"` answers with `refusal`, and a function from the question and the
            `RecallResponse` gives the answer itself, synchronously or not. In the last two cases
            the model is not called.
        refusal: Text of a refusal.

    Raises:
        ConfigurationError: A setting is wrong.
    """
    wrapper, retrieving = reporter(retriever)
    if not isinstance(model, Runnable):
        raise ConfigurationError(
            f"model must be a chat model or another Runnable, got {type(model).__name__}"
        )
    _check_prompt(prompt)
    rewriter = _STANDALONE | model if rewrite is None else as_step("rewrite", rewrite, _STANDALONE)
    search = _Search(
        retriever=retrieving,
        rewriter=rewriter.with_config(run_name="recall_rewrite", tags=[_NO_STREAM]),
    )
    key, answerer = wrapper.metadata_key, prompt | model
    instead = _instead(answer_elsewhere(on_absent, refusal))

    # LangChain finds the steps that a function may return among the names that it uses.
    def respond(found: Variables) -> Step:
        response: RecallResponse = found["response"]
        step = None if response.advice != "fallback" else instead
        return (step or answerer) | _Reported(key, response.to_dict())

    async def arespond(found: Variables) -> Step:
        return respond(found)

    chain: Runnable[Any, AIMessage] = RunnableSequence(
        as_runnable(search.look_up, "recall"),
        RunnableLambda(respond, afunc=arespond, name="recall_answer"),
        name="recall_chain",
    )
    return chain.with_types(output_type=AIMessage)


@dataclass(frozen=True, slots=True)
class _Search:
    """The first step of a chain: from its input to what an answer is made of.

    Attributes:
        retriever: From a question to a response.
        rewriter: From the input and the conversation to a question.
    """

    retriever: Step
    rewriter: Step

    def look_up(self, given: object, **options: object) -> GraphSteps:
        """Return the variables of the prompt, and the response."""
        asked, history = _read(given)
        question = asked
        if history:
            try:
                conversation = {"input": asked, "chat_history": history}
                said = yield from attempted(self.rewriter, conversation, said_text)
                question = said.strip() or asked
            except Exception as error:
                survive("rewrite", error)
        response = yield Run(self.retriever, question, options)
        quote = partial(_context, response)
        context = yield from computed_if(quote, is_large=is_large(response.page_items()))
        return {
            "input": asked,
            "question": question,
            "chat_history": history,
            "context": context,
            "response": response,
        }


class _Reported(Runnable[Any, BaseMessage]):
    """Puts the reports into one answer: into the message, or into one last chunk of a stream.

    A sum of chunks doubles equal texts and refuses different numbers, so only one may have them.
    """

    def __init__(self, key: str, report: dict[str, Any]) -> None:
        self.key, self.report = key, report

    def invoke(
        self,
        input: object,  # noqa: A002  (its name in LangChain)
        config: RunnableConfig | None = None,  # noqa: ARG002
        **kwargs: object,  # noqa: ARG002
    ) -> BaseMessage:
        """Return the answer with the reports."""
        return self._whole(message_chunk_to_message(_message(input)))

    async def ainvoke(
        self,
        input: object,  # noqa: A002  (its name in LangChain)
        config: RunnableConfig | None = None,
        **kwargs: object,
    ) -> BaseMessage:
        """`invoke`, which waits for nothing."""
        return self.invoke(input, config, **kwargs)

    def transform(
        self,
        input: Iterator[object],  # noqa: A002  (its name in LangChain)
        config: RunnableConfig | None = None,  # noqa: ARG002
        **kwargs: object,  # noqa: ARG002
    ) -> Iterator[BaseMessage]:
        """Pass the chunks on at once, then the reports."""
        stream = _Stream()
        for part in input:
            yield self._passed(part, stream)
        if not stream.is_whole:
            yield self._last(stream)

    async def atransform(
        self,
        input: AsyncIterator[object],  # noqa: A002  (its name in LangChain)
        config: RunnableConfig | None = None,  # noqa: ARG002
        **kwargs: object,  # noqa: ARG002
    ) -> AsyncIterator[BaseMessage]:
        """`transform`, asynchronously."""
        stream = _Stream()
        async for part in input:
            yield self._passed(part, stream)
        if not stream.is_whole:
            yield self._last(stream)

    def _passed(self, part: object, stream: _Stream) -> BaseMessage:
        message = AIMessageChunk(content=part) if isinstance(part, str) else _message(part)
        if not isinstance(message, BaseMessageChunk):  # of a model that does not stream
            stream.is_whole = True
            return self._whole(message)
        stream.id = stream.id or message.id
        return self._with(message, {}) if self.key in message.response_metadata else message

    def _last(self, stream: _Stream) -> AIMessageChunk:
        metadata = {self.key: self.report}
        return AIMessageChunk(
            content="", id=stream.id, response_metadata=metadata, chunk_position="last"
        )

    def _whole(self, message: BaseMessage) -> BaseMessage:
        return self._with(message, {self.key: self.report})

    def _with(self, message: BaseMessage, added: Mapping[str, object]) -> BaseMessage:
        """Copy a message with other reports than those of a chain inside."""
        kept = {k: value for k, value in message.response_metadata.items() if k != self.key}
        return message.model_copy(update={"response_metadata": {**kept, **added}})


@dataclass(slots=True)
class _Stream:
    """State of one stream.

    Attributes:
        id: Id of its chunks.
        is_whole: True where it came as one message.
    """

    id: str | None = None
    is_whole: bool = False


def _message(said: object) -> BaseMessage:
    if isinstance(said, BaseMessage):
        return said
    if isinstance(said, str):
        return AIMessage(said)
    raise InvalidResultError(
        f"the model must return a message or a text, got {type(said).__name__}; put what reads the "
        "answer behind the chain: create_recall_chain(...) | parser"
    )


def _instead(elsewhere: Elsewhere | None) -> Step | None:
    if elsewhere is None:
        return None

    def call(found: Variables) -> str:
        return said_text(elsewhere.call(found["question"], found["response"]))

    async def acall(found: Variables) -> str:
        return said_text(await elsewhere.acall(found["question"], found["response"]))

    return RunnableLambda(call, afunc=acall, name="recall_elsewhere")


def _shape(given: object, asked: object, history: object) -> str:
    """Return what was given to a chain, without any of it."""
    if not isinstance(given, Mapping):
        return kind_of(given)
    if "input" not in given:
        return "a mapping without 'input'"
    if isinstance(history, str):
        return "a text under 'chat_history'"
    return f"{kind_of(asked)} under 'input'"


def _read(given: object) -> tuple[str, list[BaseMessage]]:
    """Return the question and the conversation before it.

    Raises:
        InvalidInputError: There is no question, or the conversation is not made of messages.
    """
    fields: Mapping[str, Any] = given if isinstance(given, Mapping) else {"input": given}
    asked, history = fields.get("input"), fields.get("chat_history") or []
    if not isinstance(asked, str | BaseMessage) or isinstance(history, str):
        raise InvalidInputError(
            "the chain takes a question, or a mapping with a question under 'input' and messages "
            f"under 'chat_history'; got {_shape(given, asked, history)}"
        )
    try:
        return said_text(asked), convert_to_messages(history)
    except Exception as error:  # each kind of wrong message is another error in LangChain
        raise InvalidInputError(
            "'chat_history' must hold messages, as LangChain converts them (message objects, "
            f"(role, text) pairs, mappings with role and content); got {type(history).__name__} "
            f"({type(error).__name__})"
        ) from None


def _context(response: RecallResponse) -> str:
    texts = [document.page_content for document in response.documents]
    caution = answer_warning(response.to_dict())
    if texts and response.advice == "fallback":
        caution = WEAK
    return quoted_sources(texts, caution)


def _check_prompt(prompt: object) -> None:
    if not isinstance(prompt, BasePromptTemplate):
        raise ConfigurationError(
            f"prompt must be a prompt template, got {type(prompt).__name__}; of a text, make one: "
            "ChatPromptTemplate.from_template(text)"
        )
    named = {*prompt.input_variables, *prompt.optional_variables}
    if "context" not in named or not set(prompt.input_variables) <= _VARIABLES:
        raise ConfigurationError(
            f"prompt must have {{context}} and no variables but {', '.join(sorted(_VARIABLES))}; "
            f"it has {', '.join(sorted(named)) or 'none'}"
        )
