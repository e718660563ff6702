"""The scale of one retriever: where on the top cosine relevance begins, and in what unit.

A scale is made of three kinds of top cosines: those of general questions ("probes"), those of
pseudo-queries cut from stored texts with their own document left out, and those of past queries.
Every formula is a weighted mean of quantiles, so mapping all cosines of a system to
`a + b * cosine` with b > 0 maps the scale likewise and leaves every level as it is.

The weights and quantiles were chosen on the dev splits of the detection benchmark, and the
slopes fitted there; docs/detection.md has the table and the method. Gaps below are the mean
distance to the best possible cut, far / near units, on dev.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recall_signal._statistics import quantile, quantile_of_sorted

__all__ = [
    "Scale",
    "label_scale",
    "null_scale",
    "past_scale",
    "stream_scale",
    "stream_scale_of_sorted",
]

PROBE_TAIL = 0.975
"""Quantile of the probe tops: the general questions that come closest to the corpus."""

PSEUDO_FLOOR, PSEUDO_WEIGHT = 0.1, 0.25
"""Quantile of the pseudo-query tops, and their weight in the cut beside the probes' tail.
Gap of mode null .035 / .055. A lower tail trades near units for far ones (.95 with .25, .25:
.033 / .063), a higher one the other way round (1.0: .053 / .043). Chosen again without the encoder
and the family of sets that it is measured on: .044 / .050."""

PAST_WEIGHT = 0.5
"""Weight of the past queries' own cut beside the null cut: gap .027 / .040. A weight of .65 has
.026 / .036, but where only a tenth of the past queries was answerable .101 against .058, far."""

STREAM_LOW, STREAM_HIGH, STREAM_SHARE = 0.05, 0.9, 0.4
"""Quantiles of a stream of real queries, and where the cut lies between them: gap .027 / .035,
against .030 / .035 with .05, .75, .5. Where a fifth of the queries is answerable, .076 against
.220, far."""

NULL_SLOPE, PAST_SLOPE, STREAM_SLOPE = 1.9, 2.2, 2.7
"""Logits per unit of the scale, of a logistic line through the cut. Without any one encoder they
are 1.9 to 2.0, 2.1 to 2.3 and 2.6 to 2.9."""

SHORTEST_UNIT = 1e-6
"""A shorter unit is the rounding of cosines (single precision has 6e-8), and no scale."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear scale on the top cosine.

    Attributes:
        cut: The top cosine at which relevant and irrelevant are equally likely.
        unit: A length on the cosine axis: from an ordinary general question to the cut.
    """

    cut: float
    unit: float

    @property
    def usable(self) -> bool:
        """True where the unit is long enough to separate anything."""
        return self.unit >= SHORTEST_UNIT

    def standardize(self, top: float) -> float:
        """Return how many units a top cosine lies above the cut."""
        return (top - self.cut) / self.unit


def null_scale(probes: Sequence[float], pseudo_query: Sequence[float]) -> Scale:
    """Make the scale from the tops of probes and pseudo-queries, or of probes alone."""
    cut = quantile(probes, PROBE_TAIL)
    if pseudo_query:
        cut = _between(cut, quantile(pseudo_query, PSEUDO_FLOOR), PSEUDO_WEIGHT)
    return Scale(cut, cut - quantile(probes, 0.5))


def past_scale(null: Scale, past: Sequence[float]) -> Scale:
    """Move the null scale towards the cut that real queries show by themselves."""
    cut = _between(null.cut, stream_scale(past).cut, PAST_WEIGHT)
    return Scale(cut, null.unit + cut - null.cut)


def label_scale(answerable: Sequence[float], others: Sequence[float]) -> Scale:
    """Make a scale from labelled queries alone, for where the reference scores make none."""
    low, high = quantile(others, 0.5), quantile(answerable, 0.5)
    cut = _between(low, high, 0.5)
    return Scale(cut, cut - low)


def stream_scale(tops: Sequence[float]) -> Scale:
    """Make the scale from a stream of real queries alone."""
    return stream_scale_of_sorted(sorted(tops))


def stream_scale_of_sorted(ranked: Sequence[float]) -> Scale:
    """Make `stream_scale` of tops that ascend already."""
    low, high = quantile_of_sorted(ranked, STREAM_LOW), quantile_of_sorted(ranked, STREAM_HIGH)
    cut = _between(low, high, STREAM_SHARE)
    return Scale(cut, cut - low)


def _between(a: float, b: float, weight: float) -> float:
    return a + weight * (b - a)
