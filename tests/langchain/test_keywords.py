"""BM25 without any declaration: read by separation, in the one pass over the index."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    MergerRetriever,
    MultiQueryRetriever,
)
from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import Document
from langchain_core.runnables import RunnableBranch, RunnableLambda
from rank_bm25 import BM25Okapi

from langchain_recall_signal import RecallRetriever
from recall_signal import ConfigurationError, assess
from tests.langchain.fakes import QUERY, entry, plain, simple_store
from tests.langchain.test_composites import BOTH, KeepEven, ensemble

TEXTS = [
    *("the lamp is in the barn", "salt for the soup", "a rope and a lamp", "clay pots dry slowly"),
    *("fern and moss", "the barn door is red", "rain on the roof", "a lamp lamp lamp"),
]
ASKED = "where is the lamp"


class Passes(BM25Okapi):
    """Counts the passes over the index."""

    passes = 0

    def get_scores(self, query: Any) -> Any:
        Passes.passes += 1
        return super().get_scores(query)


def keywords(k: int = 5, texts: list[str] = TEXTS, **settings: Any) -> BM25Retriever:
    documents = [Document(text, metadata={"n": n}, id=f"b{n}") for n, text in enumerate(texts)]
    return BM25Retriever.from_documents(documents, k=k, **settings)


def best(bare: BM25Retriever, query: str = ASKED) -> list[float]:
    scores = bare.vectorizer.get_scores(bare.preprocess_func(query))
    found: list[float] = sorted(scores.tolist(), reverse=True)[: bare.k]
    return found


@BOTH
@pytest.mark.parametrize("kind", ["auto", "bm25"])
@pytest.mark.parametrize("k", [1, 2, 5, 8, 20])
async def test_the_level_is_that_of_the_keyword_scores(kind: str, k: int, way: str) -> None:
    bare = keywords(k)
    wrapped = RecallRetriever(retriever=bare, score_kind=kind)
    response = wrapped.recall(ASKED) if way == "invoke" else await wrapped.arecall(ASKED)
    assert plain(response.documents) == plain(bare.invoke(ASKED))
    expected = assess([None] * len(response.documents), scores=best(bare))
    figures = response.confidence.model_dump(exclude={"term_coverage"})
    assert figures == expected.model_dump(exclude={"term_coverage"})
    assert response.confidence.basis == "separation"
    assert response.confidence.top_score == pytest.approx(best(bare)[0], abs=1e-3)
    assert response.pool.scores == pytest.approx(best(bare))
    assert response.cosine_source is None


def test_there_is_one_pass_and_the_retriever_is_left_alone() -> None:
    bare = keywords()
    bare.vectorizer.__class__ = Passes
    held = dict(vars(bare))
    RecallRetriever(retriever=bare).invoke(ASKED)
    assert Passes.passes == 1
    assert all(vars(bare)[name] is value for name, value in held.items())
    assert set(vars(bare.vectorizer)) == set(vars(keywords().vectorizer))


def test_no_word_in_common() -> None:
    bare = keywords()
    response = RecallRetriever(retriever=bare).recall("nothing shared")
    assert plain(response.documents) == plain(bare.invoke("nothing shared"))
    assert response.confidence.level == "none"
    assert response.confidence.top_score == 0.0


def test_equal_scores_and_a_smaller_page() -> None:
    bare = keywords(6, ["a lamp", "a lamp", "a lamp", "salt", "rope"])
    for k in (1, 2, 4, None):
        response = RecallRetriever(retriever=bare, k=k).recall("lamp")
        assert plain(response.documents) == plain(bare.invoke("lamp"))[:k]
        assert response.pool.scores == pytest.approx(best(bare, "lamp"))


def test_in_threads_each_question_has_its_own_scores() -> None:
    bare = keywords()
    wrapped = RecallRetriever(retriever=bare)
    asked = [f"{one} {two}" for one in ("lamp", "rope", "barn") for two in ("salt", "moss", "rain")]
    expected = [assess([None] * 5, scores=best(bare, query)).top_score for query in asked]
    with ThreadPoolExecutor(8) as pool:
        found = [response.confidence.top_score for response in pool.map(wrapped.recall, asked)]
    assert found == expected
    pages = wrapped.batch(asked)
    assert [entry(page[0])["confidence"]["top_score"] for page in pages] == expected


@BOTH
async def test_around_bm25(way: str) -> None:
    """Parts keep their scores, and another text's are not the question's."""
    bare = keywords()
    some = ContextualCompressionRetriever(base_compressor=KeepEven(), base_retriever=bare)
    for inner in (some, bare.with_retry(), bare.with_fallbacks([bare])):
        wrapped = RecallRetriever(retriever=inner)
        response = wrapped.recall(ASKED) if way == "invoke" else await wrapped.arecall(ASKED)
        assert response.confidence.basis == "separation"
    rewritten = MultiQueryRetriever(retriever=bare, llm_chain=RunnableLambda(lambda _: ["a lamp"]))
    response = RecallRetriever(retriever=rewritten).recall(ASKED)
    assert response.confidence.reason == "rewritten_query"


def test_the_scores_of_two_indexes_are_not_compared() -> None:
    both = MergerRetriever(retrievers=[keywords(3), keywords(3, TEXTS[::-1])])
    assert RecallRetriever(retriever=both).recall(ASKED).confidence.reason == "no_score_access"


def test_two_indexes_alone_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    one, other = keywords(3), keywords(3, TEXTS[::-1])
    some = ContextualCompressionRetriever(base_compressor=KeepEven(), base_retriever=other)
    circle = MergerRetriever(retrievers=[one, some])
    circle.retrievers.append(circle)
    inner: Any
    for inner in (ensemble(one, other), circle):
        wrapped = RecallRetriever(retriever=inner)
        assert repr(wrapped).endswith("never_measures='no_score_access')")
        assert caplog.text.count("can never measure") == 1
        caplog.clear()
    dense = simple_store(4).as_retriever()
    for inner in (
        ensemble(one, one.model_copy()),  # the same index
        ensemble(one, other, dense),
        one.with_fallbacks([other]),
        RunnableBranch((lambda _: True, one), other),
    ):
        RecallRetriever(retriever=inner)
    assert not caplog.records


def test_a_declared_keyword_kind_leaves_cosines_out() -> None:
    dense = simple_store(4).as_retriever()
    both = ensemble(dense, keywords(texts=[QUERY, *TEXTS]))
    assert RecallRetriever(retriever=both).recall(QUERY).confidence.basis == "prominence"
    declared = RecallRetriever(retriever=both, score_kind="bm25").recall(QUERY)
    assert declared.confidence.basis == "separation"
    assert [entry(document)["cosine"] for document in declared.documents] == [None] * 9


def test_a_cosine_kind_cannot_be_declared_for_it() -> None:
    with pytest.raises(ConfigurationError, match="'cosine' needs scores"):
        RecallRetriever(retriever=keywords(), score_kind="cosine")


class Shuffled(BM25Okapi):
    """An index with an order of its own."""

    def get_top_n(self, query: Any, documents: Any, n: int = 5) -> Any:
        return documents[:n]


class Graded(BM25Okapi):
    """One whose scores are grades."""

    def get_scores(self, query: Any) -> Any:
        return np.array([chr(97 + n) for n in range(self.corpus_size)])


class Other:
    """No index of rank-bm25 at all."""


def test_an_index_with_an_order_of_its_own_is_not_read(caplog: pytest.LogCaptureFixture) -> None:
    bare = keywords()
    bare.vectorizer.__class__ = Shuffled
    wrapped = RecallRetriever(retriever=bare)
    assert plain(wrapped.invoke(ASKED)) == plain(bare.invoke(ASKED))
    assert "can never measure" in caplog.text
    bare.vectorizer = Other()
    assert "never_measures" in repr(RecallRetriever(retriever=bare))


def test_scores_that_are_no_numbers_cost_no_page(caplog: pytest.LogCaptureFixture) -> None:
    bare = keywords()
    bare.vectorizer.__class__ = Graded
    response = RecallRetriever(retriever=bare).recall(ASKED)
    assert plain(response.documents) == plain(bare.invoke(ASKED))
    assert response.confidence.reason == "no_score_access"
    assert "scores of a keyword search are not readable: ValueError" in caplog.text
