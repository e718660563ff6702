"""LangChain behind the command line (a `recall_signal.cli._backends.BackendFactory`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_recall_signal._encoders import EncoderEmbeddings
from langchain_recall_signal._retriever import RecallRetriever
from recall_signal import Calibration
from recall_signal.cli._backends import Hit, Passage, SearchResult
from recall_signal.encoders import Encoder
from recall_signal.selection import SelectionOptions

__all__ = ["LangChainBackend", "build"]


@dataclass(frozen=True, slots=True)
class LangChainBackend:
    """Passages in an `InMemoryVectorStore` behind a `RecallRetriever`."""

    retriever: RecallRetriever

    def recall(self, question: str, *, use_rerank: bool = False) -> SearchResult:
        """Search, and assess the pool."""
        response = self.retriever.recall(question, use_rerank=use_rerank)
        key = self.retriever.metadata_key
        hits = [
            Hit(
                id=document.id or "",
                text=document.page_content,
                source=document.metadata["source"],
                cosine=document.metadata[key]["cosine"],
            )
            for document in response.documents
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
        return replace(self, retriever=self.retriever.model_copy(update={"pool_size": pool_size}))


def build(
    passages: Sequence[Passage],
    encoder: Encoder,
    k: int,
    pool_size: int,
    *,
    selector: object | None = None,
    selector_options: SelectionOptions | None = None,
    reranker: object | None = None,
) -> LangChainBackend:
    """Embed the passages and make them searchable."""
    store = InMemoryVectorStore(EncoderEmbeddings(encoder))
    store.add_documents(
        [Document(id=p.id, page_content=p.text, metadata={"source": p.source}) for p in passages]
    )
    entries = store.store.values()
    rows = np.array([entry["vector"] for entry in entries])
    for entry, row in zip(entries, rows, strict=True):
        entry["vector"] = row  # of lists, the store would make this array anew in each search
    return LangChainBackend(
        RecallRetriever.from_vectorstore(
            store,
            k=k,
            pool_size=pool_size,
            selector=selector,
            selector_options=selector_options,
            reranker=reranker,
        )
    )
