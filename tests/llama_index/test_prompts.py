"""The key is in no prompt: a model sees the same with and without the wrapper."""

from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.postprocessor import LLMRerank
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import ResponseMode
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
from llama_index.core.tools import RetrieverTool
from pydantic import PrivateAttr

from llama_index_recall_signal import RecallPostprocessor, RecallQueryEngine, RecallRetriever
from tests.llama_index.fakes import QUERY, Embedding, RecordingLLM, index_of, nodes_with_cosines

MODES = [
    ResponseMode.COMPACT,
    ResponseMode.REFINE,
    ResponseMode.TREE_SUMMARIZE,
    ResponseMode.ACCUMULATE,
    ResponseMode.COMPACT_ACCUMULATE,
    ResponseMode.SIMPLE_SUMMARIZE,
]


def index() -> VectorStoreIndex:
    nodes = nodes_with_cosines([0.9, 0.5, 0.45, 0.4], excluded_llm_metadata_keys=["nested"])
    for node in nodes:
        node.text += " with more words" * 20
    return index_of(nodes)


class Reader(BaseNodePostprocessor):
    """Reads what rerankers read: the text that is meant for an encoder."""

    _seen: list[str] = PrivateAttr(default_factory=list)

    @property
    def seen(self) -> list[str]:
        return self._seen

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        self._seen += [item.get_content(MetadataMode.EMBED) for item in nodes]
        return nodes


def prompts(retriever: Any, mode: ResponseMode, *, wrapped: bool) -> tuple[list[str], list[str]]:
    llm, reader = RecordingLLM(window=1000), Reader()
    engine: Any = RetrieverQueryEngine.from_args(
        retriever, llm=llm, response_mode=mode, node_postprocessors=[reader]
    )
    if wrapped:
        engine = RecallQueryEngine(engine)
    engine.query(QUERY)
    return llm.prompts, reader.seen


@pytest.mark.parametrize("mode", MODES)
def test_the_same_prompts(mode: ResponseMode) -> None:
    bare = index().as_retriever(similarity_top_k=4)
    expected, read = prompts(bare, mode, wrapped=False)
    assert expected
    assert prompts(RecallRetriever(bare), mode, wrapped=True) == (expected, read)
    assert prompts(bare, mode, wrapped=True) == (expected, read)
    assert any("stored text 0" in prompt and "page" in prompt for prompt in expected)
    assert not any("recall" in prompt for prompt in expected)


@pytest.mark.parametrize("mode", MODES)
async def test_the_same_prompts_asynchronously(mode: ResponseMode) -> None:
    bare = index().as_retriever(similarity_top_k=4)
    seen = []
    for retriever in (bare, RecallRetriever(bare)):
        llm = RecordingLLM(window=1000)
        await RetrieverQueryEngine.from_args(retriever, llm=llm, response_mode=mode).aquery(QUERY)
        seen.append(sorted(llm.prompts))
    assert seen[0] == seen[1] != []


def test_a_reranking_model_sees_the_same() -> None:
    bare = index().as_retriever(similarity_top_k=4)
    seen = []
    for retriever in (bare, RecallRetriever(bare)):
        llm = RecordingLLM(answer="Doc: 1, Relevance: 7")
        LLMRerank(llm=llm, top_n=2).postprocess_nodes(retriever.retrieve(QUERY), query_str=QUERY)
        seen.append(llm.prompts)
    assert seen[0] == seen[1] != []


def test_the_postprocessor_keeps_its_key_out_as_well() -> None:
    bare = index().as_retriever(similarity_top_k=4)
    expected, _ = prompts(bare, ResponseMode.COMPACT, wrapped=False)
    llm = RecordingLLM(window=1000)
    RetrieverQueryEngine.from_args(
        bare, llm=llm, node_postprocessors=[RecallPostprocessor(score_kind="cosine")]
    ).query(QUERY)
    assert llm.prompts == expected


def test_a_retriever_tool_says_the_same() -> None:
    bare = index().as_retriever()
    expected = RetrieverTool.from_defaults(bare)(QUERY).content
    assert RetrieverTool.from_defaults(RecallRetriever(bare))(QUERY).content == expected


def test_a_node_that_is_stored_again_is_embedded_as_before() -> None:
    found = RecallRetriever(index().as_retriever()).retrieve(QUERY)
    encoder = Embedding()
    VectorStoreIndex([item.node for item in found], embed_model=encoder)
    for batch in encoder.encoder.batches:
        assert not any("recall" in text for text in batch)
    assert encoder.encoder.batches
