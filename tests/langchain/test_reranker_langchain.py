"""The reranker around LangChain retrievers: what it takes, what it changes, how it fails."""

import asyncio
import json
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_classic.retrievers.document_compressors import (
    CrossEncoderReranker,
    DocumentCompressorPipeline,
)
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler, Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables import RunnableLambda
from langchain_fakes import QUERY, entry, plain, simple_store

from langchain_recall_signal import RecallRetriever
from recall_signal import Calibration, CalibrationError, ConfigurationError
from recall_signal.calibration.reranker import RerankScale
from recall_signal.reranking import RerankerOptions
from recall_signal.selection import Answer, SelectionRequest

K = 4


def by_text(scores: dict[str, float]) -> Any:
    """A function that knows the scores of texts."""
    return lambda query, texts: [scores[text] for text in texts]


BACKWARDS = by_text({f"t{n}": float(n) for n in range(10)})


def wrapped(reranker: Any, **given: Any) -> RecallRetriever:
    return RecallRetriever.from_vectorstore(
        simple_store(), **{"k": K, "reranker": reranker, "use_rerank": True, **given}
    )


def ids(documents: Sequence[Document]) -> list[str | None]:
    return [document.id for document in documents]


class Compressor(BaseDocumentCompressor):
    """As CohereRerank: the best ``top_n``, best first, each with its score in its metadata."""

    top_n: int = K
    key: str = "relevance_score"
    seen: Any = None

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        if self.seen is not None:
            self.seen.append((query, list(documents), callbacks))
        ranked = [
            d.model_copy(update={"metadata": {**d.metadata, self.key: float(d.page_content[1:])}})
            for d in reversed(documents)
        ]
        return ranked[: self.top_n]


class AsyncCompressor(Compressor):
    """The same with async code of its own."""

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        await asyncio.sleep(0)
        assert threading.current_thread() is threading.main_thread()
        return self.compress_documents(documents, query, callbacks)


class Trimming(BaseDocumentCompressor):
    """A compressor that writes no score."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        return documents[:2]


class CrossEncoder:
    """As ``HuggingFaceCrossEncoder``."""

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        assert {query for query, _ in text_pairs} == {QUERY}
        return [float(text[1:]) for _, text in text_pairs]


def test_the_page_is_reordered_and_says_so() -> None:
    retriever = wrapped(RerankerOptions(BACKWARDS, scale="logit"))
    bare = simple_store().as_retriever(search_kwargs={"k": K}).invoke(QUERY)
    response = retriever.recall(QUERY)
    assert plain(response.documents) == plain(bare)[::-1]
    assert response.confidence.rerank_score == 3.0
    assert response.confidence.match == "exact"
    first = entry(response.documents[0])
    assert first["rank"] == 0
    assert first["rerank_score"] == 3.0
    assert first["cosine"] < entry(response.documents[-1])["cosine"]
    report = {"applied": True, "scale": "logit", "scored": K, "reordered": True}
    assert first["rerank"] == report
    assert response.to_dict()["rerank"] == report
    assert response.rerank is not None
    json.dumps(first, allow_nan=False)


def test_the_level_is_the_one_without_a_reranker() -> None:
    with_it = wrapped(BACKWARDS).recall(QUERY).confidence
    without = wrapped(None, use_rerank=False).recall(QUERY).confidence
    changed = {"rerank_score", "match", "rationale"}
    assert with_it.model_dump(exclude=changed) == without.model_dump(exclude=changed)


def test_without_reordering_the_page_is_the_bare_one() -> None:
    response = wrapped(BACKWARDS, reorder=False).recall(QUERY)
    assert ids(response.documents) == ["id0", "id1", "id2", "id3"]
    assert response.confidence.rerank_score == 3.0
    assert entry(response.documents[0])["rerank_score"] == 0.0
    assert entry(response.documents[0])["rerank"]["reordered"] is False


def test_a_reranker_that_is_not_to_be_used_does_nothing() -> None:
    def never(query: str, texts: list[str]) -> list[float]:
        raise AssertionError("asked")

    for reranker in (never, "not even one"):
        response = wrapped(reranker, use_rerank=False).recall(QUERY)
        assert response.rerank is None
        assert "rerank" not in response.to_dict()
        assert {"rerank", "rerank_score"}.isdisjoint(entry(response.documents[0]))
        assert response.confidence.rerank_score is None
        assert response.confidence.match is None


def test_use_rerank_without_one_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="RecallRetriever: use_rerank=True needs"):
        wrapped(None)
    with pytest.raises(ConfigurationError, match="a document compressor, a cross-encoder"):
        wrapped("a name")
    with pytest.raises(ConfigurationError, match="use_rerank=True needs"):
        wrapped(BACKWARDS).model_copy(update={"reranker": None})


@pytest.mark.parametrize(
    "reranker",
    [
        BACKWARDS,
        CrossEncoder(),
        CrossEncoderReranker.model_construct(model=CrossEncoder(), top_n=2),
        Compressor(),
        Compressor(key="flashrank_relevance_score"),
        AsyncCompressor(),
        DocumentCompressorPipeline(transformers=[Compressor()]),
    ],
    ids=lambda reranker: type(reranker).__name__,
)
async def test_every_kind_gives_the_same_sync_and_async(reranker: Any) -> None:
    retriever = wrapped(RerankerOptions(reranker, scale="logit"))
    first, second = retriever.recall(QUERY), await retriever.arecall(QUERY)
    assert ids(first.documents) == ids(second.documents) == ["id3", "id2", "id1", "id0"]
    assert first.to_dict() == second.to_dict()
    assert first.confidence.match == "exact"
    assert first.pool.rerank_scores == [0.0, 1.0, 2.0, 3.0, *[None] * 6]
    assert ids(await retriever.ainvoke(QUERY)) == ids(retriever.invoke(QUERY))
    assert ids(retriever.batch([QUERY])[0]) == ids(first.documents)


def test_what_a_compressor_leaves_out_comes_last() -> None:
    response = wrapped(Compressor(top_n=2)).recall(QUERY)
    assert ids(response.documents) == ["id3", "id2", "id0", "id1"]
    assert [entry(d)["rerank_score"] for d in response.documents] == [3.0, 2.0, None, None]
    assert response.rerank is not None
    assert response.rerank.scored == 2


def test_a_compressor_gets_documents_of_ours_and_the_callbacks() -> None:
    seen: list[Any] = []
    wrapped(Compressor(seen=seen)).invoke(QUERY)
    ((query, documents, callbacks),) = seen
    assert query == QUERY
    assert [document.page_content for document in documents] == ["t0", "t1", "t2", "t3"]
    assert all(set(document.metadata) == {"recall_place"} for document in documents)
    assert callbacks.parent_run_id is not None


class Wrong(Compressor):
    """Returns what it was not given, or twice."""

    places: Any = ()

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        return [
            Document(page_content="", metadata={"recall_place": place, "relevance_score": 1.0})
            for place in self.places
        ]


@pytest.mark.parametrize("places", [[None], [K], [-1], ["0"], [0, 0]])
def test_a_compressor_that_returns_something_else_is_not_believed(places: list[Any]) -> None:
    response = wrapped(Wrong(places=places)).recall(QUERY)
    assert ids(response.documents) == ["id0", "id1", "id2", "id3"]
    assert response.to_dict()["rerank"] == {"applied": False, "reason": "invalid_scores"}


def broken(query: str, texts: list[str]) -> list[float]:
    raise RuntimeError(f"cannot score {texts[0]}")


@pytest.mark.parametrize(
    ("reranker", "reason"),
    [
        (broken, "reranker_error"),
        (Trimming(), "invalid_scores"),
        (lambda query, texts: [1.0], "invalid_scores"),
        (lambda query, texts: [float("nan")] * len(texts), "invalid_scores"),
        (RerankerOptions(BACKWARDS, scale="probability"), "invalid_scores"),
    ],
)
async def test_a_failure_leaves_the_page_and_says_why(
    reranker: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    retriever = wrapped(reranker)
    for response in (retriever.recall(QUERY), await retriever.arecall(QUERY)):
        assert ids(response.documents) == ["id0", "id1", "id2", "id3"]
        assert response.to_dict()["rerank"] == {"applied": False, "reason": reason}
        assert entry(response.documents[0])["rerank"] == {"applied": False, "reason": reason}
        assert entry(response.documents[0])["rerank_score"] is None
        assert response.confidence.rerank_score is None
        assert reason in response.confidence.rationale
    assert "t0" not in caplog.text


class Slow(AsyncCompressor):
    """Takes its time, either way."""

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        await asyncio.sleep(5)
        return documents

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        time.sleep(3)
        return documents


@pytest.mark.parametrize("reranker", [Slow(), lambda query, texts: time.sleep(3)])
async def test_nothing_waits_longer_than_the_timeout(reranker: Any) -> None:
    retriever = wrapped(RerankerOptions(reranker, timeout=0.05))
    started = time.monotonic()
    pages = [retriever.recall(QUERY), await retriever.arecall(QUERY)]
    assert time.monotonic() - started < 2
    for page in pages:
        assert page.to_dict()["rerank"] == {"applied": False, "reason": "timeout"}
        assert ids(page.documents) == ["id0", "id1", "id2", "id3"]


async def test_cancelling_a_query_cancels_its_reranking() -> None:
    task = asyncio.create_task(wrapped(Slow()).ainvoke(QUERY))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_an_empty_page_is_not_reranked() -> None:
    def never(query: str, texts: list[str]) -> list[float]:
        raise AssertionError("asked")

    empty = RecallRetriever(
        retriever=RunnableLambda(lambda query: []), reranker=never, use_rerank=True
    )
    response = empty.recall(QUERY)
    assert response.to_dict()["rerank"] == {"applied": False, "reason": "no_results"}
    assert "reranker" not in response.confidence.rationale


class KeepFirst:
    """A selector that keeps the first that it sees."""

    def select(self, request: SelectionRequest) -> Answer:
        return Answer({"keep": [request.labels[0]]}, "first")

    async def aselect(self, request: SelectionRequest) -> Answer:
        return self.select(request)


async def test_the_selector_sees_the_reranked_page() -> None:
    retriever = wrapped(BACKWARDS, selector=KeepFirst())
    for response in (retriever.recall(QUERY), await retriever.arecall(QUERY)):
        assert ids(response.documents) == ["id3"]
        assert response.selection.dropped_memory_ids == ["id2", "id1", "id0"]
        assert entry(response.documents[0])["rerank_score"] == 3.0


class Events(BaseCallbackHandler):
    def __init__(self) -> None:
        self.data: list[Any] = []

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        self.data.append(data)


class AsyncEvents(AsyncCallbackHandler):
    def __init__(self) -> None:
        self.data: list[Any] = []

    async def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        self.data.append(data)


async def test_the_event_carries_it_too() -> None:
    retriever, heard, aheard = wrapped(BACKWARDS), Events(), AsyncEvents()
    retriever.invoke(QUERY, {"callbacks": [heard]})
    await retriever.ainvoke(QUERY, {"callbacks": [aheard]})
    assert heard.data == aheard.data == [retriever.recall(QUERY).to_dict()]


def learnt(scale: RerankScale | None = None) -> Calibration:
    """A calibration without a reranker, or one that seems to have seen one."""
    return replace(wrapped(None, use_rerank=False).calibrate(), reranker=scale)


async def test_calibrating_learns_the_rerankers_scale() -> None:
    documents = [(f"id{n}", f"t{n}") for n in range(10)]
    labelled = [(f"t{n}", n % 2 == 0) for n in range(10)]

    def score(query: str, texts: list[str]) -> list[float]:
        return [5.0 + float(query == text) if query in known else -5.0 for text in texts]

    known = {query for query, relevant in labelled if relevant}
    retriever = wrapped(RerankerOptions(score, scale="logit"))
    given: Any = {"documents": documents, "labelled": labelled}
    made, amade = retriever.calibrate(**given), await retriever.acalibrate(**given)
    assert made.reranker is not None
    assert made.reranker.scale == "logit"
    assert made.reranker.labels == 10
    assert made.reranker == amade.reranker
    assert wrapped(None, use_rerank=False).calibrate(**given).reranker is None
    response = retriever.with_calibration(made).recall("t0")
    assert "learnt from labels" in response.confidence.rationale


def test_a_calibration_for_another_scale_is_refused_at_construction() -> None:
    calibration = learnt(RerankScale("logit", cut=2.5))
    with pytest.raises(CalibrationError, match="declare the same scale"):
        wrapped(BACKWARDS, calibration=calibration)
    assert wrapped(None, use_rerank=False, calibration=calibration).recall(QUERY).rerank is None
    fits = wrapped(RerankerOptions(BACKWARDS, scale="logit"), calibration=calibration)
    assert "not below a learnt cut of 2.50" in fits.recall(QUERY).confidence.rationale
    plain_one = wrapped(RerankerOptions(BACKWARDS, scale="logit"), calibration=learnt())
    assert "declared cut of 0.00" in plain_one.recall(QUERY).confidence.rationale


@given(st.lists(st.one_of(st.none(), st.floats(-9, 9)), min_size=K, max_size=K), st.booleans())
@settings(deadline=None, max_examples=40)
def test_the_page_is_always_a_permutation_of_the_bare_one(scores: list[Any], reorder: bool) -> None:
    response = wrapped(lambda query, texts: scores, reorder=reorder).recall(QUERY)
    assert sorted(map(str, ids(response.documents))) == ["id0", "id1", "id2", "id3"]
    assert [entry(d)["rank"] for d in response.documents] == [0, 1, 2, 3]
    json.dumps(response.to_dict(), allow_nan=False)
