"""Calibration and baseline around a retriever of either framework."""

from dataclasses import replace
from errno import ENOSPC
from functools import cache
from inspect import isawaitable
from typing import Any

import numpy as np
import pytest

from recall_signal import (
    Baseline,
    Calibration,
    CalibrationError,
    ConfigurationError,
    InvalidInputError,
    Thresholds,
)
from tests.frameworks import FRAMEWORKS, QUERY, Framework

COSINES = np.linspace(0.95, 0.1, 60).tolist()
ENCODERS = {"langchain": "Encoder", "llama_index": "settable"}


def over(framework: Framework, **settings: Any) -> Any:
    return framework.over(COSINES, 3, **settings)


@cache
def fitted(name: str) -> Calibration:
    """With a cut, which an encoder without any meaning does not always give."""
    return replace(over(FRAMEWORKS[name]).calibrate(), status="ok")


async def test_a_bare_retriever_is_enough(framework: Framework) -> None:
    calibration = fitted(framework.name)
    counts = dict(calibration.counts)
    assert counts["probes"] > 50
    assert counts["pseudo-queries"] > 5
    assert calibration.encoder == ENCODERS[framework.name]
    assert (await over(framework).acalibrate()).scale == calibration.scale


def test_the_level_follows_the_probability(framework: Framework) -> None:
    bare = over(framework)
    before = bare.recall(QUERY).confidence
    after = bare.with_calibration(fitted(framework.name)).recall(QUERY).confidence
    assert (after.basis, before.basis) == ("calibration", "prominence")
    assert after.probability is not None
    changed = {"level", "basis", "probability", "rationale", "term_coverage"}
    assert after.model_dump(exclude=changed) == before.model_dump(exclude=changed)


def test_without_a_threshold_the_rationale_says_so(framework: Framework) -> None:
    flat = replace(fitted(framework.name), status="no_valid_threshold")
    bare = over(framework).recall(QUERY).confidence
    said = over(framework, calibration=flat).recall(QUERY).confidence
    assert said.level == bare.level
    assert said.rationale == (
        f"{bare.rationale} Uncalibrated: the calibration found no threshold for this retriever."
    )


@pytest.mark.parametrize("method", ["calibrated", "acalibrated"])
async def test_and_so_does_the_log_when_it_is_fitted(
    method: str, framework: Framework, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    flat = replace(fitted(framework.name), status="no_valid_threshold")

    async def afit(*_given: object, **_named: object) -> Calibration:
        return flat

    monkeypatch.setattr(Calibration, "fit", lambda *_given, **_named: flat)
    monkeypatch.setattr(Calibration, "afit", afit)
    await outcome(getattr(over(framework), method))
    assert [record.getMessage() for record in caplog.records] == [
        "the calibration found no threshold for this retriever, whose levels stay uncalibrated; "
        "print(retriever.current_calibration) shows what it saw"
    ]


def test_so_it_does_where_keyword_scores_cannot_be_calibrated(framework: Framework) -> None:
    def keywords(**settings: Any) -> Any:
        return framework.listed([9.0, 2.0, 1.5, 1.0], score_kind="bm25", **settings)

    bare = keywords().recall(QUERY).confidence
    learning = keywords(calibration="auto")
    for status, reason in (
        ("waiting", "the calibration starts after the first query without a filter or a tenant."),
        ("not_measurable", "30 searches brought no cosine back: "),
    ):
        assert learning.calibration_status == status
        said = learning.recall(QUERY).confidence
        assert said.rationale.startswith(f"{bare.rationale} Uncalibrated: {reason}")
        assert said.model_copy(update={"rationale": bare.rationale}) == bare
        assert not learning.wait_until_calibrated(30.0)


def test_what_belongs_to_another_encoder_is_refused(framework: Framework) -> None:
    calibration = replace(fitted(framework.name), encoder="another")
    with pytest.raises(CalibrationError, match="'another'"):
        over(framework, calibration=calibration)
    cuts, name = Thresholds(encoder="another"), ENCODERS[framework.name]
    with pytest.raises(ConfigurationError, match=f"'another' and cannot be used with '{name}'"):
        over(framework, thresholds=cuts)
    over(framework, thresholds=Thresholds(encoder=name))
    framework.around(list, thresholds=cuts)  # its encoder is not known


def test_a_baseline_speaks_from_thirty_queries_on(framework: Framework) -> None:
    baseline = Baseline()
    retriever = over(framework, baseline=baseline)
    bases = [retriever.recall(f"question {n}").confidence.basis for n in range(31)]
    assert [basis == "stream" for basis in bases] == [False] * 30 + [True]
    assert len(baseline) == 31


def test_with_both_the_calibration_decides_and_the_baseline_listens(framework: Framework) -> None:
    baseline = Baseline()
    both = over(framework, calibration=fitted(framework.name), baseline=baseline)
    assert both.recall(QUERY).confidence.basis == "calibration"
    assert len(baseline) == 1


def test_calibrating_leaves_baseline_and_selector_alone(framework: Framework) -> None:
    requests: list[Any] = []

    class Counting:
        def select(self, request: Any) -> Any:
            requests.append(request)

    baseline = Baseline()
    over(framework, baseline=baseline, selector=Counting()).calibrate()
    assert (len(baseline), requests) == (0, [])


def test_a_retriever_without_cosines_cannot_be_calibrated(framework: Framework) -> None:
    with pytest.raises(CalibrationError, match="no cosines"):
        framework.around(lambda: ["t0", "t1", "t2"]).calibrate()


@pytest.mark.parametrize("setting", ["calibration", "baseline"])
def test_what_is_neither_is_refused(framework: Framework, setting: str) -> None:
    with pytest.raises(ConfigurationError, match="got dict"):
        over(framework, **{setting: {"scale": 1}})


def test_other_labels_are_fitted_anew(framework: Framework, tmp_path: Any) -> None:
    labels = [(f"{QUERY} {n}", n % 2 == 0) for n in range(40)]
    path = tmp_path / "c.json"
    first = over(framework).calibrated(path, labelled=labels[:20]).current_calibration
    again = over(framework).calibrated(path, labelled=iter(labels[:20])).current_calibration
    kept = over(framework).calibrated(path).current_calibration
    more = over(framework).calibrated(path, labelled=labels).current_calibration
    assert first == again == kept
    assert dict(more.counts)["labelled queries"] == 40
    with pytest.raises(InvalidInputError, match="a pair of str and str"):
        over(framework).calibrated(path, labelled=[("a question", "yes")])


def test_labels_in_a_stale_file_are_not_lost(
    framework: Framework, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    labels = [(f"{QUERY} {n}", n % 2 == 0) for n in range(40)]
    path = tmp_path / "c.json"
    replace(over(framework).calibrate(), mode="labelled", encoder="one").save(path)
    saved = path.read_bytes()
    fitted = over(framework).calibrated(path).current_calibration
    assert fitted.mode == "null"
    assert path.read_bytes() == saved
    assert (
        "c.json no longer fits: this calibration was fitted with the encoder 'one'" in caplog.text
    )
    assert "(mode labelled), and is left alone; give them again" in caplog.text
    over(framework).calibrated(path, labelled=labels)
    assert dict(Calibration.load(path).counts)["labelled queries"] == 40


def test_another_name_than_the_encoders_own_costs_no_fit(
    framework: Framework, tmp_path: Any
) -> None:
    path = tmp_path / "c.json"
    name = over(framework).calibrated(path).current_calibration.encoder
    saved = path.read_bytes()
    with pytest.raises(ConfigurationError, match="encoder='other' is not the name of the encoder"):
        over(framework).calibrated(path, encoder="other")
    assert path.read_bytes() == saved
    assert over(framework).calibrated(path, encoder=name).current_calibration.encoder == name


def test_a_fit_is_not_lost_where_it_cannot_be_written(
    framework: Framework,
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(Calibration, "save", full)
    calibrated = over(framework).calibrated(tmp_path / "c.json")
    assert calibrated.current_calibration is not None
    assert "c.json (No space left on device); save it elsewhere" in caplog.text


def test_a_link_that_leads_nowhere_is_replaced(framework: Framework, tmp_path: Any) -> None:
    link = tmp_path / "link"
    link.symlink_to("/nowhere/c.json")
    over(framework).calibrated(link)
    assert not link.is_symlink()
    assert Calibration.load(link).mode == "null"


@pytest.mark.parametrize("path", [b"c.json", 5, ""])
def test_what_is_no_path_is_refused(framework: Framework, path: Any) -> None:
    with pytest.raises(ConfigurationError, match="path must be a path"):
        over(framework).calibrated(path)


def test_a_stale_file_without_labels_is_replaced_and_said_to_be(
    framework: Framework, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "c.json"
    replace(over(framework).calibrate(), encoder="one").save(path)
    over(framework).calibrated(path)
    assert Calibration.load(path).encoder != "one"
    assert "c.json no longer fits" in caplog.text


async def outcome(ask: Any, *given: Any, **named: Any) -> Any:
    made = ask(*given, **named)
    return await made if isawaitable(made) else made


@pytest.mark.parametrize("method", ["calibrate", "acalibrate", "calibrated", "acalibrated"])
@pytest.mark.parametrize(
    ("name", "hint"), [("labels", "did you mean labelled"), ("k", "they are documents, past_q")]
)
async def test_an_unknown_argument_of_a_fit_is_named(
    method: str, name: str, hint: str, framework: Framework, tmp_path: Any
) -> None:
    """Also where a file would have been read and no fit made."""
    path = [tmp_path / "fit.json"] if "calibrated" in method else []
    with pytest.raises(ConfigurationError, match=f"{name} is no argument of a calibration; {hint}"):
        await outcome(getattr(over(framework), method), *path, **{name: []})
    assert not list(tmp_path.iterdir())
