"""``Evaluation``: scores and levels of every query, from which every figure can be cut again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_signal.calibration.labels import logit, sigmoid
from recall_signal.calibration.levels import DEFAULT_CUTS, check_prior, level_of
from recall_signal.confidence import LEVELS
from recall_signal.errors import InvalidInputError
from recall_signal.evaluation import metrics
from recall_signal.evaluation.data import PRESENT, Split
from recall_signal.evaluation.metrics import Bools, Floats

__all__ = ["Evaluation", "Figures", "Latency", "Method", "figures_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """One way to tell, and what it made of Q queries.

    Attributes:
        name: As it is shown.
        scores: ``[Q]``, higher where something relevant is more likely; NaN for none.
        found: ``[Q]``, the decision at the shipped default; None where there is no default.
        probabilities: ``[Q]``; None for a method that gives none.
        levels: ``[Q]``; None for a method that gives none.
        notes: What is to be said of the fit.
    """

    name: str
    scores: Floats
    found: Bools | None = None
    probabilities: Floats | None = None
    levels: NDArray[np.str_] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of merit of one method on present queries and absent ones of one kind.

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
        found_present: Share of present queries found at the shipped default.
        found_absent: Share of absent queries found at the shipped default.
        brier: Mean squared error of the probability.
        ece: Expected calibration error.
        augrc: Mean risk of a silent failure, the probability's distance from 1/2 as confidence.
        aurc: Mean risk over coverage, likewise.
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
    aurc: float | None = None


@dataclass(frozen=True, slots=True)
class Latency:
    """What one query costs beside its search, in microseconds; the fit in seconds.

    Attributes:
        assess: Uncalibrated.
        calibrated: With the calibration of mode ``null+past``.
        fit: Seconds of that fit beside its searches.
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
        ids: ``[Q]``, the reported queries.
        kinds: ``[Q]``, ``present`` or in which way nothing is stored.
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
        """``[Q]``, whether something relevant is stored."""
        return np.asarray(self.kinds == PRESENT)

    @property
    def absent_kinds(self) -> tuple[str, ...]:
        """The kinds of absent queries, sorted."""
        return tuple(sorted({str(kind) for kind in self.kinds} - {PRESENT}))

    def of_kind(self, kind: str) -> Evaluation:
        """Only the present queries and the absent ones of this kind.

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
            methods=tuple(_cut(method, kept) for method in self.methods),
        )

    def recut(
        self, cuts: tuple[float, float, float] = DEFAULT_CUTS, *, prior: float = 0.5
    ) -> Evaluation:
        """Levels and decisions at other cuts or another prior, from the stored probabilities.

        Methods without probabilities stay as they are, as do queries without one.

        Args:
            cuts: Probabilities from which a level is low, moderate and high.
            prior: Expected share of answerable queries.
        """
        check_prior(prior)
        shift = logit(prior) - logit(self.prior)
        methods = tuple(_recut(method, cuts, shift) for method in self.methods)
        return replace(self, methods=methods, prior=prior)

    def figures(self, *, draws: int = metrics.DRAWS) -> tuple[Figures, ...]:
        """One row for each method, over all kinds of absent queries; see :meth:`of_kind`."""
        return tuple(figures_of(m, self.present, draws, self.seed) for m in self.methods)

    def level_table(self, name: str) -> dict[str, dict[str, float]]:
        """Share of each level by kind of query, for the method of this name.

        Raises:
            InvalidInputError: There is no such method, or it gives no levels.
        """
        for method in self.methods:
            if method.name == name and method.levels is not None:
                shares = metrics.level_shares(method.levels, self.kinds)
                return {
                    kind: {level: row[level] for level in LEVELS if level in row}
                    for kind, row in sorted(shares.items(), key=lambda pair: pair[0] != PRESENT)
                }
        raise InvalidInputError(f"no method named {name!r} gives levels")

    def to_dict(self, *, draws: int = metrics.DRAWS) -> dict[str, Any]:
        """Everything as plain JSON values, the format's version under ``v``; no texts."""
        return {
            "v": 1,
            "encoder": self.encoder,
            "documents": self.documents,
            "pool_size": self.pool_size,
            "split": self.split,
            "sample": self.sample,
            "seed": self.seed,
            "prior": self.prior,
            "latency": None if self.latency is None else asdict(self.latency),
            "figures": {
                kind: [asdict(row) for row in self.of_kind(kind).figures(draws=draws)]
                for kind in self.absent_kinds
            },
            "levels": {m.name: self.level_table(m.name) for m in self.methods if _has_levels(m)},
            "queries": {"id": list(self.ids), "kind": self.kinds.tolist()},
            "methods": [_method_dict(method) for method in self.methods],
        }


def figures_of(method: Method, present: Bools, draws: int, seed: int) -> Figures:
    """All figures of one method."""
    scores, weights = method.scores, metrics.balanced_weights(present)
    low, high = metrics.auroc_interval(scores, present, draws=draws, seed=seed)
    figures = Figures(
        method=method.name,
        auroc=metrics.auroc(scores, present),
        auroc_low=low,
        auroc_high=high,
        fpr95=metrics.fpr_at_tpr(scores, present),
        oracle=metrics.oracle(scores, present)[0],
    )
    if method.found is not None:
        figures = replace(
            figures,
            balanced_accuracy=metrics.balanced_accuracy(method.found, present),
            found_present=float(method.found[present].mean()),
            found_absent=float(method.found[~present].mean()),
        )
    p = method.probabilities
    if method.found is None or p is None or not np.isfinite(p).all():
        return figures
    curve = metrics.risk_coverage(np.abs(p - 0.5), method.found == present)
    return replace(
        figures,
        brier=metrics.brier(p, present, weights),
        ece=metrics.ece(p, present, weights=weights),
        augrc=curve.augrc,
        aurc=curve.aurc,
    )


def _has_levels(method: Method) -> bool:
    return method.levels is not None


def _cut(method: Method, kept: Bools) -> Method:
    def cut(column: Any) -> Any:
        return None if column is None else column[kept]

    return replace(
        method,
        scores=cut(method.scores),
        found=cut(method.found),
        probabilities=cut(method.probabilities),
        levels=cut(method.levels),
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
        found=np.isin(levels, ("moderate", "high")),
        probabilities=np.array(shifted),
        levels=np.array(levels),
    )


def _method_dict(method: Method) -> dict[str, Any]:
    return {
        "name": method.name,
        "scores": _column(method.scores),
        "found": None if method.found is None else method.found.tolist(),
        "probabilities": None if method.probabilities is None else _column(method.probabilities),
        "levels": None if method.levels is None else method.levels.tolist(),
        "notes": list(method.notes),
    }


def _column(values: Sequence[float] | Floats) -> list[float | None]:
    return [round(float(v), 6) if isfinite(v) else None for v in values]
