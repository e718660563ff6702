"""Where ids, numbers or an index are not what is expected, unread hits change no report."""

from collections.abc import Mapping
from typing import Any

import faiss
import numpy as np
import pytest
from langchain_community.docstore.in_memory import InMemoryDocstore
from langchain_community.vectorstores import FAISS

from langchain_recall_signal.stores import StoreAdapter, register_adapter
from langchain_recall_signal.stores._faiss import FaissAdapter
from recall_signal.stores import ScoreReading
from tests.langchain.fakes import DIMENSION, QUERY, Encoder, entry
from tests.stores.langchain.test_unread_hits import MIXED, UNIT, stored, wrapped


def test_documents_without_ids_are_as_unknown_as_in_recall() -> None:
    """Stores that were saved before documents had ids."""
    store = stored(MIXED)
    assert isinstance(store.docstore, InMemoryDocstore)
    for document in store.docstore._dict.values():
        document.id = None
    assert wrapped(store).invoke(QUERY) == wrapped(store).recall(QUERY).documents


def test_documents_with_ids_of_their_own_are_judged_as_in_recall() -> None:
    """`FAISS(...)` over a document store whose documents have other ids than its keys."""
    store = stored(MIXED)
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

    store = stored(MIXED, encoder=Deleting)
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
    store = stored(kind=Similar)
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
    store = stored(UNIT, index, kind=Tuned)
    assert entry(wrapped(store).recall(QUERY).documents[0])["confidence"]["level"] != "unknown"
    assert entry(wrapped(store).invoke(QUERY)[0])["confidence"]["level"] != "unknown"


class Feedback(FAISS):
    """Moves a question towards what its index finds for it."""

    def _embed_query(self, text: str) -> list[float]:
        asked = np.array([super()._embed_query(text)], np.float32)
        places = self.index.search(asked, 20)[1][0].tolist()
        found = [self.index.reconstruct(place) for place in places]
        moved: list[float] = (asked[0] + np.mean(found, axis=0)).tolist()
        return moved


def test_whoever_embeds_may_search_the_index_as_well() -> None:
    store = stored(kind=Feedback)
    bare = store.as_retriever(search_kwargs={"k": 5}).invoke(QUERY)
    assert [page.id for page in wrapped(store).invoke(QUERY)] == [page.id for page in bare]
    assert wrapped(store).invoke(QUERY) == wrapped(store).recall(QUERY).documents


class Wide(FAISS):
    """Finds more than it was asked for, and may put it in another order."""

    is_reversed, times = False, 1

    def similarity_search_with_score_by_vector(
        self, embedding: Any, k: int = 4, *args: Any, **kwargs: Any
    ) -> Any:
        for _ in range(self.times):
            hits = super().similarity_search_with_score_by_vector(embedding, 2 * k, *args, **kwargs)
        return (hits[::-1] if self.is_reversed else hits)[:k]

    def similarity_search_with_score(self, query: str, *args: Any, **kwargs: Any) -> Any:
        vector = self._embed_query(query)
        return self.similarity_search_with_score_by_vector(vector, *args, **kwargs)

    async def asimilarity_search_with_score(self, *args: Any, **kwargs: Any) -> Any:
        return self.similarity_search_with_score(*args, **kwargs)


@pytest.mark.parametrize("settings", [{}, {"is_reversed": True}, {"times": 2}], ids=str)
def test_a_search_that_finds_more_than_it_returns(settings: dict[str, Any]) -> None:
    register_adapter(f"{__name__}.Wide", FaissAdapter())
    store = stored(kind=Wide)
    vars(store).update(settings)
    page = wrapped(store).invoke(QUERY)
    assert page == wrapped(store).recall(QUERY).documents
    assert entry(page[0])["confidence"]["result_count"] >= 5


class ByMetadata(FaissAdapter):
    """Reads more of a hit than its parent does, which says what it reads."""

    def read(self, store: Any, hits: Any) -> ScoreReading:
        return ScoreReading([0.9 - hit.metadata["n"] / 100 for hit in hits.documents], "store")


class Numbered(FAISS):
    """Has an adapter of its own."""


def test_an_adapter_that_reads_in_its_own_way_gets_every_document() -> None:
    register_adapter(f"{__name__}.Numbered", ByMetadata())
    store = stored(kind=Numbered)
    page = wrapped(store).invoke(QUERY)
    assert entry(page[4])["cosine"] == pytest.approx(0.86)
    assert page == wrapped(store).recall(QUERY).documents


FlatIndex: Any = faiss.IndexFlatL2


class Listed(FlatIndex):
    """Returns lists."""

    def search(self, vectors: Any, k: int, **options: Any) -> Any:
        scores, places = super().search(vectors, k, **options)
        return scores.tolist(), places.tolist()


def test_an_index_may_return_lists() -> None:
    store = stored(UNIT, Listed(DIMENSION))
    page = wrapped(store).invoke(QUERY)
    assert page == wrapped(store).recall(QUERY).documents
    assert entry(page[0])["confidence"]["result_count"] == 50
