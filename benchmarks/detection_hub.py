"""What the hub correction does for real queries, and what ``auto`` decides, on every unit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from detection_units import Draw, Unit

from recall_signal.assess import assess
from recall_signal.calibration import Calibration
from recall_signal.evaluation import metrics
from recall_signal.evaluation.data import Query
from recall_signal.evaluation.metrics import Floats
from recall_signal.evaluation.search import Retriever

__all__ = ["Hub", "hub_of"]

DRAWS = 3
"""Draws of labelled queries for each unit, of the ten that are reported elsewhere."""


@dataclass(frozen=True)
class Hub:
    """The correction on one unit.

    Attributes:
        unit: Encoder, set and kind.
        encoder: Name.
        family: Far, near or hard.
        forced: Whether a fit without labels could make a corrected line.
        auroc: Of the raw top cosine.
        corrected: AUROC of the corrected one, of the raw one where there is no line.
        null: Balanced accuracy of mode null.
        null_corrected: The same with the correction forced.
        auto: Share of draws of 50 labels that ``auto`` used it on.
        labelled: Balanced accuracy of mode labelled, mean over these draws.
        labelled_auto: The same with ``auto``.
    """

    unit: str
    encoder: str
    family: str
    forced: bool
    auroc: float
    corrected: float
    null: float
    null_corrected: float
    auto: float
    labelled: float
    labelled_auto: float


def hub_of(units: Iterable[Unit]) -> list[Hub]:
    """Every unit of one source."""
    units = list(units)
    source = units[0].source
    search = source.retriever.with_vectors()
    documents = [(document.id, document.text) for document in source.data.corpus]
    forced = Calibration.fit(search, documents=documents, hub_correction=True)
    rows = []
    for unit in units:
        draw = unit.draws[0]
        plain, tops, found = _judged(unit, draw, search, forced)
        autos = [_auto(unit, draw, search, documents) for draw in unit.draws[:DRAWS]]
        used, without, with_auto = (fmean(column) for column in zip(*autos, strict=True))
        rows.append(
            Hub(
                unit=unit.name,
                encoder=source.encoder,
                family=unit.family,
                forced=forced.hub is not None,
                auroc=metrics.auroc(unit.tops(draw), draw.present),
                corrected=metrics.auroc(tops, draw.present),
                null=plain,
                null_corrected=metrics.balanced_accuracy(found, draw.present),
                auto=used,
                labelled=without,
                labelled_auto=with_auto,
            )
        )
    return rows


def _auto(
    unit: Unit, draw: Draw, search: Retriever, documents: list[tuple[str, str]]
) -> tuple[float, float, float]:
    """Whether ``auto`` uses it, and the balanced accuracy without and with that."""
    labelled = [(query.text, query.present) for query in draw.sample]
    fitted = Calibration.fit(search, documents=documents, labelled=labelled, hub_correction="auto")
    plain, _, found = _judged(unit, draw, search, fitted)
    used = fitted.hub is not None
    return used, plain, metrics.balanced_accuracy(found, draw.present) if used else plain


def _judged(
    unit: Unit, draw: Draw, search: Retriever, fitted: Calibration
) -> tuple[float, Floats, metrics.Bools]:
    """Balanced accuracy on bare cosines; corrected tops and what is found on whole pools."""
    queries: list[Query] = [unit.source.data.queries[row] for row in draw.rows]
    bare, found, tops = [], [], []
    for query in queries:
        pool = search(query.text)
        bare.append(_is_found(assess(pool.cosines, calibration=fitted).level))
        found.append(_is_found(assess(pool, calibration=fitted).level))
        top = None if fitted.hub is None else fitted.hub.bank.top(pool)
        tops.append(unit.source.top_of(query) if top is None else top)
    accuracy = metrics.balanced_accuracy(np.array(bare), draw.present)
    return accuracy, np.array(tops), np.array(found)


def _is_found(level: str) -> bool:
    return level in ("moderate", "high")
