"""What must not move a level, and what may move it one way only."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_signal import Baseline, Calibration, assess
from recall_signal.calibration._baseline import CalibrationWithBaseline
from tests.calibration.toys import DOCUMENTS, MODES, UNHURRIED, Toy, fit, make_documents, timeless

modes = st.sampled_from(sorted(MODES))
tops = st.floats(0, 1)


def probability(calibration: Calibration, top: float) -> float:
    return calibration.probability_of(calibration.scale.standardize(top))


def is_on_an_edge(calibration: Calibration, top: float) -> bool:
    """Whether rounding alone can move this top cosine to the other side of something."""
    venn_abers = calibration.venn_abers
    edges = () if venn_abers is None else venn_abers.edges
    at = calibration.scale.standardize(top)
    return any(abs(probability(calibration, top) - cut) < 1e-9 for cut in calibration.cuts) or any(
        0 < abs(at - edge) < 1e-9 for edge in edges
    )


@st.composite
def affine_maps(draw: st.DrawFn) -> tuple[float, float]:
    """a and b > 0 that map [0, 1] into [-1, 1]."""
    b = draw(st.floats(0.02, 2))
    return draw(st.floats(-1, 1 - b)), b


@UNHURRIED
@given(modes, affine_maps(), st.lists(tops, min_size=5, max_size=5), st.integers(0, 3))
def test_an_affine_map_of_all_cosines_moves_nothing(
    mode: str, line: tuple[float, float], queries: list[float], seed: int
) -> None:
    a, b = line
    documents = make_documents(12, seed)
    here, there = (
        fit(Toy(documents, offset=a, factor=b), documents=documents, **MODES[mode])
        for a, b in ((0.0, 1.0), (a, b))
    )
    assert (here.mode, here.status, here.overlap) == (there.mode, there.status, there.overlap)
    for top in [*queries, *here.answerable]:
        if is_on_an_edge(here, top):
            continue
        there_top = (
            there.answerable[here.answerable.index(top)]
            if top in here.answerable
            else (a + b * top)
        )
        assert probability(there, there_top) == pytest.approx(probability(here, top), abs=1e-9)
        assert (
            assess([there_top, -1.0], calibration=there).level
            == assess([top, -1.0], calibration=here).level
        )


@UNHURRIED
@given(
    st.lists(st.integers(0, 1000), min_size=30, max_size=60), affine_maps(), st.integers(0, 1000)
)
def test_an_affine_map_moves_no_baseline(
    seen: list[int], line: tuple[float, float], top: int
) -> None:
    a, b = line
    here = Baseline(n / 1000 for n in seen)
    there = Baseline(a + b * (n / 1000) for n in seen)
    confidence = assess([top / 1000, -1.0], calibration=here)
    moved = assess([a + b * (top / 1000), -1.0], calibration=there)
    assert moved.probability == pytest.approx(confidence.probability, abs=1.01e-4)
    if confidence.probability not in (None, 0.2, 0.5, 0.8):
        assert moved.level == confidence.level


@pytest.mark.parametrize("mode", MODES)
def test_pool_size_and_order_move_nothing(mode: str) -> None:
    documents = make_documents(200)
    searches = [Toy(documents, size=size, order=size % 3 or None) for size in (5, 6, 7, 50, 200)]
    first, *others = (
        replace(timeless(fit(search, documents=documents, **MODES[mode])), canaries=None)
        for search in searches
    )
    assert all(other == first for other in others)
    for query in ("present a", "absent b", "general c"):
        signals = [assess(search(query), calibration=first) for search in searches]
        assert len({(signal.level, signal.probability) for signal in signals}) == 1


@pytest.mark.parametrize(
    ("mode", "bound"), [*((mode, None) for mode in MODES), ("labelled", 0.1), ("many labels", 0.05)]
)
def test_a_higher_top_cosine_never_lowers_anything(mode: str, bound: float | None) -> None:
    fitted = fit(Toy(), **MODES[mode], max_false_none=bound)
    order = ["none", "low", "moderate", "high"]
    grid = [n / 500 for n in range(501)]
    probabilities = [probability(fitted, top) for top in grid]
    levels = [order.index(assess([top, -1.0], calibration=fitted).level) for top in grid]
    assert probabilities == sorted(probabilities)
    assert levels == sorted(levels)
    assert {0, 3} <= set(levels)


@UNHURRIED
@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), tops, modes)
def test_a_higher_prior_never_lowers_anything(p: float, q: float, top: float, mode: str) -> None:
    low, high = (FITTED[mode].with_prior(prior) for prior in sorted((p, q)))
    assert probability(low, top) <= probability(high, top) + 1e-12


FITTED = {mode: fit(Toy(), **MODES[mode]) for mode in MODES}


@pytest.mark.parametrize("mode", MODES)
def test_duplicates_in_the_pool_and_a_permutation_of_it_move_nothing(mode: str) -> None:
    pool = [0.55, 0.5, 0.43, 0.3]
    expected = assess(pool, calibration=FITTED[mode])
    for other in (pool[::-1], pool * 2, [*pool, *[0.55] * 7], [None, *pool]):
        signal = assess(other, calibration=FITTED[mode])
        assert (signal.level, signal.probability) == (expected.level, expected.probability)


def test_documents_of_another_order_give_nearly_the_same() -> None:
    shuffled = Random(1).sample(DOCUMENTS, len(DOCUMENTS))
    here, there = fit(Toy()), fit(Toy(), documents=shuffled)
    assert abs(here.scale.cut - there.scale.cut) < 0.1 * here.scale.unit


def test_a_calibration_and_a_baseline_together_say_what_the_calibration_says() -> None:
    listening = CalibrationWithBaseline(FITTED["null"], Baseline())
    for n in range(40):
        pool = [n / 50, 0.0]
        assert assess(pool, calibration=listening) == assess(pool, calibration=FITTED["null"])


def test_replacing_the_date_changes_nothing_else() -> None:
    assert replace(FITTED["null"], created="") == timeless(fit(Toy()))
