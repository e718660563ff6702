"""The reranker in LangChain's terms: a cross-encoder, a document compressor, or a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document

from recall_signal._steps.blocking import holds_loop
from recall_signal._wrapper.model_calls import Model
from recall_signal.reranking import InvalidScores, Rerank, as_scorer

__all__ = ["Reranker", "as_reranker"]

_PLACE = "recall_place"
"""Metadata key by which a document is recognised in what a compressor returns."""

_SCORE = "relevance_score"
"""End of the key under which compressors write their score (some let a prefix be set)."""

Reranker: TypeAlias = Model[Rerank, Callbacks, object]


def as_reranker(model: object) -> Reranker:
    """Wrap a model, a compressor or a function.

    Raises:
        ConfigurationError: It is none of these.
    """
    if isinstance(model, BaseDocumentCompressor):
        inner = getattr(model, "model", None)
        if not callable(getattr(inner, "score", None)):
            return _compressor(model)
        model = inner  # CrossEncoderReranker sorts by its model's scores and drops them
    scorer = as_scorer(model, "a document compressor, a cross-encoder, ")
    return Model(lambda asked, _callbacks: scorer(asked.query, asked.texts))


def _compressor(compressor: BaseDocumentCompressor) -> Reranker:
    def score(asked: Rerank, callbacks: Callbacks) -> object:
        found = compressor.compress_documents(_documents(asked), asked.query, callbacks=callbacks)
        return _scores(found, len(asked.texts))

    async def ascore(asked: Rerank, callbacks: Callbacks) -> object:
        documents = _documents(asked)
        found = await compressor.acompress_documents(documents, asked.query, callbacks=callbacks)
        return _scores(found, len(asked.texts))

    own = type(compressor).acompress_documents is not BaseDocumentCompressor.acompress_documents
    alone = holds_loop(compressor.acompress_documents)
    return Model(score, ascore if own else None, alone=alone)


def _documents(asked: Rerank) -> list[Document]:
    """Make new documents, so that no score in older metadata is taken for a new one."""
    return [
        Document(page_content=text, metadata={_PLACE: place})
        for place, text in enumerate(asked.texts)
    ]


def _scores(found: Sequence[Document], count: int) -> list[object]:
    """Read one score a text; None for what the compressor left out or gave none."""
    places = set(range(count))
    scores: list[object] = [None] * count
    for document in found:
        place = document.metadata.get(_PLACE)
        if place not in places:
            raise InvalidScores
        places.remove(place)
        values = [value for key, value in document.metadata.items() if key.endswith(_SCORE)]
        scores[place] = values[0] if values else None
    return scores
