"""The demo's questions and answers, counted by kind of question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, get_args

from recall_signal.advice import Advice, advice
from recall_signal.cli.frameworks import Answer
from recall_signal.confidence import Level

__all__ = ["KINDS", "RIGHT", "Kind", "Question", "Result", "Tally", "tally"]

Kind = Literal["stored", "near_miss", "off_topic"]
KINDS: tuple[Kind, ...] = get_args(Kind)

RIGHT: dict[Kind, Advice] = {"stored": "read", "off_topic": "fallback"}
"""What the advice should be. A near-miss asks for a fact that is not stored, about a topic that
is: a signal of topical match can be neither right nor wrong about it."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the demo; ``answers`` holds the ids of the memories that answer it."""

    text: str
    kind: Kind
    answers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Result:
    """A question with its answer, and what it took in seconds.

    Attributes:
        question: The question.
        answer: The page and the signal.
        recall_seconds: The whole call, embedding of the question included.
        embed_seconds: The embedding of the question alone.
    """

    question: Question
    answer: Answer
    recall_seconds: float
    embed_seconds: float

    @property
    def is_hit(self) -> bool:
        """Whether a memory that answers the question is on the page."""
        return any(hit.id in self.question.answers for hit in self.answer.hits)


@dataclass(frozen=True, slots=True)
class Tally:
    """The results of one kind of question.

    Attributes:
        kind: The kind.
        count: How many questions.
        levels: How many of each level.
        median_top: The median of their top scores, None where there are none.
        right: How many got the advice they should; None where no advice is right.
        hits: How many found an answering memory; None where there is none to find.
    """

    kind: Kind
    count: int
    levels: Counter[Level]
    median_top: float | None
    right: int | None
    hits: int | None


def tally(results: Sequence[Result], kind: Kind) -> Tally:
    """Count the results of one kind."""
    chosen = [result for result in results if result.question.kind == kind]
    signals = [result.answer.confidence for result in chosen]
    tops = [signal.top_score for signal in signals if signal.top_score is not None]
    wanted = RIGHT.get(kind)
    return Tally(
        kind=kind,
        count=len(chosen),
        levels=Counter(signal.level for signal in signals),
        median_top=median(tops) if tops else None,
        right=sum(advice(signal) == wanted for signal in signals) if wanted else None,
        hits=sum(result.is_hit for result in chosen) if kind == "stored" else None,
    )
