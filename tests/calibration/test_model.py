"""What a calibration says of a query, and how it can be changed, printed, saved and loaded."""

import fcntl
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, replace
from functools import partial
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_signal import (
    Baseline,
    Calibration,
    CalibrationError,
    ConfigurationError,
    Pool,
    assess,
)
from recall_signal.calibration._canaries import Canaries
from recall_signal.calibration._card import level_lines
from recall_signal.calibration._fingerprint import Fingerprint
from recall_signal.calibration._probability import Platt, VennAbers, shift_prior, sigmoid
from recall_signal.calibration._scale import Scale
from recall_signal.calibration._word_scale import WordLine
from recall_signal.confidence import RecallConfidence
from tests.calibration.toys import (
    DOCUMENTS,
    MODES,
    UNHURRIED,
    WORDS,
    Toy,
    calibration,
    fit,
    values,
)
from tests.ids import stable_repr

OTHER = ("top_score", "prominence", "relative_margin", "result_count", "reason")
STEPS = VennAbers((0.0, 1.0), (0.0, 0.1, 0.2, 0.5, 0.6), (0.3, 0.5, 0.7, 0.9, 1.0), 0.75)

# Levels and probabilities


@pytest.mark.parametrize(
    ("top", "level"), [(0.40, "none"), (0.45, "low"), (0.50, "moderate"), (0.56, "moderate"),
                       (0.58, "high"), (1.0, "high"), (-1.0, "none")],
)  # fmt: skip
def test_the_level_follows_the_probability(top: float, level: str) -> None:
    confidence = assess([top, -1.0], calibration=calibration())
    exact = sigmoid(2.0 * (top - 0.5) / 0.1)
    assert confidence.level == level
    assert confidence.probability == round(exact, 4)
    assert confidence.basis == "calibration"


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.8])
def test_a_cut_belongs_to_the_level_above_it(cut: float) -> None:
    even = calibration(platt=Platt(0.0, 0.0), cuts=(0.5, 0.5, 0.5))
    assert assess([0.5, 0.1], calibration=even).level == "high"
    below = calibration(platt=Platt(0.0, 0.0), cuts=(0.5, 0.5, 0.500001))
    assert assess([0.5, 0.1], calibration=below).level == "moderate"


@pytest.mark.parametrize("mode", MODES)
def test_the_other_fields_stay_as_they_are(mode: str) -> None:
    fitted = fit(Toy(), **MODES[mode])
    for pool in ([0.9], [0.9, 0.5, 0.4], [0.2, -0.3], Pool([0.5, None, 0.3], scores=[1, 2, 3])):
        plain, confidence = assess(pool), assess(pool, calibration=fitted)
        assert values(confidence, *OTHER) == values(plain, *OTHER)
        assert confidence.basis == ("labels" if "label" in mode else "calibration")
        assert 0.0 <= (confidence.probability or 0.0) <= 1.0


@pytest.mark.parametrize(
    ("pool", "scores"),
    [
        ([], None),
        ([None, nan], None),
        ([None], [3.0]),
        ([], [3.0, 1.0, 0.5]),
        ([1.2, 0.5], None),
        (Pool([None, None], scores=[2.0, 1.0]), None),
    ],
)
def test_what_has_no_usable_cosine_is_untouched(pool: Any, scores: Any) -> None:
    assert assess(pool, scores=scores, calibration=calibration()) == assess(pool, scores=scores)


def test_without_a_threshold_the_uncalibrated_level_stays() -> None:
    nothing = calibration(status="no_valid_threshold", scale=Scale(0.5, 0.0), venn_abers=STEPS)
    bare, said = assess([0.9, 0.5]), assess([0.9, 0.5], calibration=nothing)
    assert (
        said.rationale
        == f"{bare.rationale} Uncalibrated: the calibration found no threshold for this retriever."
    )
    assert said.model_copy(update={"rationale": bare.rationale}) == bare
    assert not nothing.decides
    assert nothing.cut_at() is None
    assert "  no cut in force, unit" in str(nothing)


def test_every_key_is_in_the_json_and_plain() -> None:
    confidence = assess([0.61, 0.5, 0.4], calibration=calibration())
    dumped = json.loads(json.dumps(confidence.model_dump(mode="json"), allow_nan=False))
    assert set(dumped) == set(RecallConfidence.model_fields)
    assert dumped["probability"] == 0.9002
    assert RecallConfidence.model_validate(dumped) == confidence


# What is said


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("top", [0.2, 0.40, 0.43, 0.46, 0.5, 0.95])
def test_the_rationale_speaks_of_the_topic(mode: str, top: float) -> None:
    confidence = assess([top, 0.1], calibration=fit(Toy(), **MODES[mode]))
    text = confidence.rationale
    assert f"Top cosine {top:.2f}" in text
    assert "probability 0." in text or "probability 1.00" in text
    found = confidence.level in ("high", "moderate")
    assert ("the exact fact is not verified" in text) == found
    assert ("nothing relevant" in text) == (not found)
    assert "Read" not in text
    assert "external source" not in text
    assert text.count(". ") + text.endswith(".") <= 2


def test_the_summary_can_be_read() -> None:
    text = str(fit(Toy(), documents=DOCUMENTS[:8], encoder="toy"))
    assert "Calibration (null): few_documents" in text
    assert "encoder toy, 8 documents" in text
    assert "30 probes, 8 pseudo-queries, 0 past queries, 0 labelled queries" in text
    assert "learned from general questions and pieces of stored texts, no labels" in text
    assert "self_retrieval quartiles 0." in text
    assert "note: only 8 pieces" in text
    assert text.endswith("In short: use it with care, and fit again when more texts are stored.")
    assert "not named, unknown number of documents" in str(calibration())


def test_the_summary_names_only_what_was_learnt_from() -> None:
    few = str(fit(Toy(), documents=DOCUMENTS[:4], past_queries=["present past 1"]))
    assert "learned from general questions, no labels" in few
    assert "30 probes, 4 pseudo-queries, 1 past query, 0 labelled queries" in few
    assert "note: only 4 pieces of stored texts could be used, 5 are needed: left out" in few
    past = str(fit(Toy(), **MODES["null+past"]))
    assert "general questions, pieces of stored texts and past queries, no labels" in past
    labelled = str(fit(Toy(), documents=DOCUMENTS[:1], **MODES["labelled"]))
    assert "learned from general questions and labelled queries\n" in labelled
    assert "not named, 1 document, " in labelled
    assert "1 probe, 1 pseudo-query" in str(
        calibration(counts=(("probes", 1), ("pseudo-queries", 1)))
    )


# Prior and cuts


@UNHURRIED
@given(st.floats(-10, 10), st.floats(0.001, 0.999), st.floats(0.001, 0.999))
def test_the_prior_shifts_the_log_odds(statistic: float, prior: float, other: float) -> None:
    low, high = (calibration().with_prior(p) for p in sorted((prior, other)))
    assert low.probability_of(statistic) <= high.probability_of(statistic) + 1e-12
    at = low.probability_of(statistic)
    odds = at / (1 - at) if at < 1 else inf
    expected = sigmoid(2.0 * statistic) / (1 - sigmoid(2.0 * statistic))
    assert odds == pytest.approx(expected * low.prior / (1 - low.prior), rel=1e-4)


@UNHURRIED
@given(st.floats(0, 1), st.floats(0, 1, exclude_min=True, exclude_max=True),
       st.floats(0, 1, exclude_min=True, exclude_max=True))  # fmt: skip
def test_a_shifted_probability_is_one(probability: float, prior: float, share: float) -> None:
    assert 0.0 <= shift_prior(probability, prior, share) <= 1.0


def test_few_answerable_queries_need_a_higher_score() -> None:
    pool = [0.52, 0.3]
    levels = [assess(pool, calibration=calibration().with_prior(p)).level for p in (0.01, 0.3, 0.9)]
    assert levels == ["none", "low", "high"]


@pytest.mark.parametrize("prior", [0, 1, 0.0, 1.0, -0.1, nan, True, "0.5", None])
def test_a_prior_is_a_share(prior: Any) -> None:
    with pytest.raises(ConfigurationError, match="prior"):
        calibration().with_prior(prior)


@pytest.mark.parametrize("prior", [1e-9, 1 - 1e-15])
def test_a_prior_or_cuts_that_leave_one_level_are_refused(prior: float) -> None:
    made, level = calibration(), "none" if prior < 0.5 else "high"
    with pytest.raises(ConfigurationError, match=f"with prior=.* call every query {level}"):
        made.with_prior(prior)
    cuts = [abs(int(prior < 0.5) - distance) for distance in (3e-15, 2e-15, 1e-15)]
    with pytest.raises(ConfigurationError, match=f"with cuts of .* call every query {level}"):
        made.with_cuts(*sorted(cuts))
    with pytest.raises(ConfigurationError, match=r"with prior=.* call every query"):
        fit(lambda query: Toy()(query).cosines, documents=[], prior=prior)
    undecided = calibration(status="no_valid_threshold")
    assert undecided.with_prior(prior).prior == prior


@pytest.mark.parametrize("mode", MODES)
def test_ordinary_settings_can_be_saved_and_loaded(mode: str, tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    fitted = fit(Toy(), **MODES[mode])
    changes: list[Callable[[Calibration], Calibration]] = [
        *(partial(Calibration.with_prior, prior=n / 100) for n in (1, 5, 20, 50, 80, 95, 99)),
        lambda made: made.with_cuts(0.01, 0.02, 0.03),
        lambda made: made.with_cuts(0.5, 0.9, 0.99),
    ]
    for change in changes:
        for floor in (fitted.floor, None):
            made = change(replace(fitted, floor=floor))
            made.save(path)
            assert Calibration.load(path) == made


def test_other_cuts() -> None:
    strict = calibration().with_cuts(0.5, 0.9, 0.99)
    assert assess([0.56, 0.3], calibration=calibration()).level == "moderate"
    assert assess([0.56, 0.3], calibration=strict).level == "low"


@pytest.mark.parametrize("cuts", [(0.0, 0.5, 0.8), (0.5, 0.4, 0.8), (0.2, 0.5, 1.0), (nan,) * 3])
def test_cuts_rise(cuts: tuple[float, float, float]) -> None:
    with pytest.raises(ConfigurationError, match="cuts must"):
        calibration().with_cuts(*cuts)


def test_settings_of_numpy_are_kept_as_built_in_numbers(tmp_path: Path) -> None:
    made = calibration(answerable=tuple(n / 40 for n in range(40)))
    prior, *cuts, risk = np.array([0.3, 0.2, 0.5, 0.75, 0.05], np.float32)
    made = made.with_prior(prior).with_cuts(*cuts).with_risk(risk)
    numbers = (made.prior, *made.cuts, made.max_false_none)
    assert all(type(number) is float for number in numbers)
    made.save(tmp_path / "c.json")
    assert Calibration.load(tmp_path / "c.json") == made
    assert fit(Toy(), prior=np.float32(0.25)).prior == 0.25


# The cut in force


@pytest.mark.parametrize("prior", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("mode", MODES)
def test_the_cut_in_force_has_an_even_probability(mode: str, prior: float) -> None:
    fitted = fit(Toy(), **MODES[mode]).with_prior(prior)
    cut = fitted.cut_at()
    assert cut is not None
    below, above = (fitted.probability_of(fitted.scale.standardize(cut + d)) for d in (-1e-9, 1e-9))
    assert below < 0.5 <= above
    assert fitted.venn_abers is not None or above == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_the_level_at_the_cut_is_moderate_and_below_it_is_not(mode: str) -> None:
    fitted = replace(fit(Toy(), **MODES[mode]), floor=None)
    for prior in (1e-9, 0.001, 0.05, 0.2, 0.5, 0.95, 1 - 1e-9):
        moved = replace(fitted, prior=prior)
        for coverage in (None, 0.0, 0.3, 1.0):
            cut = moved.cut_at(coverage)
            if cut is None:
                outermost = {moved.judge("none", top, coverage).level for top in (-9.0, 9.0)}
                assert outermost in ({"none"}, {"none", "low"}, {"high"})
                assert "  no cut in force, unit" in str(moved)
                continue
            at, below = (moved.judge("none", top, coverage) for top in (cut, cut - 1e-9))
            assert at.level in ("moderate", "high")
            assert below.level in ("none", "low")
            if coverage is not None or moved.venn_abers is None:
                assert at.probability == pytest.approx(0.5, abs=1e-6)


def jumping(lower: tuple[float, ...], upper: tuple[float, ...]) -> Calibration:
    return calibration(venn_abers=VennAbers((-0.3, 0.7), lower, upper, 0.5))


@pytest.mark.parametrize("scale", [Scale(0.5, 0.1), Scale(0.1, 0.07), Scale(0.6, 1e-6)])
@pytest.mark.parametrize(
    ("steps", "edge"),
    [
        ((0.1, 0.1, 0.9, 0.9, 0.9), -0.3),  # above the first edge
        ((0.1, 0.6, 0.9, 0.9, 0.9), -0.3),  # on it
        ((0.1, 0.1, 0.1, 0.5, 0.9), 0.7),
        ((0.1, 0.1, 0.1, 0.2, 0.9), 0.7),
    ],
)
def test_steps_have_their_cut_where_they_jump(
    scale: Scale, steps: tuple[float, ...], edge: float
) -> None:
    made = replace(jumping(steps, steps), scale=scale)
    cut = made.cut_at()
    assert cut is not None
    assert cut == pytest.approx(scale.cut + scale.unit * edge, abs=1e-12)
    at, below = (made.probability_of(scale.standardize(top)) for top in (cut, cut - 1e-15))
    assert below < 0.5 <= at


def test_the_cut_of_any_probability() -> None:
    made = calibration(words=WORDS).with_prior(0.3)
    for probability in (0.1, 0.2, 0.5, 0.8, 0.999):
        for coverage in (None, 0.0, 1.0):
            cut = made.cut_at(coverage, probability)
            assert cut is not None
            judged = made.judge("none", cut, coverage).probability
            assert judged is not None
            assert judged == pytest.approx(probability, abs=1e-9)
            assert judged >= probability
    for wrong in (0.0, 1.0, 5, "0.5"):
        with pytest.raises(ConfigurationError, match="probability must be a share"):
            made.cut_at(None, wrong)  # type: ignore[arg-type]


def test_a_line_too_flat_for_any_cosine_has_no_cut() -> None:
    level = replace(WORDS, line=WordLine(intercept=-1e12, per_cosine=5e-324, per_coverage=0.0))
    flat = calibration(platt=Platt(-1e12, 5e-324), words=level)
    assert flat.cut_at() is flat.cut_at(0.5) is None
    assert "  no cut in force, unit 0.100" in str(flat)
    assert "  with words: cut none at term coverage 0, none at 1" in str(flat)
    assert level_lines(flat) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("prior", [0.1, 0.9])
def test_the_cut_that_is_said_is_the_one_in_force(mode: str, prior: float) -> None:
    fitted = fit(Toy(), **MODES[mode]).with_prior(prior)
    for top in (0.2, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.8):
        confidence = assess([top, 0.1], calibration=fitted)
        cut = float(confidence.rationale.partition("a cut of ")[2][:4])
        if abs(top - cut) > 0.005:
            assert (top > cut) == (confidence.level in ("high", "moderate"))
    assert f"cut {fitted.cut_at():.3f}" in str(fitted)


def test_where_everything_lies_on_one_side_no_cut_is_said() -> None:
    steps = VennAbers((0.0,), (0.8, 0.8, 0.9), (0.9, 0.9, 0.9), 0.5)
    sure = calibration(venn_abers=steps)
    assert sure.cut_at() is None
    assert "on a scale learned by calibration" in assess([0.4], calibration=sure).rationale
    never = calibration(venn_abers=VennAbers((0.0,), (0.0,) * 3, (0.1,) * 3, 0.5))
    assert never.cut_at() is None
    assert "  no cut in force, unit" in str(never)


def test_venn_abers_probabilities_are_moved_from_the_share_of_the_labels() -> None:
    free = calibration(venn_abers=STEPS)
    assert free.with_prior(0.75).probability_of(0.0) == STEPS.probability(0.0) == 0.5 / 1.4
    assert free.probability_of(0.0) == pytest.approx(5 / 32)


# Encoder and corpus


def test_another_encoder_is_refused() -> None:
    named = calibration(encoder="a")
    named.require_encoder("a")
    named.require_encoder(None)
    calibration().require_encoder("b")
    with pytest.raises(CalibrationError, match=r"encoder 'a' and cannot be used with 'b'.*anew"):
        named.require_encoder("b")


@pytest.mark.parametrize(
    ("size", "stale"), [(100, False), (199, False), (51, False), (200, True), (50, True), (0, True)]
)
def test_a_corpus_twice_as_large_is_told_of(size: int, stale: bool) -> None:
    told = calibration(corpus_size=100).staleness(size)
    assert (told is not None) == stale
    assert told is None or f"{size} documents and had 100" in told


@pytest.mark.parametrize("wrong", [-0.1, 2, nan, "x", True])
def test_a_coverage_that_is_none_has_no_cut(wrong: Any) -> None:
    for undecided in (calibration(), calibration(status="no_valid_threshold")):
        with pytest.raises(ConfigurationError, match="term_coverage must be a"):
            undecided.cut_at(wrong)


@pytest.mark.parametrize("wrong", ["a", -1, nan, None])
def test_a_size_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="corpus_size must be a"):
        calibration(corpus_size=100).staleness(wrong)


def test_of_a_corpus_of_unknown_size_nothing_can_be_told() -> None:
    told = calibration().staleness(100)
    assert told is not None
    assert "cannot be noticed: the fit was given no `documents`" in told
    assert calibration(corpus_size=0).staleness(100) is None


def test_a_calibration_is_a_frozen_value() -> None:
    assert calibration() == calibration()
    assert len({calibration(), calibration()}) == 1
    with pytest.raises(FrozenInstanceError):
        calibration().prior = 0.4  # type: ignore[misc]


@pytest.mark.parametrize(
    "given",
    [
        {"scale": Scale(0.5, 0.0)},
        {"scale": Scale(0.5, -0.1)},
        {"answerable": (0.5, 0.4)},
    ],
)
def test_what_could_not_be_applied_cannot_be_made(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        calibration(**given)


# Saved and loaded

finite = st.floats(allow_nan=False, allow_infinity=False)
names = st.text(st.sampled_from("abcÄß 学-_.:/9"), min_size=1, max_size=9)
sorted_tops = st.lists(finite, max_size=4).map(sorted).map(tuple)
calibrations = st.builds(
    calibration,
    mode=st.sampled_from(["null", "null+past", "labelled"]),
    status=st.just("no_valid_threshold"),
    scale=st.builds(Scale, finite, finite),
    platt=st.builds(Platt, st.floats(-1e9, 1e9), st.floats(0, 1e9)),
    venn_abers=st.sampled_from([None, STEPS, replace(STEPS, edges=(-1.7e308, 5e-324))]),
    overlap=st.floats(0, 1),
    prior=st.floats(0, 1, exclude_min=True, exclude_max=True),
    encoder=st.none() | names,
    corpus_size=st.none() | st.integers(0),
    counts=st.lists(st.tuples(names, st.integers(0)), max_size=3).map(tuple),
    quartiles=st.lists(st.tuples(names, st.tuples(finite, finite, finite)), max_size=3).map(tuple),
    warnings=st.lists(names, max_size=3).map(tuple),
    answerable=sorted_tops,
)


@UNHURRIED
@given(calibrations)
def test_what_is_loaded_is_what_was_saved(tmp_path_factory: Any, saved: Calibration) -> None:
    path = tmp_path_factory.getbasetemp() / "calibration.json"
    saved.save(path)
    assert Calibration.load(path) == saved
    assert json.loads(path.read_text())["v"] == 2


@pytest.mark.parametrize("mode", MODES)
def test_a_loaded_fit_says_the_same(mode: str, tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    saved = fit(Toy(), **MODES[mode])
    saved.save(str(path))
    loaded = Calibration.load(str(path))
    assert loaded == saved
    for top in (0.2, 0.41, 0.5, 0.9, *saved.answerable):
        assert assess([top, 0.1], calibration=loaded) == assess([top, 0.1], calibration=saved)


def changed(change: Callable[[dict[str, Any]], Any]) -> bytes:
    whole = calibration(venn_abers=STEPS, answerable=(0.4, 0.5))
    written = json.loads(json.dumps({"v": 2, **asdict(whole)}))
    return json.dumps(change(written) or written).encode()


def of_dimensions(dimensions: int) -> dict[str, Any]:
    """Canaries of a file whose encoder's vectors have so many numbers."""
    return asdict(Canaries(seen=(), fingerprint=Fingerprint(dimensions, (0.1,))))


def covering(logits: float) -> dict[str, Any]:
    """Words of a file in which a full coverage counts so many logits."""
    return asdict(replace(WORDS, line=replace(WORDS.line, per_coverage=logits)))


@pytest.mark.parametrize(
    ("mode", "logits"), [("null", 5.04), ("null+past", 5.76), ("labelled", 120.0)]
)
def test_words_that_count_as_much_as_a_fit_lets_them_are_loaded(
    mode: str, logits: float, tmp_path: Path
) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(changed(lambda values: values.update(words=covering(logits), mode=mode)))
    loaded = Calibration.load(path)
    assert loaded.words is not None
    assert loaded.words.line.per_coverage == logits


@pytest.mark.parametrize(
    ("mode", "logits", "said"),
    [
        ("null", 1e9, r"1e\+09, at most 5\.76"),
        ("null+past", 5.77, r"5\.77, at most 5\.76"),
        ("labelled", 121.0, "121, at most 120"),
    ],
)
def test_words_that_hide_the_cosine_are_refused(
    mode: str, logits: float, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(changed(lambda values: values.update(words=covering(logits), mode=mode)))
    with pytest.raises(CalibrationError, match=rf"hide the cosine \(per_coverage {said}\); fit"):
        Calibration.load(path)


def test_the_file_that_the_others_are_made_of_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(changed(lambda values: None))
    assert Calibration.load(path).venn_abers == STEPS


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"7",
        b'"text"',
        b"{}",
        b'{"v": 2}',
        b"\xff\xfe{",
        b"[" * 100_000,
        b'{"v": ' + b"9" * 5000 + b"}",
        changed(lambda v: None)[:-40],
        changed(lambda v: v.pop("scale")),
        changed(lambda v: v.update(mode="guess")),
        changed(lambda v: v.update(status="fine")),
        changed(lambda v: v.update(extra=1)),
        changed(lambda v: v.update(prior=1.0)),
        changed(lambda v: v.update(prior=None)),
        changed(lambda v: v.update(overlap=nan)),
        changed(lambda v: v.update(cuts=[0.2, 0.5])),
        changed(lambda v: v.update(cuts=[0.5, 0.2, 0.8])),
        changed(lambda v: v.update(counts=[["probes"]])),
        changed(lambda v: v.update(warnings="text")),
        changed(lambda v: v.update(answerable=[0.5, 0.4])),
        changed(lambda v: v.update(max_false_none=0.05)),
        changed(lambda v: v.update(max_false_none=7)),
        changed(lambda v: v["scale"].update(cut="high")),
        changed(lambda v: v["scale"].update(cut=inf)),
        changed(lambda v: v["scale"].update(unit=0.0)),
        changed(lambda v: v["scale"].pop("unit")),
        changed(lambda v: v["platt"].update(slope=nan)),
        changed(lambda v: v["venn_abers"].update(lower=[0.1])),
        changed(lambda v: v["venn_abers"].update(share=0)),
        changed(lambda v: v["venn_abers"].update(edges=[[1]])),
        changed(lambda v: v["platt"].update(slope=-2.0)),
        changed(lambda v: v["platt"].update(slope="2.0")),
        changed(lambda v: v["platt"].update(slope=True)),
        changed(lambda v: v["platt"].update(intercept=1e300)),
        changed(lambda v: v["scale"].update(cut="NaN")),
        changed(lambda v: v["scale"].update(cut="0.5")),
        changed(lambda v: v["scale"].update(unit=-0.1)),
        changed(lambda v: v["venn_abers"].update(lower=[0.6, 0.1, 0.2, 0.5, 0.6])),
        changed(lambda v: v["venn_abers"].update(edges=[1.0, 0.0])),
        changed(lambda v: v.update(prior=True)),
        changed(lambda v: v.update(bounds=[0.5, 0.4])),
        changed(lambda v: v.update(corpus_size=True)),
        changed(lambda v: v.update(reranker={"scale": "logit", "line": [0.0, 1.0, -1.0]})),
        changed(lambda v: None).replace(b'"slope": 2.0', b'"slope": 1e999'),
        changed(lambda v: None).replace(b'"v": 2', b'"v": 1, "v": 2'),
        changed(lambda v: None).replace(b'"unit":', b'"unit": 0.1, "unit":'),
        b"\xef\xbb\xbf" + changed(lambda v: None),
        changed(lambda v: None).decode().encode("utf-16"),
        changed(lambda v: None).replace(b'"slope": 2.0', b'"slope": 1' + b"0" * 400),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    """B5: texts for numbers, negative slopes and other nonsense are no calibration."""
    path = tmp_path / "secret-folder" / "c.json"
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(CalibrationError, match=r"c\.json is not a saved calibration") as caught:
        Calibration.load(path)
    assert "secret-folder" not in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v["scale"].update(cut=1.5),
        lambda v: v["scale"].update(cut=-1.5),
        lambda v: v["scale"].update(cut=1.0009),
        lambda v: v["scale"].update(cut=-1.0),
        lambda v: v["scale"].update(cut=-1.0009),
        lambda v: v["scale"].update(cut=1e17),
        lambda v: (v["platt"].update(slope=0.0), v.update(venn_abers=None)),
        lambda v: v["venn_abers"].update(edges=[], lower=[0.5], upper=[0.5]),
        lambda v: (v["scale"].update(unit=1e300), v.update(venn_abers=None)),
        lambda v: v.update(floor=-1.0),
        lambda v: (v["platt"].update(intercept=-1e6), v.update(floor=0.94, venn_abers=None)),
        lambda v: (v["platt"].update(intercept=1e6), v.update(venn_abers=None)),
        lambda v: v.update(prior=1 - 1e-15, venn_abers=None),
        lambda v: v.update(prior=1e-9, venn_abers=None),
        lambda v: v.update(cuts=[1e-12, 1e-11, 1e-10]),
        lambda v: v.update(cuts=[1 - 3e-12, 1 - 2e-12, 1 - 1e-12], venn_abers=None),
    ],
)
def test_levels_that_would_be_constant_are_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], Any]
) -> None:
    """B5: a calibration never gives one level whatever it sees."""
    path = tmp_path / "c.json"
    path.write_bytes(changed(lambda values: change(values) and None))
    with pytest.raises(CalibrationError, match=r"c\.json holds a calibration that gives no query"):
        Calibration.load(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"overlap": 2.0}, r"overlap is no share between 0 and 1 \(2\)"),
        ({"overlap": -0.5}, r"overlap is no share between 0 and 1 \(-0\.5\)"),
        ({"floor": 5.0}, r"floor is no cosine \(5\)"),
        ({"floor": -1.5}, r"floor is no cosine \(-1\.5\)"),
        ({"corpus_size": -3}, "counts or sizes are negative"),
        ({"estimated_size": -1}, "counts or sizes are negative"),
        ({"counts": [["probes", 7], ["past queries", -3]]}, "counts or sizes are negative"),
        ({"canaries": of_dimensions(0)}, "fingerprint is of vectors of 0 numbers"),
        ({"canaries": of_dimensions(10**29)}, f"fingerprint is of vectors of {10**29} numbers"),
    ],
    ids=stable_repr,
)
@pytest.mark.parametrize("status", ["ok", "no_valid_threshold"])
def test_figures_that_cannot_be_are_refused(
    tmp_path: Path, change: dict[str, Any], said: str, status: str
) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(changed(lambda values: values.update(**change, status=status)))
    with pytest.raises(CalibrationError, match=rf"c\.json is not a saved calibration: its {said};"):
        Calibration.load(path)


@pytest.mark.parametrize("version", [0, 1, 3, "2", 2.0, True, None, {"a": 1}])
def test_another_version_is_told_of(tmp_path: Path, version: Any) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(changed(lambda values: values.update(v=version)))
    with pytest.raises(CalibrationError, match="of another version than 2"):
        Calibration.load(path)


@pytest.mark.parametrize("kind", [Calibration, Baseline])
def test_saving_replaces_the_file_whole_or_not_at_all(
    kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.json"
    saved: Any = calibration() if kind is Calibration else Baseline([0.5])
    saved.save(path)
    before = path.read_bytes()

    def full(_file: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", full)
    other: Any = calibration(prior=0.3) if kind is Calibration else Baseline([0.5, 0.6])
    with pytest.raises(OSError, match="no space left"):
        other.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    monkeypatch.undo()
    other.save(path)
    assert path.read_bytes() != before
    assert list(tmp_path.iterdir()) == [path]


def test_leftovers_of_killed_processes_are_removed_at_the_next_save(tmp_path: Path) -> None:
    """F3: no temporary file stays."""
    path = tmp_path / "c[1].json"
    program = (
        "import os, sys; from tests.calibration.toys import calibration; "
        "os.fsync = lambda _: os.kill(os.getpid(), 9); calibration().save(sys.argv[1])"
    )
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", program, path], cwd=Path(__file__).parents[2])
        assert done.returncode == -9
    leftovers = list(tmp_path.iterdir())
    assert len(leftovers) == 1  # the second one removed the first one's
    (other := tmp_path / ".c.json.12345678").touch()
    with leftovers[0].open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as its writer does while it is alive
        calibration().save(path)
        assert leftovers[0].exists()
    calibration().save(path)
    assert sorted(tmp_path.iterdir()) == sorted([path, other])


@pytest.mark.parametrize("held", [False, True])
def test_a_file_that_is_taken_for_a_leftover_is_written_again(
    held: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lock = tmp_path / "c.json", fcntl.flock
    taken: list[Path] = []

    def steal(file: int, operation: int) -> None:
        if not taken:
            taken.append(Path(f"/proc/self/fd/{file}").readlink())
            taken[0].unlink()
            if held:
                raise BlockingIOError
        lock(file, operation)

    monkeypatch.setattr("fcntl.flock", steal)
    calibration().save(path)
    assert list(tmp_path.iterdir()) == [path]


def test_saving_keeps_the_permissions(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    calibration().save(path)
    path.chmod(0o640)
    calibration(prior=0.3).save(path)
    assert path.stat().st_mode & 0o777 == 0o640
    assert Calibration.load(path).prior == 0.3


@pytest.mark.parametrize("folder", ["nodir", "file"])
def test_saving_into_no_folder_says_so(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError, match="The folder does not exist") as caught:
        calibration().save(tmp_path / folder / "x.json")
    assert caught.value.filename == str(tmp_path / folder)


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Calibration.load(tmp_path / "none.json")
