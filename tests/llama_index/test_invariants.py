"""What holds for every list of nodes: nothing changes but our entry, and nothing fails."""

import asyncio
import json
from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.schema import IndexNode, MetadataMode, NodeWithScore, TextNode

from llama_index_recall_signal import RecallPostprocessor, RecallRetriever
from recall_signal import ScoreKind
from recall_signal.confidence import LEVELS
from tests.llama_index.fakes import QUERY, ListRetriever, index_with_cosines, page_of

SCORES = st.none() | st.floats(allow_nan=True, allow_infinity=True)
KEYS = st.lists(st.sampled_from(["a", "b", "recall"]), max_size=3)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
METADATA = st.dictionaries(st.sampled_from(["a", "b", "c"]), JSON)


@st.composite
def nodes(draw: st.DrawFn) -> NodeWithScore:
    fields: dict[str, Any] = {
        "text": draw(st.text(max_size=8)),
        "metadata": draw(METADATA),
        "excluded_llm_metadata_keys": draw(KEYS),
        "excluded_embed_metadata_keys": draw(KEYS),
    }
    kind = draw(st.sampled_from([TextNode, IndexNode]))
    node = IndexNode(index_id="i", **fields) if kind is IndexNode else TextNode(**fields)
    return NodeWithScore(node=node, score=draw(SCORES))


KINDS = st.sampled_from(["auto", *ScoreKind])
ANNOTATE = st.sampled_from(["all", "first", "none"])


def same(page: list[NodeWithScore], expected: list[NodeWithScore]) -> bool:
    """NaN is not equal to itself, so by repr."""
    return repr(page_of(page)) == repr(page_of(expected))


def check(page: list[NodeWithScore], bare: list[NodeWithScore], annotate: str) -> None:
    assert same(page, bare)
    carriers = {"all": len(page), "first": min(1, len(page)), "none": 0}[annotate]
    assert ["recall" in item.metadata for item in page] == [
        rank < carriers for rank in range(len(page))
    ]
    for rank, (item, plain) in enumerate(zip(page, bare, strict=True)):
        for mode in (MetadataMode.LLM, MetadataMode.EMBED, MetadataMode.NONE):
            assert item.get_content(mode) == plain.get_content(mode)
        assert item.node is not plain.node
        assert item.node.metadata is not plain.node.metadata
        if rank < carriers:
            entry = item.metadata["recall"]
            assert json.loads(json.dumps(entry, allow_nan=False)) == entry
            assert entry["rank"] == rank
            assert entry["confidence"]["level"] in LEVELS


@given(st.lists(nodes(), max_size=8), KINDS, ANNOTATE, st.none() | st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_any_nodes(
    items: list[NodeWithScore], kind: ScoreKind | str, annotate: Any, k: int | None
) -> None:
    inner = ListRetriever(items)
    before = deepcopy(items)
    wrapped = RecallRetriever(inner, score_kind=kind, annotate=annotate, k=k)
    response = wrapped.recall(QUERY)
    bare = inner.retrieve(QUERY)
    check(response.nodes, bare[:k], annotate)
    assert len(response.pool) == response.confidence.result_count == len(bare)
    late = asyncio.run(wrapped.arecall(QUERY))
    assert late.to_dict() == response.to_dict()
    assert repr(late.nodes) == repr(response.nodes)
    assert repr(items) == repr(before)
    processor = RecallPostprocessor(score_kind=kind, annotate=annotate)
    check(processor.postprocess_nodes(bare), bare, annotate)


@given(
    st.lists(st.floats(-1, 1).map(lambda c: round(c, 2)), max_size=20),
    st.integers(1, 12),
    st.integers(12, 30),
    st.sampled_from(["default", "mmr"]),
)
@settings(max_examples=60, deadline=None)
def test_any_index(cosines: list[float], k: int, pool_size: int, mode: str) -> None:
    """Two decimals make many ties."""
    if mode == "mmr" and not cosines:
        return
    index: Any = index_with_cosines(cosines)
    bare = index.as_retriever(similarity_top_k=k, vector_store_query_mode=mode)
    before = deepcopy((index.docstore.to_dict(), index.vector_store.to_dict()))
    wrapped = RecallRetriever(bare, pool_size=pool_size)
    response = wrapped.recall(QUERY)
    check(response.nodes, bare.retrieve(QUERY), "all")
    size = pool_size if mode == "default" else k
    assert len(response.pool) == min(size, len(cosines))
    assert response.confidence.reason is None
    late = asyncio.run(wrapped.arecall(QUERY))
    assert late.to_dict() == response.to_dict()
    assert same(late.nodes, response.nodes)
    assert (index.docstore.to_dict(), index.vector_store.to_dict()) == before
