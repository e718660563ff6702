"""How the scores of a store are seen, declared kinds, and which stores are known."""

import gc
import logging
import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
from langchain_community.vectorstores import FAISS
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore, VectorStoreRetriever
from langchain_fakes import (
    DIMENSION,
    QUERY,
    Encoder,
    documents,
    encoder_for,
    entry,
    faiss_store,
    plain,
    simple_store,
)

from langchain_recall_signal import RecallRetriever, StoreAdapter, register_adapter
from langchain_recall_signal.stores import Hits, Reading, find_adapter, registry
from langchain_recall_signal.tap import Recorder, is_tappable, listening, tapped
from recall_signal import ConfigurationError, ScoreKind

BOTH = pytest.mark.parametrize("way", ["recall", "arecall"])


class Scored(VectorStore):
    """A store that nobody knows, with the scores it is given."""

    def __init__(self, scores: Sequence[Any]) -> None:
        self.hits = list(zip(documents(len(scores)), scores, strict=True))

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return [document for document, _ in self.hits[:k]]

    def similarity_search_with_score(
        self, *args: Any, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        return self.hits[: kwargs.get("k", 4)]

    @classmethod
    def from_texts(cls, texts: list[str], embedding: Embeddings, **_: Any) -> "Scored":
        raise NotImplementedError


async def ask(retriever: RecallRetriever, way: str) -> Any:
    answer = getattr(retriever, way)(QUERY)
    return await answer if way == "arecall" else answer


class TestDeclaredKinds:
    @BOTH
    async def test_of_an_unknown_store(self, way: str) -> None:
        bare = Scored([0.1, 0.4, 0.9]).as_retriever(search_kwargs={"k": 2})
        response = await ask(RecallRetriever(retriever=bare, score_kind="cosine_distance"), way)
        assert plain(response.documents) == plain(bare.invoke(QUERY))
        assert response.pool.cosines == pytest.approx([0.9, 0.6, 0.1])
        assert response.cosine_source == "declared"

    @BOTH
    async def test_without_one_the_store_is_not_guessed_at(self, way: str) -> None:
        response = await ask(RecallRetriever.from_vectorstore(Scored([0.1, 0.4, 0.9])), way)
        assert response.confidence.level == "unknown"
        assert response.confidence.reason == "store_not_recognised"
        assert response.pool.cosines == [None] * 3
        assert [entry(d)["cosine"] for d in response.documents] == [None] * 3

    @BOTH
    async def test_wins_over_a_known_store(self, way: str) -> None:
        retriever = RecallRetriever.from_vectorstore(simple_store(), score_kind="half_cosine")
        response = await ask(retriever, way)
        assert response.cosine_source == "declared"
        assert response.pool.cosines[0] == pytest.approx(2 * 0.95 - 1)

    @BOTH
    async def test_keyword_scores_are_judged_by_their_separation(self, way: str) -> None:
        store = Scored([9.0, 2.0, np.float32(1.5), 1.0, None])
        response = await ask(RecallRetriever.from_vectorstore(store, score_kind="bm25"), way)
        assert response.confidence.basis == "separation"
        assert response.confidence.level == "high"
        assert response.confidence.top_score == 9.0
        assert response.pool.scores == [9.0, 2.0, 1.5, 1.0, None]
        assert response.cosine_source is None
        assert [entry(d)["cosine"] for d in response.documents] == [None] * 5

    def test_keyword_scores_that_are_not_seen(self) -> None:
        bare = Scored([9.0, 2.0]).as_retriever(search_type="mmr")
        bare.vectorstore.max_marginal_relevance_search = lambda *_, **__: documents(2)
        response = RecallRetriever(retriever=bare, score_kind="bm25").recall(QUERY)
        assert response.confidence.reason == "no_score_access"

    @BOTH
    @pytest.mark.parametrize(
        "kind", ["rrf", "minmax", "fused_normalized", "reranker_prob", "unknown"]
    )
    async def test_kinds_without_a_cosine_are_refused(self, kind: str, way: str) -> None:
        store = Scored([1.0, 0.5, 0.0])
        response = await ask(RecallRetriever.from_vectorstore(store, score_kind=kind), way)
        assert response.confidence.level == "unknown"
        assert response.confidence.reason == "score_not_convertible"
        encoder = Encoder(dimension=4)
        again = RecallRetriever.from_vectorstore(store, score_kind=kind, embeddings=encoder)
        assert (await ask(again, way)).cosine_source == "embeddings"

    def test_a_kind_without_a_cosine_on_a_retriever_without_scores(self) -> None:
        bare = simple_store().as_retriever(search_type="mmr")
        response = RecallRetriever(retriever=bare, score_kind="rrf").recall(QUERY)
        assert response.confidence.reason == "score_not_convertible"

    @pytest.mark.parametrize(
        ("kind", "scores"),
        [
            ("cosine", [1.4, 0.2]),
            ("cosine", [0.2, -1.01]),
            ("squared_l2", [9.0, 9.5]),
            ("inverse_l2", [0.5, 0.0]),
            ("sigmoid_ip", [1.0, 0.7]),
        ],
    )
    def test_a_score_out_of_range_shows_that_the_kind_is_wrong(
        self, kind: str, scores: list[float]
    ) -> None:
        encoder = Encoder(dimension=4)
        retriever = RecallRetriever.from_vectorstore(Scored(scores), score_kind=kind)
        response = retriever.recall(QUERY)
        assert response.confidence.level == "unknown"
        assert response.confidence.reason == "score_out_of_range"
        assert plain(response.documents) == plain(documents(2))
        retriever = RecallRetriever.from_vectorstore(
            Scored(scores), score_kind=kind, embeddings=encoder
        )
        assert retriever.recall(QUERY).confidence.reason == "score_out_of_range"
        assert encoder.calls == 0  # the mistake is shown, not covered up

    def test_missing_scores_stay_missing(self) -> None:
        store = Scored([0.9, None, float("nan"), 0.3])
        response = RecallRetriever.from_vectorstore(store, score_kind="cosine").recall(QUERY)
        assert response.pool.cosines == [0.9, None, None, 0.3]
        assert response.confidence.result_count == 4

    @BOTH
    async def test_a_score_that_is_no_number(
        self, way: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        store = Scored(["best", "worst"])
        for kind in ("cosine", "bm25"):
            response = await ask(RecallRetriever.from_vectorstore(store, score_kind=kind), way)
            assert response.confidence.reason == "adapter_failed"
            assert plain(response.documents) == plain(documents(2))
        assert "best" not in caplog.text


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
        retriever = RecallRetriever.from_vectorstore(store, score_kind="cosine")
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
        store = simple_store()
        store.similarity_search = lambda query, **_: documents(2, start=7)
        response = RecallRetriever.from_vectorstore(store).recall(QUERY)
        assert plain(response.documents) == plain(documents(2, start=7))
        assert response.confidence.reason == "no_score_access"

    def test_a_store_without_attributes_of_its_own_is_not_tapped(self) -> None:
        class Slotted:
            __slots__ = ()

        bare = simple_store().as_retriever().model_copy(update={"vectorstore": Slotted()})
        assert not is_tappable(bare)

    def test_only_langchains_own_retriever_is(self) -> None:
        bare = simple_store().as_retriever()
        assert is_tappable(bare)
        assert is_tappable(bare.bind(k=2).with_config(tags=["t"]).with_retry())
        assert not is_tappable(bare.with_fallbacks([bare]))
        assert not is_tappable(simple_store().as_retriever(search_type="mmr"))

    async def test_the_page_size_of_a_store_without_a_default(self) -> None:
        class Everything(Scored):
            def similarity_search(self, query: str, **kwargs: Any) -> list[Document]:
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


class TestKnownStores:
    def test_a_subclass_is_read_like_its_store(self) -> None:
        class Named(InMemoryVectorStore):
            def label(self) -> str:
                return "mine"

        store = Named(Encoder())
        store.add_documents(documents(3))
        assert RecallRetriever.from_vectorstore(store).recall(QUERY).cosine_source == "store"

    @pytest.mark.parametrize(
        "search",
        [
            "similarity_search",
            "asimilarity_search",
            "similarity_search_with_score",
            "asimilarity_search_with_score",
            "similarity_search_with_score_by_vector",
            "asimilarity_search_with_score_by_vector",
        ],
    )
    def test_a_subclass_with_a_search_of_its_own_is_not(self, search: str) -> None:
        own = type("Own", (FAISS,), {search: lambda self, *args, **kwargs: documents(2)})
        assert find_adapter(object.__new__(own)) is None

    @BOTH
    async def test_its_own_search_is_what_is_returned(self, way: str) -> None:
        class Reversed(InMemoryVectorStore):
            def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
                return super().similarity_search(query, k, **kwargs)[::-1]

            async def asimilarity_search(
                self, query: str, k: int = 4, **kwargs: Any
            ) -> list[Document]:
                return self.similarity_search(query, k, **kwargs)

        store = Reversed(simple_store().embedding)
        store.add_documents(documents(10))
        bare = store.as_retriever()
        response = await ask(RecallRetriever(retriever=bare), way)
        assert plain(response.documents) == plain(bare.invoke(QUERY))
        assert response.confidence.reason == "store_not_recognised"

    def test_an_adapter_that_fails_does_not_cost_the_page(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Failing(StoreAdapter):
            def read(self, store: Any, hits: Hits) -> Reading:
                raise RuntimeError("t0 is a text")

        monkeypatch.setattr(registry._registry, "_adapters", {f"{__name__}.Scored": Failing()})
        with caplog.at_level(logging.DEBUG):
            response = RecallRetriever.from_vectorstore(Scored([0.9, 0.1])).recall(QUERY)
        assert response.confidence.reason == "adapter_failed"
        assert plain(response.documents) == plain(documents(2))
        assert "RuntimeError" in caplog.text
        assert "t0" not in caplog.text

    def test_an_adapter_of_ones_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(registry._registry, "_adapters", dict(registry._registry._adapters))
        register_adapter(f"{__name__}.Scored", f"{__name__}:Doubling")
        register_adapter(f"{__name__}.Other", Doubling())
        response = RecallRetriever.from_vectorstore(Scored([0.8, 0.4])).recall(QUERY)
        assert response.pool.cosines == pytest.approx([0.6, -0.2])
        assert response.cosine_source == "store"
        again = find_adapter(Scored([]))
        assert isinstance(again, Doubling)
        assert find_adapter(Scored([])) is again
        seen = again.read(Scored([]), Hits(documents(1), [0.5], [1.0]))
        assert list(seen.cosines or []) == [0.0]

    @pytest.mark.parametrize(
        ("store_class", "adapter", "message"),
        [
            ("Store", "a:B", "store_class must be a dotted class name .* got 'Store'"),
            (Scored, "a:B", "store_class must be a dotted class name"),
            ("a.Store", "a.B", "adapter must be a StoreAdapter .* got str"),
            ("a.Store", StoreAdapter, "adapter must be a StoreAdapter .* got type"),
        ],
    )
    def test_registering_something_else(self, store_class: Any, adapter: Any, message: str) -> None:
        with pytest.raises(ConfigurationError, match=message):
            register_adapter(store_class, adapter)

    def test_an_adapter_has_to_know_the_kind(self) -> None:
        with pytest.raises(NotImplementedError):
            StoreAdapter().score_kind(object())

    def test_the_vector_that_was_searched_with_is_seen(self) -> None:
        store = faiss_store(encoder_for(np.eye(DIMENSION)[:2], np.ones(DIMENSION)), 2)
        recorder = Recorder()
        token = listening.set(recorder)
        tapped(store.as_retriever()).invoke(QUERY)
        listening.reset(token)
        hits = recorder.as_hits()
        assert hits is not None
        assert hits.query_vector == [1.0] * DIMENSION


class Doubling(StoreAdapter):
    """For tests: a store whose score is (1 + cosine) / 2."""

    def score_kind(self, store: Any) -> ScoreKind:
        return ScoreKind.HALF_COSINE


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

            def similarity_search_with_score(self, *args: Any, **kwargs: Any) -> Any:
                with ThreadPoolExecutor(1) as pool:
                    vector = pool.submit(self.embedding.embed_query, args[0]).result()
                    by_vector = self.similarity_search_with_score_by_vector
                    return pool.submit(by_vector, vector, **kwargs).result()

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
    assert is_tappable(bare)
    assert RecallRetriever(retriever=bare).recall(QUERY).cosine_source == "store"
