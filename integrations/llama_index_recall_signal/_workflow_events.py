"""Events of `CorrectiveWorkflow`."""

from __future__ import annotations

from typing import Any

from llama_index.core.workflow import Event, StartEvent, StopEvent

from recall_signal.agents._corrective import Decision, Source
from recall_signal.confidence import Level

__all__ = [
    "AnswerEvent",
    "CorrectiveAnswer",
    "CorrectiveEvent",
    "CorrectiveStart",
    "FoundEvent",
    "RecallDecision",
    "RewriteEvent",
    "SearchEvent",
    "SearchWebEvent",
]


class CorrectiveStart(StartEvent):
    """The input of a `CorrectiveWorkflow`.

    Attributes:
        question: The question.
    """

    question: str


class RecallDecision(Event):
    """Decision after a search of the store; sent to the stream.

    Attributes:
        level: The level of the signal.
        decision: The step that comes next.
        rewrites: Rewritten queries so far.
    """

    level: Level
    decision: Decision
    rewrites: int


class CorrectiveAnswer(StopEvent):
    """The output of a `CorrectiveWorkflow`.

    Attributes:
        answer: The answer.
        question: The question, not rewritten.
        query: The text searched for last.
        documents: Sources of the answer, as `{"id", "page_content", "metadata"}`.
        recall: Both reports of the last search of the store.
        rewrites: Rewritten queries.
        source: Origin of the documents.
        web_error: Class name of the web search's error, None where it did not raise.
        caution: Warning for the reader of the answer, None for none.
    """

    answer: str
    question: str
    query: str
    documents: list[dict[str, Any]]
    recall: dict[str, Any]
    rewrites: int
    source: Source
    web_error: str | None
    caution: str | None

    def __str__(self) -> str:
        return self.answer


class CorrectiveEvent(Event):
    """The whole state, in each event: plain JSON, so a run can be saved at any step."""

    question: str
    query: str
    rewrites: int = 0
    documents: list[dict[str, Any]] = []  # noqa: RUF012  (pydantic copies it)
    recall: dict[str, Any] = {}  # noqa: RUF012
    source: Source = "memory"
    web_error: str | None = None
    caution: str | None = None

    def carry(self, **changed: Any) -> dict[str, Any]:
        """Return the fields of the next event: this state with changes."""
        return {**{name: getattr(self, name) for name in CorrectiveEvent.model_fields}, **changed}


class SearchEvent(CorrectiveEvent):
    """Search the store."""


class FoundEvent(CorrectiveEvent):
    """The store was searched."""


class RewriteEvent(CorrectiveEvent):
    """Put the query into other words."""


class SearchWebEvent(CorrectiveEvent):
    """Search the web."""


class AnswerEvent(CorrectiveEvent):
    """Answer from the documents."""
