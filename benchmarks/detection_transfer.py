"""Are the constants of the scale fitted to these encoders and sets, or do they hold on others?

The constants of the line on two witnesses, and of a baseline, are chosen anew on the dev units of
all other encoders and of all other families of sets, and then used on the one that was left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from statistics import fmean
from unittest.mock import patch

import numpy as np
from detection_checks import word_scores_of
from detection_units import Draw, Source, Unit, draws_of
from numpy.typing import NDArray

from recall_signal.calibration import _scale as scale
from recall_signal.calibration import _word_scale as word_scale
from recall_signal.calibration._estimate import FEWEST_OF_A_CLASS, FEWEST_PAST
from recall_signal.calibration._observation import observe
from recall_signal.calibration._word_scale import WitnessPair
from recall_signal.calibration._words_estimate import WordScores, estimate_words
from recall_signal.evaluation import _metrics as metrics
from recall_signal.evaluation._metrics import Bools, Floats

__all__ = ["Transfer", "best_fixed_cut", "transfer"]

Setting = dict[str, float]

GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "null": {
        "TAIL": (0.04, 0.06, 0.08, 0.12),
        "PSEUDO_WEIGHT": (0.0, 0.05, 0.1, 0.2),
        "FULL_WEIGHT": (1.0, 2.0, 3.0, 4.0),
    },
    "null+past": {
        "PAST_SHARE": (0.3, 0.35, 0.4, 0.5),
        "PAST_WEIGHT": (0.5, 0.65, 0.8),
    },
    "stream": {
        "STREAM_LOW": (0.05, 0.1, 0.2),
        "STREAM_HIGH": (0.75, 0.9),
        "STREAM_SHARE": (0.4, 0.5, 0.6),
    },
}
"""The values of each constant; the shipped one is always among them. Mode null+past chooses its
own two and takes the others as they are shipped."""

HOMES = {"null": word_scale, "null+past": word_scale, "stream": scale}
"""The module of each mode's constants."""

DRAWS = 3
"""Draws of past queries for each unit, of the ten that are reported elsewhere."""


@dataclass(frozen=True)
class Transfer:
    """Return what choosing the constants without an encoder and a family of sets costs there.

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
    """Gaps of one unit, `[settings]`: on dev for choosing, and as reported."""

    unit: Unit
    dev: Floats
    reported: Floats


def transfer(units: Sequence[Unit]) -> list[Transfer]:
    """The comparison for each mode, over far and near units."""
    units = [unit for unit in units if unit.family in ("far", "near")]
    seen = {id(unit.source): _seen(unit.source) for unit in units}
    results = []
    for mode in GRIDS:
        settings = list(_settings(mode))
        tables = [
            table
            for unit in units
            if (table := _table(unit, mode, settings, seen[id(unit.source)])) is not None
        ]
        if tables:
            results.append(_leave_out(mode, settings, tables))
    return results


def best_fixed_cut(units: Sequence[Unit]) -> tuple[float, dict[str, float]]:
    """The one cosine cut with the smallest mean gap on all dev units, and its gap as reported."""
    cuts = np.arange(0.0, 1.0, 0.01)
    tables = []
    for unit in units:
        draws = draws_of(unit.source, unit.kind, "dev")
        if unit.family in ("far", "near") and draws:
            dev = _gaps_of_cuts(unit, draws[:DRAWS], cuts)
            tables.append(_Table(unit, dev, _gaps_of_cuts(unit, unit.draws[:DRAWS], cuts)))
    at = int(np.argmin(_balanced_mean(tables)))
    return float(cuts[at]), _by_family(
        [(table.unit, float(table.reported[at])) for table in tables]
    )


def _settings(mode: str) -> Iterator[Setting]:
    """The shipped setting first, then the grid."""
    grid = GRIDS[mode]
    shipped = {name: float(getattr(HOMES[mode], name)) for name in grid}
    yield shipped
    for values in product(*grid.values()):
        setting = dict(zip(grid, values, strict=True))
        if setting != shipped:
            yield setting


def _seen(source: Source) -> tuple[WordScores, list[WitnessPair | None]]:
    """Both witnesses of the searches of a fit, and of each query of the set."""
    scores = word_scores_of(source)
    return scores, [
        observe(pool, pool.query or "").seen(scores.vocabulary) for pool in source.pools
    ]


def _table(
    unit: Unit,
    mode: str,
    settings: list[Setting],
    seen: tuple[WordScores, list[WitnessPair | None]],
) -> _Table | None:
    dev = draws_of(unit.source, unit.kind, "dev")[:DRAWS]
    if not dev:
        return None
    dev_gaps, gaps = (
        np.mean([_gaps(unit, draw, mode, settings, *seen) for draw in draws], axis=0)
        for draws in (dev, unit.draws[:DRAWS])
    )
    return _Table(unit, dev_gaps, gaps)


def _gaps(
    unit: Unit,
    draw: Draw,
    mode: str,
    settings: list[Setting],
    scores: WordScores,
    queries: list[WitnessPair | None],
) -> NDArray[np.float64]:
    """The gap of one draw at every setting, `[settings]`."""
    tops = unit.tops(draw)
    oracle = metrics.oracle(tops, draw.present)[0]
    if mode != "stream" and unit.source.null_status != "ok":  # the level is uncalibrated anyway
        answers = unit.source.predict(draw.rows, lambda: None)
        gap = oracle - metrics.balanced_accuracy(answers.present, draw.present)
        return np.full(len(settings), gap)
    sample = [queries[unit.source.rows[query.id]] for query in draw.sample]
    past = [query for query in sample if query is not None]
    reported = [queries[row] for row in draw.rows]
    gaps = []
    for setting in settings:
        with patch.dict(vars(HOMES[mode]), setting):
            if mode == "stream":
                found = tops >= scale.stream_scale([query.top for query in past]).cut
            else:
                found = _found(mode, scores, past, reported)
        gaps.append(oracle - metrics.balanced_accuracy(found, draw.present))
    return np.array(gaps)


def _found(
    mode: str,
    scores: WordScores,
    past: Sequence[WitnessPair],
    queries: Sequence[WitnessPair | None],
) -> Bools:
    """True for each query that reads moderate or high, going by both witnesses alone."""
    given = replace(scores, past=past)
    fewest = FEWEST_PAST if mode == "null+past" else len(past) + 1
    words = estimate_words(given, fewest_past=fewest, fewest_of_a_class=FEWEST_OF_A_CLASS)
    assert words is not None
    line, step = words[0].line, words[0].scale.step
    logits = [-1.0 if q is None else line.logit(q.top, q.coverage(step)) for q in queries]
    return np.array(logits) >= 0.0


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
