"""Retrievers of retrievers: `IndexNode` objects, recursion, auto-merging, fusion of one."""

from typing import Any

import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.retrievers import (
    AutoMergingRetriever,
    RecursiveRetriever,
    VectorIndexRetriever,
)
from llama_index.core.schema import (
    IndexNode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)

from llama_index_recall_signal import RecallRetriever
from llama_index_recall_signal import _internals as framework
from recall_signal.testing import vectors_with_cosines
from tests.llama_index.fakes import (
    QUERY,
    QUERY_VECTOR,
    Embedding,
    ListRetriever,
    index_of,
    nodes_with_cosines,
    page_of,
    scored,
)

PARENT = TextNode(id_="parent", text="the whole section")


class Counting(ListRetriever):
    """Says how often it was asked."""

    @property
    def asked(self) -> int:
        return len(self.bundles)


def index_nodes(objects: list[Any], cosines: list[float]) -> list[IndexNode]:
    vectors = vectors_with_cosines(QUERY_VECTOR, cosines)
    return [
        IndexNode(
            id_=f"i{number}", text=f"summary {number}", index_id=f"o{number}", obj=obj,
            embedding=vector.tolist(),
        )
        for number, (obj, vector) in enumerate(zip(objects, vectors, strict=True))
    ]  # fmt: skip


def object_index(objects: list[Any], cosines: list[float]) -> VectorStoreIndex:
    return VectorStoreIndex(
        nodes_with_cosines([0.7, 0.3, 0.2]),
        objects=index_nodes(objects, cosines),
        embed_model=Embedding({QUERY: QUERY_VECTOR}),
    )


async def test_only_the_pages_own_objects_are_entered_and_once() -> None:
    found = [TextNode(id_=f"deep{number}", text=f"deep {number}") for number in range(2)]
    inside = [Counting([NodeWithScore(node=n, score=0.95) for n in found]) for _ in range(3)]
    index = object_index(inside, [0.9, 0.5, 0.4])
    bare = index.as_retriever(similarity_top_k=2)
    expected = page_of(bare.retrieve(QUERY))
    assert [row[0] for row in expected] == ["deep0", "deep1", "n0"]
    assert [one.asked for one in inside] == [1, 0, 0]
    wrapped = RecallRetriever(bare)
    response = wrapped.recall(QUERY)
    assert page_of(response.nodes) == expected
    assert [one.asked for one in inside] == [2, 0, 0]
    assert (await wrapped.arecall(QUERY)).to_dict() == response.to_dict()
    assert [one.asked for one in inside] == [3, 0, 0]


class Twice(ListRetriever):
    """Returns the same node several times, as older releases do where objects overlap."""

    def retrieve(self, str_or_query_bundle: Any) -> list[NodeWithScore]:
        return self.nodes


def test_a_node_that_is_found_twice_stays_twice() -> None:
    node = TextNode(id_="n", text="text")
    twice = Twice([NodeWithScore(node=node, score=score) for score in (0.9, 0.2, 0.5)])
    response = RecallRetriever(twice, score_kind="cosine").recall(QUERY)
    assert page_of(response.nodes) == page_of(twice.nodes)
    assert response.pool.cosines == [0.9, 0.2, 0.5]


def test_a_node_that_is_found_twice_among_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(self: Any, query_bundle: QueryBundle, nodes: Any) -> Any:
        return [NodeWithScore(node=nodes[0].node, score=0.123), *nodes]

    monkeypatch.setattr(VectorIndexRetriever, "_handle_recursive_retrieval", resolve)
    monkeypatch.setattr(framework, "_SEARCH_METHODS", frozenset())
    bare = index_of(nodes_with_cosines([0.9, 0.5, 0.1])).as_retriever()
    response = RecallRetriever(bare).recall(QUERY)
    assert page_of(response.nodes) == page_of(bare.retrieve(QUERY))
    assert response.pool.cosines == pytest.approx([0.9, 0.5, 0.1, None])


def test_the_cosine_belongs_to_the_hit_and_not_to_its_object() -> None:
    target = Counting([NodeWithScore(node=TextNode(id_="deep", text="deep"), score=0.99)])
    bare = object_index([target], [0.9]).as_retriever(similarity_top_k=2)
    response = RecallRetriever(bare).recall(QUERY)
    assert [item.node_id for item in response.nodes] == ["deep", "n0"]
    cosines = [item.metadata["recall"]["cosine"] for item in response.nodes]
    assert cosines == [None, 0.7]
    assert response.confidence.top_score == 0.9
    assert response.pool.ids == ["i0", "n0", "n1", "n2", "deep"]
    assert response.pool.cosines == pytest.approx([0.9, 0.7, 0.3, 0.2, None])


async def test_small_to_big() -> None:
    """Several hits stand for one parent: the page is that of two hits, not of two parents."""
    nodes = index_nodes([PARENT, PARENT, TextNode(id_="other", text="other")], [0.9, 0.8, 0.1])
    index = index_of(nodes)
    bare = index.as_retriever(similarity_top_k=2)
    expected = page_of(bare.retrieve(QUERY))
    assert [row[0] for row in expected] == ["parent"]
    wrapped = RecallRetriever(bare)
    assert page_of(wrapped.retrieve(QUERY)) == expected
    assert page_of(await wrapped.aretrieve(QUERY)) == expected


def test_a_cosine_of_zero_does_not_become_one() -> None:
    """LlamaIndex scores the object of a hit with `n.score or 1.0`."""
    index = object_index([PARENT], [0.0])
    bare = index.as_retriever(similarity_top_k=4)
    assert [item.score for item in bare.retrieve(QUERY)][-1] in (0.0, 1.0)
    response = RecallRetriever(bare).recall(QUERY)
    assert response.confidence.top_score == 0.7
    assert max(c for c in response.pool.cosines if c is not None) == pytest.approx(0.7)


def test_an_object_is_not_entered_a_second_time_by_the_wrapper() -> None:
    deepest = IndexNode(id_="deepest", text="deepest", index_id="d")
    deep = IndexNode(id_="deep", text="deep", index_id="x", obj=deepest)
    inner = ListRetriever(
        [NodeWithScore(node=IndexNode(id_="a", text="a", index_id="a", obj=deep), score=0.5)]
    )
    assert [item.node_id for item in inner.retrieve(QUERY)] == ["deep"]
    page = RecallRetriever(inner).retrieve(QUERY)
    assert [item.node_id for item in page] == ["deep"]
    node = page[0].node
    assert isinstance(node, IndexNode)
    assert node.obj is deepest


async def test_recursive_retriever() -> None:
    table = Counting(scored(0.6, 0.5))
    root = ListRetriever(
        [
            NodeWithScore(node=IndexNode(id_="a", text="a", index_id="table"), score=0.8),
            NodeWithScore(node=TextNode(id_="b", text="b"), score=0.3),
        ]
    )
    bare = RecursiveRetriever("root", {"root": root, "table": table})
    wrapped = RecallRetriever(bare, Embedding({QUERY: QUERY_VECTOR}))
    response = wrapped.recall(QUERY)
    assert page_of(response.nodes) == page_of(bare.retrieve(QUERY))
    assert response.cosine_source == "embeddings"
    assert RecallRetriever(bare).recall(QUERY).confidence.reason == "store_not_recognised"


def merging() -> AutoMergingRetriever:
    children = nodes_with_cosines([0.9, 0.8, 0.3])
    parent = TextNode(id_="parent", text="both children")
    for child in children[:2]:
        child.relationships[NodeRelationship.PARENT] = RelatedNodeInfo(node_id="parent")
    parent.relationships[NodeRelationship.CHILD] = [
        RelatedNodeInfo(node_id=child.node_id) for child in children[:2]
    ]
    context = StorageContext.from_defaults()
    context.docstore.add_documents([*children, parent])
    index = index_of(children, storage_context=context)
    vector: Any = index.as_retriever(similarity_top_k=3)
    return AutoMergingRetriever(vector, context)


async def test_auto_merging_retriever() -> None:
    bare = merging()
    expected = page_of(bare.retrieve(QUERY))
    assert [row[0] for row in expected] == ["parent", "n2"]
    wrapped = RecallRetriever(bare)
    response = wrapped.recall(QUERY)
    assert page_of(response.nodes) == expected
    assert response.pool.cosines == pytest.approx([0.9, 0.3])
    assert (await wrapped.arecall(QUERY)).to_dict() == response.to_dict()


def test_auto_merging_over_a_wrapped_retriever() -> None:
    bare = merging()
    expected = page_of(bare.retrieve(QUERY))
    vector: Any = RecallRetriever(bare._vector_retriever)
    merged = AutoMergingRetriever(vector, bare._storage_context)
    assert page_of(merged.retrieve(QUERY)) == expected


class KeywordRetriever(ListRetriever):
    """Counts the question's words, like BM25 retrievers; never calls its base's constructor."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        words = set(query_bundle.query_str.split())
        found = [(float(len(words & set(text.split()))), text) for text in self.texts]
        best = sorted(found, reverse=True)[:3]
        return [NodeWithScore(node=TextNode(id_=t, text=t), score=score) for score, t in best]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._retrieve(query_bundle)


async def test_a_keyword_retriever_without_its_bases_constructor() -> None:
    bare = KeywordRetriever(["the key is here", "a cat", "a dog", "where else"])
    wrapped = RecallRetriever(bare, score_kind="bm25")
    response = wrapped.recall(QUERY)
    assert page_of(response.nodes) == page_of(bare.retrieve(QUERY))
    assert response.confidence.basis == "separation"
    assert (await wrapped.arecall(QUERY)).to_dict() == response.to_dict()
    assert RecallRetriever(bare).recall(QUERY).confidence.level == "unknown"
