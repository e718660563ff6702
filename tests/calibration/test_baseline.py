"""A baseline judges each query by the ones before it, from any number of threads."""

import copy
import json
import pickle
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from math import inf, nan
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_signal import (
    Baseline,
    CalibrationError,
    ConfigurationError,
    InvalidInputError,
    RecallConfidence,
    assess,
)
from recall_signal.calibration._baseline import CalibrationWithBaseline
from recall_signal.calibration._probability import sigmoid
from recall_signal.calibration._scale import STREAM_SLOPE, stream_scale
from tests.calibration.toys import UNHURRIED, calibration, values


def stream(count: int, seed: int = 0) -> list[float]:
    random = Random(seed)
    return [random.gauss(random.choice([0.35, 0.65]), 0.08) for _ in range(count)]


def ask(baseline: Any, top: float) -> RecallConfidence:
    return assess([top, -1.0], calibration=baseline)


def test_before_thirty_queries_the_level_is_uncalibrated_and_marked_so() -> None:
    baseline = Baseline()
    for seen, top in enumerate(stream(30)):
        assert not baseline.ready
        plain, confidence = assess([top, -1.0]), ask(baseline, top)
        assert values(confidence, "level", "basis") == values(plain, "level", "basis")
        assert confidence.probability is None
        assert confidence.rationale == (
            f"{plain.rationale} Uncalibrated: {seen} of the 30 queries that a baseline needs "
            "were seen."
        )
    assert baseline.ready
    confidence = ask(baseline, 0.7)
    assert (confidence.basis, confidence.level) == ("stream", "high")
    assert "from the last 30 queries, probability 0." in confidence.rationale


@pytest.mark.parametrize("window", [30, 47, 500])
def test_each_query_is_judged_by_the_window_before_it(window: int) -> None:
    tops, baseline = stream(200), Baseline(window=window)
    for n, top in enumerate(tops):
        confidence = ask(baseline, top)
        before = tops[max(0, n - window) : n]
        if n >= 30:
            expected = sigmoid(STREAM_SLOPE * stream_scale(before).standardize(top))
            assert confidence.probability == round(expected, 4)
    assert len(baseline) == min(window, 200)


def test_a_shift_is_followed() -> None:
    baseline = Baseline(stream(500))
    before = ask(baseline, 0.6).probability or 0.0
    for top in stream(500, seed=1):
        baseline.observe(top + 0.3)
    assert before > 0.5 > (ask(baseline, 0.6).probability or 0.0)


def test_the_prior_shifts_the_probability() -> None:
    few, many = (ask(Baseline(stream(50), prior=prior), 0.5) for prior in (0.1, 0.9))
    assert (few.probability or 0.0) < (many.probability or 0.0)


def test_one_score_for_everything_gives_no_probability() -> None:
    baseline = Baseline([0.5] * 40)
    confidence = ask(baseline, 0.5)
    assert confidence.probability is None
    assert confidence.rationale.endswith("Uncalibrated: the last 40 queries all scored alike.")


def test_what_has_no_usable_cosine_is_not_remembered() -> None:
    baseline = Baseline(stream(40))
    for pool in ([], [None], [1.2, 0.5]):
        assert assess(pool, calibration=baseline) == assess(pool)
    assert assess([], scores=[2.0, 1.0], calibration=baseline).basis == "separation"
    assert len(baseline) == 40


def test_what_is_no_cosine_is_passed_over() -> None:
    baseline = Baseline([0.5, None, nan, inf, 3.0])
    for top in (None, nan, -inf, -1.5):
        baseline.observe(top)
    baseline.observe(1)
    assert len(baseline) == 2
    with pytest.raises(InvalidInputError):
        baseline.observe("0.5")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given", [{"window": 29}, {"window": 50.0}, {"window": True}, {"prior": 1.0}, {"prior": 0}]
)
def test_wrong_settings_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        Baseline(**given)


@pytest.mark.parametrize("wrong", [0.5, "0.5", {0.5: 1}])
def test_tops_that_are_none_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="tops must be a sequence"):
        Baseline(wrong)


@pytest.fixture
def _restless_threads() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("_restless_threads")
def test_eight_threads_lose_nothing() -> None:
    tops = stream(4000)
    baseline, small = Baseline(window=5000), Baseline(window=100)

    def work(at: int) -> None:
        for top in tops[at::8]:
            for one in (baseline, small):
                ask(one, top)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert sorted(baseline._tops) == baseline._ranked == sorted(tops)
    assert sorted(small._tops) == small._ranked
    assert len(small) == 100


def test_copies_share_their_traffic() -> None:
    baseline = Baseline()
    copy.deepcopy(baseline).observe(0.5)
    copy.copy(baseline).observe(0.6)
    assert len(baseline) == 2


@pytest.mark.usefixtures("_restless_threads")
def test_a_pickled_baseline_goes_on_by_itself() -> None:
    """While others ask it, too."""
    tops = stream(2000)
    baseline = Baseline(tops[:40], window=100, prior=0.3)
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(ask, baseline, top) for top in tops]
        sent = [pickle.loads(pickle.dumps(baseline)) for _ in range(200)]
        assert all(task.result() for task in asked)
    for one in sent:
        assert sorted(one._tops) == one._ranked
    last = pickle.loads(pickle.dumps(baseline))
    assert (last.window, last.prior, last._tops) == (100, 0.3, baseline._tops)
    assert ask(last, 0.5) == ask(baseline, 0.5)
    last.observe(0.9)
    assert baseline._tops != last._tops


def test_a_calibration_decides_while_a_baseline_listens() -> None:
    baseline = Baseline()
    both = CalibrationWithBaseline(calibration(), baseline)
    assert ask(both, 0.6) == ask(calibration(), 0.6)
    assert list(baseline._tops) == [0.6]


# Saved and loaded


@UNHURRIED
@given(
    st.lists(st.floats(-1, 1), max_size=40),
    st.integers(30, 60),
    st.floats(0, 1, exclude_min=True, exclude_max=True),
)
def test_what_is_loaded_is_what_was_saved(
    tmp_path_factory: Any, tops: list[float], window: int, prior: float
) -> None:
    path = tmp_path_factory.getbasetemp() / "baseline.json"
    saved = Baseline(tops, window=window, prior=prior)
    saved.save(path)
    loaded = Baseline.load(path)
    assert (loaded.window, loaded.prior) == (window, prior)
    assert loaded._tops == saved._tops
    assert ask(loaded, 0.5) == ask(saved, 0.5)


def test_the_file_holds_numbers_alone(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    Baseline([0.5, 0.25]).save(str(path))
    assert json.loads(path.read_text()) == {
        "v": 1, "mode": "stream", "window": 500, "prior": 0.5, "tops": [0.5, 0.25],
    }  # fmt: skip


GOOD = '"v": 1, "mode": "stream", "window": 50, "prior": 0.5, "tops": [0.5]'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"v": 1', '"v": 2'),
        ('"v": 1, ', ""),
        ('"stream"', '"null"'),
        ("50", "7"),
        ("50", "1e400"),
        ("50", '"many"'),
        ("0.5, ", "1.5, "),
        ("[0.5]", '"0.5"'),
        ("[0.5]", "[NaN]"),
        ("[0.5]", "[0.5"),
        ("[0.5]", "[null]"),
        (GOOD, "[" * 100_000),
    ],
)
def test_other_files_are_refused(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "b.json"
    path.write_text("{" + GOOD + "}")
    assert len(Baseline.load(path)) == 1
    path.write_text("{" + GOOD.replace(old, new) + "}")
    with pytest.raises(CalibrationError, match=r"b\.json (is not|holds) a .*baseline"):
        Baseline.load(path)


def test_a_huge_window_is_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text("{" + GOOD.replace("50", "1" + "0" * 30) + "}")
    assert len(Baseline.load(path)) == 1
