"""The reranker around LlamaIndex retrievers: what it takes, what it changes, how it fails."""

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from llama_index_recall_signal import RecallQueryEngine, RecallRetriever
from recall_signal.reranking import RerankerOptions
from tests.llama_index.fakes import (
    QUERY,
    ListRetriever,
    RecordingLLM,
    caught_events,
    index_with_cosines,
)

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


@pytest.mark.parametrize("reranker", [Stranger(), Twice(), SimilarityPostprocessor()])
async def test_other_nodes_than_those_given_are_invalid(reranker: Any) -> None:
    retriever = wrapped(reranker)
    for response in (retriever.recall(QUERY), await retriever.arecall(QUERY)):
        assert ids(response.nodes) == ["n0", "n1", "n2", "n3"]
        assert response.to_dict()["rerank"] == {"applied": False, "reason": "invalid_scores"}


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


@pytest.mark.timing
async def test_nothing_waits_longer_than_the_timeout() -> None:
    retriever = wrapped(RerankerOptions(Slow(), timeout=0.05))
    started = time.monotonic()
    pages = [retriever.recall(QUERY), await retriever.arecall(QUERY)]
    assert time.monotonic() - started < 2
    for page in pages:
        assert page.to_dict()["rerank"] == {"applied": False, "reason": "timeout"}
        assert ids(page.nodes) == ["n0", "n1", "n2", "n3"]


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
