"""The reranker around LangChain retrievers: what it takes, what it changes, how it fails."""

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_classic.retrievers.document_compressors import (
    CrossEncoderReranker,
    DocumentCompressorPipeline,
)
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler, Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document

from langchain_recall_signal import RecallRetriever
from recall_signal.reranking import RerankerOptions
from tests.langchain.fakes import QUERY, entry, simple_store

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
    """As CohereRerank: the best `top_n`, best first, each with its score in its metadata."""

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
    """As `HuggingFaceCrossEncoder`."""

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        assert {query for query, _ in text_pairs} == {QUERY}
        return [float(text[1:]) for _, text in text_pairs]


CROSS_ENCODER: Any = CrossEncoder()


@pytest.mark.parametrize(
    "reranker",
    [
        BACKWARDS,
        CROSS_ENCODER,
        CrossEncoderReranker.model_construct(model=CROSS_ENCODER, top_n=2),
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


def test_a_compressor_without_scores_is_invalid() -> None:
    response = wrapped(Trimming()).recall(QUERY)
    assert response.to_dict()["rerank"] == {"applied": False, "reason": "invalid_scores"}
    assert ids(response.documents) == ["id0", "id1", "id2", "id3"]


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


@pytest.mark.timing
async def test_nothing_waits_longer_than_the_timeout() -> None:
    retriever = wrapped(RerankerOptions(Slow(), timeout=0.05))
    started = time.monotonic()
    pages = [retriever.recall(QUERY), await retriever.arecall(QUERY)]
    assert time.monotonic() - started < 2
    for page in pages:
        assert page.to_dict()["rerank"] == {"applied": False, "reason": "timeout"}
        assert ids(page.documents) == ["id0", "id1", "id2", "id3"]


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
