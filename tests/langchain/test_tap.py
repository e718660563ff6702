"""How the scores of a store are seen."""

import gc
import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from langchain_classic.retrievers import MergerRetriever
from langchain_community.vectorstores import FAISS
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore, VectorStoreRetriever

from langchain_recall_signal import RecallRetriever, StoreAdapter, _reader
from langchain_recall_signal._arms import tree
from langchain_recall_signal._introspection import exposes_scores
from langchain_recall_signal._tap import tapped
from tests.faults.test_steps import FOREIGN
from tests.langchain.fakes import (
    QUERY,
    Encoder,
    Scored,
    documents,
    faiss_store,
    plain,
    simple_store,
)

BOTH = pytest.mark.parametrize("way", ["recall", "arecall"])


async def ask(retriever: RecallRetriever, way: str) -> Any:
    answer = getattr(retriever, way)(QUERY)
    return await answer if way == "arecall" else answer


class TestStoresWithoutScores:
    class Scoreless(Scored):
        searches = 0

        def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
            self.searches += 1
            return super().similarity_search(query, k, **kwargs)

        def similarity_search_with_score(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    @BOTH
    async def test_are_searched_without(self, way: str) -> None:
        store = self.Scoreless([1, 2, 3])
        response = await ask(RecallRetriever.from_vectorstore(store, 2, score_kind="cosine"), way)
        assert plain(response.documents) == plain(documents(2))
        assert response.confidence.reason == "no_score_access"
        assert store.searches == 1

    @BOTH
    async def test_or_have_another_search(self, way: str) -> None:
        """What is returned is not what was scored: the returned page counts."""

        class Other(Scored):
            def _similarity_search_with_relevance_scores(self, *_: Any, **kwargs: Any) -> Any:
                self.similarity_search_with_score(QUERY, k=4)
                return [(document, 0.5) for document in documents(3, start=5)]

            async def _asimilarity_search_with_relevance_scores(self, *_: Any, **__: Any) -> Any:
                return self._similarity_search_with_relevance_scores()

        bare = Other([0.9, 0.5]).as_retriever(
            search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.1}
        )
        response = await ask(RecallRetriever(retriever=bare, score_kind="cosine"), way)
        assert plain(response.documents) == plain(documents(3, start=5))
        assert response.confidence.reason == "no_score_access"


class TestView:
    """The second view of a store that a search runs on."""

    def view(self, store: VectorStore) -> Any:
        retriever: Any = tapped(store.as_retriever())
        return retriever.vectorstore

    def test_looks_like_the_store(self) -> None:
        store = faiss_store(Encoder(), 2)
        view = self.view(store)
        assert isinstance(view, FAISS)
        assert view is not store
        assert type(view).__name__ == "FAISS"
        assert type(view).__qualname__ == "FAISS"
        assert type(view).__module__ == FAISS.__module__
        assert view.index is store.index

    def test_shares_what_the_store_learns_while_searching(self) -> None:
        class Counting(InMemoryVectorStore):
            count = 0

            def similarity_search(self, *args: Any, **kwargs: Any) -> list[Document]:
                raise AssertionError("the search with scores is there")

            def similarity_search_with_score(self, *args: Any, **kwargs: Any) -> Any:
                self.count += 1
                return super().similarity_search_with_score(*args, **kwargs)

        store = Counting(Encoder())
        store.add_documents(documents(2))
        retriever = RecallRetriever.from_vectorstore(store, 2, pool_size=2, score_kind="cosine")
        retriever.invoke(QUERY)
        retriever.invoke(QUERY)
        assert store.count == 2
        assert not any("recall" in name for name in vars(store))

    def test_closes_nothing(self) -> None:
        closed = []

        class Closing(Scored):
            def __del__(self) -> None:
                closed.append(id(self))

        store = Closing([0.9, 0.5])
        RecallRetriever.from_vectorstore(store, score_kind="cosine").invoke(QUERY)
        gc.collect()
        assert closed == []
        assert store.hits
        del store
        gc.collect()
        assert len(closed) == 1

    def test_a_search_that_the_user_replaced_is_left_in_place(self) -> None:
        store: Any = simple_store()
        store.similarity_search = lambda query, **_: documents(2, start=7)
        response = RecallRetriever.from_vectorstore(store).recall(QUERY)
        assert plain(response.documents) == plain(documents(2, start=7))
        assert response.cosine_source == "vectors"  # of the stored documents with these ids

    def test_a_store_without_attributes_of_its_own_is_not_tapped(self) -> None:
        class Slotted:
            __slots__ = ()

        bare = simple_store().as_retriever().model_copy(update={"vectorstore": Slotted()})
        assert not exposes_scores(bare)

    def test_only_langchains_own_retriever_is(self) -> None:
        bare = simple_store().as_retriever()
        assert exposes_scores(bare)
        assert exposes_scores(bare.bind(k=2).with_config(tags=["t"]).with_retry())
        assert not exposes_scores(bare.with_fallbacks([bare]))
        assert not exposes_scores(simple_store().as_retriever(search_type="mmr"))

    async def test_the_page_size_of_a_store_without_a_default(self) -> None:
        class Everything(Scored):
            def similarity_search(  # type: ignore[override]
                self, query: str, **kwargs: Any
            ) -> list[Document]:
                return [document for document, _ in self.hits[: kwargs.get("k")]]

            def similarity_search_with_score(self, *args: Any, **kwargs: Any) -> Any:
                return self.hits[: kwargs.get("k")]

        bare = Everything([0.9] * 60).as_retriever()
        for response in (
            RecallRetriever(retriever=bare, score_kind="cosine").recall(QUERY),
            await RecallRetriever(retriever=bare, score_kind="cosine").arecall(QUERY),
        ):
            assert len(response.documents) == len(response.pool) == 60

    def test_a_page_size_that_is_none(self) -> None:
        bare = simple_store(20).as_retriever(search_kwargs={"k": None})
        response = RecallRetriever(retriever=bare).recall(QUERY)
        assert plain(response.documents) == plain(bare.invoke(QUERY))


class TestTheViewIsMadeOnce:
    """Settings that change under a wrapper, and wrappers that are copied or pickled."""

    def test_a_setting_changed_between_two_calls_is_seen(self) -> None:
        bare = simple_store(count=6).as_retriever(search_kwargs={"k": 2})
        wrapped = RecallRetriever(retriever=bare)
        assert len(wrapped.invoke(QUERY)) == 2
        bare.search_kwargs["k"] = 3
        assert len(wrapped.invoke(QUERY)) == 3
        bare.search_kwargs = {"k": 4}
        assert len(wrapped.invoke(QUERY)) == 4

    def test_a_used_wrapper_can_be_pickled_and_copied(self) -> None:
        wrapped = RecallRetriever.from_vectorstore(simple_store(count=3), k=2)
        expected = plain(wrapped.invoke(QUERY))
        for other in (pickle.loads(pickle.dumps(wrapped)), wrapped.model_copy(deep=True)):
            assert plain(other.invoke(QUERY)) == expected
            assert other.recall(QUERY).cosine_source == "store"

    def test_a_store_that_leaves_the_context_is_searched_all_the_same(self) -> None:
        class Elsewhere(InMemoryVectorStore):
            """Searches in a thread that knows nothing of the caller's context."""

            def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Any:
                with ThreadPoolExecutor(1) as pool:
                    vector = pool.submit(self.embedding.embed_query, query).result()
                    by_vector = self.similarity_search_with_score_by_vector
                    return pool.submit(by_vector, vector, k, **kwargs).result()

        store = Elsewhere(Encoder())
        store.add_documents(documents(3))
        response = RecallRetriever.from_vectorstore(store, k=2, score_kind="cosine").recall(QUERY)
        assert len(response.documents) == 2
        assert response.cosine_source == "declared"


def test_a_tracer_that_wraps_the_frameworks_methods_does_not_hide_the_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Instrumentations put descriptors in place that give a new object at each access."""

    class Wrapped:
        def __init__(self, method: Any) -> None:
            self.method = method

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            return partial(self.method, instance) if instance is not None else partial(self.method)

    name = "_get_relevant_documents"
    monkeypatch.setattr(VectorStoreRetriever, name, Wrapped(vars(VectorStoreRetriever)[name]))
    bare = simple_store(count=3).as_retriever()
    assert exposes_scores(bare)
    assert RecallRetriever(retriever=bare).recall(QUERY).cosine_source == "store"


@pytest.mark.parametrize("method", ["scored_search", "vector_search", "score_key"])
@pytest.mark.parametrize("answer", [5, [], *FOREIGN])
async def test_c4_an_adapter_that_names_no_search(
    method: str, answer: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """C4: it is asked once, where the wrapper is made; the page is that of the bare retriever."""

    def named(*_: Any) -> Any:
        if isinstance(answer, type):
            raise answer("a secret")
        return answer

    made = type("Naming", (StoreAdapter,), {method: named})
    for module in (_reader, tree):
        monkeypatch.setattr(module, "find_adapter", lambda _: made(), raising=False)
    bare = InMemoryVectorStore(Encoder({}, dimension=4))
    bare.add_documents(documents(3))
    inner = bare.as_retriever(search_kwargs={"k": 2})
    page = plain(inner.invoke(QUERY))
    for retriever in (inner, MergerRetriever(retrievers=[inner])):
        for way in ("recall", "arecall"):
            response = await ask(RecallRetriever(retriever=retriever), way)
            assert plain(response.documents) == page
    assert "the store adapter Naming failed" in caplog.text
    assert "secret" not in caplog.text
