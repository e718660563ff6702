"""The comparison with what else people use: what the page says of it, and how it learns."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langchain_recall_signal import RecallRetriever

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def peers() -> Iterator[Any]:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import peers

        yield peers
    finally:
        sys.path.remove(str(BENCHMARKS))
        for name in ("peers", "encoders"):
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def world(peers: Any) -> Any:
    return peers.World.load()


@pytest.mark.filterwarnings("ignore:Relevance scores must")
def test_the_rows_say_what_the_page_says(peers: Any, world: Any) -> None:
    bare = RecallRetriever.from_vectorstore(world.store, k=peers.K)
    everything = world.learned_from(peers.Question("", "", None))
    fixed, best, signal = rows = [
        peers.measure("a way", decide, world.questions)
        for decide in (
            peers.by_threshold(world, 0.5),
            peers.by_cosine(world, bare, everything)[1],
            peers.by_signal(bare.with_calibration(bare.calibrate())),
        )
    ]
    for row in rows:
        assert sum(all_ for _, all_ in row.read.values()) == len(world.questions) == 96
    assert fixed.read["stored"] == fixed.read["off_topic"] == (0, 24)
    assert signal.wrong < best.wrong < fixed.wrong
    assert peers.table(rows).row_count == 3


def test_nothing_is_learned_from_what_is_judged(world: Any) -> None:
    for question in world.questions:
        learned = world.learned_from(question)
        assert question.text not in {text for text, _ in learned}
        assert len(learned) == (48 if question.half is None else 24)
        assert sum(present for _, present in learned) * 2 == len(learned)
