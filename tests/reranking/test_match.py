"""What the best score says beside a level, on a declared scale, a learned one, or none."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_signal import RecallConfidence
from recall_signal.calibration._reranker import RerankLine
from recall_signal.errors import CalibrationError
from recall_signal.reranking import RerankerOptions, Reranking, RerankScale, with_match
from tests.reranking.fakes import POOLS, run, signal


def judged(best: float, level: str = "high", **settings: Any) -> RecallConfidence:
    """The signal of this level where a reranker's best score is this."""
    scale = settings.pop("scale", "logit")
    reranking = Reranking(
        RerankerOptions(len, scale=scale, cut=settings.pop("cut", 0.5)), **settings
    )
    ranked = run([best, best - 0.1, None], scale=scale)
    return with_match(signal(level), ranked, POOLS.get(level, []), reranking)


@pytest.mark.parametrize("level", ["high", "moderate"])
@pytest.mark.parametrize(
    ("scale", "best", "match"),
    [
        ("logit", 0.0, "exact"),
        ("logit", 7.3, "exact"),
        ("logit", -0.01, "near_miss"),
        ("probability", 0.5, "exact"),
        ("probability", 0.49, "near_miss"),
        ("unknown", 7.3, None),
    ],
)
def test_a_match_is_decided_on_a_declared_scale(
    level: str, scale: str, best: float, match: str | None
) -> None:
    confidence = judged(best, level, scale=scale)
    assert confidence.match == match
    assert confidence.rerank_score == round(best, 3)


@pytest.mark.parametrize("level", ["low", "none", "unknown"])
def test_no_match_is_decided_where_the_topic_is_not_there(level: str) -> None:
    confidence = judged(9.0, level)
    assert confidence.match is None
    assert confidence.rerank_score == 9.0
    assert "no match is decided at this level" in confidence.rationale


@given(st.floats(-50, 50), st.sampled_from([*POOLS, "unknown"]))
def test_everything_else_of_the_signal_stays(best: float, level: str) -> None:
    changed = {"rerank_score", "match", "rationale"}
    before, after = signal(level).model_dump(), judged(best, level).model_dump()
    assert {k: v for k, v in after.items() if k not in changed} == {
        k: v for k, v in before.items() if k not in changed
    }
    assert after["rationale"].startswith(before["rationale"].removesuffix("."))
    assert len(re.findall(r"\.(?: |$)", after["rationale"])) <= 2


@pytest.mark.parametrize(("cut", "match"), [(0.9, "near_miss"), (0.1, "exact")])
def test_the_declared_cut_is_a_probability(cut: float, match: str) -> None:
    assert judged(0.5, cut=cut).match == match
    assert judged(0.5, scale="probability", cut=cut).match == match
    assert f"declared cut of {cut:.2f}" in judged(0.5, scale="probability", cut=cut).rationale


def test_an_undeclared_scale_says_so() -> None:
    rationale = judged(0.9, scale="unknown").rationale
    assert "its scale is neither declared nor learned" in rationale


@pytest.mark.parametrize("scale", ["logit", "unknown"])
def test_a_learned_cut_goes_before_the_declared_one(scale: Any) -> None:
    learned = RerankScale(scale, cut=5.0)
    assert judged(6.0, scale=scale, learned=learned).match == "exact"
    below = judged(4.0, scale=scale, learned=learned)
    assert below.match == "near_miss"
    assert "below a learned cut of 5.00" in below.rationale


def test_a_learned_cut_of_probabilities_is_kept_in_logits_and_shown_as_one() -> None:
    learned = RerankScale("probability", cut=1.3863)
    assert judged(0.85, scale="probability", learned=learned).match == "exact"
    below = judged(0.75, scale="probability", learned=learned)
    assert below.match == "near_miss"
    assert "below a learned cut of 0.80" in below.rationale


def test_a_reranker_that_shows_no_cut_decides_nothing() -> None:
    confidence = judged(6.0, learned=RerankScale("logit"))
    assert confidence.match is None
    assert "its scale shows no cut" in confidence.rationale


LINE = RerankScale("logit", cut=-9.0, line=RerankLine(-1.0, cosine=1.0, score=0.5))


def test_a_line_from_labels_takes_the_cosine_too() -> None:
    assert judged(0.0, learned=LINE).match == "near_miss"  # -1 + .9
    assert judged(0.4, learned=LINE).match == "exact"  # -1 + .9 + .2
    assert "a probability of 0.52 learned from labels" in judged(0.4, learned=LINE).rationale


def test_the_prior_moves_what_the_line_says() -> None:
    assert judged(0.4, learned=LINE, prior=0.2).match == "near_miss"
    assert judged(0.0, learned=LINE, prior=0.8).match == "exact"


def test_a_line_without_a_cosine_decides_nothing() -> None:
    reranking = Reranking(RerankerOptions(len, scale="logit"), learned=LINE)
    ranked = run([1.0, 0.0, None], scale="logit")
    confidence = with_match(signal("high"), ranked, [None, float("nan")], reranking)
    assert confidence.match is None
    assert "needs a cosine as well" in confidence.rationale


def test_a_scale_learned_from_other_scores_is_refused() -> None:
    with pytest.raises(CalibrationError, match=r"scale 'logit' and cannot be used .* 'unknown'"):
        Reranking(RerankerOptions(len), learned=LINE)


def test_without_scores_the_reason_is_said() -> None:
    ranked = run(TimeoutError())
    confidence = with_match(signal("high"), ranked, [], Reranking(RerankerOptions(len)))
    assert confidence.match is None
    assert confidence.rerank_score is None
    assert confidence.rationale.endswith("; reranker: no scores (timeout), so no match is decided.")


def test_an_empty_page_leaves_the_signal_as_it_is() -> None:
    ranked = run([], page=(), texts=())
    assert with_match(signal("none"), ranked, [], Reranking(RerankerOptions(len))) == signal("none")


def test_wording_is_that_of_a_hint() -> None:
    for best in (-3.0, 3.0):
        rationale = judged(best).rationale
        assert "may hold the fact" in rationale or "likely the topic without" in rationale
        assert "not verified" in rationale


@pytest.mark.parametrize("scale", ["logit", "unknown"])
@pytest.mark.parametrize("best", [1e308, -1e300])
def test_an_outsize_score_makes_no_outsize_sentence(best: float, scale: Any) -> None:
    learned = RerankScale(scale, cut=-best)
    for confidence in (judged(best, scale=scale), judged(best, scale=scale, learned=learned)):
        assert f"best score {best:.3g}" in confidence.rationale
        assert len(confidence.rationale) < 300
        assert len(re.findall(r"\.(?: |$)", confidence.rationale)) <= 2
