"""The product's own answers in each of its modes, fitted on some queries and judged on others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from recall_signal.assess import Calibrator, assess
from recall_signal.calibration import Baseline, Calibration
from recall_signal.evaluation.data import Document, Query
from recall_signal.evaluation.metrics import Bools, Floats
from recall_signal.pool import Pool

__all__ = ["MODES", "Answers", "Mode", "fit_mode", "judge"]

Mode: TypeAlias = Literal["uncalibrated", "null", "null+past", "stream", "labelled"]
MODES: tuple[Mode, ...] = get_args(Mode)

Fitted: TypeAlias = Callable[[], Calibrator | None]
"""Gives the calibration for one query; a baseline anew, so that it stays as it was fitted."""


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """What the product says of Q queries.

    Attributes:
        levels: ``[Q]``.
        probabilities: ``[Q]``, NaN where the level came without one.
        scores: ``[Q]``, what the level follows: the probability, else the prominence.
        found: ``[Q]``, whether the level is moderate or high.
        bases: ``[Q]``, what decided the level, empty where nothing did.
    """

    levels: NDArray[np.str_]
    probabilities: Floats
    scores: Floats
    found: Bools
    bases: NDArray[np.str_]


def fit_mode(
    mode: Mode,
    search: Callable[[str], Pool],
    documents: Sequence[Document],
    sample: Sequence[Query],
    *,
    seed: int = 0,
) -> tuple[Fitted, tuple[str, ...]]:
    """Fit one mode as a user would: through the retriever, with what that mode may use.

    Args:
        mode: ``uncalibrated`` uses nothing, ``null`` the documents, ``null+past`` also the
            sample's texts, ``stream`` the sample's top cosines alone, ``labelled`` the documents
            and the sample's labels.
        search: The retriever.
        documents: Its documents.
        sample: Queries to fit on.
        seed: For the calibration's own draws.

    Returns:
        What to judge with, and what is to be said of the fit.
    """
    if mode == "uncalibrated":
        return (lambda: None), ()
    if mode == "stream":
        tops = [top for query in sample if (top := search(query.text).cosines[0]) is not None]
        ready = Baseline(tops).ready
        return (lambda: Baseline(tops)), () if ready else (f"only {len(tops)} queries were seen",)
    labelled = [(query.text, query.present) for query in sample]
    calibration = Calibration.fit(
        search,
        documents=[(document.id, document.text) for document in documents],
        past_queries=[query.text for query in sample] if mode == "null+past" else None,
        labelled=labelled if mode == "labelled" else None,
        seed=seed,
    )
    status = () if calibration.status == "ok" else (calibration.status,)
    return (lambda: calibration), (*status, *calibration.warnings)


def judge(cosines: Floats, fitted: Fitted) -> Answers:
    """What the product says of these pools, ``[Q, P]``, filled up with NaN."""
    signals = [assess(_usable(row), calibration=fitted()) for row in cosines]
    levels = np.array([signal.level for signal in signals])
    probabilities = np.array(
        [np.nan if s.probability is None else s.probability for s in signals], dtype=np.float64
    )
    prominences = np.array(
        [np.nan if s.prominence is None else s.prominence for s in signals], dtype=np.float64
    )
    calibrated = np.isfinite(probabilities)
    return Answers(
        levels=levels,
        probabilities=probabilities,
        scores=np.where(calibrated, probabilities, prominences),
        found=np.isin(levels, ("moderate", "high")),
        bases=np.array([signal.basis or "" for signal in signals]),
    )


def _usable(row: Floats) -> Floats:
    """A pool without what fills it up; one without any cosine as it is, so that it is unknown."""
    usable = row[np.isfinite(row)]
    return usable if len(usable) else row
