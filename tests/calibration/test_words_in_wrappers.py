"""A calibrated wrapper reads the words of its candidates, and another one does not."""

from dataclasses import asdict
from typing import Any

import pytest

from recall_signal import Baseline, assess
from tests.golden import langchain_results, llama_results
from tests.golden.world import QUESTIONS

WRAPPED: dict[str, Any] = {
    "langchain": langchain_results.wrapped,
    "llama_index": llama_results.wrapped,
}


@pytest.mark.parametrize("framework", WRAPPED)
async def test_words_count_in_a_calibrated_wrapper_alone(framework: str) -> None:
    wrapped = WRAPPED[framework]
    calibration = wrapped().calibrate()
    assert calibration.reads_words
    assert calibration.estimated_size == 24
    plain, judged = wrapped(), wrapped(calibration=calibration)
    for name, share in (("stored", 1.0), ("near", 0.7), ("absent", 0.0), ("symbols", None)):
        response = judged.recall(QUESTIONS[name])
        assert (await judged.arecall(QUESTIONS[name])).confidence == response.confidence
        coverage = response.confidence.term_coverage
        assert coverage == (None if share is None else pytest.approx(share, abs=0.05))
        assert assess(response.pool, calibration=calibration) == response.confidence
        assert plain.recall(QUESTIONS[name]).confidence.term_coverage is None
    assert wrapped(baseline=Baseline()).recall(QUESTIONS["near"]).confidence.term_coverage is None
    both = wrapped(calibration=calibration, baseline=Baseline())
    found = both.recall(QUESTIONS["near"]).confidence
    assert found == judged.recall(QUESTIONS["near"]).confidence


def test_both_frameworks_learn_the_same_words() -> None:
    langchain, llama_index = (wrapped().calibrate().words for wrapped in WRAPPED.values())
    assert langchain.vocabulary == llama_index.vocabulary
    assert asdict(langchain.scale) == pytest.approx(asdict(llama_index.scale), abs=1e-4)
