"""Retrievers that return something else than what was searched: objects, parents, windows.

Around one, the level is that of the search; what it returns instead has a cosine only where the
wrapper can embed its text.
"""

from typing import Any

import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import MetadataReplacementPostProcessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import (
    AutoMergingRetriever,
    RecursiveRetriever,
)
from llama_index.core.schema import (
    IndexNode,
    MetadataMode,
    NodeRelationship,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.settings import Settings

from llama_index_recall_signal import RecallQueryEngine, RecallRetriever
from tests.stores.llama_store_cases import QUERY, page_of
from tests.stores.llama_store_parts import COSINES, encoder, flat, index_of, nodes_with


@pytest.fixture(autouse=True)
def _a_model_that_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Settings, "_llm", MockLLM())


class TestObjects:
    """`IndexNode`: what is found is a summary, what is returned is what it stands for."""

    def bare(self, target: Any) -> Any:
        summary = nodes_with(COSINES[:1])[0]
        standing = IndexNode(
            id_=summary.node_id, text=summary.text, index_id="object", obj=target,
            embedding=summary.embedding,
        )  # fmt: skip
        others = nodes_with(COSINES)[1:]
        return index_of(flat(), others, objects=[standing]).as_retriever(similarity_top_k=3)

    async def test_around_a_search_with_objects(self) -> None:
        """The level is that of the summaries that were searched; an object has no cosine."""
        bare = self.bare(TextNode(id_="section", text="the whole section"))
        wrapped = RecallRetriever(bare)
        for response in (wrapped.recall(QUERY), await wrapped.arecall(QUERY)):
            assert page_of(response.nodes) == page_of(bare.retrieve(QUERY))
            assert response.nodes[0].node_id == "section"
            section, *others = [item.metadata["recall"]["cosine"] for item in response.nodes]
            assert section is None
            assert others == pytest.approx([0.5, 0.4], abs=1e-4)
            assert response.confidence.top_score == 0.8
            assert response.cosine_source == "store"

    def test_a_wrapped_retriever_behind_an_object_reports_for_itself(self) -> None:
        inner = index_of(flat(), nodes_with([0.6, 0.2, 0.1])).as_retriever(similarity_top_k=1)
        bare = self.bare(RecallRetriever(inner))
        page = bare.retrieve(QUERY)
        assert page[0].metadata["recall"]["confidence"]["top_score"] == 0.6
        response = RecallRetriever(bare).recall(QUERY)
        assert page_of(response.nodes) == page_of(page)
        assert response.confidence.top_score == 0.8  # around: the search for summaries

    def recursive(self, root: Any, table: Any) -> RecursiveRetriever:
        return RecursiveRetriever("root", {"root": root, "table": table})

    def test_recursive_retriever(self) -> None:
        """Scores of several searches stand on one page: around it, those of one encoder count."""
        first = nodes_with(COSINES[:1])[0]
        pointer = IndexNode(
            id_=first.node_id, text=first.text, index_id="table", embedding=first.embedding
        )
        root = index_of(flat(), [pointer, *nodes_with(COSINES)[1:3]]).as_retriever()
        table = index_of(flat(), nodes_with([0.1, 0.05, 0.3])).as_retriever(similarity_top_k=1)
        bare = self.recursive(root, table)
        expected = page_of(bare.retrieve(QUERY))
        response = RecallRetriever(bare).recall(QUERY)
        assert page_of(response.nodes) == expected
        assert response.pool.cosines == [None, pytest.approx(0.5, abs=1e-4)]
        inside = self.recursive(RecallRetriever(root), RecallRetriever(table))
        page = inside.retrieve(QUERY)
        assert page_of(page) == expected
        assert page[0].metadata["recall"]["confidence"]["top_score"] == 0.3


class TestAutoMerging:
    def merging(self, wrap: bool) -> AutoMergingRetriever:
        children = nodes_with(COSINES)
        parent = TextNode(id_="parent", text="the first two together")
        for child in children[:2]:
            child.relationships[NodeRelationship.PARENT] = RelatedNodeInfo(node_id="parent")
        parent.relationships[NodeRelationship.CHILD] = [
            RelatedNodeInfo(node_id=child.node_id) for child in children[:2]
        ]
        context = StorageContext.from_defaults(vector_store=flat())
        context.docstore.add_documents([*children, parent])
        index = VectorStoreIndex(children, storage_context=context, embed_model=encoder())
        leaves: Any = index.as_retriever(similarity_top_k=4)
        inner: Any = RecallRetriever(leaves) if wrap else leaves
        return AutoMergingRetriever(inner, context)

    def test_around(self) -> None:
        """A parent's score is the mean of its children's; its cosine is that of the best one."""
        bare = self.merging(wrap=False)
        found = bare.retrieve(QUERY)
        assert {item.node_id: item.score for item in found}["parent"] == pytest.approx(0.65)
        response = RecallRetriever(bare).recall(QUERY)
        assert page_of(response.nodes) == page_of(found)
        known = dict(zip(response.pool.ids or (), response.pool.cosines, strict=True))
        assert known["parent"] == pytest.approx(0.8, abs=1e-4)

    def test_inside_the_leaves_are_measured(self) -> None:
        """Merged parents carry nothing; the leaves that are left do, and engines hear of them."""
        merged = self.merging(wrap=True)
        page = merged.retrieve(QUERY)
        assert page_of(page) == page_of(self.merging(wrap=False).retrieve(QUERY))
        carrying = {item.node_id: "recall" in item.metadata for item in page}
        assert carrying.pop("parent") is False
        assert set(carrying.values()) == {True}
        engine = RecallQueryEngine(RetrieverQueryEngine.from_args(merged, llm=MockLLM()))
        report = (engine.query(QUERY).metadata or {})["recall"]
        assert report["confidence"]["top_score"] == 0.8
        assert report["cosine_source"] == "store"


class TestSentenceWindow:
    def test_the_cosine_is_the_sentences_and_the_window_is_read(self) -> None:
        """The postprocessor works on the copies: our entry stays, and stays out of prompts."""
        nodes = nodes_with(
            COSINES,
            metadata={"window": "the sentence and its neighbours"},
            excluded_embed_metadata_keys=["window"],
            excluded_llm_metadata_keys=["window"],
        )
        bare = index_of(flat(), nodes).as_retriever(similarity_top_k=2)
        replace = MetadataReplacementPostProcessor(target_metadata_key="window")
        wrapped = RecallRetriever(bare)
        page = replace.postprocess_nodes(wrapped.retrieve(QUERY), QueryBundle(QUERY))
        for item, cosine in zip(page, COSINES, strict=False):
            assert item.node.get_content(MetadataMode.LLM) == "the sentence and its neighbours"
            assert item.node.get_content(MetadataMode.EMBED) == "the sentence and its neighbours"
            assert item.metadata["recall"]["cosine"] == pytest.approx(cosine, abs=1e-4)
        again = [item.node.get_content() for item in wrapped.retrieve(QUERY)]
        assert again == ["stored text 0", "stored text 1"]  # the index was left alone
