"""Calibration and baseline around a LangChain retriever."""

from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from langchain_fakes import QUERY, documents, simple_store

from langchain_recall_signal import RecallRetriever
from recall_signal import (
    Baseline,
    Calibration,
    CalibrationError,
    ConfigurationError,
    Thresholds,
)

STORE = simple_store(60)


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    return RecallRetriever.from_vectorstore(STORE, k=3).calibrate()


def test_a_bare_retriever_is_enough(calibration: Calibration) -> None:
    counts = dict(calibration.counts)
    assert counts["probes"] > 50
    assert counts["pseudo-queries"] > 5
    assert calibration.encoder == "Encoder"


async def test_asynchronously_it_is_the_same(calibration: Calibration) -> None:
    again = await RecallRetriever.from_vectorstore(STORE, k=3).acalibrate()
    assert again.scale == calibration.scale


def test_the_level_follows_the_probability(calibration: Calibration) -> None:
    bare = RecallRetriever.from_vectorstore(STORE, k=3)
    before = bare.recall(QUERY).confidence
    after = bare.with_calibration(calibration).recall(QUERY).confidence
    assert (after.basis, before.basis) == ("calibration", "prominence")
    assert after.probability is not None
    changed = {"level", "basis", "probability", "rationale"}
    assert after.model_dump(exclude=changed) == before.model_dump(exclude=changed)


def test_another_encoders_calibration_is_refused(calibration: Calibration) -> None:
    class Other(type(STORE.embeddings)):  # type: ignore[misc]
        model = "another"

    with pytest.raises(CalibrationError, match="'another'"):
        RecallRetriever(
            retriever=RunnableLambda(lambda _: []), embeddings=Other({}), calibration=calibration
        )


def test_another_encoders_thresholds_are_refused() -> None:
    cuts = Thresholds(encoder="another")
    with pytest.raises(ConfigurationError, match="'another' and cannot be used with 'Encoder'"):
        RecallRetriever.from_vectorstore(STORE, thresholds=cuts)
    RecallRetriever.from_vectorstore(STORE, thresholds=Thresholds(encoder="Encoder"))
    RecallRetriever(retriever=RunnableLambda(lambda _: []), thresholds=cuts)  # it is not known


def test_a_baseline_speaks_from_thirty_queries_on() -> None:
    baseline = Baseline()
    retriever = RecallRetriever.from_vectorstore(STORE, k=3, baseline=baseline)
    levels = [retriever.recall(f"question {n}").confidence.basis for n in range(31)]
    assert [basis == "stream" for basis in levels] == [False] * 30 + [True]
    assert len(baseline) == 31


def test_with_both_the_calibration_decides_and_the_baseline_listens(
    calibration: Calibration,
) -> None:
    baseline = Baseline()
    both = RecallRetriever.from_vectorstore(STORE, calibration=calibration, baseline=baseline)
    assert both.recall(QUERY).confidence.basis == "calibration"
    assert len(baseline) == 1


def test_calibrating_leaves_baseline_and_selector_alone() -> None:
    asked: list[Any] = []

    class Counting:
        def select(self, request: Any) -> Any:
            asked.append(request)

    baseline = Baseline()
    RecallRetriever.from_vectorstore(STORE, baseline=baseline, selector=Counting()).calibrate()
    assert (len(baseline), asked) == (0, [])


def test_a_retriever_without_cosines_cannot_be_calibrated() -> None:
    with pytest.raises(CalibrationError, match="no cosines"):
        RecallRetriever(retriever=RunnableLambda(lambda _: documents(3))).calibrate()


def test_a_calibration_that_fails_leaves_the_uncalibrated_level(
    calibration: Calibration, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError

    monkeypatch.setattr(Calibration, "apply", broken)
    retriever = RecallRetriever.from_vectorstore(STORE, calibration=calibration)
    assert retriever.recall(QUERY).confidence.basis == "prominence"


@pytest.mark.parametrize("setting", ["calibration", "baseline"])
def test_what_is_neither_is_refused(setting: str) -> None:
    with pytest.raises(ValueError, match="got dict"):
        RecallRetriever.from_vectorstore(STORE, **{setting: {"scale": 1}})
