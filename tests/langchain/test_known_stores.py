"""Which stores are known, and adapters of one's own."""

from typing import Any

import numpy as np
import pytest
from langchain_community.vectorstores import FAISS
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_recall_signal import RecallRetriever, StoreAdapter, register_adapter
from langchain_recall_signal._tap import Recorder, current_recorder, tapped
from langchain_recall_signal.stores import Hits, find_adapter
from langchain_recall_signal.stores import _registry as registry
from recall_signal import ConfigurationError, ScoreKind
from tests.langchain.fakes import (
    DIMENSION,
    QUERY,
    Encoder,
    Scored,
    documents,
    encoder_for,
    entry,
    faiss_store,
    plain,
    simple_store,
)

SCORED = f"{Scored.__module__}.Scored"

BOTH = pytest.mark.parametrize("way", ["recall", "arecall"])


async def ask(retriever: RecallRetriever, way: str) -> Any:
    answer = getattr(retriever, way)(QUERY)
    return await answer if way == "arecall" else answer


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

    def test_an_adapter_of_ones_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(registry._registry, "_adapters", dict(registry._registry._adapters))
        register_adapter(SCORED, f"{__name__}:Doubling")
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
        ("attribute", "value", "message"),
        [
            ("ties_keep_order", "yes", "must be True or False, got str"),
            ("unsupported_kwargs", "sort_by", "must be a frozenset of str, got str"),
            ("unsupported_kwargs", {"sort_by"}, "must be a frozenset of str, got set"),
            ("unsupported_kwargs", frozenset({1}), "must be a frozenset of str, got frozenset"),
        ],
    )
    def test_settings_of_another_type(
        self,
        attribute: str,
        value: Any,
        message: str,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        """Refused at registration; an adapter that is loaded by name later costs no page."""
        wrong = type("Wrong", (Doubling,), {attribute: value})
        with pytest.raises(ConfigurationError, match=f"an adapter's {attribute} {message}"):
            register_adapter(SCORED, wrong())
        monkeypatch.setattr(registry._registry, "_adapters", {SCORED: f"{__name__}:Wrong"})
        monkeypatch.setitem(globals(), "Wrong", wrong)
        response = RecallRetriever.from_vectorstore(Scored([0.9, 0.1])).recall(QUERY)
        assert response.confidence.reason == "adapter_failed"
        assert plain(response.documents) == plain(documents(2))
        assert "ConfigurationError" in caplog.text

    def test_the_vector_that_was_searched_with_is_seen(self) -> None:
        store = faiss_store(encoder_for(np.eye(DIMENSION)[:2], np.ones(DIMENSION)), 2)
        recorder = Recorder()
        token = current_recorder.set(recorder)
        tapped(store.as_retriever()).invoke(QUERY)
        current_recorder.reset(token)
        hits = recorder.hits
        assert hits is not None
        assert hits.query_vector == [1.0] * DIMENSION


class Tied(Scored):
    """Equal scores, in an order that depends on how many are asked for."""

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return [document for document, _ in self.similarity_search_with_score(query, k=k)]

    def similarity_search_with_score(self, *args: Any, **kwargs: Any) -> Any:
        return self.hits[kwargs["k"] :][: kwargs["k"]]


class TiedAdapter(StoreAdapter):
    ties_keep_order = False

    def __init__(self, kind: ScoreKind) -> None:
        self.kind = kind

    def score_kind(self, store: Any) -> ScoreKind:
        return self.kind


@BOTH
@pytest.mark.parametrize("kind", [ScoreKind.COSINE, ScoreKind.BM25])
async def test_a_page_of_ties_that_the_wider_search_did_not_bring(
    kind: ScoreKind, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The retriever's own page wins; what was not looked at has no cosine."""
    adapters = {f"{__name__}.Tied": TiedAdapter(kind)}
    monkeypatch.setattr(registry._registry, "_adapters", adapters)
    bare = Tied([0.5] * 20).as_retriever(search_kwargs={"k": 2})
    response = await ask(RecallRetriever(retriever=bare, pool_size=5), way)
    assert plain(response.documents) == plain(bare.invoke(QUERY))
    assert [d.id for d in response.documents] == ["id2", "id3"]
    assert len(response.pool) == 7
    known = response.pool.cosines if kind is ScoreKind.COSINE else response.pool.scores
    assert known == [0.5] * 5 + [None] * 2
    assert [entry(d)["cosine"] for d in response.documents] == [None] * 2


class Doubling(StoreAdapter):
    """For tests: a store whose score is (1 + cosine) / 2."""

    def score_kind(self, store: Any) -> ScoreKind:
        return ScoreKind.HALF_COSINE
