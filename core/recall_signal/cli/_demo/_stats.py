"""The demo's questions and results, counted by section and kind of question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from recall_signal.advice import Advice, advice
from recall_signal.cli._backends import SearchResult
from recall_signal.confidence import Level

__all__ = [
    "EXPECTED_ADVICE",
    "QUESTION_KINDS",
    "SECTIONS",
    "Question",
    "QuestionKind",
    "Result",
    "Section",
    "Tally",
    "tally",
]

QuestionKind = Literal["stored", "near_miss", "off_topic"]
QUESTION_KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)

Section = Literal["main", "hard"]
SECTIONS: tuple[Section, ...] = get_args(Section)

EXPECTED_ADVICE: dict[QuestionKind, Advice] = {"stored": "read", "off_topic": "fallback"}
"""A near-miss asks for a fact that is not stored, about a topic that is: a signal of topical match
can be neither right nor wrong about it."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the demo; `answers` holds the ids of the memories that answer it."""

    text: str
    kind: QuestionKind
    section: Section
    answers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Result:
    """A question with its page and signal, and the time it took in seconds.

    Attributes:
        question: The question.
        page: The page and the signal.
        recall_seconds: The whole call, embedding of the question included.
        embed_seconds: The embedding of the question alone.
    """

    question: Question
    page: SearchResult
    recall_seconds: float
    embed_seconds: float

    @property
    def level(self) -> Level:
        """The level of the signal."""
        return self.page.confidence.level

    @property
    def is_read(self) -> bool:
        """True if the advice is to read the page."""
        return advice(self.page.confidence) == "read"

    @property
    def is_answered(self) -> bool:
        """True if a memory that answers the question is on the page."""
        return any(hit.id in self.question.answers for hit in self.page.hits)


@dataclass(frozen=True, slots=True)
class Tally:
    """The results of one kind of question in one section.

    Attributes:
        section: The section.
        kind: The kind.
        count: Number of questions.
        levels: Number of questions by level.
        read: Questions whose advice is to read the page.
        right: Questions with the expected advice; None where no advice is expected.
        answered: Questions with an answering memory on the page; None without one stored.
        answered_read: Those of them whose advice is to read.
    """

    section: Section
    kind: QuestionKind
    count: int
    levels: Counter[Level]
    read: int
    right: int | None
    answered: int | None
    answered_read: int | None


def tally(results: Sequence[Result], section: Section, kind: QuestionKind) -> Tally:
    """Count the results of one kind in one section."""
    chosen = [r for r in results if (r.question.section, r.question.kind) == (section, kind)]
    expected = EXPECTED_ADVICE.get(kind)
    answered = [result for result in chosen if result.is_answered]
    stored = kind == "stored"
    return Tally(
        section=section,
        kind=kind,
        count=len(chosen),
        levels=Counter(result.level for result in chosen),
        read=sum(result.is_read for result in chosen),
        right=sum(advice(r.page.confidence) == expected for r in chosen) if expected else None,
        answered=len(answered) if stored else None,
        answered_read=sum(result.is_read for result in answered) if stored else None,
    )
