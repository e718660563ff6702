"""Are the constants of the scale fitted to these encoders and sets, or do they hold on others?

Every constant of :mod:`recall_signal.calibration.scale` is chosen anew on the dev units of all
other encoders and of all other families of sets, and then used on the one that was left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from statistics import fmean
from unittest.mock import patch

import numpy as np
from detection_checks import anchors_of
from detection_units import Draw, Unit, draws_of
from numpy.typing import NDArray

from recall_signal.calibration import fit, scale
from recall_signal.calibration.anchors import Anchors
from recall_signal.evaluation import metrics
from recall_signal.evaluation.metrics import Bools, Floats
from recall_signal.evaluation.modes import judge

__all__ = ["Transfer", "best_fixed_cut", "transfer"]

Setting = dict[str, float]

GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "null": {
        "PROBE_TAIL": (0.9, 0.95, 0.975, 1.0),
        "PSEUDO_FLOOR": (0.1, 0.25, 0.5),
        "PSEUDO_WEIGHT": (0.0, 0.15, 0.25, 0.5),
    },
    "null+past": {"PAST_WEIGHT": (0.2, 0.35, 0.5, 0.65, 0.8)},
    "stream": {
        "STREAM_LOW": (0.05, 0.1, 0.2),
        "STREAM_HIGH": (0.75, 0.9),
        "STREAM_SHARE": (0.4, 0.5, 0.6),
    },
}
"""What each constant may be; the shipped value is always among them. Mode null+past chooses its
own weight and takes the rest as it is shipped."""

DRAWS = 3
"""Draws of past queries for each unit, of the ten that are reported elsewhere."""


@dataclass(frozen=True)
class Transfer:
    """What choosing the constants without an encoder and a family of sets costs there.

    Attributes:
        mode: Whose constants.
        shipped: Mean gap to the oracle with the shipped constants, by family.
        left_out: The same with the ones chosen elsewhere.
        chosen: How often each setting was chosen.
    """

    mode: str
    shipped: dict[str, float]
    left_out: dict[str, float]
    chosen: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Table:
    """Gaps of one unit, ``[settings]``: on dev for choosing, and as reported."""

    unit: Unit
    dev: Floats
    reported: Floats


def transfer(units: Sequence[Unit]) -> list[Transfer]:
    """The comparison for each mode, over far and near units."""
    units = [unit for unit in units if unit.family != "hard"]
    anchors = _anchors(units)
    results = []
    for mode in GRIDS:
        settings = list(_settings(mode))
        tables = [table for unit in units if (table := _table(unit, mode, settings, anchors))]
        if tables:
            results.append(_leave_out(mode, settings, tables))
    return results


def best_fixed_cut(units: Sequence[Unit]) -> tuple[float, dict[str, float]]:
    """The one cosine cut with the smallest mean gap on all dev units, and its gap as reported."""
    cuts = np.arange(0.0, 1.0, 0.01)
    tables = []
    for unit in units:
        draws = draws_of(unit.source, unit.kind, "dev")
        if unit.family != "hard" and draws:
            dev = _gaps_of_cuts(unit, draws[:DRAWS], cuts)
            tables.append(_Table(unit, dev, _gaps_of_cuts(unit, unit.draws[:DRAWS], cuts)))
    at = int(np.argmin(_balanced_mean(tables)))
    return float(cuts[at]), _by_family(
        [(table.unit, float(table.reported[at])) for table in tables]
    )


def _settings(mode: str) -> Iterator[Setting]:
    """The shipped setting first, then the grid."""
    grid = GRIDS[mode]
    shipped = {name: float(getattr(scale, name)) for name in grid}
    yield shipped
    for values in product(*grid.values()):
        setting = dict(zip(grid, values, strict=True))
        if setting != shipped:
            yield setting


def _anchors(units: Sequence[Unit]) -> dict[int, Anchors]:
    """By source, the anchors of its fit."""
    found: dict[int, Anchors] = {}
    for unit in units:
        key = id(unit.source)
        if key not in found:
            found[key] = anchors_of(unit.source, fit.PSEUDO_QUERIES)[0]
    return found


def _table(
    unit: Unit, mode: str, settings: list[Setting], anchors: dict[int, Anchors]
) -> _Table | None:
    dev = draws_of(unit.source, unit.kind, "dev")[:DRAWS]
    if not dev:
        return None
    source_anchors = anchors[id(unit.source)]
    dev_gaps, gaps = (
        np.mean([_gaps(unit, draw, mode, settings, source_anchors) for draw in draws], axis=0)
        for draws in (dev, unit.draws[:DRAWS])
    )
    return _Table(unit, dev_gaps, gaps)


def _gaps(
    unit: Unit, draw: Draw, mode: str, settings: list[Setting], anchors: Anchors
) -> NDArray[np.float64]:
    """The gap of one draw at every setting, ``[settings]``."""
    tops = unit.tops(draw)
    oracle = metrics.oracle(tops, draw.present)[0]
    if mode != "stream" and unit.source.null_status != "ok":  # the level is uncalibrated anyway
        answers = judge(unit.source.retriever.ranking.cosines[draw.rows], lambda: None)
        gap = oracle - metrics.balanced_accuracy(answers.found, draw.present)
        return np.full(len(settings), gap)
    sample = [unit.source.top_of(query) for query in draw.sample]
    gaps = []
    for setting in settings:
        with patch.dict(vars(scale), setting):
            cut = _cut(mode, anchors, sample)
        gaps.append(oracle - metrics.balanced_accuracy(tops >= cut, draw.present))
    return np.array(gaps)


def _cut(mode: str, anchors: Anchors, sample: list[float]) -> float:
    """The top cosine from which a query reads moderate."""
    if mode == "stream":
        return scale.stream_scale(sample).cut
    null = scale.null_scale(anchors.probes, anchors.pseudo)
    return null.cut if mode == "null" else scale.past_scale(null, sample).cut


def _leave_out(mode: str, settings: list[Setting], tables: list[_Table]) -> Transfer:
    shipped, left_out, chosen = [], [], dict[str, int]()
    for table in tables:
        source = table.unit.source
        others = [
            other
            for other in tables
            if other.unit.source.data.root != source.data.root
            and (other.unit.source.encoder != source.encoder or _is_only_encoder(tables))
        ]
        at = int(np.argmin(_balanced_mean(others))) if others else 0
        shipped.append((table.unit, float(table.reported[0])))
        left_out.append((table.unit, float(table.reported[at])))
        name = " ".join(f"{value:g}" for value in settings[at].values())
        chosen[name] = chosen.get(name, 0) + 1
    return Transfer(mode, _by_family(shipped), _by_family(left_out), chosen)


def _is_only_encoder(tables: Sequence[_Table]) -> bool:
    return len({table.unit.source.encoder for table in tables}) == 1


def _balanced_mean(tables: Sequence[_Table]) -> Floats:
    """Mean gap on dev at every setting, far and near units weighing the same."""
    means = []
    for family in ("far", "near"):
        gaps = [table.dev for table in tables if table.unit.family == family]
        if gaps:
            means.append(np.mean(gaps, axis=0))
    return np.asarray(np.mean(means, axis=0))


def _by_family(gaps: Sequence[tuple[Unit, float]]) -> dict[str, float]:
    return {
        family: fmean(values)
        for family in ("far", "near")
        if (values := [gap for unit, gap in gaps if unit.family == family])
    }


def _gaps_of_cuts(unit: Unit, draws: Sequence[Draw], cuts: Floats) -> Floats:
    """The gap at every cut, mean over draws."""
    rows = []
    for draw in draws:
        tops = unit.tops(draw)
        oracle = metrics.oracle(tops, draw.present)[0]
        rows.append([oracle - _accuracy(tops >= cut, draw.present) for cut in cuts])
    return np.asarray(np.mean(rows, axis=0))


def _accuracy(found: Bools, present: Bools) -> float:
    return metrics.balanced_accuracy(found, present)
