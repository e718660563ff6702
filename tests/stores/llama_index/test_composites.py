"""Retrievers of retrievers on real stores: what the wrapper can say around each, and inside.

Around a composite, the page is the composite's; its cosines come from the searches of its parts, or
from a declared kind, where the composite leaves the scores as they are. Inside, each part is
measured by its own store, and its pool is the part's.
"""

from asyncio import to_thread
from collections.abc import Sequence
from typing import Any

import faiss
import pytest
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import (
    QueryFusionRetriever,
    RouterRetriever,
)
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.settings import Settings
from llama_index.core.tools import RetrieverTool
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient

from llama_index_recall_signal import RecallQueryEngine, RecallRetriever
from tests.stores.llama_store_cases import QUERY, page_of
from tests.stores.llama_store_parts import COSINES, flat, index_of, nodes_with

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local")


@pytest.fixture(autouse=True)
def _a_model_that_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Settings, "_llm", MockLLM())


def two_retrievers() -> list[Any]:
    """The same texts in two stores, one of which calls a distance a similarity."""
    qdrant = QdrantVectorStore("composites", QdrantClient(":memory:"))
    return [
        index_of(qdrant, nodes_with(COSINES)).as_retriever(similarity_top_k=4),
        index_of(flat(faiss.METRIC_L2), nodes_with(COSINES)).as_retriever(similarity_top_k=4),
    ]


class TestFusion:
    def fused(self, parts: Sequence[Any], mode: FUSION_MODES, **settings: Any) -> Any:
        return QueryFusionRetriever(
            list(parts),
            llm=MockLLM(),
            mode=mode,
            num_queries=1,
            **{"use_async": False, **settings},
        )

    @pytest.mark.parametrize("mode", list(FUSION_MODES))
    def test_around(self, mode: FUSION_MODES) -> None:
        """Whatever the mode made of the scores, the parts' searches have the cosines."""
        bare = self.fused(two_retrievers(), mode, similarity_top_k=5)
        response = RecallRetriever(bare).recall(QUERY)
        assert page_of(response.nodes) == page_of(bare.retrieve(QUERY))
        assert response.cosine_source == "store"
        exact = [COSINES[int(item.node_id[-1])] for item in response.nodes]
        assert response.pool.cosines == pytest.approx(exact, abs=1e-4)
        assert response.confidence.top_score == 0.8

    def test_the_simple_mode_around_one_kind_of_score(self) -> None:
        """It keeps the greater score of each node: a declared kind holds."""
        parts = [two_retrievers()[0] for _ in range(2)]
        bare = self.fused(parts, FUSION_MODES.SIMPLE, similarity_top_k=5)
        response = RecallRetriever(bare, score_kind="cosine").recall(QUERY)
        assert response.cosine_source == "declared"
        assert response.pool.cosines == pytest.approx(COSINES[:4], abs=1e-4)

    def test_scaled_scores_that_are_declared_as_what_they_are(self) -> None:
        for mode, kind in (("reciprocal_rerank", "rrf"), ("relative_score", "minmax")):
            bare = self.fused(two_retrievers(), FUSION_MODES(mode))
            response = RecallRetriever(bare, score_kind=kind).recall(QUERY)
            assert response.confidence.reason == "score_not_convertible"

    @pytest.mark.parametrize("mode", list(FUSION_MODES))
    def test_inside(self, mode: FUSION_MODES) -> None:
        """The fused page is the same, and an engine reports what is on it."""
        parts = two_retrievers()
        expected = page_of(self.fused(parts, mode).retrieve(QUERY))
        wrapped = self.fused([RecallRetriever(one, annotate="none") for one in parts], mode)
        assert page_of(wrapped.retrieve(QUERY)) == expected
        engine = RecallQueryEngine(RetrieverQueryEngine.from_args(wrapped, llm=MockLLM()))
        report = (engine.query(QUERY).metadata or {})["recall"]
        best = max(COSINES[int(row[0][-1])] for row in expected)
        assert report["confidence"]["top_score"] == best
        assert report["cosine_source"] == "store"

    async def test_inside_with_parts_that_are_asked_as_tasks(self) -> None:
        parts = [index_of(flat(), nodes_with(COSINES)).as_retriever() for _ in range(2)]
        mode = FUSION_MODES.RELATIVE_SCORE
        wrapped = self.fused(
            [RecallRetriever(one, annotate="none") for one in parts], mode, use_async=True
        )
        engine = RecallQueryEngine(RetrieverQueryEngine.from_args(wrapped, llm=MockLLM()))
        for response in (await to_thread(engine.query, QUERY), await engine.aquery(QUERY)):
            assert (response.metadata or {})["recall"]["confidence"]["top_score"] == 0.8


class Fixed(BaseSelector):
    """Chooses what it was told."""

    def __init__(self, *chosen: int) -> None:
        self.chosen = chosen

    def _get_prompts(self) -> Any:
        return {}

    def _update_prompts(self, prompts: Any) -> None:
        """There are none."""

    def _select(self, choices: Any, query: Any) -> SelectorResult:
        chosen = [SingleSelection(index=index, reason="") for index in self.chosen]
        return SelectorResult(selections=chosen)

    async def _aselect(self, choices: Any, query: Any) -> SelectorResult:
        return self._select(choices, query)


class TestRouter:
    def routed(self, parts: Sequence[Any], *chosen: int) -> RouterRetriever:
        tools = [RetrieverTool.from_defaults(one, description="d") for one in parts]
        return RouterRetriever(Fixed(*chosen), tools)

    @pytest.mark.parametrize("route", [0, 1])
    def test_inside_each_route_is_read_by_its_own_store(self, route: int) -> None:
        parts = two_retrievers()
        router = self.routed([RecallRetriever(one) for one in parts], route)
        page = router.retrieve(QUERY)
        assert page_of(page) == page_of(parts[route].retrieve(QUERY))
        entry = page[0].metadata["recall"]
        assert entry["cosine_source"] == "store"
        assert entry["cosine"] == pytest.approx(0.8, abs=1e-4)
        assert entry["confidence"]["result_count"] == 6  # the route's own pool

    def test_several_routes(self) -> None:
        """One id is kept once: the nodes of each route carry the report of their own."""
        one, other = two_retrievers()
        other.similarity_top_k = 6
        bare = self.routed([one, other], 0, 1)
        inside = self.routed([RecallRetriever(one), RecallRetriever(other, pool_size=6)], 0, 1)
        page = inside.retrieve(QUERY)
        assert page_of(page) == page_of(bare.retrieve(QUERY))
        assert {item.metadata["recall"]["cosine_source"] for item in page} == {"store"}

    @pytest.mark.parametrize("chosen", [(0,), (1,), (0, 1)])
    def test_around(self, chosen: tuple[int, ...]) -> None:
        bare = self.routed(two_retrievers(), *chosen)
        response = RecallRetriever(bare).recall(QUERY)
        assert page_of(response.nodes) == page_of(bare.retrieve(QUERY))
        exact = [COSINES[int(item.node_id[-1])] for item in response.nodes]
        assert response.pool.cosines == pytest.approx(exact, abs=1e-4)
