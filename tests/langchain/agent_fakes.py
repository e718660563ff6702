"""What the agent tests share: a memory whose level a question decides, and a scripted model."""

from collections.abc import Callable, Sequence
from itertools import repeat
from threading import Lock
from typing import Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import StructuredTool
from pydantic import Field, PrivateAttr

from langchain_recall_signal import RecallRetriever
from recall_signal.testing import SettableEncoder

LEVELS = {"high": "read", "moderate": "read", "low": "fallback", "none": "fallback"}
AXES = {"high": 0, "moderate": 1, "low": 2, "none": 3}
COSINES = np.array([[0.75, 0.1], [0.31, 0.2], [0.34, 0.3], [0.2, 0.2]])  # best, all others
TEXTS = [f"t{n}" for n in range(4)]


class Boom(RuntimeError):
    """What a retriever or a tool of these tests raises."""


class LevelEncoder(SettableEncoder, Embeddings):
    """The question `high` finds a high level, and so on; `unmeasured` cannot be embedded."""

    def __init__(self) -> None:
        super().__init__(dimension=8)
        for n, text in enumerate(TEXTS):
            vector = np.zeros(8)
            vector[:4] = COSINES[:, 0 if n == 0 else 1]
            vector[4 + n] = np.sqrt(1 - np.sum(vector**2))
            self.vectors[text] = vector.tolist()
        for question, axis in AXES.items():
            self.vectors[question] = np.eye(8)[axis].tolist()

    def embed_query(self, text: str) -> list[float]:
        if text == "unmeasured":
            raise Boom
        return super().embed_query(text)


def search(question: str) -> list[Document]:
    """Always the same page, but nothing for `empty`, and an error for `boom`."""
    if question == "boom":
        raise Boom("secret")
    if question == "empty":
        return []
    return [Document(id=f"id{n}", page_content=t, metadata={"n": n}) for n, t in enumerate(TEXTS)]


def memory(**settings: Any) -> RecallRetriever:
    return RecallRetriever(retriever=RunnableLambda(search), embeddings=LevelEncoder(), **settings)


Policy = Callable[[list[BaseMessage], list[str]], AIMessage]


class ScriptedModel(BaseChatModel):
    """A chat model that does what a function says.

    Attributes:
        policy: From the messages and the names of the tools that are offered to an answer.
    """

    policy: Policy
    _offers: list[list[str]] = PrivateAttr(default_factory=list)
    _seen: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _kwargs: list[dict[str, Any]] = PrivateAttr(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=Lock)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def offers(self) -> list[list[str]]:
        """The tools that were offered, call by call."""
        return self._offers

    @property
    def seen(self) -> list[list[BaseMessage]]:
        return self._seen

    @property
    def settings(self) -> list[dict[str, Any]]:
        return self._kwargs

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        names = [t.get("name", t.get("type")) if isinstance(t, dict) else t.name for t in tools]
        return self.bind(offered=names, **kwargs)

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        offered = kwargs.pop("offered", [])
        with self._lock:
            self._offers.append(offered)
            self._seen.append(messages)
            self._kwargs.append(kwargs)
        return ChatResult(generations=[ChatGeneration(message=self.policy(messages, offered))])


class Answering(GenericFakeChatModel):
    """A chat model that says `answer`, in pieces where it is streamed, and keeps its requests."""

    messages: Any = Field(default_factory=lambda: repeat("answer"))
    _prompts: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    @property
    def prompts(self) -> list[list[BaseMessage]]:
        return self._prompts

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self._prompts.append(messages)
        return super()._generate(messages, *args, **kwargs)


def through_a_protocol(tool: Any) -> Any:
    """The tool as a client of the Model Context Protocol has it."""

    def call(query: str) -> Any:
        message = tool.invoke(
            {"type": "tool_call", "name": tool.name, "id": "1", "args": {"query": query}}
        )
        return message.content, {"structured_content": message.artifact}

    return StructuredTool.from_function(
        call, name=tool.name, description="x", response_format="content_and_artifact"
    )


def calls(*wanted: tuple[str, str]) -> AIMessage:
    """One step that calls these tools with these queries."""
    return AIMessage(
        "",
        tool_calls=[
            {"name": name, "args": {"query": query}, "id": f"{name}-{n}-{query}"}
            for n, (name, query) in enumerate(wanted)
        ],
    )


def look_then_web(messages: list[BaseMessage], offered: list[str]) -> AIMessage:
    """Looks into memory, then on the web where that is offered, then answers."""
    turn = this_turn(messages)
    used = [m.name for m in turn if isinstance(m, ToolMessage)]
    if not used:
        return calls(("memory", str(turn[0].content)))
    if "web" in offered and "web" not in used:
        return calls(("web", str(turn[0].content)))
    return AIMessage(f"from {used[-1]}")


def this_turn(messages: list[BaseMessage]) -> list[BaseMessage]:
    last = max(n for n, m in enumerate(messages) if isinstance(m, HumanMessage))
    return messages[last:]


def step_by_step(*steps: AIMessage) -> Policy:
    """Each step in its turn, then an answer."""

    def policy(messages: list[BaseMessage], offered: list[str]) -> AIMessage:
        done = sum(isinstance(m, AIMessage) for m in this_turn(messages))
        return steps[done].model_copy() if done < len(steps) else AIMessage("done")

    return policy
