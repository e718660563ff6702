"""`InMemoryVectorStore`: the score is the cosine."""

from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_recall_signal import RecallRetriever
from langchain_recall_signal.stores import find_adapter
from tests.langchain.fakes import (
    DIMENSION,
    QUERY,
    documents,
    encoder_for,
    in_memory,
    simple_store,
)

random = np.random.default_rng(5)
VECTORS = random.standard_normal((30, DIMENSION)) * random.uniform(0.2, 4.0, (30, 1))
ASKED = 2.5 * random.standard_normal(DIMENSION)


def wrapped(count: int = 30, **settings: Any) -> RecallRetriever:
    return RecallRetriever.from_vectorstore(
        in_memory(encoder_for(VECTORS, ASKED), count), **settings
    )


@pytest.mark.parametrize(("k", "pool_size", "stored", "pool"), [(3, 10, 30, 10), (5, 50, 4, 4)])
def test_the_pool_is_looked_at_and_the_page_is_returned(
    k: int, pool_size: int, stored: int, pool: int
) -> None:
    response = wrapped(stored, k=k, pool_size=pool_size).recall(QUERY)
    assert response.confidence.result_count == len(response.pool) == pool
    assert len(response.documents) == min(k, stored)
    ids = response.pool.ids
    assert ids is not None
    assert ids[: len(response.documents)] == [d.id for d in response.documents]


def test_added_and_deleted_documents_are_seen_at_once() -> None:
    store = in_memory(encoder_for(VECTORS, ASKED), 10)
    retriever = RecallRetriever.from_vectorstore(store, k=20)
    store.add_documents(documents(5, start=10))
    assert len(retriever.recall(QUERY).pool) == 15
    store.delete(["id3"])
    assert len(retriever.recall(QUERY).pool) == 14


def test_a_vector_without_length_counts_as_the_store_counts_it() -> None:
    store = simple_store(3, [0.9, 0.1, -0.5])
    store.store["id0"]["vector"] = [0.0] * DIMENSION
    response = RecallRetriever.from_vectorstore(store).recall(QUERY)
    assert response.pool.cosines == pytest.approx([0.1, 0.0, -0.5])


class Generous(InMemoryVectorStore):
    """A store that takes a limit for a hint, as searches over shards do."""

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        return super().similarity_search_with_score(query, k=k + 2, **kwargs)

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return [document for document, _ in self.similarity_search_with_score(query, k, **kwargs)]


@pytest.mark.parametrize("pool_size", [3, 10])
async def test_a_store_that_returns_more_than_asked_keeps_its_page(pool_size: int) -> None:
    store = Generous(encoder_for(VECTORS, ASKED))
    store.add_documents(documents(30))
    plain = store.as_retriever(search_kwargs={"k": 3})
    bare, awaited = plain.invoke(QUERY), await plain.ainvoke(QUERY)
    retriever = RecallRetriever(retriever=plain, score_kind="cosine", pool_size=pool_size)
    assert (len(bare), len(awaited)) == (5, 3)  # this store's own coroutine keeps to the limit
    assert [d.id for d in retriever.invoke(QUERY)] == [d.id for d in bare]
    assert [d.id for d in await retriever.ainvoke(QUERY)] == [d.id for d in awaited]


async def test_the_query_is_embedded_once() -> None:
    encoder = encoder_for(VECTORS, ASKED)
    retriever = RecallRetriever.from_vectorstore(in_memory(encoder, 30))
    retriever.invoke(QUERY)
    await retriever.ainvoke(QUERY)
    assert encoder.queries == [QUERY, QUERY]


def test_metadata_of_the_store_may_hold_anything() -> None:
    class Odd:
        def __deepcopy__(self, memo: Any) -> Any:
            raise TypeError("cannot be copied")

    odd = Odd()
    store = simple_store(1)
    store.store["id0"]["metadata"] = {"odd": odd, "tags": ({"a": 1},)}
    (document,) = RecallRetriever.from_vectorstore(store).invoke(QUERY)
    assert document.metadata["odd"] is odd
    assert isinstance(document, Document)


def test_a_document_that_is_gone_has_no_vector() -> None:
    store = in_memory(encoder_for(VECTORS, ASKED), 3)
    adapter: Any = find_adapter(store)
    kept, gone = documents(1)[0], Document("elsewhere", id="gone")
    assert [v is None for v in adapter.vectors(store, [kept, gone])] == [False, True]
