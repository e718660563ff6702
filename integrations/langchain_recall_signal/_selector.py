"""The selector in LangChain's terms: a chat model, or any `Selector`.

Each becomes a runnable from a request to an answer, so that it runs as a child of the
retriever's run and shows in traces like everything else.
"""

from __future__ import annotations

from asyncio import iscoroutinefunction
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias, TypeGuard

from langchain_core.callbacks import BaseCallbackHandler, Callbacks
from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.llms import BaseLLM
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.runnables import (
    Runnable,
    RunnableConfig,
    RunnableLambda,
    RunnableParallel,
    RunnableSequence,
    RunnableWithFallbacks,
)
from langchain_core.runnables.base import RunnableBindingBase

from recall_signal import ConfigurationError
from recall_signal._steps.blocking import holds_loop
from recall_signal._wrapper.answer_ends import ends_in, is_cut_off
from recall_signal._wrapper.model_calls import Model
from recall_signal.selection import (
    ANSWER_SCHEMA,
    Answer,
    Select,
    SelectionRequest,
    Selector,
)

__all__ = ["RunnableSelector"]

AnswerStep: TypeAlias = Runnable[SelectionRequest, Answer]
Chain: TypeAlias = Runnable[Any, Any]
"""Chat model, or chain around one, whatever it takes and gives."""

RUN_NAME = "recall_selector"


class RunnableSelector:
    """Any accepted `selector=` as one runnable.

    Args:
        selector: A chat model, a chain that ends in one, an object with the methods of
            `Selector`, or one of these.
        structured: Whether a chat model's structured output is used: `None` where it has
            some, `False` for JSON as text in any case.

    Raises:
        ConfigurationError: It is none of these.
    """

    step: AnswerStep
    native_async: bool
    holds_loop: bool

    def __init__(self, selector: object, *, structured: bool | None = None) -> None:
        if isinstance(selector, RunnableSelector):
            self.step, self.native_async = selector.step, selector.native_async
            self.holds_loop = selector.holds_loop
        elif isinstance(selector, Runnable):
            self.step = _chat(selector, structured)
            self.native_async = _has_async(selector)
            self.holds_loop = any(map(holds_loop, _async_code(selector)))
        elif _is_custom(selector):
            self.step = _custom(selector)
            self.native_async = hasattr(selector, "aselect")
            self.holds_loop = holds_loop(getattr(selector, "aselect", None))
        else:
            given = type(selector).__name__
            if isinstance(selector, type):
                given = f"the class {selector.__name__}"
            raise ConfigurationError(
                "selector must be a chat model or an object with select(request), beside which "
                f"aselect(request) may stand, got {given}"
            )
        self.model: Model[Select, Callbacks, Answer] = Model(
            self._call, self._acall if self.native_async else None, alone=self.holds_loop
        )
        """The selector as the flow calls it; the callbacks belong to the run around."""

    def _call(self, asked: Select, callbacks: Callbacks) -> Answer:
        config: RunnableConfig = {"callbacks": callbacks, "run_name": RUN_NAME}
        try:
            return self.step.invoke(asked.request, config)
        except OutputParserException:
            return _UNREADABLE

    async def _acall(self, asked: Select, callbacks: Callbacks) -> Answer:
        config: RunnableConfig = {"callbacks": callbacks, "run_name": RUN_NAME}
        try:
            return await self.step.ainvoke(asked.request, config)
        except OutputParserException:
            return _UNREADABLE


_UNREADABLE = Answer(None, "")
"""The answer of a model whose own chain could not read it."""


def _chat(model: Chain, structured: bool | None) -> AnswerStep:
    runner = None if structured is False else _structured(model)
    if runner is None and structured:
        raise ConfigurationError(f"{type(model).__name__} has no structured output")
    chosen, name = runner or model, _declared_name(model)

    def select(request: SelectionRequest, config: RunnableConfig) -> Answer:
        call = _CallWatcher()
        return answer(call.watched(chosen).invoke(request.prompt, config), call)

    async def aselect(request: SelectionRequest, config: RunnableConfig) -> Answer:
        call = _CallWatcher()
        return answer(await call.watched(chosen).ainvoke(request.prompt, config), call)

    def answer(reply: object, call: _CallWatcher) -> Answer:
        if isinstance(reply, Mapping) and "raw" in reply:
            reply = reply["raw"]
        return Answer(_content(reply, call.streamed), call.model or _own_name(reply) or name)

    return RunnableLambda(select, afunc=aselect)


class _CallWatcher(BaseCallbackHandler):
    """Watches one call of a model, as tracers do.

    Attributes:
        model: The name that the framework's tracing gives the model.
        streamed: True where the answer came in pieces, even though it was asked for as a whole.
    """

    run_inline = True

    def __init__(self) -> None:
        self.model: str | None = None
        self.streamed = False

    def watched(self, runner: Chain) -> Chain:
        """Return the runner with this handler."""
        return runner.with_config({"callbacks": [self]})

    def on_chat_model_start(
        self, *_: object, metadata: Mapping[str, object] | None = None, **__: object
    ) -> None:
        """Note the model's name."""
        name = (metadata or {}).get("ls_model_name")
        self.model = name if isinstance(name, str) and name else self.model

    on_llm_start = on_chat_model_start

    def on_llm_new_token(self, *_: object, **__: object) -> None:
        """Note that the answer comes in pieces."""
        self.streamed = True


def _structured(model: Chain) -> Chain | None:
    """Return the model with structured output, None where it has none or has bound arguments.

    Of LangChain's `{"raw": model} | parser` only the model is taken: the parser mends what
    was cut off, and such a dict runs in a thread pool, which the end of a program waits for.
    """
    if isinstance(model, RunnableBindingBase) and not model.kwargs:
        inner = _structured(model.bound)
        return None if inner is None else model.model_copy(update={"bound": inner})
    if not isinstance(model, BaseChatModel):
        return None
    try:
        runner = model.with_structured_output(ANSWER_SCHEMA, include_raw=True)
    except (NotImplementedError, AttributeError, TypeError, ValueError):
        return None
    first = runner.first if isinstance(runner, RunnableSequence) else None
    if isinstance(first, RunnableParallel) and "raw" in first.steps__:
        return first.steps__["raw"]
    return runner


def _custom(selector: Selector) -> AnswerStep:
    if hasattr(selector, "aselect"):
        return RunnableLambda(selector.select, afunc=selector.aselect)
    return RunnableLambda(selector.select)


def _is_custom(selector: object) -> TypeGuard[Selector]:
    if isinstance(selector, type) or iscoroutinefunction(getattr(selector, "select", None)):
        return False
    return isinstance(selector, Selector) or callable(getattr(selector, "select", None))


def _unbound(model: Chain) -> Chain:
    """Return the model behind `with_config`, `bind` and `with_retry`."""
    while isinstance(model, RunnableBindingBase):
        model = model.bound
    return model


def _links(model: Chain) -> Iterator[Chain]:
    """Yield the links of a chain, as deep as chains and fallbacks go."""
    model = _unbound(model)
    if isinstance(model, RunnableSequence):
        links = model.steps
    elif isinstance(model, RunnableWithFallbacks):
        links = [model.runnable, *model.fallbacks]
    else:
        yield model
        return
    for link in links:
        yield from _links(link)


def _models(links: Iterable[Chain]) -> list[BaseChatModel | BaseLLM]:
    return [part for part in links if isinstance(part, BaseChatModel | BaseLLM)]


def _has_async(chain: Chain) -> bool:
    """Return whether the chain waits for its model in async code.

    Otherwise it waits in a thread pool, which in turn the end of the program would wait for.
    Beside a model, functions in a chain only prepare or read.
    """
    links = list(_links(chain))
    models = _models(links)
    if models:
        return all(_overrides(model, "_agenerate") for model in models)
    lambdas = [part for part in links if isinstance(part, RunnableLambda)]
    if lambdas:
        return any(hasattr(function, "afunc") for function in lambdas)
    return all(type(part).ainvoke is not Runnable.ainvoke for part in links)


def _async_code(chain: Chain) -> Iterator[object]:
    """Yield the functions of a chain that wait for its model in async code."""
    links = list(_links(chain))
    models = _models(links)
    yield from (model._agenerate for model in models)
    if not models:
        yield from (part.afunc for part in links if hasattr(part, "afunc"))


def _overrides(model: object, method: str) -> bool:
    """Return whether a model brings async code of its own instead of LangChain's thread pool."""
    module = getattr(type(model), method).__module__
    return not module.startswith(_BASES)


_BASES = (
    "langchain_core.language_models.chat_models",
    "langchain_core.language_models.llms",
)


def _content(reply: object, streamed: bool) -> str | Mapping[str, object] | None:
    """Return the content of a reply: the arguments of its one tool call, or else its text."""
    if not isinstance(reply, BaseMessage):
        return reply if isinstance(reply, str | Mapping) else None
    calls = [*reply.tool_calls, *reply.invalid_tool_calls] if isinstance(reply, AIMessage) else []
    if not calls:
        return str(reply.text) if _is_whole(reply, streamed=False) else None
    whole = len(calls) == 1 and _is_whole(reply, streamed or isinstance(reply, AIMessageChunk))
    arguments = calls[0]["args"] if whole else None
    return arguments if isinstance(arguments, Mapping) else None


def _is_whole(message: BaseMessage, streamed: bool) -> bool:
    """Return False where the answer was cut off, or may have been.

    LangChain completes the arguments of a streamed call that ends in the middle, so a stream has
    to say how it ended.
    """
    ends = [*ends_in(message.response_metadata.get)]
    return not is_cut_off(ends) and (any(ends) or not streamed)


def _own_name(message: object) -> str | None:
    metadata = getattr(message, "response_metadata", None) or {}
    name = metadata.get("model_name") or metadata.get("model")
    return name if isinstance(name, str) else None


def _declared_name(model: Chain) -> str:
    links = list(_links(model))
    for part in links:
        for attribute in ("model_name", "model"):
            name = getattr(part, attribute, None)
            if isinstance(name, str) and name:
                return name
    models = _models(links)
    return type(models[0] if models else _unbound(model)).__name__
