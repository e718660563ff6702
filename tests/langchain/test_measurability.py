"""Declared scores, and the warning of a wrapper that can never measure anything."""

import copy
import pickle
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableLambda, RunnableParallel
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_recall_signal import RecallRetriever
from recall_signal import ConfigurationError
from tests.langchain.fakes import (
    QUERY,
    Encoder,
    Scored,
    documents,
    entry,
    plain,
    simple_store,
)
from tests.langchain.test_composites import BOTH, ask, ensemble

NUMBERS = [0.9, None, 0.4, "0.3", True, 0.2]


def found(query: str, **_: Any) -> list[Document]:
    """Documents that carry a score in their metadata."""
    return [
        Document(f"t{n}", id=f"id{n}", metadata={"n": n} | ({} if s is None else {"score_is": s}))
        for n, s in enumerate(NUMBERS)
    ]


DOCUMENTS = RunnableLambda(found)
STORE = simple_store(8)
BARE = STORE.as_retriever()
HITS = Scored([0.9, 0.5, 0.4])


class TestWarning:
    @pytest.mark.parametrize(
        ("retriever", "settings", "reason"),
        [
            (DOCUMENTS, {}, "no_score_access"),
            (DOCUMENTS, {"score_kind": "bm25"}, "no_score_access"),
            (DOCUMENTS, {"score_kind": "rrf"}, "score_not_convertible"),
            (ensemble(DOCUMENTS), {}, "no_score_access"),
            (ensemble(HITS.as_retriever()), {}, "store_not_recognised"),
            (HITS.as_retriever(), {}, "store_not_recognised"),
            (HITS.as_retriever(), {"score_kind": "rrf"}, "score_not_convertible"),
            (DOCUMENTS, {"score_kind": "rrf", "score_key": "s"}, "score_not_convertible"),
            (RecallRetriever(retriever=BARE), {}, "no_score_access"),
        ],
    )
    def test_a_wrapper_that_never_measures_says_so_once(
        self, retriever: Any, settings: Any, reason: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        wrapped = RecallRetriever(retriever=retriever, **settings)
        (record,) = caplog.records
        assert record.name.startswith("langchain_recall_signal")
        assert f"({reason}: " in record.getMessage()
        assert repr(wrapped).endswith(f"never_measures={reason!r})")
        for other in (wrapped.model_copy(), copy.copy(wrapped), wrapped.with_config(tags=["t"])):
            assert other.invoke(QUERY)[0].metadata["recall"]["confidence"]["reason"] == reason
        assert len(caplog.records) == 1

    @pytest.mark.parametrize(
        ("retriever", "settings"),
        [
            (DOCUMENTS, {"embeddings": Encoder()}),
            (DOCUMENTS, {"score_kind": "cosine", "score_key": "score_is"}),
            (BARE, {}),
            (BARE, {"score_kind": "rrf"}),  # the stored vectors are read
            (STORE.as_retriever(search_type="mmr"), {}),
            (BARE.with_fallbacks([DOCUMENTS]), {}),
            (BARE.configurable_fields(search_kwargs=ConfigurableField(id="s")), {}),
            (
                ensemble(DOCUMENTS).configurable_alternatives(
                    ConfigurableField(id="w"), later=lambda: BARE
                ),
                {},
            ),
            (HITS.as_retriever(), {"score_kind": "cosine"}),
            (ensemble(HITS.as_retriever()), {"score_kind": "cosine"}),
        ],
    )
    def test_others_say_nothing(
        self, retriever: Any, settings: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert "never_measures" not in repr(RecallRetriever(retriever=retriever, **settings))
        assert not caplog.records

    def test_a_pickled_one_says_nothing_again(self, caplog: pytest.LogCaptureFixture) -> None:
        wrapped = RecallRetriever(retriever=ensemble(HITS.as_retriever()))
        again = pickle.loads(pickle.dumps(wrapped))
        assert again.recall(QUERY).confidence.reason == "store_not_recognised"
        assert "never_measures" in repr(again)
        assert len(caplog.records) == 1


class TestScoreKey:
    @BOTH
    async def test_numbers_are_read_from_the_metadata(
        self, way: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        wrapped = RecallRetriever(retriever=DOCUMENTS, score_kind="cosine", score_key="score_is")
        page = await ask(wrapped, way)
        assert plain(page) == plain(found(QUERY))
        assert [entry(d)["cosine"] for d in page] == [0.9, None, 0.4, None, None, 0.2]
        assert entry(page[0])["cosine_source"] == "declared"
        assert "the metadata holds bool, str where a number was declared" in caplog.text

    def test_the_kind_is_applied_and_the_page_cut(self) -> None:
        wrapped = RecallRetriever(
            retriever=DOCUMENTS, score_kind="cosine_distance", score_key="score_is", k=3
        )
        response = wrapped.recall(QUERY)
        assert plain(response.documents) == plain(found(QUERY)[:3])
        assert response.pool.cosines == pytest.approx([0.1, None, 0.6, None, None, 0.8])
        keywords = RecallRetriever(retriever=DOCUMENTS, score_kind="bm25", score_key="score_is")
        assert keywords.recall(QUERY).confidence.basis == "separation"

    def test_without_any_number_the_level_is_unknown_or_embedded(self) -> None:
        settings: Any = {"retriever": DOCUMENTS, "score_kind": "cosine", "score_key": "other"}
        assert RecallRetriever(**settings).recall(QUERY).confidence.reason == "no_scores"
        embedded = RecallRetriever(**settings, embeddings=Encoder()).recall(QUERY)
        assert embedded.cosine_source == "embeddings"

    def test_a_store_is_then_searched_as_it_is(self) -> None:
        store = InMemoryVectorStore(STORE.embeddings)
        store.add_documents([Document(f"t{n}", metadata={"s": 0.5 + n / 20}) for n in range(8)])
        bare = store.as_retriever(search_kwargs={"k": 5})
        response = RecallRetriever(retriever=bare, score_kind="cosine", score_key="s").recall(QUERY)
        assert len(response.pool) == 5
        assert response.pool.cosines == pytest.approx([0.5, 0.55, 0.6, 0.65, 0.7])

    def test_it_needs_a_kind(self) -> None:
        with pytest.raises(ConfigurationError, match="needs score_kind="):
            RecallRetriever(retriever=DOCUMENTS, score_key="s")
        with pytest.raises(ConfigurationError, match="score_key= where the documents"):
            RecallRetriever(retriever=DOCUMENTS, score_kind="cosine")


class Dropping(Scored):
    """Leaves out a hit after its limit, as some stores do with broken records."""

    searches = 0

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return [document for document, _ in self.similarity_search_with_score(query, k=k)]

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Any:
        self.searches += 1
        return [(d, s) for d, s in self.hits[:k] if d.metadata["n"] != 1]


class TestDroppedHits:
    @BOTH
    @pytest.mark.parametrize("count", [3, 8, 60])
    @pytest.mark.parametrize("k", [1, 2, 5])
    async def test_the_page_is_the_bare_one_with_a_declared_kind(
        self, k: int, count: int, way: str
    ) -> None:
        store = Dropping([1 - n / 100 for n in range(count)])
        bare = store.as_retriever(search_kwargs={"k": k})
        page = await ask(RecallRetriever(retriever=bare, score_kind="cosine"), way)
        assert plain(page) == plain(bare.invoke(QUERY))

    def test_a_full_list_of_hits_needs_no_second_search(self) -> None:
        store = Dropping([1 - n / 100 for n in range(80)])
        store.hits[1][0].metadata["n"] = 0
        bare = store.as_retriever(search_kwargs={"k": 4})
        response = RecallRetriever(retriever=bare, score_kind="cosine").recall(QUERY)
        assert (store.searches, len(response.pool)) == (1, 50)

    def test_ties_of_an_unknown_store_are_not_trusted(self) -> None:
        store = Dropping([0.9, 0.5, *[0.4] * 58])
        store.hits[1][0].metadata["n"] = 0
        bare = store.as_retriever(search_kwargs={"k": 4})
        response = RecallRetriever(retriever=bare, score_kind="cosine").recall(QUERY)
        assert plain(response.documents) == plain(bare.invoke(QUERY))
        assert len(response.pool) == 50


class Taking(BaseRetriever):
    """Takes an argument by its name, and others unnamed."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any, **kwargs: Any) -> Any:
        return documents(2)


def taking_top_k(query: str, top_k: int = 4) -> list[Document]:
    return documents(2)


class TestArguments:
    OPEN = Taking()
    NAMED = RunnableLambda(taking_top_k)

    @pytest.mark.parametrize("name", ["kk", "top_k", "K", "use_rerankk", "selected"])
    @pytest.mark.parametrize(
        "retriever",
        [BARE, OPEN, DOCUMENTS, ensemble(BARE), BARE.with_fallbacks([BARE])],
    )
    def test_misspelt_options_are_refused(self, retriever: Any, name: str) -> None:
        options: dict[str, Any] = {name: 1}
        with pytest.raises(ConfigurationError, match=f"{name} is no argument .*; did you mean"):
            RecallRetriever(retriever=retriever).invoke(QUERY, **options)

    @pytest.mark.parametrize(
        ("retriever", "name"),
        [
            (NAMED, "top_k"),
            (OPEN, "fetch_k"),
            (BARE, "filter"),
            (BARE, "verbose"),
            (STORE.as_retriever(search_type="mmr"), "fetch_k"),
        ],
    )
    def test_what_is_taken_passes(self, retriever: Any, name: str) -> None:
        value: Any = {"filter": None, "verbose": True}.get(name, 4)
        assert RecallRetriever(retriever=retriever).invoke(QUERY, **{name: value})

    @pytest.mark.parametrize(
        ("retriever", "name"),
        [
            (BARE, "filtre"),
            (BARE, "fetch_k"),
            (BARE.with_fallbacks([BARE]), "filtre"),
            (BARE.configurable_fields(search_kwargs=ConfigurableField(id="s")), "filtre"),
            (ensemble(BARE), "filter"),
            (NAMED, "filter"),
            (RunnableLambda(lambda query: query) | BARE, "filter"),
            (RunnableParallel(one=BARE).with_config(tags=["t"]), "filter"),
        ],
    )
    def test_what_nobody_takes_is_refused(self, retriever: Any, name: str) -> None:
        with pytest.raises(ConfigurationError, match=f"{name} is no argument of this call"):
            RecallRetriever(retriever=retriever).invoke(QUERY, **{name: None})
