"""Where ids, numbers or an index are not what is expected, unread hits change no report."""

from collections.abc import Mapping
from typing import Any

import faiss
import numpy as np
import pytest
from langchain_community.docstore.in_memory import InMemoryDocstore
from langchain_community.vectorstores import FAISS

from langchain_recall_signal import RecallRetriever
from langchain_recall_signal.stores import StoreAdapter, register_adapter
from recall_signal.testing import vectors_with_cosines
from tests.langchain.fakes import (
    DIMENSION,
    QUERY,
    Encoder,
    documents,
    encoder_for,
    entry,
    faiss_store,
)

ASKED = np.eye(DIMENSION)[0]
UNIT = vectors_with_cosines(ASKED, np.linspace(0.95, 0.5, 60))
MIXED = UNIT * np.resize([1.0, 2.5, 0.4], 60)[:, None]


def wrapped(store: FAISS) -> RecallRetriever:
    return RecallRetriever(retriever=store.as_retriever(search_kwargs={"k": 5}), pool_size=50)


def test_documents_without_ids_are_as_unknown_as_in_recall() -> None:
    """Stores that were saved before documents had ids."""
    store = faiss_store(encoder_for(MIXED, ASKED), 60)
    assert isinstance(store.docstore, InMemoryDocstore)
    for document in store.docstore._dict.values():
        document.id = None
    assert wrapped(store).invoke(QUERY) == wrapped(store).recall(QUERY).documents


def test_documents_with_ids_of_their_own_are_judged_as_in_recall() -> None:
    """`FAISS(...)` over a document store whose documents have other ids than its keys."""
    store = faiss_store(encoder_for(MIXED, ASKED), 60)
    assert isinstance(store.docstore, InMemoryDocstore)
    for document in store.docstore._dict.values():
        document.id = f"own-{document.id}"
    assert wrapped(store).invoke(QUERY) == wrapped(store).recall(QUERY).documents


def test_what_was_deleted_while_the_question_was_embedded() -> None:
    class Deleting(Encoder):
        def embed_query(self, text: str) -> list[float]:
            if "id0" in store.index_to_docstore_id.values():
                store.delete([f"id{n}" for n in range(30)])
            return super().embed_query(text)

    store = faiss_store(Deleting(encoder_for(MIXED, ASKED).vectors), 60)
    page = wrapped(store).invoke(QUERY)
    assert page == wrapped(store).recall(QUERY).documents


class Similar(FAISS):
    """A store whose score is a cosine, made of the index's squared distance."""

    def similarity_search_with_score_by_vector(self, *args: Any, **kwargs: Any) -> Any:
        hits = super().similarity_search_with_score_by_vector(*args, **kwargs)
        return [(document, 1.0 - float(score) / 2.0) for document, score in hits]

    def similarity_search_with_score(self, query: str, *args: Any, **kwargs: Any) -> Any:
        return self.similarity_search_with_score_by_vector(
            self._embed_query(query), *args, **kwargs
        )

    async def asimilarity_search_with_score(self, *args: Any, **kwargs: Any) -> Any:
        return self.similarity_search_with_score(*args, **kwargs)


class SimilarAdapter(StoreAdapter[Any]):
    """Names the ids of a store whose number is not its index' own."""

    def score_kind(self, store: Any) -> Any:
        return "cosine"

    def vector_search(self, store: Any) -> str:
        return "similarity_search_with_score_by_vector"

    def hit_ids(self, store: Any) -> Mapping[int, str]:
        ids: Mapping[int, str] = store.index_to_docstore_id
        return ids


def test_an_adapter_of_ones_own_is_given_the_stores_scores() -> None:
    register_adapter(f"{__name__}.Similar", SimilarAdapter())
    store = Similar(encoder_for(UNIT, ASKED), faiss.IndexFlatL2(DIMENSION), InMemoryDocstore(), {})
    store.add_documents(documents(60))
    expected = wrapped(store).recall(QUERY).documents
    assert entry(expected[0])["cosine"] == pytest.approx(0.95)
    assert entry(wrapped(store).invoke(QUERY)[0])["cosine"] == pytest.approx(0.95)


class Tuned(Similar):
    """Sets how the index searches."""

    def similarity_search_with_score_by_vector(self, *args: Any, **kwargs: Any) -> Any:
        self.index.nprobe = 4
        return super().similarity_search_with_score_by_vector(*args, **kwargs)

    def similarity_search_with_score(self, query: str, *args: Any, **kwargs: Any) -> Any:
        return self.similarity_search_with_score_by_vector(
            self._embed_query(query), *args, **kwargs
        )

    async def asimilarity_search_with_score(self, *args: Any, **kwargs: Any) -> Any:
        return self.similarity_search_with_score(*args, **kwargs)


def test_a_store_may_set_an_attribute_of_its_index() -> None:
    register_adapter(f"{__name__}.Tuned", SimilarAdapter())
    index = faiss.index_factory(DIMENSION, "IVF4,Flat")
    index.train(np.ascontiguousarray(np.resize(UNIT, (400, DIMENSION)), np.float32))
    store = Tuned(encoder_for(UNIT, ASKED), index, InMemoryDocstore(), {})
    store.add_documents(documents(60))
    assert entry(wrapped(store).recall(QUERY).documents[0])["confidence"]["level"] != "unknown"
    assert entry(wrapped(store).invoke(QUERY)[0])["confidence"]["level"] != "unknown"
