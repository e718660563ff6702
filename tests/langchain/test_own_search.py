"""A store class that filters in its own search, behind a declared kind: its page stays its page."""

from typing import Any

import pytest
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
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


async def test_inside_an_ensemble_too() -> None:
    bare = filled(TenantStore(DeterministicFakeEmbedding(size=16))).as_retriever()
    both = EnsembleRetriever(retrievers=[bare, bare], weights=[0.5, 0.5])
    wrapped = RecallRetriever(retriever=both, score_kind="cosine")
    assert ids(wrapped.invoke("a")) == ids(both.invoke("a"))
    assert ids(await wrapped.ainvoke("a")) == ids(await both.ainvoke("a"))
