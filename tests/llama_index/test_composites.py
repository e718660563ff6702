"""Composites: the bare page, and the cosines that their own arms computed in the one call."""

import random
from collections.abc import Collection
from importlib.metadata import version
from typing import Any

import pytest
from llama_index.core.schema import BaseNode, QueryBundle
from llama_index.core.vector_stores import SimpleVectorStore

from llama_index_recall_signal import RecallRetriever
from tests.llama_index.composites import (
    AS_IT_IS,
    QUESTION,
    REWRITING,
    Make,
    Shelf,
    stood_for,
    two_encoders,
)
from tests.llama_index.fakes import page_of

SETTINGS = 200

LOSES_SPANS = tuple(map(int, version("llama-index-core").split(".")[:3])) < (0, 14, 9)
"""A synchronous fusion of asynchronous arms inside a running loop is a thread without context."""


@pytest.fixture(scope="module")
def shelves() -> list[Shelf]:
    return [Shelf(seed) for seed in range(4)]


class Seen:
    """What was searched and embedded since the last look.

    Attributes:
        own: The nodes that were found by the vector of the question.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.searches, self.own = 0, set[str]()
        search = SimpleVectorStore.query

        def query(store: SimpleVectorStore, query: Any, **kwargs: Any) -> Any:
            found = search(store, query, **kwargs)
            self.searches += 1
            if query.query_embedding == self.vector:
                self.own.update(found.ids or ())
            return found

        monkeypatch.setattr(SimpleVectorStore, "query", query)

    def start(self, shelf: Shelf) -> None:
        self.encoder = shelf.encoder.encoder
        self.vector = self.encoder._vector(QUESTION)
        self.searches, self.own = 0, set()
        self.encoder.queries.clear()
        self.encoder.batches.clear()

    def counts(self) -> tuple[list[str], int, int]:
        return list(self.encoder.queries), len(self.encoder.batches), self.searches


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    return Seen(monkeypatch)


@pytest.mark.parametrize("make", AS_IT_IS, ids=lambda make: make.__name__)
async def test_a_composite_that_searches_for_the_question(
    make: Make, shelves: list[Shelf], seen: Seen
) -> None:
    """Cosines are numpy's, nothing is embedded or searched beyond the bare call."""
    for setting in range(SETTINGS):
        rng, shelf = random.Random(setting), shelves[setting % len(shelves)]
        composite, is_async = make(shelf, rng), setting % 3 == 0
        seen.start(shelf)
        bare = await retrieved(composite, is_async)
        expected = seen.counts()
        seen.start(shelf)
        response = await recalled(RecallRetriever(composite), is_async)
        assert seen.counts() == expected
        assert page_of(response.nodes) == page_of(bare)
        best = [best_of(shelf, item.node, seen.own) for item in bare]
        if not LOSES_SPANS and any(cosine is not None for cosine in best):
            assert response.pool.cosines == pytest.approx(best, abs=1e-4)
        else:  # found by other questions only, if by vectors at all
            every = [best_of(shelf, item.node, shelf.ids) for item in bare]
            triples = zip(response.pool.cosines, best, every, strict=True)
            assert all(one is None or one in (near(b), near(e)) for one, b, e in triples)


def near(cosine: float | None) -> Any:
    return pytest.approx(cosine, abs=1e-4)


def best_of(shelf: Shelf, node: BaseNode, found: Collection[str]) -> float | None:
    """The best true cosine of what was found and a node stands for."""
    known = [one for one in stood_for(shelf, node) if one.node_id in found]
    return max((shelf.cosine(one) for one in known), default=None)


async def retrieved(retriever: Any, is_async: bool) -> Any:
    bundle = QueryBundle(QUESTION)
    return await retriever.aretrieve(bundle) if is_async else retriever.retrieve(bundle)


async def recalled(wrapped: RecallRetriever, is_async: bool) -> Any:
    bundle = QueryBundle(QUESTION)
    return await wrapped.arecall(bundle) if is_async else wrapped.recall(bundle)


@pytest.mark.parametrize("make", REWRITING, ids=lambda make: make.__name__)
async def test_a_composite_that_searches_for_something_else(
    make: Make, shelves: list[Shelf]
) -> None:
    """Every cosine is the question's, by the vectors that the store gives back."""
    for setting in range(SETTINGS):
        rng, shelf = random.Random(setting), shelves[setting % len(shelves)]
        composite, is_async = make(shelf, rng), setting % 3 == 0
        wrapped = RecallRetriever(composite, shelf.encoder if setting % 2 else None)
        bare = await retrieved(composite, is_async)
        response = await recalled(wrapped, is_async)
        assert page_of(response.nodes) == page_of(bare)
        true = [shelf.cosine(item.node) for item in bare]
        assert response.pool.cosines == pytest.approx(true, abs=1e-4)
        assert response.cosine_source == "vectors"


async def test_the_cosines_of_two_encoders_are_never_mixed(shelves: list[Shelf]) -> None:
    """In the synchronous fusion the second arm searches with the first one's vector."""
    by = {"first": 0, "second": 0}
    for setting in range(SETTINGS):
        rng, shelf = random.Random(setting), shelves[setting % len(shelves)]
        composite, is_async = two_encoders(shelf, rng), setting % 3 == 0
        bare = await retrieved(composite, is_async)
        response = await recalled(RecallRetriever(composite), is_async)
        assert page_of(response.nodes) == page_of(bare)
        pairs = list(zip(response.nodes, response.pool.cosines, strict=True))
        known = [(item.node, cosine) for item, cosine in pairs if cosine is not None]
        if LOSES_SPANS and not known:
            continue
        first = [shelf.cosine(node) for node, _ in known]
        second = [shelf.cosine(node, shelf.other_encoder) for node, _ in known]
        is_first = [cosine for _, cosine in known] == pytest.approx(first, abs=1e-4)
        is_second = [cosine for _, cosine in known] == pytest.approx(second, abs=1e-4)
        assert is_first != is_second
        by["first" if is_first else "second"] += 1
    assert min(by.values()) > 0
