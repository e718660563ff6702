"""LlamaIndex behind the command line (a `recall_signal.cli._backends.BackendFactory`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import SimpleVectorStore

from llama_index_recall_signal._encoders import EncoderEmbedding
from llama_index_recall_signal._retriever import RecallRetriever
from recall_signal import Calibration
from recall_signal.cli._backends import Hit, Passage, SearchResult
from recall_signal.encoders import Encoder
from recall_signal.selection import SelectionOptions

__all__ = ["LlamaIndexBackend", "build"]


@dataclass(frozen=True, slots=True)
class LlamaIndexBackend:
    """Passages in a `VectorStoreIndex` behind a `RecallRetriever`."""

    retriever: RecallRetriever

    def recall(self, question: str, *, use_rerank: bool = False) -> SearchResult:
        """Search, and assess the pool."""
        response = self.retriever.recall(question, use_rerank=use_rerank)
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
        return SearchResult(
            response.confidence,
            hits,
            response.selection,
            response.cosine_source,
            response.calibration,
            response._repr_html_,
        )

    def calibrate(
        self,
        *,
        documents: Iterable[tuple[str, str]] | None = None,
        past_queries: Iterable[str] | None = None,
        labelled: Iterable[tuple[str, bool]] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Calibration:
        """Learn the scale of the retriever."""
        return self.retriever.calibrate(
            documents=documents, past_queries=past_queries, labelled=labelled, progress=progress
        )

    def with_calibration(self, calibration: Calibration | None) -> Self:
        """Return the same store behind a retriever with this calibration."""
        return replace(self, retriever=self.retriever.with_calibration(calibration))

    def with_pool_size(self, pool_size: int) -> Self:
        """Return the same store behind a retriever that looks at another number of passages."""
        return replace(self, retriever=self.retriever._replace(pool_size=pool_size))


def build(
    passages: Sequence[Passage],
    encoder: Encoder,
    k: int,
    pool_size: int,
    *,
    selector: object | None = None,
    selector_options: SelectionOptions | None = None,
    reranker: object | None = None,
) -> LlamaIndexBackend:
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
    store = SimpleVectorStore()
    storage = StorageContext.from_defaults(vector_store=store)
    index = VectorStoreIndex(nodes, storage_context=storage, embed_model=EncoderEmbedding(encoder))
    held: dict[str, Any] = store.data.embedding_dict
    rows = np.array([*held.values()])
    held.update(zip(held, rows, strict=True))  # of lists, each search would make this array
    return LlamaIndexBackend(
        RecallRetriever(
            index.as_retriever(similarity_top_k=k),
            pool_size=pool_size,
            selector=selector,
            selector_options=selector_options,
            reranker=reranker,
        )
    )
