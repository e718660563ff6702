"""One line on two witnesses: the top cosine and the term coverage.

    u = top / step + weight * coverage          (in steps of the probes)
    logit P(something relevant) = intercept + per_cosine * top + per_coverage * coverage

Reference scores without labels are what three kinds of searches saw: general questions (probes),
pseudo-queries without their own document, and real queries. Every cut is a weighted mean of means
and quantiles of u, and u is a cosine divided by a length on the cosine axis plus a share. So
mapping all cosines of a system to `a + b * cosine` with b > 0 moves u and every cut by the same
amount and leaves every level as it is.

Constants were chosen on the dev splits of the detection benchmark. Gaps are the mean distance to
the best possible cut on the raw top cosine, far / near units, on dev, four encoders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

from recall_signal._statistics import quantile
from recall_signal._words import Front, best_coverage, is_witness
from recall_signal.calibration._probability import MAX_LOGITS, solve_logistic
from recall_signal.errors import ConfigurationError

__all__ = [
    "WitnessPair",
    "WordLine",
    "WordScale",
    "label_line",
    "null_word_scale",
    "past_cut",
    "traffic_cut",
]

FULL_WEIGHT, HALF_LENGTH = 3.0, 50.0
"""Steps that a full coverage is worth where texts are long, and the median length of the texts, in
characters, at which it is worth half of that: short, uniform utterances share few words with the
questions that they answer. Gaps with 2.0 to 4.0 differ by .003 / .006 without labels; without the
length intents (clinc150, near) lose .010 AUROC."""

TAIL, TAIL_SIZE, TAIL_GROWTH, LONGEST_TAIL = 0.06, 3000, 0.4, 0.25
"""The general questions that come closest to the corpus: the share of the probes whose mean is the
cut. Beyond so many texts the share grows with this power of the size, because a large corpus
answers some general questions. At 30,000 texts the gap is then .011 / .002 (use) and -.016 / -.013
(potion), with .06 .033 / -.007 and .029 / .001. Up to 3,000 texts .05 to .08 differ by
.002 / .009."""

PSEUDO_QUANTILE, PSEUDO_WEIGHT = 0.75, 0.1
"""Quantile of the pseudo-queries without their own document, and its weight in the cut beside the
tail: .006 / .010. A median has .007 / .018, a weight of .05 .007 / .015, .2 of the median
.010 / .019."""

FEWEST_OWN = 20
"""Probes in the corpus' own language from which those in others are left out."""

PAST_LOW, PAST_HIGH, PAST_SHARE, PAST_WEIGHT = 0.05, 0.95, 0.35, 0.65
"""Quantiles of real queries, where their own cut lies between them, and its weight beside the null
cut: .003 / -.013. Where a tenth of the queries is answerable .034 far, and .021 with a share of
.4, which has .005 / -.018 elsewhere."""

PAST_PROBES, PAST_PSEUDO = 0.9, 0.9
"""Real queries move the cut no further than between these quantiles, of probes and
pseudo-queries."""

TRAFFIC_DOWN, TRAFFIC_UP, TRAFFIC_SPREAD = 0.25, 0.3, 2.0
"""Traffic, which anybody can choose, moves the cut no further than so many spreads, and in
proportion where the traffic itself spreads over less than so many: a stream of 50 copied texts
and nothing else costs .060 of the present queries, one of 50 nonsense questions lets .042 of the
off-topic ones in, far units. Ordinary traffic has .004 / -.010."""

NULL_SLOPE, PAST_SLOPE = 2.1, 2.4
"""Logits per spread of u. Without any one encoder they are 2.0 to 2.3 and 2.4 to 2.6."""

LABEL_SLOPE = 2.0
LABEL_PULL = (4.0, 1.5, 1.5)
"""The line that labels are pulled to, in spreads (the moved cut, this slope, the null weight), and
how strongly: intercept, slope and weight of coverage. 50 labels: -.001 / -.039, and .044 far
where they come from mixed traffic; 12, 3, 3 has .001 / -.027 and .020, 2, 1, 1 has -.003 / -.043
and .054."""

STEEPEST_LABELS = 50.0
"""Logits per spread of u, with what coverage counts beyond u, that no labels come to: 11 with 1,000
whose words alone tell them apart, 29 with 20,000."""

SHORTEST_STEP = 1e-6
"""A shorter step is the rounding of cosines."""


@dataclass(frozen=True, slots=True)
class WitnessPair:
    """The figures of one search on both witnesses.

    Attributes:
        top: The top cosine.
        front: See `recall_signal._words.coverage_front`; empty where there was no text.
        foreign: True where the query is in another language than the corpus; None where that
            is not known.
    """

    top: float
    front: Front = ()
    foreign: bool | None = None

    def coverage(self, step: float) -> float:
        """Return the term coverage at a step, 0 where there is none."""
        return best_coverage(self.front, step) or 0.0

    def witness(self, step: float) -> bool:
        """Return True where words missing from the candidates say something of this query."""
        return bool(self.front) and is_witness(self.foreign, self.coverage(step))


@dataclass(frozen=True, slots=True)
class WordLine:
    """logit = intercept + per_cosine * top + per_coverage * coverage, at an even prior.

    Attributes:
        intercept: Any finite number.
        per_cosine: > 0.
        per_coverage: >= 0.

    Raises:
        ConfigurationError: A number is out of its range, or beyond 1e12.
    """

    intercept: float
    per_cosine: float
    per_coverage: float

    def __post_init__(self) -> None:
        rises = 0.0 < self.per_cosine <= MAX_LOGITS and 0.0 <= self.per_coverage <= MAX_LOGITS
        if not (rises and abs(self.intercept) <= MAX_LOGITS):
            raise ConfigurationError(
                "a line on two witnesses must be finite and rise with the cosine, and must not "
                f"fall with the coverage, got {self.intercept}, {self.per_cosine} and "
                f"{self.per_coverage}"
            )

    def logit(self, top: float, coverage: float) -> float:
        """Return the log-odds that something relevant was found."""
        return self.intercept + self.per_cosine * top + self.per_coverage * coverage

    def cut_at(self, coverage: float, shift: float) -> float:
        """Return the top cosine with probability 1/2.

        Args:
            coverage: 0 to 1.
            shift: Added to every logit, for a prior other than 1/2.
        """
        return -(self.intercept + shift + self.per_coverage * coverage) / self.per_cosine


@dataclass(frozen=True, slots=True)
class WordScale:
    """The scale of u without labels, and how far real queries may move its cut.

    Attributes:
        step: Length on the cosine axis, from an ordinary probe to the closest ones; > 0.
        weight: Steps that a full coverage is worth, 0 to 3.
        cut: The u at which relevant and irrelevant are equally likely.
        spread: From an ordinary probe's u to the cut; > 0.
        low: The lowest u that real queries may move the cut to.
        high: The highest.

    Raises:
        ConfigurationError: A value is out of its range.
    """

    step: float
    weight: float
    cut: float
    spread: float
    low: float
    high: float

    def __post_init__(self) -> None:
        long_enough = min(self.step, self.spread) >= SHORTEST_STEP
        weighs = 0.0 <= self.weight <= FULL_WEIGHT
        if not (long_enough and weighs and self.low <= self.cut <= self.high):
            raise ConfigurationError(
                "a scale on two witnesses needs a step and a spread of at least 1e-06, a weight "
                f"from 0 to {FULL_WEIGHT:g}, and a cut between its bounds"
            )

    def u(self, top: float, coverage: float) -> float:
        """Return the statistic of a query."""
        return top / self.step + self.weight * coverage

    def of(self, seen: WitnessPair) -> float:
        """Return the statistic of a search."""
        return self.u(seen.top, seen.coverage(self.step))

    def line(self, cut: float, slope: float) -> WordLine:
        """Return the line through a cut, with so many logits per spread."""
        per_step = slope / self.spread
        return WordLine(-per_step * cut, per_step / self.step, per_step * self.weight)

    def most_per_coverage(self, *, labelled: bool) -> float:
        """Return the most logits that a fit lets a full coverage count."""
        slope = STEEPEST_LABELS if labelled else max(NULL_SLOPE, PAST_SLOPE)
        return slope / self.spread * self.weight  # as in `line`, to the last bit


def null_word_scale(
    probes: Sequence[WitnessPair],
    pseudo_query: Sequence[WitnessPair],
    length: float,
    size: int | None,
) -> WordScale | None:
    """Make the scale of a fit without labels; None where the reference scores make none.

    Args:
        probes: General questions that fit the corpus' writing systems, at least two.
        pseudo_query: Pseudo-queries, without their own document; may be empty.
        length: Median length of the texts, in characters.
        size: Texts in the corpus, known or estimated; None counts as few.
    """
    tops = [seen.top for seen in probes]
    step = _tail(tops, TAIL) - quantile(tops, 0.5)
    if not step >= SHORTEST_STEP or not any(seen.front for seen in probes):
        return None
    weight = FULL_WEIGHT * length / (length + HALF_LENGTH)
    own = [seen for seen in probes if seen.witness(step)]
    far = _statistics(own if len(own) >= FEWEST_OWN else probes, step, weight)
    near = _statistics(pseudo_query, step, weight)
    cut = _tail(far, _tail_share(size))
    if near:
        cut += PSEUDO_WEIGHT * (quantile(near, PSEUDO_QUANTILE) - cut)
    spread = cut - quantile(far, 0.5)
    if not spread >= SHORTEST_STEP:
        return None
    low = min(cut, quantile(far, PAST_PROBES))
    high = max(cut, quantile(near, PAST_PSEUDO)) if near else cut + spread
    return WordScale(step, weight, cut, spread, low, high)


def past_cut(null: WordScale, queries: Sequence[float]) -> float:
    """Return the cut moved towards the one that past queries show by themselves.

    Args:
        null: The scale without them.
        queries: u of real queries without labels, at least ten.
    """
    cut = null.cut + PAST_WEIGHT * (_own_cut(queries) - null.cut)
    return min(max(cut, null.low), null.high)


def traffic_cut(null: WordScale, queries: Sequence[float]) -> float:
    """Return the cut moved by a window of traffic, within bounds that no stream can pass.

    Args:
        null: The scale without it.
        queries: u of the window, at least thirty.
    """
    width = quantile(queries, PAST_HIGH) - quantile(queries, PAST_LOW)
    weight = PAST_WEIGHT * min(1.0, width / (TRAFFIC_SPREAD * null.spread))
    cut = null.cut + weight * (_own_cut(queries) - null.cut)
    lowest = max(null.low, null.cut - TRAFFIC_DOWN * null.spread)
    highest = min(null.high, null.cut + TRAFFIC_UP * null.spread)
    return min(max(cut, lowest), highest)


def label_line(null: WordScale, labelled: Sequence[tuple[WitnessPair, bool]]) -> WordLine | None:
    """Fit a logistic line on both witnesses, both classes weighing the same.

    A ridge towards the cut that the queries show without their labels, an ordinary slope and the
    null weight of coverage keeps it finite where the classes separate, and sane with ten labels.

    Args:
        null: The scale without labels.
        labelled: Labelled queries of both kinds, those whose words are a witness.

    Returns:
        None where the labels run against the statistic.
    """
    answers = [label for _, label in labelled]
    u = _statistics([seen for seen, _ in labelled], null.step, null.weight)
    covered = [seen.coverage(null.step) for seen, _ in labelled]
    centre, mean = past_cut(null, u), sum(covered) / len(covered)
    t = [(value - centre) / null.spread for value in u]
    extra = [(value - mean) * null.weight / null.spread for value in covered]
    a, b, c = _pulled(t, extra, answers)
    if b <= 0.0 or b + c < 0.0:  # coverage counts b + c in all; words alone must not decide
        a, b, c = _pulled(t, [0.0] * len(t), answers)
    if b <= 0.0:
        return None
    per_coverage = (b + c) * null.weight / null.spread
    intercept = a - b * centre / null.spread - c * mean * null.weight / null.spread
    return WordLine(intercept, b / (null.spread * null.step), max(per_coverage, 0.0))


def _pulled(
    t: Sequence[float], extra: Sequence[float], answers: Sequence[bool]
) -> tuple[float, float, float]:
    """Return intercept, slope of u, and the weight of coverage beyond u, pulled to the goal."""
    design = [(1.0, one, other) for one, other in zip(t, extra, strict=True)]
    goal = (0.0, LABEL_SLOPE, 0.0)
    intercept, slope, more = solve_logistic(
        design, answers, weight=len(answers), pull=LABEL_PULL, goal=goal
    )
    return intercept, slope, more


def _tail_share(size: int | None) -> float:
    """Return the share of the probes whose mean u is the cut, in a corpus of so many texts."""
    growth = exp(TAIL_GROWTH * log(max(1.0, (size or 0) / TAIL_SIZE)))
    return min(LONGEST_TAIL, TAIL * growth)


def _own_cut(queries: Sequence[float]) -> float:
    low, high = quantile(queries, PAST_LOW), quantile(queries, PAST_HIGH)
    return low + PAST_SHARE * (high - low)


def _statistics(seen: Sequence[WitnessPair], step: float, weight: float) -> list[float]:
    return [one.top / step + weight * one.coverage(step) for one in seen]


def _tail(values: Sequence[float], share: float) -> float:
    """Return the mean of the highest values: this share of them, at least two."""
    count = max(2, round(share * len(values)))
    highest = sorted(values)[-count:]
    return sum(highest) / len(highest)
