"""The hub correction: a candidate that is near to everything is near to this query for no reason.

Half of CSLS (Conneau et al., 2018), the half of the documents: ``x = max_i (s_i - r_i / 2)``,
where ``r_i`` is the mean of the ten largest cosines of candidate i with a bank of general
questions. The half of the query is left out on purpose: how near a query is to what is stored is
the very evidence. It pays on encoders whose vectors crowd in a cone and costs on others, so it is
used only where it was asked for, or where labelled queries show that it pays.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum, isfinite, sqrt
from typing import TYPE_CHECKING, Any, Literal

from recall_signal.calibration.decide import decide
from recall_signal.calibration.labels import Platt, VennAbers
from recall_signal.calibration.levels import probability_at
from recall_signal.calibration.scale import Scale
from recall_signal.confidence import RecallConfidence
from recall_signal.errors import ConfigurationError
from recall_signal.pool import Pool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recall_signal.calibration.model import Calibration

__all__ = ["Bank", "Corrected", "HubChoice", "HubCorrection", "pays"]

HubChoice = bool | Literal["auto"]

NEAREST, WEIGHT = 10, 0.5
"""First guesses that were never tuned (half of CSLS, with its ten neighbours)."""

CANDIDATES = 5
"""Best candidates that are looked at; with 10 or all 50 the benchmark's figures are the same, and
so the size of the pool does not matter from here on."""

PAYS = 1.645
"""Standard errors by which AUROC has to rise: one-sided, 5 %."""


@dataclass(frozen=True)
class Bank:
    """Vectors of general questions.

    Attributes:
        packed: Base64 of unit rows, ``[questions, dim]``, in little-endian half precision.
        questions: How many rows.
    """

    packed: str
    questions: int

    def __post_init__(self) -> None:
        size = len(b64decode(self.packed, validate=True))
        if self.questions < 1 or not size or size % (2 * self.questions):
            raise ConfigurationError(f"{size} bytes are no vectors of {self.questions} questions")

    @classmethod
    def of(cls, vectors: Sequence[Any]) -> Bank:
        """The bank of these vectors, all of one length.

        Raises:
            ValueError: They are no numbers, or differ in length.
        """
        import numpy as np

        rows = np.asarray(vectors, dtype=np.float64)
        with np.errstate(all="ignore"):
            rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(rows).all():
            raise ValueError("a vector without a direction")
        return cls(b64encode(rows.astype("<f2").tobytes()).decode(), len(rows))

    @cached_property
    def columns(self) -> NDArray[np.float32]:
        """The vectors as columns, ``[dim, questions]``."""
        import numpy as np

        rows = np.frombuffer(b64decode(self.packed), dtype="<f2").reshape(self.questions, -1)
        return np.ascontiguousarray(rows.T, dtype=np.float32)

    def top(self, pool: Pool, left_out: Sequence[bool] | None = None) -> float | None:
        """The best corrected cosine of a pool; None where its vectors are missing or do not fit.

        Args:
            pool: With ``vectors``.
            left_out: Candidates that do not count.
        """
        if pool.vectors is None:
            return None
        import numpy as np

        cosines: Sequence[Any] = pool.cosines
        usable = [
            at
            for at, cosine in enumerate(cosines)
            if cosine is not None and isfinite(cosine) and not (left_out and left_out[at])
        ]
        if not usable:
            return None
        best = sorted(usable, key=cosines.__getitem__, reverse=True)[:CANDIDATES]
        try:
            rows = np.asarray([pool.vectors[at] for at in best], dtype=np.float32)
            near = rows @ self.columns
        except (TypeError, ValueError):
            return None
        near.partition(max(self.questions - NEAREST, 0), axis=1)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        with np.errstate(all="ignore"):  # a vector of length 0 has no direction
            hubness = near[:, -NEAREST:].sum(axis=1) / (lengths * min(NEAREST, self.questions))
        corrected = [
            float(cosines[at]) - WEIGHT * hub
            for at, hub in zip(best, hubness.tolist(), strict=True)
        ]
        return max(corrected) if all(map(isfinite, corrected)) else None


@dataclass(frozen=True, slots=True)
class HubCorrection:
    """The line that was fitted on corrected tops, beside the one on raw ones.

    Attributes:
        bank: What candidates are compared with.
        scale: Cut and step on the corrected top.
        line: Statistic to probability.
        free_form: A Venn-Abers predictor instead, with many labels.
    """

    bank: Bank
    scale: Scale
    line: Platt
    free_form: VennAbers | None = None

    def __post_init__(self) -> None:
        if not self.scale.usable:
            raise ConfigurationError(f"a step of {self.scale.step} is no scale")


@dataclass(frozen=True, slots=True)
class Corrected:
    """A calibration with the corrected top cosine of the pool at hand."""

    calibration: Calibration
    hub: HubCorrection
    top: float

    def apply(self, confidence: RecallConfidence, cosines: Sequence[float]) -> RecallConfidence:
        """The signal by the corrected line; a bound stays one on the raw top cosine."""
        hub, statistic = self.hub, self.hub.scale.of(self.top)
        probability = probability_at(statistic, hub.line, hub.free_form, self.calibration.prior)
        note = f", hub-corrected to {self.top:.2f}"
        return decide(self.calibration, confidence, cosines[0], probability, hub.scale.cut, note)


def pays(raw: Sequence[float], corrected: Sequence[float], labels: Sequence[bool]) -> bool:
    """Whether labelled queries are ranked better with the correction, beyond chance.

    General questions and pieces of stored texts cannot tell: the bank is made of such questions,
    so taking away the nearness to it parts them from pieces whether it helps real queries or not
    (measured: AUROC up by .03 on average there and down by .001 on real ones).

    The standard error is that of paired areas (DeLong et al., 1988).

    Args:
        raw: Top cosines.
        corrected: Corrected ones of the same queries.
        labels: Of both kinds, at least two each.
    """
    before, after = _placements(raw, labels), _placements(corrected, labels)
    gains = [
        [b - a for a, b in zip(first, second, strict=True)]
        for first, second in zip(before, after, strict=True)
    ]
    gain = fsum(gains[0]) / len(gains[0])
    return gain > PAYS * sqrt(fsum(_variance(part) / len(part) for part in gains)) and gain > 0.0


def _placements(tops: Sequence[float], labels: Sequence[bool]) -> tuple[list[float], list[float]]:
    """The share of the other class that each query stands on the right side of, by class."""
    high, low = (
        sorted(top for top, label in zip(tops, labels, strict=True) if label is kind)
        for kind in (True, False)
    )
    pairs = list(zip(tops, labels, strict=True))
    above = [_below(top, low) for top, label in pairs if label]
    return above, [1.0 - _below(top, high) for top, label in pairs if not label]


def _below(top: float, ranked: Sequence[float]) -> float:
    return (bisect_left(ranked, top) + bisect_right(ranked, top)) / (2 * len(ranked))


def _variance(values: Sequence[float]) -> float:
    mean = fsum(values) / len(values)
    return fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
