"""Many queries at once give, row for row, what one query gives."""

import sys
import tracemalloc
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from recall_signal import (
    Assessments,
    Baseline,
    InvalidInputError,
    MissingDependencyError,
    Pool,
    Thresholds,
    assess,
    assess_many,
)
from tests.calibration.toys import WORDS, calibration

COLUMNS = [
    "level",
    "top_score",
    "prominence",
    "relative_margin",
    "result_count",
    "basis",
    "reason",
]
NUMBERS = {"top_score", "prominence", "relative_margin"}
ROWS = 10_000
OTHER_CUTS = Thresholds(
    prominence_low=0.05,
    prominence_moderate=0.05,
    prominence_high=0.9,
    cosine_low=-0.25,
    cosine_moderate=0.2,
    cosine_high=0.6,
)


def row_by_row(table: Any, thresholds: Thresholds | None = None) -> dict[str, np.ndarray]:
    """The columns as `assess` gives them."""
    signals = [assess(row, thresholds=thresholds) for row in table]
    columns = {}
    for name in COLUMNS:
        values = [getattr(signal, name) for signal in signals]
        absent = np.nan if name in NUMBERS else ""
        columns[name] = np.array([absent if value is None else value for value in values])
    return columns


def check(table: Any, thresholds: Thresholds | None = None) -> None:
    actual = assess_many(table, thresholds=thresholds).to_dict()
    expected = row_by_row(np.asarray(table, dtype=np.float64), thresholds)
    for name in COLUMNS:
        np.testing.assert_array_equal(actual[name], expected[name], err_msg=name)


def random_rows(width: int, seed: int) -> np.ndarray:
    """Rows of many shapes: real, gridded, negative, with gaps, alone, empty and out of range."""
    rng = np.random.default_rng(seed)
    table = rng.uniform(-0.4, 1.0, (ROWS, width))
    table[: ROWS // 2] = rng.normal(0.5, 0.1, (ROWS // 2, width)).clip(-1, 1)
    table[::2] = np.round(table[::2], 2)  # these hit the cuts exactly
    table[3::10] *= 0.01  # around the smallest usable background
    gaps = rng.random((ROWS, width))
    table[5::7] = np.where(gaps[5::7] < 0.3, np.nan, table[5::7])
    table[6::7] = np.where(gaps[6::7] < 0.1, np.inf, table[6::7])
    table[6::21] = np.where(gaps[6::21] > 0.9, -np.inf, table[6::21])
    table[7::100] = np.nan
    if width:
        table[8::50, 1:] = np.nan
        table[9::100, -1] = 1.0005
        table[19::100, -1] = 1.2
        table[29::100, 0] = -1.2
        table[39::100, 0] = 1e308
    return table


@pytest.mark.parametrize("width", [0, 1, 2, 3, 5, 50])
@pytest.mark.parametrize("cuts", [None, OTHER_CUTS], ids=["default", "other"])
def test_ten_thousand_rows_equal_assess(width: int, cuts: Thresholds | None) -> None:
    check(random_rows(width, seed=width), cuts)


@pytest.mark.parametrize("rows", [1, 1023, 1024, 1025])
def test_the_seams_between_blocks_do_not_show(rows: int) -> None:
    check(random_rows(4, seed=1)[:rows])


def test_every_pair_on_the_grid_equals_assess() -> None:
    grid = np.round(np.arange(-0.1, 1.005, 0.01), 2)
    check(np.array([(top, rest) for top in grid for rest in grid]))


@pytest.mark.parametrize("spread", [1e-3, 1e-4, 1e-5, 3e-6, 1e-6, 1e-8])
@pytest.mark.parametrize("width", [3, 6, 50])
def test_a_nearly_flat_background_equals_assess(spread: float, width: int) -> None:
    rng = np.random.default_rng(7)
    table = 0.5 + rng.normal(0, spread, (300, width))
    table[:, 0] = 0.9
    check(table)


@pytest.mark.parametrize(
    "row",
    [
        [0.9, 0.5, 0.50001, 0.49999, 0.50002],
        [0.8965028, 0.8965028, 0.8965028],
        [0.7, 0.1, 0.1, 0.1],
    ],
    ids=["nearly flat", "all equal", "flat"],
)
def test_a_row_with_hardly_any_spread_equals_assess(row: list[float]) -> None:
    check([row])


@given(
    arrays(
        np.float64,
        array_shapes(min_dims=2, max_dims=2, max_side=6),
        elements=st.floats() | st.floats(-1.01, 1.01) | st.sampled_from([0.5, 0.25, 0.001, 0.85]),
    )
)
@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_any_array_equals_assess(table: np.ndarray) -> None:
    check(table)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int64, object])
def test_any_numeric_type_is_taken(dtype: Any) -> None:
    check(np.array([[0.9, 0.5, 0.1], [1, 1, 0]]).astype(dtype))


def test_nested_lists_with_none_are_taken() -> None:
    columns = assess_many([[0.9, 0.5, None], [None, None, None]])
    assert columns.level.tolist() == ["high", "unknown"]
    assert columns.result_count.tolist() == [3, 3]


def test_a_view_that_is_not_contiguous_is_taken() -> None:
    table = random_rows(6, seed=3)[:200]
    check(table[::-2, ::2])
    check(np.asfortranarray(table))


def test_the_input_is_left_alone() -> None:
    table = random_rows(5, seed=4)[:500]
    before = table.copy()
    assess_many(table)
    np.testing.assert_array_equal(table, before)


@pytest.mark.parametrize("width", [0, 5])
def test_no_rows_give_empty_columns(width: int) -> None:
    columns = assess_many(np.zeros((0, width)))
    assert len(columns) == 0
    assert list(columns.to_dict()) == COLUMNS
    assert all(values.shape == (0,) for values in columns.to_dict().values())


def test_rows_without_candidates_are_none() -> None:
    columns = assess_many(np.zeros((2, 0)))
    assert columns.level.tolist() == ["none", "none"]
    assert columns.reason.tolist() == ["", ""]


def test_columns_have_their_types_and_no_copy_is_made() -> None:
    columns = assess_many([[0.9, 0.5]])
    assert isinstance(columns, Assessments)
    assert len(columns) == 1
    kinds = {name: values.dtype.kind for name, values in columns.to_dict().items()}
    assert kinds == {
        name: "f" if name in NUMBERS else "i" if name == "result_count" else "U" for name in COLUMNS
    }
    assert all(values is getattr(columns, name) for name, values in columns.to_dict().items())


def test_the_arrow_table_has_nulls_where_a_value_is_absent() -> None:
    pytest.importorskip("pyarrow")
    table = [[0.9, 0.5], [0.9, np.nan], [np.nan, np.nan], [2.0, 0.5]]
    rows = assess_many(table).to_arrow().to_pylist()
    for row, cosines in zip(rows, table, strict=True):
        signal = assess(cosines)
        assert row == {name: getattr(signal, name) for name in COLUMNS}


def test_the_arrow_table_of_no_rows_keeps_its_types() -> None:
    pytest.importorskip("pyarrow")
    full, empty = assess_many([[0.9, 0.5]]).to_arrow(), assess_many(np.zeros((0, 2))).to_arrow()
    assert empty.num_rows == 0
    assert empty.schema == full.schema


def test_without_pyarrow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"recall-signal\[eval\]"):
        assess_many([[0.9]]).to_arrow()


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (0.5, "got 0"),
        ([0.5, 0.4], "got 1"),
        ([], "got 1"),
        (np.zeros((2, 2, 2)), "got 3"),
        ([[0.5], [0.4, 0.3]], "of numbers"),
        ([["near", "far"]], "of numbers"),
        ([[{}]], "of numbers"),
        (None, "got 0"),
    ],
    ids=["scalar", "row", "empty", "cube", "ragged", "text", "dict", "none"],
)
def test_what_is_not_a_table_of_numbers_is_refused(table: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        assess_many(table)


@pytest.mark.parametrize("table", [[["0.9", "0.1"]], np.array([["0.9", "0.1"]])])
def test_numbers_written_as_text_are_refused_as_assess_does(table: Any) -> None:
    with pytest.raises(InvalidInputError):
        assess_many(table)


class Plain:
    """A calibration that knows only the protocol."""

    def apply(self, confidence: Any, pool: Pool) -> Any:
        return confidence.model_copy(update={"level": "low", "probability": 0.25})


def fitted(mode: str) -> Any:
    if mode == "protocol":
        return Plain()
    if mode == "stream":
        return Baseline([n / 60 for n in range(60)])
    status = "no_valid_threshold" if mode == "undecided" else "ok"
    words = None if mode == "cosine" else WORDS
    answerable = tuple(0.3 + n / 50 for n in range(20))
    return calibration(
        words=words, status=status, floor=0.9, answerable=answerable, max_false_none=0.1
    )


@pytest.mark.parametrize("mode", ["words", "cosine", "undecided", "protocol", "stream"])
@pytest.mark.parametrize("width", [0, 1, 6])
@pytest.mark.parametrize("covered", [False, True])
def test_calibrated_rows_equal_assess(mode: str, width: int, covered: bool) -> None:
    table = random_rows(width, seed=9)[:1500]
    coverage = np.round(np.random.default_rng(1).random(1500), 4)
    coverage[::3], coverage[1::7] = 0.0, np.nan
    given = coverage if covered else None
    rows = assess_many(table, calibration=fitted(mode), term_coverage=given).to_dict()
    one = fitted(mode)
    signals = [
        assess(row, calibration=one, term_coverage=float(share) if covered else None)
        for row, share in zip(table, coverage, strict=True)
    ]
    numbers = {*NUMBERS, "probability", "term_coverage"}
    for name in [*COLUMNS, "probability", *(["term_coverage"] if covered else [])]:
        values = [getattr(signal, name) for signal in signals]
        absent = np.nan if name in numbers else ""
        expected = np.array([absent if value is None else value for value in values])
        np.testing.assert_array_equal(rows[name], expected, err_msg=name)
    assert ("term_coverage" in rows) == covered


@pytest.mark.parametrize(
    "coverage", [[0.5], [[0.5, 0.5]], [0.5, 1.2], [-0.1, 0.5], ["a", "b"], 0.5]
)
def test_a_coverage_that_is_no_column_is_refused(coverage: Any) -> None:
    with pytest.raises(InvalidInputError):
        assess_many([[0.9, 0.5], [0.4, 0.3]], term_coverage=coverage)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_input_is_not_copied(dtype: Any) -> None:
    table = np.random.default_rng(0).random((40_000, 50)).astype(dtype)
    assess_many(table[:10])
    tracemalloc.start()
    columns = assess_many(table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(columns) == 40_000
    assert peak < 0.3 * table.nbytes + 3_000_000


def test_the_text_of_a_result_is_short() -> None:
    made = assess_many([[0.9, 0.2, 0.1]] * 1000 + [[0.1, 0.1, 0.1]])
    assert repr(made) == "Assessments(queries=1001, levels={'high': 1000, 'none': 1})"
    assert repr(assess_many(np.zeros((0, 3)))) == "Assessments(queries=0, levels={})"


def test_a_table_of_columns_is_read_as_an_array() -> None:
    """A frame of pandas or Arrow has one column a candidate."""
    pa = pytest.importorskip("pyarrow")
    values = np.array([[0.9, 0.3, 0.2], [0.2, np.nan, 0.1]])
    whole, tables = assess_many(values), [pa.table({str(n): values[:, n] for n in range(3)})]
    if find_spec("pandas"):
        tables.append(import_module("pandas").DataFrame(values))
    for table in tables:
        assert assess_many(table).level.tolist() == whole.level.tolist()
        assert assess_many(table).top_score.tolist() == whole.top_score.tolist()


def test_complex_numbers_are_no_cosines() -> None:
    with pytest.raises(InvalidInputError, match="numbers"):
        assess_many(np.array([[0.9 + 0.1j, 0.2]]))
