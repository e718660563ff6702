"""A search that filters, in a class of one's own or by a threshold: its page stays its page."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.vectorstores import FAISS
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_recall_signal import RecallRetriever


class TenantStore(InMemoryVectorStore):
    """Shows a tenant its own texts."""

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        found = super().similarity_search(query, k=5 * k, **kwargs)
        return [document for document in found if document.metadata["tenant"] == "mine"][:k]


class AsyncTenantStore(InMemoryVectorStore):
    """The same in asynchronous code alone."""

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        found = await super().asimilarity_search(query, k=5 * k, **kwargs)
        return [document for document in found if document.metadata["tenant"] == "mine"][:k]


def filled(store: InMemoryVectorStore) -> InMemoryVectorStore:
    """Two hundred texts, half of them of another tenant."""
    tenants = ("mine", "theirs")
    store.add_documents(
        [
            Document(f"text {at}", id=str(at), metadata={"tenant": tenants[at % 2]})
            for at in range(200)
        ]
    )
    return store


def ids(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


@pytest.mark.parametrize("store_class", [TenantStore, AsyncTenantStore])
@pytest.mark.parametrize("k", [1, 4, 20])
async def test_the_page_is_the_bare_one(store_class: type[InMemoryVectorStore], k: int) -> None:
    store = filled(store_class(DeterministicFakeEmbedding(size=16)))
    bare = store.as_retriever(search_kwargs={"k": k})
    wrapped = RecallRetriever(retriever=bare, score_kind="cosine")
    for question in ("a", "b", "c"):
        assert ids(wrapped.invoke(question)) == ids(bare.invoke(question))
        assert ids(await wrapped.ainvoke(question)) == ids(await bare.ainvoke(question))


class Pointed(Embeddings):
    """Puts every question where the texts of the other tenant are."""

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[0.2, 1.0] if int(text.split()[1]) % 2 == 0 else [1.0, 0.01] for text in texts]


@pytest.mark.parametrize("store_class", [TenantStore, AsyncTenantStore])
async def test_what_was_filtered_out_is_neither_judged_nor_shown(
    store_class: type[InMemoryVectorStore],
) -> None:
    store = filled(store_class(Pointed()))
    bare = store.as_retriever(search_kwargs={"k": 30})  # of 150: 50 of them are one's own
    wrapped = RecallRetriever(retriever=bare, score_kind="cosine")
    is_async = store_class is AsyncTenantStore
    found = await wrapped.arecall("a") if is_async else wrapped.recall("a")
    assert len(found.documents) == 30
    assert found.confidence.level == "none"
    assert found.confidence.top_score == 0.196
    assert found.pool.ids
    assert all(int(name or "1") % 2 == 0 for name in found.pool.ids)


async def test_a_page_that_a_filter_left_short_stays_short() -> None:
    store = filled(TenantStore(Pointed()))
    bare = store.as_retriever()  # four of the first twenty, which are all of the other tenant
    wrapped = RecallRetriever(retriever=bare, score_kind="cosine")
    assert bare.invoke("a") == wrapped.invoke("a") == []


async def test_so_it_does_where_nothing_is_seen_inside() -> None:
    class Closed(InMemoryVectorStore):
        def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
            vector = self.embedding.embed_query(query)
            found = super().similarity_search_by_vector(vector, k=2 * k, **kwargs)
            return [d.model_copy() for d in found if d.metadata["tenant"] == "mine"][:k]

    bare = filled(Closed(DeterministicFakeEmbedding(size=16))).as_retriever()
    wrapped = RecallRetriever(retriever=bare, score_kind="cosine")
    pages = [ids(bare.invoke(str(number))) for number in range(20)]
    assert min(map(len, pages)) < 4
    assert [ids(wrapped.invoke(str(number))) for number in range(20)] == pages


async def test_a_search_that_copies_what_it_found_has_no_level() -> None:
    class Copying(InMemoryVectorStore):
        def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
            found = super().similarity_search(query, k=k, **kwargs)
            return [document.model_copy() for document in reversed(found)]

    bare = filled(Copying(DeterministicFakeEmbedding(size=16))).as_retriever()
    found = RecallRetriever(retriever=bare, score_kind="cosine").recall("a")
    assert ids(found.documents) == ids(bare.invoke("a"))
    assert (found.confidence.level, found.confidence.reason) == ("unknown", "no_score_access")


async def test_inside_an_ensemble_too() -> None:
    bare = filled(TenantStore(DeterministicFakeEmbedding(size=16))).as_retriever()
    both = EnsembleRetriever(retrievers=[bare, bare], weights=[0.5, 0.5])
    wrapped = RecallRetriever(retriever=both, score_kind="cosine")
    assert ids(wrapped.invoke("a")) == ids(both.invoke("a"))
    assert ids(await wrapped.ainvoke("a")) == ids(await both.ainvoke("a"))


class PartTenantStore(InMemoryVectorStore):
    """Filters in the private part of the search that both of its searches share."""

    def _similarity_search_with_score_by_vector(  # type: ignore[override]
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float, list[float]]]:
        found = super()._similarity_search_with_score_by_vector(embedding, k=5 * k, **kwargs)
        return [hit for hit in found if hit[0].metadata["tenant"] == "mine"][: 3 * k // 4]


@pytest.mark.parametrize("kind", [{}, {"score_kind": "cosine"}])
@pytest.mark.parametrize("k", [1, 4, 20])
async def test_a_filter_in_a_part_of_the_search(k: int, kind: Any) -> None:
    store = filled(PartTenantStore(DeterministicFakeEmbedding(size=16)))
    bare = store.as_retriever(search_kwargs={"k": k})
    wrapped = RecallRetriever(retriever=bare, **kind)
    for question in ("a", "b", "c"):
        found = wrapped.recall(question)
        assert ids(found.documents) == ids(bare.invoke(question))
        assert ids(await wrapped.ainvoke(question)) == ids(await bare.ainvoke(question))
        assert all(int(name or "1") % 2 == 0 for name in found.pool.ids or ())
    assert ids(wrapped.batch(["a", "b"])[1]) == ids(bare.invoke("b"))


def test_a_filter_in_a_part_of_the_search_is_measured() -> None:
    store = filled(PartTenantStore(Pointed()))
    found = RecallRetriever.from_vectorstore(store, k=24).recall("a")
    assert found.confidence.top_score == 0.196
    assert found.confidence.result_count == 37 > len(found.documents) == 18


class Spread(Embeddings):
    """Puts texts further and further away from every question."""

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, float(text.split()[1])] for text in texts]


SCORED = "similarity_search_with_score"


class Relevant(InMemoryVectorStore):
    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda cosine: 1.5 * cosine - 0.5


@pytest.mark.parametrize("store_class", [FAISS, Relevant])
async def test_a_threshold_looks_at_its_page_alone(
    store_class: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_class.from_texts([f"text {at / 5}" for at in range(60)], Spread())
    bare = store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"k": 4, "score_threshold": 0.5}
    )
    limits: list[int] = []
    owner = next(line for line in store_class.__mro__ if SCORED in vars(line))
    search = vars(owner)[SCORED]

    def counted(self: Any, query: str, k: int = 4, **kwargs: Any) -> Any:
        limits.append(k)
        return search(self, query, k=k, **kwargs)

    monkeypatch.setattr(owner, SCORED, counted)
    wrapped = RecallRetriever(retriever=bare)
    expected = [document.page_content for document in bare.invoke("a")]  # warns of nothing
    assert limits == [4]
    found = wrapped.recall("a")
    assert limits == [4, 50]
    assert [document.page_content for document in found.documents] == expected
    assert found.confidence.result_count == 50
    assert found.confidence.top_score == 1.0
    found = await wrapped.arecall("a")
    assert [document.page_content for document in found.documents] == expected
    assert found.confidence.result_count == 50


class Spreading(Spread):
    def __init__(self, size: int) -> None:
        self.size = size

    def embed_queries(self, texts: list[str]) -> list[list[float]]:
        return [[1.0] + [0.0] * (self.size - 1) for _ in texts]


@pytest.mark.parametrize("size", [2, 3])  # vectors of 3 cannot be searched with
@pytest.mark.parametrize("store_class", [FAISS, Relevant])
def test_a_threshold_in_a_batch(store_class: Any, size: int) -> None:
    store = store_class.from_texts([f"text {at / 5}" for at in range(60)], Spreading(size))
    bare = store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"k": 4, "score_threshold": 0.5}
    )
    expected = ids(bare.invoke("a"))
    pages = RecallRetriever(retriever=bare).batch(["a", "b"])  # warns of nothing
    assert [ids(page) for page in pages] == [expected, expected]
    for page in pages:
        assert page[0].metadata["recall"]["confidence"]["result_count"] == 50
