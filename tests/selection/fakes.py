"""What the selector's tests share: scripted models, small pages, and ways to look."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda
from pydantic import Field

from langchain_recall_signal import RecallRetriever
from recall_signal.selection import Answer, SelectionRequest
from tests.selection.prompts import (
    NAME,
    QUESTION,
    TEXTS,
    Reply,
    labels_in,
)


class Scripted(BaseChatModel):
    """A chat model with sync code only, whose reply the test decides."""

    reply: Reply
    prompts: list[str] = Field(default_factory=list)
    name_in_reply: str | None = NAME

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _message(self, prompt: str, reply: Any) -> AIMessage:
        if isinstance(reply, BaseException):
            raise reply
        metadata = {"model_name": self.name_in_reply} if self.name_in_reply else {}
        if isinstance(reply, AIMessage):
            return reply.model_copy(
                update={"response_metadata": {**metadata, **reply.response_metadata}}
            )
        return AIMessage(reply, response_metadata=metadata)

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        prompt = str(messages[0].text)
        self.prompts.append(prompt)
        message = self._message(prompt, self.reply(prompt))
        return ChatResult(generations=[ChatGeneration(message=message)])


class AsyncScripted(Scripted):
    """The same with async code of its own."""

    areply: Callable[[str], Awaitable[Any]] | None = None

    async def _agenerate(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> ChatResult:
        prompt = str(messages[0].text)
        self.prompts.append(prompt)
        reply = await self.areply(prompt) if self.areply else self.reply(prompt)
        return ChatResult(generations=[ChatGeneration(message=self._message(prompt, reply))])


class ToolCalling(AsyncScripted):
    """A model with structured output by way of a tool, as LangChain's base class does it."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[Any, Any]:
        return self.bind(tools=tools, **kwargs)

    def _message(self, prompt: str, reply: Any) -> AIMessage:
        if isinstance(reply, dict):
            reply = AIMessage("", tool_calls=[tool_call(reply)])
        return super()._message(prompt, reply)


def tool_call(arguments: dict[str, Any], name: str = "kept_results") -> Any:
    return {"name": name, "args": arguments, "id": "call-1", "type": "tool_call"}


@dataclass
class Custom:
    """A `Selector` whose answers the test decides."""

    answer: Callable[[SelectionRequest], Any]
    requests: list[SelectionRequest] = field(default_factory=list)

    def select(self, request: SelectionRequest) -> Answer:
        self.requests.append(request)
        answer = self.answer(request)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def aselect(self, request: SelectionRequest) -> Answer:
        await asyncio.sleep(0)
        return self.select(request)


def page(texts: Sequence[str] = TEXTS) -> list[Document]:
    return [
        Document(id=f"id{n}", page_content=text, metadata={"n": n, "tags": [{"of": [n]}]})
        for n, text in enumerate(texts)
    ]


def wrapped(selector: Any, documents: Sequence[Document] | None = None, **more: Any) -> Any:
    """A `RecallRetriever` around a fixed page."""
    found = page() if documents is None else list(documents)
    return RecallRetriever(retriever=RunnableLambda(lambda _: found), selector=selector, **more)


def plain(documents: Sequence[Document], key: str = "recall") -> list[tuple[Any, ...]]:
    """A page without the entries that were added to it."""
    return [
        (d.id, d.page_content, {k: v for k, v in d.metadata.items() if k != key}) for d in documents
    ]


def report(response: Any) -> dict[str, Any]:
    found: dict[str, Any] = response.selection.model_dump(mode="json")
    return found


def assert_untouched(response: Any, reason: str, documents: Sequence[Document]) -> None:
    """The page is the unselected one, and the report says so and nothing else."""
    assert report(response) == {"applied": False, "reason": reason}
    assert plain(response.documents) == plain(documents)


async def assert_keeps(selector: Any, *places: int, model: str = NAME) -> None:
    """Synchronously and not."""
    retriever = wrapped(selector)
    for response in (retriever.recall(QUESTION), await retriever.arecall(QUESTION)):
        assert plain(response.documents) == plain([page()[at] for at in places])
        assert report(response)["model"] == model


def arguments(*places: int) -> Callable[[str], Any]:
    """A model that answers by the tool it was given."""
    return lambda prompt: {"keep": [labels_in(prompt)[at] for at in places]}


class Listener(BaseCallbackHandler):
    """Every run with its parent, and every event of ours."""

    def __init__(self) -> None:
        self.runs: dict[Any, tuple[Any, Any]] = {}
        self.events: list[Any] = []

    def _start(self, serialized: Any, *args: Any, run_id: Any, **kwargs: Any) -> None:
        name = kwargs.get("name") or (serialized or {}).get("name")
        self.runs[run_id] = (name, kwargs.get("parent_run_id"))

    on_chain_start = on_chat_model_start = on_llm_start = on_retriever_start = _start

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        if name == "recall_signal":
            self.events.append(data)

    def parents_of(self, name: str) -> list[list[str]]:
        """For each run of this name, the names above it, from the nearest up."""
        found = []
        for own, parent in self.runs.values():
            if own == name:
                above = []
                while parent is not None:
                    above.append(self.runs[parent][0])
                    parent = self.runs[parent][1]
                found.append(above)
        return found


class Sleeper:
    """Blocks for ten seconds, or until the test is over."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def __call__(self, *args: Any) -> str:
        self.over.wait(10)
        return "{}"


def selector_threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "recall-signal-call"]
