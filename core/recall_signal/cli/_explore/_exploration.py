"""Everything that the page does, without a page: questions, marks, calibrations."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import Literal, TypeAlias

from recall_signal.calibration import Calibration
from recall_signal.calibration._separation import FEWEST_OF_A_CLASS
from recall_signal.cli._backends import SearchBackend, SearchResult
from recall_signal.errors import CalibrationError
from recall_signal.pool import DEFAULT_POOL_SIZE

__all__ = ["CLOSEST_PRIOR", "Exploration", "FitFunction", "LevelSource", "View"]

LevelSource: TypeAlias = Literal["default", "texts", "marks"]
"""The levels' basis: default thresholds, the calibration on the texts, or the one on marks."""

FitFunction: TypeAlias = Callable[[SearchBackend, list[tuple[str, bool]]], Calibration]
"""Makes a calibration with labelled questions."""

CLOSEST_PRIOR = 0.05
"""A prior is kept this far from 0 and from 1."""


@dataclass(frozen=True, slots=True)
class View:
    """The settings of a question.

    Attributes:
        levels: The basis of the levels.
        prior: Expected share of answerable questions, in (0, 1); of no effect on default
            thresholds.
        pool_size: Passages that the signal looks at.
        use_rerank: Whether the reranker orders the page.
    """

    levels: LevelSource = "texts"
    prior: float = 0.5
    pool_size: int = DEFAULT_POOL_SIZE
    use_rerank: bool = False


class Exploration:
    """A searchable corpus with its calibrations and what a person marked. Thread-safe.

    Args:
        backend: The passages, uncalibrated.
        calibration: The one fitted on these texts; None where there is none.
        fit: Makes another one from marks.
    """

    def __init__(
        self, backend: SearchBackend, calibration: Calibration | None, fit: FitFunction
    ) -> None:
        self._backend = backend
        self._fit = fit
        self._calibrations: dict[LevelSource, Calibration] = {}
        if calibration is not None:
            self._calibrations["texts"] = calibration
        self._marks: dict[str, bool] = {}
        self._lock = Lock()
        self._fitting = Lock()

    @property
    def sources(self) -> list[LevelSource]:
        """Return the bases of levels that there are, the one to begin with first."""
        best: list[LevelSource] = ["texts", "marks"]
        return [*(source for source in best if source in self._calibrations), "default"]

    def calibration(self, source: LevelSource) -> Calibration | None:
        """Return a calibration; None for default thresholds, or where it is not fitted yet."""
        return self._calibrations.get(source)

    def ask(self, question: str, view: View) -> SearchResult:
        """Search, and assess under these settings."""
        calibration = self.calibration(view.levels)
        if calibration is not None:
            prior = min(max(view.prior, CLOSEST_PRIOR), 1.0 - CLOSEST_PRIOR)
            calibration = replace(calibration, prior=prior)
        backend = self._backend.with_pool_size(view.pool_size).with_calibration(calibration)
        return backend.recall(question, use_rerank=view.use_rerank)

    @property
    def marks(self) -> dict[str, bool]:
        """Return question -> True where something relevant is stored."""
        with self._lock:
            return dict(self._marks)

    def mark(self, question: str, present: bool) -> None:
        """Keep a mark; a second one of the same question replaces the first."""
        with self._lock:
            self._marks[question] = present

    def unmark(self, question: str) -> None:
        """Drop a mark, if there is one."""
        with self._lock:
            self._marks.pop(question, None)

    def missing_marks(self) -> str | None:
        """Return what a fit still needs, in words; None where it can be made."""
        given = list(self.marks.values())
        lacking = [
            f"{FEWEST_OF_A_CLASS - given.count(present)} more whose answer is {name}"
            for name, present in (("stored", True), ("not stored", False))
            if given.count(present) < FEWEST_OF_A_CLASS
        ]
        return f"mark {' and '.join(lacking)}" if lacking else None

    def fit_marks(self) -> Calibration:
        """Fit a calibration on the marked questions, one at a time.

        Raises:
            CalibrationError: There are too few marks, or the fit is not possible.
        """
        missing = self.missing_marks()
        if missing is not None:
            raise CalibrationError(f"too few questions are marked: {missing}")
        with self._fitting:
            fitted = self._fit(self._backend, list(self.marks.items()))
        self._calibrations["marks"] = fitted
        return fitted

    def labels(self) -> str:
        """Return the marks as JSON lines with query and label, which `evaluate` reads."""
        return "".join(
            json.dumps(
                {"query": question, "label": "present" if present else "absent"},
                ensure_ascii=False,
            )
            + "\n"
            for question, present in self.marks.items()
        )
