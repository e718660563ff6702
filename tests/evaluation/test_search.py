"""Exact search: the right candidates in the right order, within groups, and as a retriever."""

from typing import Any

import numpy as np
import pytest

from recall_signal import InvalidInputError
from recall_signal.calibration import bundled_probes
from recall_signal.evaluation import Document, Query
from recall_signal.evaluation._exact_search import Retriever
from tests.evaluation.fakes import BatchEncoder, NamedEncoder, World


def query(text: str, group: str | None = None) -> Query:
    return Query(text, text, True, "present", "dev", (), group)


def build(
    encoder: NamedEncoder, groups: str = "", queries: tuple[Query, ...] = (), pool_size: int = 3
) -> Retriever:
    texts = ["east", "north", "north east"]
    encoder.vectors |= {"east": [2, 0], "north": [0, 3], "north east": [1, 1], "up": [0, 1]}
    corpus = [
        Document(text[:1] + str(at), text, groups[at] if groups else None)
        for at, text in enumerate(texts)
    ]
    return Retriever(corpus, queries or (query("up"),), encoder, pool_size=pool_size)


def test_ranks_by_cosine() -> None:
    found = build(NamedEncoder(dimension=2)).ranking
    assert found.cosines[0] == pytest.approx([1.0, 0.5**0.5, 0.0], abs=1e-6)
    assert found.places.tolist() == [[1, 2, 0]]


def test_fills_up_small_pools() -> None:
    found = build(NamedEncoder(dimension=2), pool_size=5).ranking
    assert found.places.tolist() == [[1, 2, 0, -1, -1]]
    assert np.isnan(found.cosines[0, 3:]).all()


def test_stays_within_a_group() -> None:
    asked = (query("up", "a"), query("east", "b"), query("north"))
    found = build(NamedEncoder(dimension=2), "aba", asked, pool_size=2).ranking
    assert found.places.tolist() == [[2, 0], [1, -1], [1, 2]]


def test_an_unknown_group_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="a group that no document belongs to"):
        build(NamedEncoder(dimension=2), "aba", (query("up", "c"),))


def test_is_a_retriever_of_any_text() -> None:
    encoder = NamedEncoder(dimension=2)
    retriever = build(encoder)
    encoder.vectors["sideways"] = [5, 1]
    pool = retriever("sideways")
    assert pool.ids == ["e0", "n2", "n1"]
    assert pool.texts == ["east", "north east", "north"]
    known = [cosine for cosine in pool.cosines if cosine is not None]
    assert pool.cosines == sorted(known, reverse=True)
    asked = len(encoder.queries)
    assert retriever("sideways") is pool
    assert len(encoder.queries) == asked


def test_texts_go_to_the_group_they_belong_to() -> None:
    retriever = build(NamedEncoder(dimension=2), "aba", (query("up", "b"),))
    assert retriever("up").ids == ["n1"]
    assert retriever("East").ids == ["n2", "e0"] or retriever("East").ids == ["e0", "n2"]
    probes = [retriever(probe.text).ids for probe in bundled_probes()[:40]]
    assert ["n1"] in probes
    assert any(len(ids or ()) == 2 for ids in probes)


def test_resized_has_other_pools_and_embeds_nothing() -> None:
    encoder = NamedEncoder(dimension=2)
    retriever = build(encoder)
    retriever("up")
    calls = encoder.calls
    small = retriever.resized(1)
    assert small.ranking.places.tolist() == [[1]]
    assert encoder.calls == calls
    assert small("up").ids == ["n1"]
    assert retriever("up").ids == ["n1", "n2", "e0"]


def test_a_text_without_direction_has_no_cosines() -> None:
    encoder = NamedEncoder(dimension=2)
    encoder.vectors |= {"nothing": [0, 0]}
    retriever = build(encoder, "", (query("up"), query("nothing")))
    assert np.isnan(retriever.ranking.cosines[1]).all()
    assert retriever("nothing").cosines == [None] * 3


def test_background_is_drawn_from_the_group() -> None:
    retriever = build(NamedEncoder(dimension=2), "aab", (query("up", "a"), query("up")))
    drawn = retriever.background(10, 0)
    assert sorted(drawn[0][:2]) == pytest.approx([0.0, 1.0], abs=1e-6)
    assert np.isnan(drawn[0][2:]).all()
    assert np.isfinite(drawn[1]).sum() == 3


def test_many_queries_at_once_where_the_encoder_can() -> None:
    one, many = World(), World()
    many.encoder = BatchEncoder(many.encoder.vectors, dimension=32)
    done: list[tuple[int, int]] = []
    first, second = (
        Retriever(w.corpus, w.queries, w.encoder, pool_size=5, progress=lambda *at: done.append(at))
        for w in (one, many)
    )
    assert np.array_equal(first.ranking.cosines, second.ranking.cosines)
    assert done[0] == (64, 240)
    assert done[-1] == (240, 240)


class Broken(NamedEncoder):
    """Returns what it was told to."""

    def __init__(self, documents: Any, query: Any = (1.0, 0.0)) -> None:
        super().__init__()
        self.answer, self.query = documents, query

    def embed_documents(self, _texts: object) -> list[list[float]]:
        return self.answer

    def embed_query(self, _text: str) -> list[float]:
        return self.query


@pytest.mark.parametrize("vectors", [[[1.0, 0.0]], [[1.0], [1.0, 2.0], [1.0]], ["a", "b", "c"]])
def test_wrong_vectors_are_refused(vectors: object) -> None:
    with pytest.raises(InvalidInputError, match="one vector of numbers for each of 3 texts"):
        build(Broken(vectors))


def test_two_dimensions_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="queries 3 dimensions and documents 2"):
        build(Broken([[1.0, 0.0]] * 3, (1.0, 0.0, 0.0)))
