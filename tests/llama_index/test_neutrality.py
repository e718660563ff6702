"""Inside other parts of LlamaIndex the wrapper changes neither scores nor order."""

from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever, RouterRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import NodeWithScore
from llama_index.core.settings import Settings
from llama_index.core.tools import RetrieverTool

from llama_index_recall_signal import RecallRetriever
from tests.llama_index.fakes import (
    QUERY,
    ListRetriever,
    RecordingLLM,
    index_with_cosines,
    page_of,
    scored,
)

COSINES = [0.9, 0.7, 0.5, 0.45, 0.4, 0.2]


def bare_pair() -> list[Any]:
    """Two retrievers that share nodes and rank them differently."""
    vector = index_with_cosines(COSINES).as_retriever(similarity_top_k=4)
    keyword = index_with_cosines(list(reversed(COSINES))).as_retriever(similarity_top_k=4)
    return [vector, keyword]


def fusion(retrievers: Sequence[Any], mode: FUSION_MODES, **settings: Any) -> QueryFusionRetriever:
    llm = RecordingLLM(answer=f"{QUERY}\nanother question")
    return QueryFusionRetriever(list(retrievers), llm=llm, mode=mode, **settings)


@pytest.mark.parametrize("mode", list(FUSION_MODES))
@pytest.mark.parametrize("use_async", [False, True])
@pytest.mark.parametrize("num_queries", [1, 3])
async def test_fusion_of_wrapped_retrievers(
    mode: FUSION_MODES, use_async: bool, num_queries: int
) -> None:
    settings = {"use_async": use_async, "num_queries": num_queries, "similarity_top_k": 6}
    pair = bare_pair()
    expected = page_of(fusion(pair, mode, **settings).retrieve(QUERY))
    wrapped = [RecallRetriever(one, annotate="none") for one in pair]
    assert page_of(fusion(wrapped, mode, **settings).retrieve(QUERY)) == expected
    assert page_of(await fusion(wrapped, mode, **settings).aretrieve(QUERY)) == expected


@pytest.mark.parametrize("mode", list(FUSION_MODES))
async def test_a_wrapped_fusion(mode: FUSION_MODES) -> None:
    bare = fusion(bare_pair(), mode, num_queries=1, similarity_top_k=6)
    expected = page_of(bare.retrieve(QUERY))
    wrapped = RecallRetriever(bare)
    assert page_of(wrapped.retrieve(QUERY)) == expected
    assert page_of(await wrapped.aretrieve(QUERY)) == expected
    assert (await wrapped.arecall(QUERY)).cosine_source == "store"


def test_annotation_is_part_of_what_fusion_merges_by() -> None:
    """Documented: LlamaIndex hashes metadata, so parts of a fusion need `annotate="none"`."""
    index = index_with_cosines(COSINES)
    pair = [index.as_retriever(similarity_top_k=k) for k in (2, 3)]

    def fused(**settings: Any) -> list[tuple[str, float | None]]:
        parts = [
            RecallRetriever(one, pool_size=size, **settings)
            for one, size in zip(pair, (3, 4), strict=True)
        ]
        both = fusion(parts, FUSION_MODES.RECIPROCAL_RANK, num_queries=1, similarity_top_k=3)
        return [(item.node_id, item.score) for item in both.retrieve(QUERY)]

    bare = fusion(pair, FUSION_MODES.RECIPROCAL_RANK, num_queries=1, similarity_top_k=3)
    expected = [(item.node_id, item.score) for item in bare.retrieve(QUERY)]
    assert fused(annotate="none") == expected
    assert fused() != expected


class Fixed(BaseSelector):
    """Chooses what it was told."""

    def __init__(self, *chosen: int) -> None:
        self.chosen = chosen

    def _get_prompts(self) -> Any:
        return {}

    def _update_prompts(self, prompts: Any) -> None:
        """There are none."""

    def _select(self, choices: Any, query: Any) -> SelectorResult:
        selections = [SingleSelection(index=index, reason="") for index in self.chosen]
        return SelectorResult(selections=selections)

    async def _aselect(self, choices: Any, query: Any) -> SelectorResult:
        return self._select(choices, query)


@pytest.mark.parametrize("chosen", [(0,), (1,), (0, 1), (1, 0)])
async def test_router(chosen: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Settings, "_llm", RecordingLLM())
    pair = bare_pair()

    def router(retrievers: Sequence[Any]) -> RouterRetriever:
        tools = [RetrieverTool.from_defaults(one, description="d") for one in retrievers]
        return RouterRetriever(Fixed(*chosen), tools)

    expected = page_of(router(pair).retrieve(QUERY))
    inside = router([RecallRetriever(one) for one in pair])
    assert page_of(inside.retrieve(QUERY)) == expected
    assert page_of(await inside.aretrieve(QUERY)) == expected
    around = RecallRetriever(router(pair))
    assert page_of(around.retrieve(QUERY)) == expected
    assert page_of(await around.aretrieve(QUERY)) == expected


async def test_retriever_query_engine() -> None:
    bare = index_with_cosines(COSINES).as_retriever(similarity_top_k=4)
    expected = RetrieverQueryEngine.from_args(bare, llm=RecordingLLM()).query(QUERY)
    engine = RetrieverQueryEngine.from_args(RecallRetriever(bare), llm=RecordingLLM())
    for response in (engine.query(QUERY), await engine.aquery(QUERY)):
        assert str(response) == str(expected)
        assert page_of(response.source_nodes) == page_of(expected.source_nodes)
        assert list(response.metadata or {}) == list(expected.metadata or {})


@pytest.mark.parametrize("cutoff", [0.0, 0.45, 0.6, 1.0])
def test_similarity_postprocessor(cutoff: float) -> None:
    for bare in (
        index_with_cosines(COSINES).as_retriever(similarity_top_k=6),
        ListRetriever(scored(0.9, None, 0.2)),
    ):
        filtering = SimilarityPostprocessor(similarity_cutoff=cutoff)
        expected = filtering.postprocess_nodes(bare.retrieve(QUERY))
        page = filtering.postprocess_nodes(RecallRetriever(bare).retrieve(QUERY))
        assert page_of(page) == page_of(expected)


def test_what_others_do_to_the_scores_does_not_reach_the_wrapped_retriever() -> None:
    inner = ListRetriever(scored(0.9, 0.5, 0.1))
    pair = [RecallRetriever(inner, annotate="none") for _ in range(2)]
    mode = FUSION_MODES.RELATIVE_SCORE
    found: list[NodeWithScore] = fusion(pair, mode, num_queries=1, use_async=False).retrieve(QUERY)
    assert [item.score for item in found] != [0.9, 0.5]
    assert [item.score for item in inner.nodes] == [0.9, 0.5, 0.1]
