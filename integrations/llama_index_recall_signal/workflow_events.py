"""What a :class:`~llama_index_recall_signal.workflow.CorrectiveWorkflow` takes, sends and gives."""

from __future__ import annotations

from typing import Any, Literal

from llama_index.core.workflow import Event, StartEvent, StopEvent

from recall_signal import RecallConfidence
from recall_signal.agents.corrective import Decision
from recall_signal.confidence import Level
from recall_signal.signals import UNREAD, confidence_in

__all__ = [
    "Answer",
    "CorrectiveAnswer",
    "CorrectiveStart",
    "Found",
    "RecallDecision",
    "Rewrite",
    "Search",
    "SearchWeb",
    "State",
]


class CorrectiveStart(StartEvent):
    """The input of a :class:`CorrectiveWorkflow`.

    Attributes:
        question: The question.
    """

    question: str


class RecallDecision(Event):
    """What was decided after a search of the store; sent to the stream.

    Attributes:
        level: The level of the signal.
        decision: The step that comes next.
        rewrites: Rewritten queries so far.
    """

    level: Level
    decision: Decision
    rewrites: int


class CorrectiveAnswer(StopEvent):
    """The output of a :class:`CorrectiveWorkflow`.

    Attributes:
        answer: The answer.
        question: As it was asked.
        query: What was searched for last.
        documents: What the answer was made from, as ``{"id", "page_content", "metadata"}``.
        recall: Both reports of the last search of the store.
        rewrites: Rewritten queries.
        source: Where the documents come from.
        web_error: Class name of what the web search raised, None where it did not.
        caution: What the reader of the answer has to know, None where there is nothing.
    """

    answer: str
    question: str
    query: str
    documents: list[dict[str, Any]]
    recall: dict[str, Any]
    rewrites: int
    source: Literal["memory", "web"]
    web_error: str | None
    caution: str | None

    def __str__(self) -> str:
        return self.answer


class State(Event):
    """All there is to know, in each event: plain JSON, so a run can be saved at any step."""

    question: str
    query: str
    rewrites: int = 0
    documents: list[dict[str, Any]] = []  # noqa: RUF012  (pydantic copies it)
    recall: dict[str, Any] = {}  # noqa: RUF012
    source: Literal["memory", "web"] = "memory"
    web_error: str | None = None
    caution: str | None = None

    @property
    def confidence(self) -> RecallConfidence:
        """The signal of the last search, which may have come back from a saved run."""
        return confidence_in(self.recall) or UNREAD

    def known(self, **changed: Any) -> dict[str, Any]:
        """What the next event knows."""
        return {**{name: getattr(self, name) for name in State.model_fields}, **changed}


class Search(State):
    """Search the store."""


class Found(State):
    """The store was searched."""


class Rewrite(State):
    """Put the query into other words."""


class SearchWeb(State):
    """Search the web."""


class Answer(State):
    """Answer from the documents."""
