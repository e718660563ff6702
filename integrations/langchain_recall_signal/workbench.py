"""LangChain behind the command line (see :mod:`recall_signal.cli.frameworks`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_recall_signal.encoders import EncoderEmbeddings
from langchain_recall_signal.retriever import RecallRetriever
from recall_signal import Calibration
from recall_signal.cli.frameworks import Answer, Hit, Passage
from recall_signal.encoders import Encoder
from recall_signal.selection import SelectionOptions, Selector

__all__ = ["LangChainWorkbench", "build"]


@dataclass(frozen=True, slots=True)
class LangChainWorkbench:
    """Passages in an ``InMemoryVectorStore`` behind a :class:`RecallRetriever`."""

    retriever: RecallRetriever

    def recall(self, question: str) -> Answer:
        """Search, and judge the pool."""
        response = self.retriever.recall(question)
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
) -> LangChainWorkbench:
    """Embed the passages and make them searchable."""
    store = InMemoryVectorStore(EncoderEmbeddings(encoder))
    store.add_documents(
        [Document(id=p.id, page_content=p.text, metadata={"source": p.source}) for p in passages]
    )
    return LangChainWorkbench(
        RecallRetriever.from_vectorstore(
            store,
            k=k,
            pool_size=pool_size,
            selector=selector,
            selector_options=selector_options,
            calibration=calibration,
        )
    )
