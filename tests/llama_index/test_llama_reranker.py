"""The reranker around LlamaIndex retrievers: what it takes, what it changes, how it fails."""

import asyncio
import json
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from llama_fakes import (
    QUERY,
    QUERY_VECTOR,
    ListRetriever,
    RecordingLLM,
    caught_events,
    index_of,
    index_with_cosines,
    page_of,
)
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from langchain_recall_signal import RecallRetriever as LangChainRetriever
from llama_index_recall_signal import RecallQueryEngine, RecallRetriever
from recall_signal import CalibrationError, ConfigurationError
from recall_signal.calibration.reranker import RerankScale
from recall_signal.reranking import RerankerOptions
from recall_signal.selection import Answer, SelectionRequest
from recall_signal.testing import SettableEncoder, vectors_with_cosines

COSINES = [0.9, 0.7, 0.6, 0.5, 0.3, 0.2]
K = 4


def number(text: str) -> float:
    return float(text.split()[-1])


def backwards(query: str, texts: list[str]) -> list[float]:
    """The last first."""
    return [number(text) for text in texts]


def wrapped(reranker: Any, **given: Any) -> RecallRetriever:
    inner = index_with_cosines(COSINES).as_retriever(similarity_top_k=K)
    return RecallRetriever(inner, **{"reranker": reranker, "use_rerank": True, **given})


def ids(nodes: Sequence[NodeWithScore]) -> list[str]:
    return [item.node_id for item in nodes]


def entry(item: NodeWithScore) -> dict[str, Any]:
    found: dict[str, Any] = item.node.metadata["recall"]
    return found


class Rerank(BaseNodePostprocessor):
    """As SentenceTransformerRerank: writes its scores into the nodes that it was given."""

    top_n: int = K
    seen: Any = None

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        assert query_bundle is not None
        if self.seen is not None:
            self.seen.append((query_bundle.query_str, list(nodes)))
        for item in nodes:
            item.score = number(item.node.get_content())
            item.node.metadata["retrieval_score"] = 0.0
        return sorted(nodes, key=lambda item: -(item.score or 0.0))[: self.top_n]


class AsyncRerank(Rerank):
    """The same with async code of its own."""

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        await asyncio.sleep(0)
        assert threading.current_thread() is threading.main_thread()
        return self._postprocess_nodes(nodes, query_bundle)


class CrossEncoder:
    """As in sentence-transformers."""

    def predict(self, pairs: list[tuple[str, str]]) -> list[float]:
        return [number(text) for _, text in pairs]


def test_the_page_is_reordered_and_says_so() -> None:
    bare = index_with_cosines(COSINES).as_retriever(similarity_top_k=K).retrieve(QUERY)
    response = wrapped(RerankerOptions(Rerank(), scale="logit")).recall(QUERY)
    assert page_of(response.nodes) == page_of(bare)[::-1]  # the store's own scores too
    assert response.confidence.rerank_score == 3.0
    assert response.confidence.match == "exact"
    report = {"applied": True, "scale": "logit", "scored": K, "reordered": True}
    first = entry(response.nodes[0])
    assert (first["rank"], first["rerank_score"], first["rerank"]) == (0, 3.0, report)
    assert response.to_dict()["rerank"] == report
    json.dumps(first, allow_nan=False)


@pytest.mark.parametrize(
    "reranker",
    [Rerank(), AsyncRerank(), CrossEncoder(), backwards],
    ids=lambda reranker: type(reranker).__name__,
)
async def test_every_kind_gives_the_same_sync_and_async(reranker: Any) -> None:
    retriever = wrapped(RerankerOptions(reranker, scale="logit"))
    first, second = retriever.recall(QUERY), await retriever.arecall(QUERY)
    assert ids(first.nodes) == ids(second.nodes) == ["n3", "n2", "n1", "n0"]
    assert first.to_dict() == second.to_dict()
    assert first.pool.rerank_scores == [0.0, 1.0, 2.0, 3.0, None, None]


def test_without_reordering_the_page_is_the_bare_one() -> None:
    response = wrapped(Rerank(), reorder=False).recall(QUERY)
    assert ids(response.nodes) == ["n0", "n1", "n2", "n3"]
    assert response.confidence.rerank_score == 3.0
    assert entry(response.nodes[0])["rerank"]["reordered"] is False


def test_a_postprocessor_gets_nodes_of_ours_and_leaves_the_caller_s_alone() -> None:
    seen: list[Any] = []
    nodes = [
        NodeWithScore(node=TextNode(id_=f"n{n}", text=f"stored text {n}"), score=0.5)
        for n in range(3)
    ]
    retriever = RecallRetriever(
        ListRetriever(nodes), reranker=Rerank(seen=seen, top_n=1), use_rerank=True
    )
    response = retriever.recall(QUERY)
    ((query, given),) = seen
    assert query == QUERY
    assert [item.node.get_content() for item in given] == [f"stored text {n}" for n in range(3)]
    assert ids(given) == ["0", "1", "2"]
    assert [item.score for item in nodes] == [0.5] * 3
    assert all("retrieval_score" not in item.node.metadata for item in [*nodes, *response.nodes])
    assert ids(response.nodes) == ["n2", "n0", "n1"]
    assert [entry(item)["rerank_score"] for item in response.nodes] == [2.0, None, None]


def test_a_reranker_that_is_not_to_be_used_does_nothing() -> None:
    for reranker in (Rerank(), "not even one"):
        response = wrapped(reranker, use_rerank=False).recall(QUERY)
        assert response.rerank is None
        assert "rerank" not in response.to_dict()
        assert {"rerank", "rerank_score"}.isdisjoint(entry(response.nodes[0]))


def test_what_is_no_reranker_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="RecallRetriever: use_rerank=True needs"):
        wrapped(None)
    with pytest.raises(ConfigurationError, match="a node postprocessor, a model with"):
        wrapped("a name")


class Stranger(BaseNodePostprocessor):
    """Returns a node that it was not given."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(id_="stranger", text=""), score=1.0)]


class Twice(BaseNodePostprocessor):
    """Returns a node twice."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return [nodes[0], nodes[0]]


def broken(query: str, texts: list[str]) -> list[float]:
    raise RuntimeError(f"cannot score {texts[0]}")


@pytest.mark.parametrize(
    ("reranker", "reason"),
    [
        (broken, "reranker_error"),
        (Stranger(), "invalid_scores"),
        (Twice(), "invalid_scores"),
        (SimilarityPostprocessor(), "invalid_scores"),
        (RerankerOptions(backwards, scale="probability"), "invalid_scores"),
    ],
)
async def test_a_failure_leaves_the_page_and_says_why(
    reranker: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    retriever = wrapped(reranker)
    for response in (retriever.recall(QUERY), await retriever.arecall(QUERY)):
        assert ids(response.nodes) == ["n0", "n1", "n2", "n3"]
        assert response.to_dict()["rerank"] == {"applied": False, "reason": reason}
        assert entry(response.nodes[0])["rerank"] == {"applied": False, "reason": reason}
        assert reason in response.confidence.rationale
    assert "stored text" not in caplog.text


class Slow(AsyncRerank):
    """Takes its time, either way."""

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        await asyncio.sleep(5)
        return nodes

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        time.sleep(3)
        return nodes


@pytest.mark.parametrize("reranker", [Slow(), lambda query, texts: time.sleep(3)])
async def test_nothing_waits_longer_than_the_timeout(reranker: Any) -> None:
    retriever = wrapped(RerankerOptions(reranker, timeout=0.05))
    started = time.monotonic()
    pages = [retriever.recall(QUERY), await retriever.arecall(QUERY)]
    assert time.monotonic() - started < 2
    for page in pages:
        assert page.to_dict()["rerank"] == {"applied": False, "reason": "timeout"}
        assert ids(page.nodes) == ["n0", "n1", "n2", "n3"]


class KeepFirst:
    """A selector that keeps the first that it sees."""

    def select(self, request: SelectionRequest) -> Answer:
        return Answer({"keep": [request.labels[0]]}, "first")

    async def aselect(self, request: SelectionRequest) -> Answer:
        return self.select(request)


async def test_the_selector_sees_the_reranked_page() -> None:
    retriever = wrapped(backwards, selector=KeepFirst())
    for response in (retriever.recall(QUERY), await retriever.arecall(QUERY)):
        assert ids(response.nodes) == ["n3"]
        assert response.selection.dropped_memory_ids == ["n2", "n1", "n0"]


def test_the_event_and_a_query_engine_carry_it_too() -> None:
    retriever = wrapped(backwards)
    with caught_events() as catcher:
        report = retriever.recall(QUERY).to_dict()
    (event,) = catcher.of("RecallSignalEvent")
    assert event.report == report
    engine = RecallQueryEngine.from_args(retriever, llm=RecordingLLM())
    response = engine.query(QUERY)
    assert response.metadata is not None
    assert response.metadata["recall"] == report


async def test_calibrating_learns_the_rerankers_scale() -> None:
    documents = [(f"n{n}", f"stored text {n}") for n in range(len(COSINES))]
    labelled = [(f"question {n}", n % 2 == 0) for n in range(10)]
    known = {query for query, relevant in labelled if relevant}
    retriever = wrapped(
        RerankerOptions(
            lambda query, texts: [5.0 if query in known else -5.0] * len(texts), scale="logit"
        )
    )
    given: Any = {"documents": documents, "labelled": labelled}
    made, amade = retriever.calibrate(**given), await retriever.acalibrate(**given)
    assert made.reranker is not None
    assert made.reranker.labels == 10
    assert made.reranker == amade.reranker
    calibrated = retriever.with_calibration(made)
    assert calibrated.recall(QUERY).confidence.rerank_score == -5.0
    with pytest.raises(CalibrationError, match="declare the same scale"):
        wrapped(backwards, calibration=replace(made, reranker=RerankScale("probability")))


class Encoder(SettableEncoder, Embeddings):
    """For LangChain."""


@pytest.mark.parametrize("reorder", [True, False])
@pytest.mark.parametrize("scale", ["logit", "probability", "unknown"])
def test_both_frameworks_say_the_same(scale: Any, reorder: bool) -> None:
    def score(query: str, texts: list[str]) -> list[float | None]:
        return [None if number(text) == 1 else number(text) / 10 for text in texts]

    vectors = vectors_with_cosines(QUERY_VECTOR, COSINES)
    texts = [f"stored text {n}" for n in range(len(COSINES))]
    store = InMemoryVectorStore(
        Encoder({QUERY: QUERY_VECTOR, **dict(zip(texts, vectors, strict=True))})
    )
    store.add_documents([Document(id=f"n{n}", page_content=t) for n, t in enumerate(texts)])
    options: Any = {"reranker": RerankerOptions(score, scale=scale), "use_rerank": True}
    one = LangChainRetriever.from_vectorstore(store, k=K, reorder=reorder, **options).recall(QUERY)
    nodes = [
        TextNode(id_=f"n{n}", text=t, embedding=v.tolist())
        for n, (t, v) in enumerate(zip(texts, vectors, strict=True))
    ]
    inner = index_of(nodes).as_retriever(similarity_top_k=K)
    other = RecallRetriever(inner, reorder=reorder, **options).recall(QUERY)
    assert [d.id for d in one.documents] == ids(other.nodes)
    assert one.to_dict() == other.to_dict()
    assert [d.metadata["recall"]["rerank_score"] for d in one.documents] == [
        entry(item)["rerank_score"] for item in other.nodes
    ]
