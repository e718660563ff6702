"""Many queries as Arrow lists, with scores, calibrations and rationales, as one by one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from recall_signal import Baseline, InvalidInputError, assess, assess_many
from recall_signal._many.rounding import units
from recall_signal.calibration._probability import VennAbers
from tests.calibration.toys import WORDS, calibration
from tests.logs.scoring import EDGES, rows_of

NAMES = ("level", "top_score", "prominence", "relative_margin", "result_count", "basis", "reason")


def check(given: Any, rows: list[Any], **settings: Any) -> None:
    """Compare with `assess`; `scores` and `term_coverage` are taken row by row."""
    table = assess_many(given, **settings).to_arrow()
    scores, coverage = settings.get("scores"), settings.get("term_coverage")
    if scores is not None:
        scores = scores.tolist()
    one = {name: settings[name] for name in ("calibration", "thresholds") if name in settings}
    found = table.to_pylist()
    assert len(found) == len(rows)
    for at, (row, cosines) in enumerate(zip(found, rows, strict=True)):
        keyword = None if scores is None else scores[at]
        if cosines is None and keyword is None:
            assert (row["level"], row["reason"], row["result_count"]) == ("unknown", "no_scores", 0)
            continue
        share = None if coverage is None else coverage[at]
        signal = assess(cosines or [], scores=keyword, term_coverage=share, **one)
        extra = [name for name in ("probability", "rationale") if name in row]
        for name in (*NAMES, *extra):
            assert row[name] == getattr(signal, name), (name, at, cosines)


ROWS = rows_of(1500, seed=1)
FLOATS: dict[str, type[np.floating]] = {
    "double": np.float64,
    "float": np.float32,
    "halffloat": np.float16,
}
KINDS = [pa.float64(), pa.float32(), pa.float16()]


def as_floats(kind: pa.DataType, rows: list[Any]) -> list[Any]:
    """The rows as they are in a kind of float."""
    float_type = FLOATS[str(kind)]
    return [
        None if row is None else [None if v is None else float(float_type(v)) for v in row]
        for row in rows
    ]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("make", [pa.list_, pa.large_list], ids=["list", "large list"])
def test_lists_equal_assess(kind: Any, make: Any) -> None:
    rows = as_floats(kind, ROWS)
    lists = pa.array(rows, make(pa.float64())).cast(make(kind))
    check(lists, rows)


@pytest.mark.parametrize("kind", [pa.decimal128(9, 4), pa.decimal256(40, 8)], ids=str)
def test_lists_of_decimals_equal_assess(kind: Any) -> None:
    """Cosines on a cut among them, which a cast of Arrow misses by the last bit."""
    rows = [
        None
        if row is None
        else [None if v is None or v != v or abs(v) > 2 else Decimal(f"{v:.4f}") for v in row]
        for row in [*ROWS[:300], [0.85], [0.8499], [0.3, -0.3], [0.5, -0.5], [0.85, 0.84]]
    ]
    check(pa.array(rows, pa.list_(kind)), rows)


def test_lists_without_gaps_equal_assess() -> None:
    rows = [row for row in ROWS if row is not None and None not in row]
    check(pa.array(rows, pa.list_(pa.float64())), rows)
    alike = [row for row in rows if len(row) == 3]
    check(pa.array(alike, pa.list_(pa.float64())), alike)


@pytest.mark.parametrize("width", [1, 3, 300])
def test_lists_of_a_fixed_size_equal_assess(width: int) -> None:
    values = np.random.default_rng(0).normal(0.4, 0.2, (100, width)).clip(-1, 1)
    rows: list[Any] = values.tolist()
    check(pa.array(rows, pa.list_(pa.float64(), width))[10:90], rows[10:90])
    rows[5] = None
    rows[7][0] = rows[8][-1] = None
    check(pa.array(rows, pa.list_(pa.float64(), width))[2:], rows[2:])


def test_slices_and_chunks_are_read_where_they_are() -> None:
    whole = pa.array(ROWS, pa.list_(pa.float64()))
    check(whole[100:400], ROWS[100:400])
    check(pa.chunked_array([whole[:3], whole[3:3], whole[3:200]]), ROWS[:200])


def test_a_null_list_may_have_values_underneath() -> None:
    lists = pa.ListArray.from_arrays(
        pa.array([0, 2, 5, 5]),
        pa.array([0.9, 0.5, 7.0, 0.1, 0.2]),
        mask=pa.array([False, True, False]),
    )
    check(lists, [[0.9, 0.5], None, []])


@pytest.mark.parametrize(
    "given",
    [pa.array([], pa.list_(pa.float32())), pa.chunked_array([], pa.list_(pa.float32()))],
    ids=["array", "chunks"],
)
def test_no_lists_give_no_rows(given: Any) -> None:
    assert len(assess_many(given)) == 0


def test_rows_without_any_value() -> None:
    check(pa.array([None, None]), [None, None])
    check(pa.array([[], []], pa.list_(pa.float64())), [[], []])
    check(pa.array([[None], []], pa.list_(pa.null())), [[None], []])
    check(pa.array([[None], None], pa.list_(pa.null(), 1)), [[None], None])


def test_another_library_hands_its_column_over() -> None:
    class Column:
        def __init__(self, array: Any) -> None:
            self._array = array

    class Stream(Column):
        def __arrow_c_stream__(self, requested: Any = None) -> Any:
            return self._array.__arrow_c_stream__(requested)

    class Array(Column):
        def __arrow_c_array__(self, requested: Any = None) -> Any:
            return self._array.__arrow_c_array__(requested)

    whole = pa.array(ROWS[:50], pa.list_(pa.float64()))
    check(Array(whole), ROWS[:50])
    check(Stream(pa.chunked_array([whole])), ROWS[:50])


def test_lists_longer_than_a_block_equal_assess() -> None:
    rng = np.random.default_rng(2)
    rows = [rng.normal(0.4, 0.1, size).clip(-1, 1).tolist() for size in (70_000, 3, 0, 52_000, 5)]
    check(pa.array(rows, pa.list_(pa.float64())), rows)


def test_gaps_in_one_block_do_not_show_in_the_next() -> None:
    table = np.random.default_rng(3).normal(0.3, 0.3, (3 * 1024, 50)).clip(-1, 1)
    table[:10, 3] = np.nan
    table[1500:1520, 7] = np.nan
    table[2000, :] = -0.25
    table[2000, 4] = np.nan
    check(table, table.tolist())


@pytest.mark.parametrize(("rows", "values"), [(1, 1), (7, 20), (64, 7)])
def test_the_seams_between_blocks_do_not_show(
    rows: int, values: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall_signal._many.rows.ROWS", rows)
    monkeypatch.setattr("recall_signal._many.rows.VALUES", values)
    check(pa.array(ROWS[:300], pa.list_(pa.float64())), ROWS[:300])
    table = np.random.default_rng(6).normal(0.4, 0.2, (100, 5)).clip(-1, 1)
    table[::3, 2] = np.nan
    check(table, table.tolist())


@pytest.mark.parametrize("values", [pa.array([0.5]), pa.array([["a"]]), pa.array(["a"])])
def test_arrow_values_that_are_no_lists_of_numbers_are_refused(values: Any) -> None:
    with pytest.raises(InvalidInputError, match="got Arrow values of type"):
        assess_many(values)


SCORES: list[Any] = [[3.0, 1.0, 1.0], [5.0], [], None, [None], [2.0, 2.0, 2.0, 2.0]]


def test_scores_decide_where_there_is_no_cosine() -> None:
    rows = [row for row in EDGES for _ in SCORES]
    scores = SCORES * len(EDGES)
    kind = pa.list_(pa.float64())
    check(pa.array(rows, kind), rows, scores=pa.array(scores, kind))


def test_scores_are_one_row_a_query() -> None:
    with pytest.raises(InvalidInputError, match="one row for each of 2 queries, got 1"):
        assess_many([[0.9], [0.8]], scores=[[1.0]])
    check(np.full((2, 2), np.nan), [[None, None]] * 2, scores=np.array([[3.0, 1.0], [1.0, 1.0]]))


def test_rationales_are_written_where_they_are_asked_for() -> None:
    rows = [*ROWS[:60], None]
    check(pa.array(rows, pa.list_(pa.float64())), rows, rationale=True)
    fit = calibration(words=WORDS)
    check([[0.9, 0.5]], [[0.9, 0.5]], rationale=True, calibration=fit, term_coverage=[0.5])
    assert assess_many([[0.9, 0.5]]).rationale is None


STEPS = VennAbers(
    (0.0, 0.5, 1.0), (0.0, 0.1, 0.2, 0.4, 0.5, 0.7, 0.8), (0.1, 0.2, 0.3, 0.5, 0.6, 0.8, 1.0), 0.4
)
FITS = {
    "null": calibration(),
    "past": calibration(mode="null+past", floor=0.7),
    "prior": calibration(words=WORDS, prior=0.2),
    "labelled": calibration(mode="labelled", venn_abers=STEPS),
    "labelled words": calibration(mode="labelled", venn_abers=STEPS, words=WORDS, prior=0.9),
    "bound": calibration(
        mode="labelled", answerable=tuple(0.3 + n / 50 for n in range(20)), max_false_none=0.1
    ),
    "undecided": calibration(status="no_valid_threshold"),
}


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("covered", [False, True])
def test_every_kind_of_calibration_equals_assess(name: str, covered: bool) -> None:
    fit, rng = FITS[name], np.random.default_rng(4)
    rows = ROWS[:700] + [[round(top, 2), 0.1] for top in rng.uniform(-1, 1, 300)]
    shares = [None if share < 0.2 else round(share, 2) for share in rng.random(1000).tolist()]
    lists = pa.array(rows, pa.list_(pa.float64()))
    if not covered:
        check(lists, rows, calibration=fit)
        return
    column = np.array([np.nan if share is None else share for share in shares])
    check(lists, rows, calibration=fit, term_coverage=column)
    made = [
        assess_many(lists, calibration=fit, term_coverage=given).to_arrow()
        for given in (column, pa.array(shares, pa.float64()))
    ]
    assert made[0].equals(made[1])


def test_probabilities_on_a_cut_are_those_of_one_query() -> None:
    """Tops are placed so that the probability lies on a cut, and next to it."""
    fit = calibration()
    even = fit.cut_at()
    assert even is not None
    tops = [even, np.nextafter(even, 0), np.nextafter(even, 1)]
    check(np.array(tops)[:, None], [[top] for top in tops], calibration=fit)


def test_a_stream_takes_the_rows_in_order() -> None:
    seen = [n / 60 for n in range(60)]
    rows = [row for row in ROWS[:200] if row is not None]
    table = assess_many(pa.array(rows, pa.list_(pa.float64())), calibration=Baseline(seen))
    one = Baseline(seen)
    levels = [assess(row, calibration=one).level for row in rows]
    assert table.level.tolist() == levels


@pytest.mark.parametrize("decimals", [3, 4])
def test_columns_are_rounded_as_python_rounds(decimals: int) -> None:
    rng = np.random.default_rng(5)
    ties = np.arange(-8000, 8001) / (2 * 10**decimals)
    values = np.concatenate(
        [
            rng.uniform(-1.1, 1.1, 2000),
            ties,
            np.nextafter(ties, 2),
            np.nextafter(ties, -2),
            np.round(rng.uniform(-1, 1, 2000), decimals + 1),
            np.arange(-32, 33) / 32,
        ]
    )
    expected = [round(value, decimals) for value in values.tolist()]
    np.testing.assert_array_equal(units(values, decimals) / 10**decimals, expected)


def test_names_are_dictionaries_in_arrow() -> None:
    table = assess_many([[0.9, 0.5], [np.nan, np.nan]]).to_arrow()
    for name in ("level", "basis", "reason"):
        assert table.schema.field(name).type == pa.dictionary(pa.int8(), pa.string())
    assert table["basis"].to_pylist() == ["prominence", None]


def test_a_masked_table_is_taken() -> None:
    masked = np.ma.masked_less(np.array([[0.9, 0.5, -2.0], [0.4, -3.0, -3.0]]), -1.5)
    check(masked, [[0.9, 0.5, None], [0.4, None, None]])
