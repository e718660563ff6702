"""From a search's scores to cosines: whose length is looked at, and when vectors stand in."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from recall_signal import ScoreKind
from recall_signal._flow.embedding import EmbedQuery
from recall_signal._steps.compute import CallStore, Compute
from recall_signal._steps.driver import drive
from recall_signal.stores import ScoreReading, read_scores
from recall_signal.stores._vectors import (
    NormCheck,
    VectorSource,
    resolve_cosines,
)

random = np.random.default_rng(3)
UNIT = random.standard_normal((6, 8))
UNIT /= np.linalg.norm(UNIT, axis=1, keepdims=True)
LENGTHS = np.array([0.5, 1.0, 2.0, 3.0, 0.7])
ENCODER = object()


class World:
    """Carries out the requests over vectors of our own, and remembers them."""

    def __init__(self, query: Any, vectors: Any) -> None:
        self.query, self.stored = query, vectors
        self.requests: list[str] = []

    def perform(self, request: EmbedQuery | CallStore | Compute) -> Any:
        if isinstance(request, Compute):
            return request.call()
        self.requests.append(type(request).__name__)
        if isinstance(request, CallStore):
            return request.call()
        assert request.encoder is ENCODER
        if isinstance(self.query, Exception):
            raise self.query
        return self.query

    def vectors(self) -> Any:
        if isinstance(self.stored, Exception):
            raise self.stored
        return self.stored

    def read(
        self, reading: ScoreReading, memory: NormCheck | None = None, **more: Any
    ) -> ScoreReading:
        access = VectorSource(
            **{
                "vectors": self.vectors,
                "encoder": ENCODER,
                "memory": memory or NormCheck(),
                "store": "Shop",
                **more,
            }
        )
        return drive(resolve_cosines(reading, access), self.perform)


def by(kind: ScoreKind, vectors: Any, query: Any, score: Callable[[float], float]) -> ScoreReading:
    scores = [score(float(np.linalg.norm(vector - query))) for vector in vectors]
    return read_scores(scores, kind, "store", ranked=True)


def l2(vectors: Any = UNIT[1:], query: Any = UNIT[0]) -> ScoreReading:
    order = np.argsort(np.linalg.norm(vectors - query, axis=1))
    return by(ScoreKind.L2, vectors[order], query, lambda distance: distance)


def cosines(vectors: Any, query: Any) -> Sequence[float]:
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    return (vectors @ query / lengths).tolist()


def test_a_cosine_needs_nothing_else() -> None:
    world = World(UNIT[0], UNIT[1:])
    reading = read_scores([0.9, 0.4], ScoreKind.COSINE_DISTANCE, "store")
    assert world.read(reading) is reading
    assert world.requests == []


def test_unit_vectors_are_looked_at_once() -> None:
    world, memory = World(UNIT[0], UNIT[1:]), NormCheck()
    for _ in range(3):
        assert world.read(l2(), memory).source == "store"
    assert world.requests == ["CallStore", "EmbedQuery"]
    assert memory.unit is True


def test_a_query_vector_that_was_seen_is_not_embedded_again() -> None:
    world = World(ValueError("nobody asks"), UNIT[1:])
    assert world.read(l2(), query_vector=UNIT[0]).source == "store"
    assert world.requests == ["CallStore"]


def test_the_querys_length_is_enough_where_vectors_cannot_be_read() -> None:
    world = World(UNIT[0], None)
    assert world.read(l2()).source == "store"
    assert world.read(l2(), vectors=None).source == "store"


@pytest.mark.parametrize("query", [UNIT[0], 2.0 * UNIT[0]])
def test_other_lengths_are_read_from_the_vectors(query: Any) -> None:
    vectors = UNIT[1:] * LENGTHS[:, None]
    world, memory = World(query, vectors), NormCheck()
    for _ in range(2):
        reading = world.read(l2(vectors, query), memory)
        assert reading.source == "vectors"
        assert reading.cosines == pytest.approx(cosines(vectors, query))
    assert memory.unit is False
    assert world.requests.count("CallStore") == 2  # each call reads its own hits, once


def test_a_long_query_over_unit_vectors_is_noticed() -> None:
    world = World(3.0 * UNIT[0], UNIT[1:])
    reading = world.read(l2(query=3.0 * UNIT[0]))
    assert reading.cosines == pytest.approx(cosines(UNIT[1:], UNIT[0]))


@pytest.mark.parametrize("query", [2.0 * UNIT[0], None])
def test_an_unknown_length_is_said_and_logged_once(
    query: Any, caplog: pytest.LogCaptureFixture
) -> None:
    world, memory = World(query, None), NormCheck()
    with caplog.at_level(logging.WARNING, "recall_signal"):
        for _ in range(3):
            reading = world.read(l2(), memory, encoder=None if query is None else ENCODER)
            assert (reading.cosines, reading.reason) == (None, "norm_unknown")
    assert [record.getMessage()[:5] for record in caplog.records] == ["Shop:"]
    assert memory.unit is (None if query is None else False)


def test_a_length_that_could_not_be_looked_at_is_looked_at_again() -> None:
    world, memory = World(RuntimeError("down"), RuntimeError("down")), NormCheck()
    assert world.read(l2(), memory).reason == "adapter_failed"
    assert memory.unit is None
    assert World(UNIT[0], UNIT[1:]).read(l2(), memory).source == "store"


@pytest.mark.parametrize(
    ("reading", "reason"),
    [
        (read_scores([1.0, 2.5], ScoreKind.COSINE, "declared"), "score_out_of_range"),
        (
            read_scores([0.1, 0.2, 0.3, 0.4], ScoreKind.COSINE, "store", ranked=True),
            "score_inverted",
        ),
    ],
)
def test_a_failed_check_is_final_and_logged_once(
    reading: ScoreReading, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    world, memory = World(UNIT[0], UNIT[1:]), NormCheck()
    for _ in range(3):
        assert world.read(reading, memory).reason == reason
    assert world.requests == []
    assert len(caplog.records) == 1


def test_wrong_numbers_of_long_vectors_are_not_called_a_wrong_setting() -> None:
    vectors = 4.0 * UNIT[1:]
    reading = World(UNIT[0], vectors).read(l2(vectors))
    assert reading.cosines == pytest.approx(cosines(vectors, UNIT[0]))


def test_vectors_stand_in_for_a_score_that_no_cosine_can_be_had_from() -> None:
    reading = read_scores([0.03, 0.02], ScoreKind.RRF, "store")
    world = World(UNIT[0], UNIT[1:3])
    assert world.read(reading).cosines == pytest.approx(cosines(UNIT[1:3], UNIT[0]))
    assert world.read(reading, encoder=None) is reading
    assert World(UNIT[0], [None, None]).read(reading) is reading
    some = World(UNIT[0], [None, UNIT[2]]).read(reading).cosines
    assert some == pytest.approx([None, cosines(UNIT[2:3], UNIT[0])[0]])


@pytest.mark.parametrize(
    ("world", "reason"),
    [
        (World(UNIT[0], RuntimeError("down")), "adapter_failed"),
        (World(RuntimeError("down"), UNIT[1:]), "embedding_failed"),
        (World(UNIT[0][:5], UNIT[1:]), "embedding_mismatch"),
    ],
)
def test_what_fails_on_the_way_becomes_a_reason(
    world: World, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    reading = world.read(read_scores([0.03], ScoreKind.MINMAX, "store"))
    assert (reading.cosines, reading.reason) == (None, reason)
    assert "down" not in caplog.text


@pytest.mark.parametrize(("count", "reason"), [(5, None), (4, "adapter_failed")])
def test_vectors_must_be_as_many_as_the_hits(count: int, reason: str | None) -> None:
    reading = read_scores([0.03] * count, ScoreKind.MINMAX, "store")
    assert World(UNIT[0], UNIT[1:]).read(reading, count=count).reason == reason


def test_keyword_scores_are_left_alone() -> None:
    reading = read_scores([7.0, 2.0], ScoreKind.BM25, "store")
    world = World(UNIT[0], UNIT[1:])
    assert world.read(reading) is reading
    assert world.requests == []


def test_of_an_empty_page_nothing_is_learnt() -> None:
    """A filter that matches nothing, or a store that is filled later."""
    world, memory = World(UNIT[0], None), NormCheck()
    for vectors in (None, list):
        assert (
            world.read(read_scores([], ScoreKind.L2, "store"), memory, vectors=vectors).cosines
            == []
        )
    assert (world.requests, memory.unit) == ([], None)


def test_a_query_of_another_length_is_noticed_where_it_is_seen() -> None:
    vectors, memory = UNIT[1:], NormCheck()
    assert World(UNIT[0], vectors).read(l2(), memory, query_vector=UNIT[0]).source == "store"
    query = 0.6 * UNIT[0]
    reading = World(query, vectors).read(l2(query=query), memory, query_vector=query)
    assert reading.source == "vectors"
    assert reading.cosines == pytest.approx(cosines(vectors, query))
