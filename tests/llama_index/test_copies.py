"""What leaves us is a copy, kept out of prompts; what is stored stays as it was."""

from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any

import pytest
from llama_index.core.schema import (
    Document,
    ImageNode,
    IndexNode,
    MediaResource,
    MetadataMode,
    Node,
    NodeWithScore,
    TextNode,
)

from llama_index_recall_signal import RecallRetriever, without_report
from tests.llama_index.fakes import (
    QUERY,
    Embedding,
    ListRetriever,
    index_of,
    nodes_with_cosines,
    page_of,
)

MODES = [MetadataMode.LLM, MetadataMode.EMBED, MetadataMode.NONE]


def stored(index: Any) -> Any:
    return deepcopy(
        (index.vector_store.to_dict(), index.docstore.to_dict(), index.index_struct.to_dict())
    )


def spoil(items: list[NodeWithScore]) -> None:
    for item in items:
        item.score = -7.0
        item.node.metadata["nested"]["tags"].append("spoiled")
        item.node.metadata["recall"]["confidence"].clear()
        item.node.excluded_llm_metadata_keys.append("spoiled")
        item.node.excluded_embed_metadata_keys.clear()


def test_the_index_stays_as_it_was() -> None:
    index = index_of(nodes_with_cosines([0.9, 0.5, 0.4], excluded_llm_metadata_keys=["page"]))
    before = stored(index)
    wrapped = RecallRetriever(index.as_retriever())
    first = deepcopy(wrapped.retrieve(QUERY))
    spoil(wrapped.retrieve(QUERY))
    assert stored(index) == before
    assert wrapped.retrieve(QUERY) == first


def test_nodes_that_a_retriever_returns_again_and_again() -> None:
    nodes = nodes_with_cosines(
        [0.9, 0.5],
        excluded_llm_metadata_keys=["page"],
        excluded_embed_metadata_keys=["page", "nested"],
    )
    inner = ListRetriever([NodeWithScore(node=node, score=0.5) for node in nodes])
    keys = [(n.excluded_llm_metadata_keys, n.excluded_embed_metadata_keys) for n in nodes]
    before = deepcopy(inner.nodes)
    wrapped = RecallRetriever(inner, score_kind="cosine")
    with ThreadPoolExecutor(4) as threads:
        for page in threads.map(wrapped.retrieve, [QUERY] * 8):
            assert page[0].node.excluded_llm_metadata_keys == ["page", "recall"]
            assert page[0].node.excluded_embed_metadata_keys == ["page", "nested", "recall"]
            spoil(page)
    assert inner.nodes == before
    for node, (llm, embed) in zip(nodes, keys, strict=True):
        assert node.excluded_llm_metadata_keys is llm
        assert node.excluded_embed_metadata_keys is embed


@pytest.mark.parametrize("mode", MODES)
def test_the_key_is_in_no_text(mode: MetadataMode) -> None:
    index = index_of(nodes_with_cosines([0.9, 0.5], excluded_llm_metadata_keys=["page"]))
    bare = index.as_retriever()
    for item, plain in zip(
        RecallRetriever(bare).retrieve(QUERY), bare.retrieve(QUERY), strict=True
    ):
        assert item.get_content(mode) == plain.get_content(mode)
        if hasattr(plain.node, "get_content_blocks"):  # not in the oldest releases
            blocks = item.node.get_content_blocks(mode)
            assert blocks == plain.node.get_content_blocks(mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_node_without_other_metadata(mode: MetadataMode) -> None:
    inner = ListRetriever([NodeWithScore(node=TextNode(text="text"), score=0.5)])
    (item,) = RecallRetriever(inner, score_kind="cosine").retrieve(QUERY)
    assert item.get_content(mode) == "text"


class Special(TextNode):
    extra: str = "mine"


def test_every_class_of_node_survives() -> None:
    target = TextNode(text="target")
    nodes = [
        IndexNode(text="index", index_id="i"),
        ImageNode(text="image", image="aGk="),
        Node(text_resource=MediaResource(text="several")),
        Document(text="document", id_="doc"),
        Special(text="special", extra="yours"),
    ]
    inner = ListRetriever([NodeWithScore(node=node, score=None) for node in nodes])
    page = RecallRetriever(inner).retrieve(QUERY)
    assert page_of(page) == page_of(inner.nodes)
    copies: list[Any] = [item.node for item in page]
    assert [type(node) for node in copies] == [type(node) for node in nodes]
    assert copies[4].extra == "yours"
    assert copies[1].image == "aGk="
    assert [item.score for item in page] == [None] * 5
    assert target.metadata == {}


class MyScored(NodeWithScore):
    remark: str = ""


def test_a_subclass_of_the_scored_node_survives() -> None:
    inner = ListRetriever([MyScored(node=TextNode(text="text"), score=0.25, remark="mine")])
    (item,) = RecallRetriever(inner).retrieve(QUERY)
    assert isinstance(item, MyScored)
    assert (item.remark, item.score) == ("mine", 0.25)


def test_wrapped_twice() -> None:
    index = index_of(nodes_with_cosines([0.9, 0.5, 0.1]))
    inside = RecallRetriever(index.as_retriever())
    outside = RecallRetriever(inside, score_kind="cosine")
    response = outside.recall(QUERY)
    assert response.cosine_source == "declared"
    for item in response.nodes:
        assert item.metadata["recall"]["cosine_source"] == "declared"
        assert item.node.excluded_llm_metadata_keys == ["recall"]
    plain = RecallRetriever(inside, score_kind="cosine", annotate="none").retrieve(QUERY)
    assert ["recall" in item.metadata for item in plain] == [False] * 2
    assert [item.node.excluded_llm_metadata_keys for item in plain] == [["recall"]] * 2


def test_an_entry_of_the_same_name_is_replaced_in_the_copy_only() -> None:
    node = TextNode(text="text", metadata={"recall": "the user's", "other": 1})
    inner = ListRetriever([NodeWithScore(node=node, score=0.5)])
    (item,) = RecallRetriever(inner, score_kind="cosine").retrieve(QUERY)
    assert item.metadata["recall"]["v"] == 1
    assert node.metadata == {"recall": "the user's", "other": 1}


def test_nothing_is_added_without_an_entry() -> None:
    index = index_of(nodes_with_cosines([0.9, 0.5]))
    bare = index.as_retriever()
    page = RecallRetriever(bare, annotate="none").retrieve(QUERY)
    assert page == bare.retrieve(QUERY)
    assert [item.node.hash for item in page] == [item.node.hash for item in bare.retrieve(QUERY)]


@pytest.mark.parametrize(
    "settings",
    [
        {"score_kind": "cosine"},
        {"embed_model": Embedding()},
        {"score_kind": "cosine", "score_key": "s"},
        {"score_kind": "cosine", "id_key": "n"},
    ],
    ids=["score", "embed_model", "score_key", "id_key"],
)
async def test_no_metadata_counts_as_empty(
    settings: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    node = TextNode(text="text")
    vars(node)["metadata"] = None  # as of `model_construct`, which checks nothing
    wrapped = RecallRetriever(ListRetriever([NodeWithScore(node=node, score=0.5)]), **settings)
    for page in (wrapped.retrieve(QUERY), await wrapped.aretrieve(QUERY)):
        assert [*page[0].metadata] == ["recall"]
        assert without_report(page)[0].metadata == without_report([node])[0].metadata == {}
    assert node.metadata is None
    assert not caplog.records


class Uncopied(TextNode):
    """A node that cannot be copied."""

    def model_copy(self, **_: Any) -> Any:
        raise RuntimeError("no copies")


def test_a_node_that_cannot_be_copied_goes_out_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    node = NodeWithScore(node=Uncopied(text="a secret"), score=0.9)
    response = RecallRetriever(ListRetriever([node]), score_kind="cosine").recall(QUERY)
    assert response.nodes == [node]
    assert response.nodes[0].metadata == {}
    assert response.confidence.level == "moderate"
    assert [record.message for record in caplog.records] == [
        "a node could not be copied: RuntimeError"
    ]
