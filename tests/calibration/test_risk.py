"""The bound on false none: sample sizes, p-values, and what share it really costs."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from recall_signal import Calibration, CalibrationError, ConfigurationError, assess
from recall_signal.calibration._risk import check_sample, needed_answerable, p_value
from tests.calibration.toys import PROBES, calibration, values

TWENTY = tuple(0.40 + n / 100 for n in range(20))


@pytest.mark.parametrize(
    ("bound", "needed"), [(0.5, 1), (0.2, 4), (0.1, 9), (0.05, 19), (0.01, 99), (0.15, 6), (0.9, 1)]
)
def test_the_needed_number_is_the_smallest_that_a_bound_can_be_had_from(
    bound: float, needed: int
) -> None:
    assert needed_answerable(bound) == needed
    assert p_value(0.0, [0.5] * needed) <= bound
    assert needed == 1 or p_value(0.0, [0.5] * (needed - 1)) > bound


@pytest.mark.parametrize("bound", [0.0, 1.0, -0.1, float("nan"), 5e-324, 1e-6, "0.1", 1])
def test_a_bound_is_a_share(bound: Any) -> None:
    with pytest.raises(ConfigurationError, match="between 0 and 1"):
        needed_answerable(bound)


def test_below_the_needed_number_it_is_refused_and_the_number_named() -> None:
    check_sample(19, 0.05)
    with pytest.raises(CalibrationError, match=r"at least 19 .* got 18"):
        check_sample(18, 0.05)


def test_p_values_count_ties() -> None:
    assert [p_value(t, [1.0, 2.0, 2.0]) for t in (0.5, 1.0, 1.5, 2.0)] == [0.25, 0.5, 0.5, 1.0]


# Levels under a bound


def test_the_bound_decides_between_none_and_low_alone() -> None:
    plain = calibration(mode="labelled", answerable=TWENTY)
    bound = plain.with_risk(0.1)
    levels = {top: assess([top, 0.1], calibration=bound) for top in (0.3, 0.405, 0.415, 0.5, 0.7)}
    assert [c.level for c in levels.values()] == ["none", "none", "low", "moderate", "high"]
    assert assess([0.415, 0.1], calibration=plain).level == "none"
    assert {c.basis for c in levels.values()} == {"labels"}
    for top, confidence in levels.items():
        assert confidence.probability == assess([top, 0.1], calibration=plain).probability
        assert "none for at most 10% of answerable queries" in confidence.rationale


@pytest.mark.parametrize(("top", "level"), [(0.45, "none"), (0.50, "moderate"), (0.60, "high")])
def test_a_bound_sends_nobody_away_who_would_read(top: float, level: str) -> None:
    """Unusually low for an answerable query, but so likely that reading is worth it."""
    bound = calibration(answerable=tuple(0.7 + n / 100 for n in range(20)), max_false_none=0.1)
    confidence = assess([top, 0.1], calibration=bound)
    assert confidence.level == level
    if level == "none":
        assert (confidence.probability or 0.0) > 0.2
        assert confidence.rationale.endswith(
            "probability 0.27: rarely as low for an answerable query."
        )
    else:
        assert "not verified" in confidence.rationale


def test_the_smallest_sample_can_just_say_none() -> None:
    bound = calibration(mode="labelled", answerable=TWENTY[1:], max_false_none=0.05)
    assert assess([0.40, 0.1], calibration=bound).level == "none"
    assert assess([0.415, 0.1], calibration=bound).level == "low"


def test_without_a_threshold_the_bound_only_lifts() -> None:
    """Levels stay on the uncalibrated basis, and answerable queries are not told none."""
    bound = calibration(status="no_valid_threshold", answerable=TWENTY, max_false_none=0.1)
    usual, unusual, plain = [0.50, 0.49, 0.49], [0.30, 0.29, 0.29], [0.90, 0.1, 0.1]
    assert assess(usual).level == assess(unusual).level == "none"
    lifted = assess(usual, calibration=bound)
    assert values(lifted, "level", "basis", "probability") == ("low", "labels", None)
    assert "not unusual for answerable queries: probably nothing relevant" in lifted.rationale
    for pool in (unusual, plain):
        bare, said = assess(pool), assess(pool, calibration=bound)
        assert said.rationale.startswith(f"{bare.rationale} Uncalibrated: ")
        assert said.model_copy(update={"rationale": bare.rationale}) == bare


@pytest.mark.parametrize("method", ["with_risk", "fit", "post_init"])
def test_a_bound_on_too_few_is_refused(method: str) -> None:
    few = calibration(answerable=TWENTY[:18])
    attempts: dict[str, Callable[[], Calibration]] = {
        "with_risk": lambda: few.with_risk(0.05),
        "fit": lambda: Calibration.fit(
            lambda query: pytest.fail("searched"),
            labelled=[(f"q{n}", True) for n in range(18)],
            max_false_none=0.05,
        ),
        "post_init": lambda: calibration(answerable=TWENTY[:18], max_false_none=0.05),
    }
    with pytest.raises(CalibrationError, match=r"at least 19 .* got 18"):
        attempts[method]()


def test_a_bound_without_labels_is_refused() -> None:
    with pytest.raises(CalibrationError, match=r"at least 19 .* got 0"):
        Calibration.fit(lambda query: [0.5], max_false_none=0.05)
    with pytest.raises(CalibrationError, match=r"at least 9 .* got 0"):
        calibration().with_risk(0.1)


# Coverage

DRAWS, FRESH = 200, 50


def false_none(n: int, negatives: int, seed: int) -> dict[float, float]:
    """The share of fresh answerable queries that read none, by bound, after a fit on n of them."""
    random = Random(f"{n} {seed}")
    tops = {f"yes {i}": random.gauss(0.5, 0.1) for i in range(n)}
    tops |= {f"no {i}": random.gauss(0.4, 0.1) for i in range(negatives)}
    tops |= {probe: random.gauss(0.3, 0.05) for probe in PROBES[:10]}
    fitted = Calibration.fit(
        lambda query: [tops[query], 0.0],
        documents=[],
        probes=PROBES[:10],
        labelled=[(query, query.startswith("yes")) for query in tops if query not in PROBES],
    )
    fresh = [random.gauss(0.5, 0.1) for _ in range(FRESH)]
    shares = {}
    for bound in (0.05, 0.1):
        bounded = fitted.with_risk(bound)
        levels = [assess([top, 0.0], calibration=bounded).level for top in fresh]
        shares[bound] = levels.count("none") / FRESH
    return shares


@pytest.mark.parametrize(("n", "negatives"), [(50, 0), (50, 20), (100, 0)])
def test_coverage_is_nominal(n: int, negatives: int) -> None:
    draws = [false_none(n, negatives, seed) for seed in range(DRAWS)]
    for bound in (0.05, 0.1):
        assert sum(draw[bound] for draw in draws) / DRAWS == pytest.approx(bound, abs=0.03)
