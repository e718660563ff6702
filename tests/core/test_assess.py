"""The rules of the uncalibrated signal: its worked cases, its edges and its properties."""

import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from recall_signal import (
    ConfigurationError,
    InvalidInputError,
    Pool,
    RecallConfidence,
    Thresholds,
    assess,
    assess_many,
)
from recall_signal.confidence import LEVELS
from tests.ids import stable_repr

KEYS = {
    "level",
    "top_score",
    "prominence",
    "relative_margin",
    "result_count",
    "rationale",
    "basis",
    "probability",
    "reason",
}
PRESENT = [0.919, 0.676, 0.670, 0.615, 0.608, 0.537, 0.520, 0.500]
ABSENT = [0.645, 0.572, 0.572, 0.561, 0.560, 0.531, 0.510, 0.500]


def figures(confidence: RecallConfidence) -> tuple[Any, ...]:
    return (
        confidence.level,
        confidence.top_score,
        confidence.prominence,
        confidence.relative_margin,
    )


# Worked cases: keyword scores only


@pytest.mark.parametrize(
    ("scores", "level", "separation"),
    [
        ([0.95, 0.30, 0.31, 0.29, 0.30], "high", None),
        ([0.50, 0.50, 0.50, 0.50], "none", "0.00"),
        ([0.20, 0.05, 0.06, 0.04, 0.05], "high", None),
        ([0.95, 0.80, 0.81, 0.79, 0.80], "high", None),
        ([3, 1], "high", "2.00"),
        ([2, 1], "moderate", "1.00"),
        ([1.3, 1], "low", "0.30"),
        ([1.2999, 1], "none", "0.30"),
        ([1.0, 0.5], "moderate", "1.00"),
        ([1.0, 0.8], "none", "0.25"),
        ([1.0, 0.0], "moderate", "1.00"),
        ([0.9, 0.5, 0.4], "high", "9.00"),
        ([-0.1, -0.2, -0.3], "high", "3.00"),
        ([0.0, 0.0], "none", "0.00"),
    ],
)
def test_keyword_scores(scores: list[float], level: str, separation: str | None) -> None:
    confidence = assess([], scores=scores)
    assert figures(confidence) == (level, round(max(scores), 3), None, None)
    assert confidence.basis == "separation"
    assert confidence.result_count == len(scores)
    assert separation is None or f" {separation} " in confidence.rationale


def test_one_keyword_score_is_moderate_whatever_it_is() -> None:
    for score in (0.8, 0.0, -3.0, 1e300):
        confidence = assess([], scores=[score])
        assert figures(confidence) == ("moderate", score, None, None)
        assert (confidence.basis, confidence.result_count) == ("separation", 1)


def test_separation_depends_on_shape_not_on_level() -> None:
    small = assess([], scores=[0.20, 0.05, 0.06, 0.04, 0.05])
    large = assess([], scores=[0.95, 0.80, 0.81, 0.79, 0.80])
    assert small.rationale == large.rationale


def test_empty_scores_are_an_empty_pool() -> None:
    assert figures(assess([], scores=[])) == ("none", None, None, None)


# Worked cases: cosines


@pytest.mark.parametrize(
    ("cosines", "expected"),
    [
        (PRESENT, ("high", 0.919, 0.559, 4.989)),
        (ABSENT, ("low", 0.645, 0.186, 3.656)),
        ([0.60, 0.55, 0.55, 0.55, 0.55, 0.55], ("none", 0.6, 0.091, None)),
        ([0.90, 0.88, 0.88, 0.87, 0.88], ("moderate", 0.9, 0.026, 5.196)),
        ([0.91], ("moderate", 0.91, None, None)),
        ([0.40], ("low", 0.4, None, None)),
        ([0.873, 0.4, 0.39, 0.38], ("high", 0.873, 1.238, 59.155)),
        ([0.05, -0.20, -0.30, -0.25], ("none", 0.05, None, 7.348)),
        ([0.90, -0.10, 0.00, -0.05], ("high", 0.9, None, 23.27)),
        ([0.30, 0.10, 0.10, 0.10], ("moderate", 0.3, 2.0, None)),
    ],
)
def test_cosines(cosines: list[float], expected: tuple[Any, ...]) -> None:
    confidence = assess(cosines)
    assert figures(confidence) == expected
    assert confidence.result_count == len(cosines)


@pytest.mark.parametrize(
    ("cosines", "level", "prominence"),
    [
        ([0.5, 0.357142], "high", 0.4),
        ([0.7, 0.5], "moderate", 0.4),
        ([0.4999, 0.3], "moderate", 0.666),
        ([0.49, 0.2, 0.2], "moderate", 1.45),
        ([0.31, 0.248], "moderate", 0.25),
        ([0.35, 0.28], "low", 0.25),
        ([0.29, 0.1, 0.1], "low", 1.9),
        ([0.56, 0.5], "low", 0.12),
        ([0.559, 0.5], "none", 0.118),
        ([0.85, 0.84], "moderate", 0.012),
        ([1.0, 1.0], "moderate", 0.0),
        ([0.8499, 0.8499], "none", 0.0),
        ([0.85], "moderate", None),
        ([0.8499], "low", None),
        ([0.85, 0.0005], "high", None),
        ([0.5, 0.0005], "moderate", None),
        ([0.3, 0.0005], "low", None),
        ([0.2999, 0.0005], "none", None),
        ([0.4, 0.0011], "moderate", 362.636),
        ([0.0015, 0.0011], "low", 0.364),
    ],
)
def test_boundaries(cosines: list[float], level: str, prominence: float | None) -> None:
    confidence = assess(cosines)
    assert (confidence.level, confidence.prominence) == (level, prominence)
    assert confidence.basis == ("prominence" if prominence is not None else "absolute")


# The rules one by one


def test_the_count_is_that_of_the_scores_where_there_are_any() -> None:
    assert assess(PRESENT, scores=[0.6] * 4).result_count == 4
    assert assess(PRESENT, scores=[]).result_count == 8
    assert assess(PRESENT, scores=[None] * 9).result_count == 9
    assert assess([None, 0.5, nan]).result_count == 3


def test_scores_have_no_other_influence_beside_cosines() -> None:
    assert figures(assess(ABSENT, scores=[9.0, 0.1])) == figures(assess(ABSENT))


@pytest.mark.parametrize("missing", [None, nan, inf, -inf])
def test_a_value_that_is_not_finite_counts_as_unscored(missing: float | None) -> None:
    assert figures(assess([missing, *PRESENT, missing])) == figures(assess(PRESENT))
    assert figures(assess([0.91, missing])) == ("moderate", 0.91, None, None)
    assert figures(assess([], scores=[3, missing, 1])) == ("high", 3, None, None)
    assert assess([missing]).reason == "no_scores"


@pytest.mark.parametrize("background", [0.001, 0.0, -0.4])
def test_a_background_at_or_below_the_limit_gives_no_prominence(background: float) -> None:
    confidence = assess([0.6, background])
    assert (confidence.basis, confidence.prominence) == ("absolute", None)
    assert assess([0.6, 0.0010001]).basis == "prominence"


def test_the_floor_never_lifts_to_high_and_leaves_moderate_alone() -> None:
    assert assess([0.95, 0.95]).level == "moderate"
    assert assess([0.95, 0.84]).level == "moderate"
    assert assess([0.95, 0.75]).level == "moderate"
    assert assess([0.95, 0.65]).level == "high"


@pytest.mark.parametrize(
    "cosines", [[1.0011, 0.5], [0.5, -1.0011], [0.9, 0.5, 1.2], [17.3], [1e308, 1e308], [-1e308]]
)
def test_any_cosine_out_of_range_makes_the_level_unknown(cosines: list[float]) -> None:
    confidence = assess(cosines, scores=[3.0, 1.0])
    assert figures(confidence) == ("unknown", None, None, None)
    assert (confidence.reason, confidence.basis) == ("score_out_of_range", None)
    assert assess(cosines).result_count == len(cosines)


def test_float_noise_around_one_is_within_range_and_not_clipped() -> None:
    assert assess([1.0006, 0.5]).top_score == 1.001
    assert assess([1.001]).level == "moderate"
    assert figures(assess([-1.001])) == ("low", -1.001, None, None)


@pytest.mark.parametrize("nothing", [[], (), np.array([]), None, Pool([])])
def test_an_empty_pool_is_none(nothing: Any) -> None:
    confidence = assess(nothing)
    assert figures(confidence) == ("none", None, None, None)
    assert (confidence.result_count, confidence.basis, confidence.reason) == (0, None, None)


@pytest.mark.parametrize(
    ("cosines", "scores", "count"),
    [
        ([None, None], None, 2),
        ([nan], [], 1),
        ([], [None, nan, inf], 3),
        ([None], [None, None], 2),
        (Pool([None], scores=[None]), None, 1),
    ],
)
def test_candidates_without_anything_are_unknown(cosines: Any, scores: Any, count: int) -> None:
    confidence = assess(cosines, scores=scores)
    assert figures(confidence) == ("unknown", None, None, None)
    assert (confidence.reason, confidence.basis) == ("no_scores", None)
    assert confidence.result_count == count


def test_scores_decide_where_no_cosine_is_usable() -> None:
    assert assess([None, None], scores=[3, 1]).basis == "separation"
    assert assess([nan, None], scores=[None, 1.0]).level == "moderate"


def test_figures_are_rounded_and_comparisons_are_not() -> None:
    confidence = assess([0.56784, 0.51234, 0.49])
    assert figures(confidence) == ("low", 0.568, 0.133, 5.969)
    assert assess([0.12345]).top_score == 0.123
    assert assess([], scores=[0.12345]).top_score == 0.123
    assert assess([], scores=[0.12345, 0.1]).top_score == 0.123
    assert assess([], scores=[0.12345, -1e200]).top_score == 0.123


@pytest.mark.parametrize(
    ("top", "level"), [(0.75, "high"), (0.625, "moderate"), (0.5625, "low"), (0.5624, "none")]
)
def test_a_prominence_exactly_on_its_cut_reaches_it(top: float, level: str) -> None:
    cuts = Thresholds(prominence_high=0.5, prominence_moderate=0.25, prominence_low=0.125)
    assert assess([top, 0.5], thresholds=cuts).level == level


def test_other_cuts_move_the_level() -> None:
    strict = Thresholds(prominence_high=0.6, separation_high=3.0, cosine_high=0.95)
    assert assess(PRESENT, thresholds=strict).level == "moderate"
    assert assess([], scores=[3, 1], thresholds=strict).level == "moderate"
    assert assess([0.91], thresholds=strict).level == "low"
    assert assess([0.90, 0.88], thresholds=strict).level == "none"


# A calibrator


class Recorder:
    """A calibrator that notes what it is given."""

    def __init__(self) -> None:
        self.calls: list[Pool] = []

    def apply(self, confidence: RecallConfidence, pool: Pool) -> RecallConfidence:
        self.calls.append(pool)
        return confidence.model_copy(update={"probability": 0.25, "basis": "calibration"})


def test_a_calibrator_gets_a_pool() -> None:
    recorder = Recorder()
    confidence = assess([0.1, None, 0.9, nan, 0.5], calibration=recorder)
    assert recorder.calls[0].cosines == [0.9, 0.5, 0.1]
    pool = Pool([0.9, None], texts=["a", "b"], query="what")
    assess(pool, calibration=recorder)
    assert recorder.calls[1] is pool
    assert (confidence.probability, confidence.basis) == (0.25, "calibration")
    assert figures(confidence) == figures(assess([0.1, 0.9, 0.5]))


def test_a_calibrator_that_is_still_empty_is_asked_too() -> None:
    class Empty(Recorder):
        def __len__(self) -> int:
            return 0

    assert assess([0.9, 0.5], calibration=Empty()).basis == "calibration"


@pytest.mark.parametrize(
    ("cosines", "scores"), [([], None), ([None], None), ([2.0], None), ([None], [3, 1])]
)
def test_a_calibrator_is_not_asked_without_usable_cosines(cosines: Any, scores: Any) -> None:
    recorder = Recorder()
    assert assess(cosines, scores=scores, calibration=recorder).probability is None
    assert recorder.calls == []


# Term coverage

TEXTS = ["The kiln cools for fourteen hours.", "Glaze is mixed on Monday.", "Nothing else"]


@pytest.mark.parametrize(
    ("query", "coverage"),
    [
        ("How long does the kiln cool?", 0.333),
        ("who mixed the glaze on Monday", 1.0),
        ("kilns", 0.0),
        ("what is it", None),
        ("", None),
    ],
)
def test_a_pool_with_query_and_texts_has_a_coverage(query: str, coverage: float | None) -> None:
    for cosines in ([0.5, 0.4, 0.3], [None, None, None], [0.5, nan, 7.0]):
        signal = assess(Pool(cosines, texts=TEXTS, query=query))
        assert signal.term_coverage == coverage
        assert signal.level == assess(cosines).level
    assert assess(Pool([0.5] * 3, texts=TEXTS)).term_coverage is None
    assert assess(Pool([0.5] * 3, query=query)).term_coverage is None
    assert assess(Pool([], texts=[], query=query)).term_coverage is None


@pytest.mark.parametrize(("given", "kept"), [(0.12345, 0.123), (0, 0.0), (1, 1.0), (nan, None)])
def test_a_given_coverage_is_kept(given: Any, kept: float | None) -> None:
    assert assess([0.5, 0.4], term_coverage=given).term_coverage == kept
    recorder = Recorder()
    pool = Pool([0.5, 0.4, 0.1], texts=TEXTS, query="kiln")
    signal = assess(pool, term_coverage=given, calibration=recorder)
    assert signal.term_coverage == (1.0 if kept is None else kept)


@pytest.mark.parametrize("wrong", [{"prominence_high": 0.4}, {}, 0.4, "0.4", Thresholds])
def test_thresholds_are_of_their_own_type(wrong: Any) -> None:
    given = "type" if wrong is Thresholds else type(wrong).__name__
    for judge in (
        lambda: assess([0.5], thresholds=wrong),
        lambda: assess_many([[0.5]], thresholds=wrong),
    ):
        with pytest.raises(ConfigurationError, match=f"a Thresholds or None, got {given};"):
            judge()


def test_an_empty_pool_has_no_coverage() -> None:
    pools: list[Any] = [[], np.array([]), Pool([]), Pool([], texts=[], query="kiln")]
    for empty in pools:
        assert assess(empty, term_coverage=0.5) == assess([])
    assert assess([], scores=[3.0, 1.0], term_coverage=0.5).term_coverage == 0.5
    assert assess([None], term_coverage=0.5).term_coverage == 0.5
    with pytest.raises(InvalidInputError, match="term_coverage must"):
        assess([], term_coverage=1.01)


@pytest.mark.parametrize("given", [1.01, -0.1, "0.5", [0.5]])
def test_a_coverage_that_is_no_share_is_refused(given: Any) -> None:
    with pytest.raises(InvalidInputError, match="term_coverage must"):
        assess([0.5, 0.4], term_coverage=given)


# Kinds of input


@pytest.mark.parametrize(
    "wrap",
    [
        tuple,
        np.array,
        Pool,
        lambda values: np.array(values, dtype=np.float32).astype(np.float64),
        lambda values: np.array(values, dtype=object),
        lambda values: [np.float64(value) for value in values],
        lambda values: Pool(np.array(values)),
        lambda values: Pool(tuple(values), texts=["text"] * len(values)),
    ],
)
@pytest.mark.parametrize("values", [PRESENT, ABSENT, [0.91], [0.05, -0.2]])
def test_the_container_does_not_matter(values: list[float], wrap: Callable[..., Any]) -> None:
    assert figures(assess(wrap(values))) == figures(assess(values))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int64])
def test_an_array_and_a_list_of_its_scalars_give_the_same_plain_numbers(dtype: Any) -> None:
    array = np.array([0.919, 0.676, 0.5, 0.1], dtype=dtype)
    expected = assess([float(value) for value in array])
    assert assess(array) == expected
    assert assess(list(array)) == expected


def test_keyword_scores_may_be_a_list_of_float32_scalars() -> None:
    scores = np.array([9.5, 3.25, 3.0], dtype=np.float32)
    expected = assess([], scores=[9.5, 3.25, 3.0])
    assert assess([], scores=scores) == expected
    assert assess([], scores=list(scores)) == expected


def test_integers_and_numbers_beyond_any_float_are_taken() -> None:
    assert figures(assess([1, 0])) == ("high", 1.0, None, None)
    assert type(assess([1, 0]).top_score) is float
    assert assess([10**400]).reason == "no_scores"
    assert assess([10**400, 0.5]).top_score == 0.5


def test_a_pool_brings_its_scores_and_given_ones_come_first() -> None:
    pool = Pool([None, None], scores=[3, 1])
    assert assess(pool).level == "high"
    assert assess(pool, scores=[1.3, 1]).level == "low"
    assert assess(Pool([0.5, None, None], scores=[1, 1, 1])).result_count == 3


@pytest.mark.parametrize(
    "scores",
    [
        [1e308, 1e308, -1e308],
        [1e308] * 9,
        [-1e308, -1.7e308],
        [1e308, 1e-308],
        [5e-324, 0, -5e-324],
    ],
)
def test_huge_and_tiny_scores_do_not_overflow(scores: list[float]) -> None:
    confidence = assess([], scores=scores)
    assert confidence.top_score == round(max(scores), 3)
    json.dumps(confidence.model_dump(mode="json"), allow_nan=False)


def test_a_huge_scale_gives_the_level_of_a_common_one() -> None:
    for scores in ([3, 1], [1.25, 1], [0.9, 0.5, 0.4], [-1, -2, -3]):
        huge = assess([], scores=[score * 2.0**1000 for score in scores])
        assert huge.rationale == assess([], scores=scores).rationale


@pytest.mark.parametrize(
    "values",
    [
        "0.9",
        b"0.9",
        {"a": 0.9},
        {0.9, 0.5},
        frozenset({0.9}),
        np.zeros((2, 2)),
        np.float64(0.5),
        np.array(0.5),
        ["0.9"],
        ["0.9", "0.5"],
        [0.9, "0.5"],
        [0.9, b"0.5"],
        np.array(["0.9"]),
        [[0.9, 0.5]],
        [0.9, [0.5]],
        [0.9, object()],
        [0.9, 1j],
        Pool(["a", "b"]),  # type: ignore[list-item]
    ],
    ids=stable_repr,
)
def test_what_is_not_a_row_of_numbers_is_refused(values: Any) -> None:
    with pytest.raises(InvalidInputError):
        assess(values)
    if not isinstance(values, Pool):
        with pytest.raises(InvalidInputError):
            assess([], scores=values)


@pytest.mark.parametrize("value", [0.9, 7, object(), True], ids=["float", "int", "object", "bool"])
def test_a_lone_value_is_refused_as_our_own_error(value: Any) -> None:
    with pytest.raises(InvalidInputError):
        assess(value)
    with pytest.raises(InvalidInputError):
        assess([], scores=value)


@pytest.mark.parametrize("scores", ["abcd", 7], ids=stable_repr)
def test_wrong_scores_are_refused_beside_usable_cosines_too(scores: Any) -> None:
    with pytest.raises(InvalidInputError):
        assess([0.9, 0.5], scores=scores)


def test_a_refusal_quotes_no_value() -> None:
    refused: list[Any] = [["a secret"], "a secret", [0.5, "a secret"]]
    for values in refused:
        with pytest.raises(InvalidInputError) as caught:
            assess(values)
        assert "secret" not in str(caught.value)


# Properties

UNHURRIED = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])

ANY = st.lists(st.none() | st.floats() | st.floats(-1.002, 1.002) | st.integers(), max_size=12)
COSINE = st.floats(-1.0, 1.0).map(lambda value: value + 0.0)  # no negative zero
COSINES = st.lists(st.none() | COSINE, max_size=12)
PAIRED = st.lists(COSINE, min_size=2, max_size=12)
POSITIVE = st.lists(st.floats(0.05, 1.0), min_size=2, max_size=12)


@settings(UNHURRIED, max_examples=200)
@given(ANY, st.none() | ANY)
@example([1e308, -1e308], None)
@example([], [1.7e308, -1.7e308])
def test_no_list_of_numbers_ever_raises_and_json_always_works(cosines: Any, scores: Any) -> None:
    confidence = assess(cosines, scores=scores)
    dumped = confidence.model_dump(mode="json")
    json.dumps(dumped, allow_nan=False)
    assert set(dumped) >= KEYS
    assert (confidence.level == "unknown") == (confidence.reason is not None)
    assert (confidence.basis is None) == (
        confidence.level == "unknown" or confidence.result_count == 0
    )


@UNHURRIED
@given(st.data(), COSINES, st.none() | COSINES)
def test_a_permutation_changes_nothing(data: st.DataObject, cosines: Any, scores: Any) -> None:
    shuffled = data.draw(st.permutations(cosines))
    assert assess(shuffled, scores=scores) == assess(cosines, scores=scores)
    if scores is not None:
        assert assess([], scores=data.draw(st.permutations(scores))) == assess([], scores=scores)


def test_the_sign_of_zero_changes_nothing() -> None:
    assert assess([-0.0, 0.0]) == assess([0.0, -0.0])


@UNHURRIED
@given(COSINES, st.lists(st.sampled_from([None, nan, inf, -inf]), max_size=4))
def test_unscored_candidates_change_the_count_alone(cosines: Any, unscored: Any) -> None:
    usable = [cosine for cosine in cosines if cosine is not None]
    confidence = assess(usable + unscored)
    assert confidence.result_count == len(usable) + len(unscored)
    if usable:
        same = confidence.model_copy(update={"result_count": len(usable)})
        assert same == assess(usable)


@UNHURRIED
@given(POSITIVE, st.floats(0.1, 1.0))
def test_prominence_is_free_of_scale(cosines: list[float], top: float) -> None:
    scaled = [cosine * top / max(cosines) for cosine in cosines]
    assert assess(scaled).prominence == pytest.approx(assess(cosines).prominence, abs=1.01e-3)


@UNHURRIED
@given(st.lists(st.floats(0.01, 0.2999), min_size=2, max_size=12))
def test_a_weak_top_over_a_positive_background_is_never_above_low(cosines: list[float]) -> None:
    assert assess(cosines).level in {"low", "none"}


@UNHURRIED
@given(st.lists(st.floats(0.01, 0.4999), min_size=2, max_size=12))
def test_a_top_below_the_guard_of_high_is_never_high(cosines: list[float]) -> None:
    assert assess(cosines).level != "high"


@UNHURRIED
@given(PAIRED)
def test_a_prominent_top_is_never_none_and_a_flat_one_never_above_the_floor(
    cosines: list[float],
) -> None:
    confidence = assess(cosines)
    if confidence.prominence is not None:
        if confidence.prominence > 0.12:
            assert confidence.level != "none"
        if confidence.prominence < 0.12:
            assert confidence.level == ("moderate" if max(cosines) >= 0.85 else "none")


@UNHURRIED
@given(COSINE, st.integers(0, 5))
def test_one_cosine_is_never_high_and_never_none(cosine: float, unscored: int) -> None:
    confidence = assess([cosine, *[None] * unscored])
    assert confidence.level == ("moderate" if cosine >= 0.85 else "low")
    assert confidence.basis == "absolute"


@UNHURRIED
@given(PAIRED)
def test_a_near_duplicate_is_at_least_moderate(background: list[float]) -> None:
    assert assess([0.85, *background]).level in {"high", "moderate"}


@UNHURRIED
@given(PAIRED, COSINE)
def test_a_higher_top_never_lowers_the_level(cosines: list[float], other: float) -> None:
    top, *background = sorted(cosines, reverse=True)
    higher = max(top, other)
    before, after = assess([top, *background]), assess([higher, *background])
    assert LEVELS.index(after.level) <= LEVELS.index(before.level)


@UNHURRIED
@given(PAIRED)
def test_the_figures_are_what_numpy_says(cosines: list[float]) -> None:
    confidence = assess(cosines)
    top, *rest = sorted(cosines, reverse=True)
    mean, std = np.mean(rest), np.std(rest)
    assert confidence.top_score == round(top, 3)
    if confidence.prominence is not None:
        expected = (top - mean) / mean
        assert confidence.prominence == pytest.approx(expected, rel=1e-6, abs=1e-3)
    if std > 1e-6:
        expected = (top - mean) / std
        assert confidence.relative_margin == pytest.approx(expected, rel=1e-6, abs=1e-3)


# The rationale


@pytest.mark.parametrize(
    ("cosines", "scores", "shown"),
    [
        (PRESENT, None, ["0.92", "0.56", "0.59"]),
        ([0.90, -0.10, 0.00, -0.05], None, ["0.90", "-0.05"]),
        ([0.90, 0.88, 0.88, 0.87, 0.88], None, ["0.90", "0.03", "0.88", "near-duplicate"]),
        ([0.91], None, ["0.91"]),
        ([], [3, 1], ["2.00", "times"]),
        ([], [0.9, 0.5, 0.4], ["9.00", "standard deviations"]),
    ],
)
def test_the_rationale_shows_its_figures(cosines: Any, scores: Any, shown: list[str]) -> None:
    rationale = assess(cosines, scores=scores).rationale
    assert [figure for figure in shown if figure not in rationale] == []


@pytest.mark.parametrize("cosines", [PRESENT[:3], ABSENT[:3], [None] * 3, [2.0, 0.1, 0.1]])
def test_no_word_of_a_document_gets_into_the_signal(cosines: list[float | None]) -> None:
    pool = Pool(cosines, ids=["zanzibar"] * 3, texts=["quetzalcoatl"] * 3, scores=[0.1, 0.2, 0.3])
    dumped = assess(pool).model_dump_json()
    assert "quetzalcoatl" not in dumped
    assert "zanzibar" not in dumped


@pytest.mark.parametrize("cosines", [[-0.0004, -0.3, -0.2], [-0.0004], [-0.0, 0.0]])
def test_no_zero_has_a_sign(cosines: list[float]) -> None:
    confidence = assess(cosines)
    assert str(confidence.top_score) == "0.0"
    assert "-0.00" not in confidence.rationale


@pytest.mark.parametrize("first", [np.float16(0.5), np.float32(0.5), 1, Fraction(1, 2)])
def test_whatever_numbers_come_together_built_in_floats_leave(first: Any) -> None:
    cosines: list[Any] = [first, Fraction(3, 10), Fraction(3, 10) + Fraction(4, 10**8)]
    confidence = assess(cosines)
    figures = (confidence.top_score, confidence.prominence, confidence.relative_margin)
    assert {type(figure) for figure in figures} == {float}
    assert RecallConfidence.model_validate(confidence.model_dump()) == confidence


def test_a_decimal_beside_nan_is_read() -> None:
    cosines: list[Any] = [nan, Decimal("0.5")]
    assert assess(cosines).top_score == 0.5
