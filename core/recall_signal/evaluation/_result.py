"""`Evaluation`: scores and levels of every query, from which every figure is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from recall_signal._numbers import require_share
from recall_signal.calibration._levels import DEFAULT_CUTS, level_of
from recall_signal.calibration._probability import logit, sigmoid
from recall_signal.confidence import LEVELS
from recall_signal.errors import InvalidInputError
from recall_signal.evaluation import _metrics as figures
from recall_signal.evaluation._data import PRESENT, Split
from recall_signal.evaluation._metrics import Bools, Floats

__all__ = ["MODES", "Evaluation", "Latency", "Method", "Metrics", "Mode", "metrics_of"]

Mode: TypeAlias = Literal["uncalibrated", "null", "null+past", "auto", "stream", "labelled"]
MODES: tuple[Mode, ...] = get_args(Mode)
"""The product's own methods, from the one that learns nothing to the one that uses labels."""


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """One way to decide, and its results on Q queries.

    Attributes:
        name: As it is shown.
        scores: `[Q]`, higher where something relevant is more likely; NaN for none.
        predicted_present: `[Q]`, the decision at the shipped default; None without one.
        probabilities: `[Q]`; None for a method that gives none.
        levels: `[Q]`; None for a method that gives none.
        notes: Remarks on the fit.
    """

    name: str
    scores: Floats
    predicted_present: Bools | None = None
    probabilities: Floats | None = None
    levels: NDArray[np.str_] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Metrics:
    """Figures of merit of one method on present queries and absent ones of one kind.

    None where a method has no default (balanced accuracy and what rests on it) or no
    probability (Brier, ECE). Brier and ECE weigh both classes the same, as a prior of 1/2 does.

    Attributes:
        method: Its name.
        auroc: In [0, 1], 0.5 is chance.
        auroc_low: Lower end of the 95 % bootstrap interval.
        auroc_high: Its upper end.
        fpr95: Share of absent queries above the threshold that keeps 95 % of the present ones.
        oracle: Best balanced accuracy of any threshold, chosen with these labels.
        balanced_accuracy: At the shipped default.
        found_present: Share of present queries predicted present at the shipped default.
        found_absent: Share of absent queries predicted present at the shipped default.
        brier: Mean squared error of the probability.
        ece: Expected calibration error.
        augrc: Mean risk of a silent failure, the probability's distance from 1/2 as confidence.
    """

    method: str
    auroc: float
    auroc_low: float
    auroc_high: float
    fpr95: float
    oracle: float
    balanced_accuracy: float | None = None
    found_present: float | None = None
    found_absent: float | None = None
    brier: float | None = None
    ece: float | None = None
    augrc: float | None = None


@dataclass(frozen=True, slots=True)
class Latency:
    """Cost of one query without its search, in microseconds, and of a fit in seconds.

    Attributes:
        assess: Uncalibrated.
        calibrated: With the calibration of mode `null+past`.
        fit: Seconds of that fit without its searches.
    """

    assess: float
    calibrated: float
    fit: float


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Every method on every reported query of one corpus and one encoder.

    Attributes:
        encoder: Its name.
        documents: Number of documents.
        pool_size: Candidates a pool.
        split: The split that is reported.
        sample: Queries of the other split that calibrations were fitted on.
        seed: Of every draw.
        ids: `[Q]`, the reported queries.
        kinds: `[Q]`, `present` or in which way nothing is stored.
        methods: Baselines first, then the product's modes.
        latency: What a query costs; None where it was not measured.
        prior: Expected share of answerable queries behind probabilities and levels.
    """

    encoder: str
    documents: int
    pool_size: int
    split: Split
    sample: int
    seed: int
    ids: tuple[str, ...]
    kinds: NDArray[np.str_]
    methods: tuple[Method, ...]
    latency: Latency | None = None
    prior: float = 0.5

    @property
    def present(self) -> Bools:
        """`[Q]`, true where something relevant is stored."""
        return np.asarray(self.kinds == PRESENT)

    @property
    def absent_kinds(self) -> tuple[str, ...]:
        """The kinds of absent queries, sorted."""
        return tuple(sorted({str(kind) for kind in self.kinds} - {PRESENT}))

    def of_kind(self, kind: str) -> Evaluation:
        """Return only the present queries and the absent ones of this kind.

        Raises:
            InvalidInputError: No query is of this kind.
        """
        if kind not in self.absent_kinds:
            raise InvalidInputError(
                f"no absent query is of this kind; there are {', '.join(self.absent_kinds)}"
            )
        kept = self.present | (self.kinds == kind)
        return replace(
            self,
            ids=tuple(id_ for id_, keep in zip(self.ids, kept, strict=True) if keep),
            kinds=self.kinds[kept],
            methods=tuple(_rows(method, kept) for method in self.methods),
        )

    def recut(
        self, cuts: tuple[float, float, float] = DEFAULT_CUTS, *, prior: float = 0.5
    ) -> Evaluation:
        """Return levels and decisions at other cuts or another prior, from the probabilities.

        Methods without probabilities stay as they are, as do queries without one.

        Args:
            cuts: Probabilities from which a level is low, moderate and high.
            prior: Expected share of answerable queries.
        """
        shift = logit(require_share("prior", prior)) - logit(self.prior)
        methods = tuple(_recut(method, cuts, shift) for method in self.methods)
        return replace(self, methods=methods, prior=prior)

    def metrics(self, *, draws: int = figures.DRAWS) -> tuple[Metrics, ...]:
        """Return one row for each method, over all kinds of absent queries; see `of_kind`."""
        return tuple(metrics_of(m, self.present, draws, self.seed) for m in self.methods)

    def level_table(self, name: str) -> dict[str, dict[str, float]]:
        """Return the share of each level by kind of query, for the method of this name.

        Raises:
            InvalidInputError: There is no such method, or it gives no levels.
        """
        for method in self.methods:
            if method.name == name and method.levels is not None:
                shares = figures.level_shares(method.levels, self.kinds)
                return {
                    kind: {level: row[level] for level in LEVELS if level in row}
                    for kind, row in sorted(shares.items(), key=lambda pair: pair[0] != PRESENT)
                }
        raise InvalidInputError(f"no method named {name!r} gives levels")

    def to_dict(self, *, draws: int = figures.DRAWS) -> dict[str, object]:
        """Return everything as plain JSON values, the format's version under `v`; no texts."""
        return {
            "v": 2,
            "encoder": self.encoder,
            "documents": self.documents,
            "pool_size": self.pool_size,
            "split": self.split,
            "sample": self.sample,
            "seed": self.seed,
            "prior": self.prior,
            "latency": None if self.latency is None else asdict(self.latency),
            "metrics": {
                kind: [asdict(row) for row in self.of_kind(kind).metrics(draws=draws)]
                for kind in self.absent_kinds
            },
            "levels": {m.name: self.level_table(m.name) for m in self.methods if _has_levels(m)},
            "queries": {"id": list(self.ids), "kind": self.kinds.tolist()},
            "methods": [_method_dict(method) for method in self.methods],
        }


def metrics_of(method: Method, present: Bools, draws: int, seed: int) -> Metrics:
    """Return all figures of merit of one method."""
    scores, weights = method.scores, figures.balanced_weights(present)
    low, high = figures.auroc_interval(scores, present, draws=draws, seed=seed)
    result = Metrics(
        method=method.name,
        auroc=figures.auroc(scores, present),
        auroc_low=low,
        auroc_high=high,
        fpr95=figures.fpr_at_tpr(scores, present),
        oracle=figures.oracle(scores, present)[0],
    )
    if method.predicted_present is not None:
        result = replace(
            result,
            balanced_accuracy=figures.balanced_accuracy(method.predicted_present, present),
            found_present=float(method.predicted_present[present].mean()),
            found_absent=float(method.predicted_present[~present].mean()),
        )
    p = method.probabilities
    if method.predicted_present is None or p is None or not np.isfinite(p).all():
        return result
    curve = figures.risk_coverage(np.abs(p - 0.5), method.predicted_present == present)
    return replace(
        result,
        brier=figures.brier(p, present, weights),
        ece=figures.ece(p, present, weights=weights),
        augrc=curve.augrc,
    )


def _has_levels(method: Method) -> bool:
    return method.levels is not None


def _rows(method: Method, kept: Bools) -> Method:
    predicted, probabilities, levels = (
        method.predicted_present,
        method.probabilities,
        method.levels,
    )
    return replace(
        method,
        scores=method.scores[kept],
        predicted_present=None if predicted is None else predicted[kept],
        probabilities=None if probabilities is None else probabilities[kept],
        levels=None if levels is None else levels[kept],
    )


def _recut(method: Method, cuts: tuple[float, float, float], shift: float) -> Method:
    if method.probabilities is None or method.levels is None:
        return method
    given = method.probabilities.tolist()
    shifted = [sigmoid(logit(p) + shift) for p in given] if shift else given
    levels = [
        level_of(p, cuts) if isfinite(p) else level
        for p, level in zip(shifted, method.levels.tolist(), strict=True)
    ]
    return replace(
        method,
        predicted_present=np.isin(levels, ("moderate", "high")),
        probabilities=np.array(shifted),
        levels=np.array(levels),
    )


def _method_dict(method: Method) -> dict[str, object]:
    predicted = method.predicted_present
    return {
        "name": method.name,
        "scores": _column(method.scores),
        "predicted_present": None if predicted is None else predicted.tolist(),
        "probabilities": None if method.probabilities is None else _column(method.probabilities),
        "levels": None if method.levels is None else method.levels.tolist(),
        "notes": list(method.notes),
    }


def _column(values: Sequence[float] | Floats) -> list[float | None]:
    return [round(float(v), 6) if isfinite(v) else None for v in values]
