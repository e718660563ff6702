"""LlamaIndex behind the command line (see :mod:`recall_signal.cli.frameworks`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.schema import TextNode

from llama_index_recall_signal.encoders import EncoderEmbedding
from llama_index_recall_signal.retriever import RecallRetriever
from recall_signal import Calibration
from recall_signal.cli.frameworks import Answer, Hit, Passage
from recall_signal.encoders import Encoder
from recall_signal.selection import SelectionOptions, Selector

__all__ = ["LlamaIndexWorkbench", "build"]


@dataclass(frozen=True, slots=True)
class LlamaIndexWorkbench:
    """Passages in a ``VectorStoreIndex`` behind a :class:`RecallRetriever`."""

    retriever: RecallRetriever

    def recall(self, question: str) -> Answer:
        """Search, and judge the pool."""
        response = self.retriever.recall(question)
        key = self.retriever.settings.metadata_key
        hits = [
            Hit(
                id=hit.node_id,
                text=hit.node.get_content(),
                source=hit.metadata["source"],
                cosine=hit.metadata[key]["cosine"],
            )
            for hit in response.nodes
        ]
        return Answer(response.confidence, hits, response.selection)

    def calibrate(self, **given: Any) -> Calibration:
        """Learn the scale of the retriever."""
        return self.retriever.calibrate(**given)


def build(
    passages: Sequence[Passage],
    encoder: Encoder,
    k: int,
    pool_size: int,
    *,
    selector: Selector | None = None,
    selector_options: SelectionOptions | None = None,
    calibration: Calibration | None = None,
) -> LlamaIndexWorkbench:
    """Embed the passages, all in one call, and make them searchable."""
    vectors = encoder.embed_documents([passage.text for passage in passages])
    nodes = [
        TextNode(
            id_=passage.id,
            text=passage.text,
            metadata={"source": passage.source},
            excluded_embed_metadata_keys=["source"],
            excluded_llm_metadata_keys=["source"],
            embedding=vector,
        )
        for passage, vector in zip(passages, vectors, strict=True)
    ]
    index = VectorStoreIndex(nodes, embed_model=EncoderEmbedding(encoder))
    return LlamaIndexWorkbench(
        RecallRetriever(
            index.as_retriever(similarity_top_k=k),
            pool_size=pool_size,
            selector=selector,
            selector_options=selector_options,
            calibration=calibration,
        )
    )
