"""The reranker in LangChain's terms: a cross-encoder, a document compressor, or a function."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document

from recall_signal.deadline import await_within, call_within, thread_within
from recall_signal.reranking import InvalidScores, Rerank, as_scorer

__all__ = ["Reranker", "arerank", "as_reranker", "rerank"]

_PLACE = "recall_place"
"""Metadata key by which a document is found again in what a compressor returns."""

_SCORE = "relevance_score"
"""How the key ends under which compressors write their score (some let a prefix be set)."""


@dataclass(frozen=True, slots=True)
class Reranker:
    """Any accepted ``reranker=``.

    Attributes:
        score: From a request and the callbacks of the run around it to one score a text.
        ascore: The same with async code of its own; None where it has none.
    """

    score: Callable[[Rerank, Callbacks], Any]
    ascore: Callable[[Rerank, Callbacks], Coroutine[Any, Any, Any]] | None = None


def as_reranker(model: Any) -> Reranker:
    """A model, a compressor or a function as a :class:`Reranker`.

    Raises:
        ConfigurationError: It is none of these.
    """
    if isinstance(model, BaseDocumentCompressor):
        inner = getattr(model, "model", None)
        if not callable(getattr(inner, "score", None)):
            return _compressor(model)
        model = inner  # CrossEncoderReranker sorts by its model's scores and throws them away
    scorer = as_scorer(model, "a document compressor, a cross-encoder, ")
    return Reranker(lambda asked, _callbacks: scorer(asked.query, asked.texts))


def rerank(reranker: Reranker, asked: Rerank, callbacks: Callbacks) -> Any:
    """Carry out one request within its time."""
    return call_within(asked.timeout, lambda: reranker.score(asked, callbacks))


async def arerank(reranker: Reranker, asked: Rerank, callbacks: Callbacks) -> Any:
    """:func:`rerank`, asynchronously; what has no async code of its own gets a thread."""
    if reranker.ascore is None:
        return await thread_within(asked.timeout, lambda: reranker.score(asked, callbacks))
    return await await_within(asked.timeout, reranker.ascore(asked, callbacks))


def _compressor(compressor: BaseDocumentCompressor) -> Reranker:
    def score(asked: Rerank, callbacks: Callbacks) -> list[Any]:
        found = compressor.compress_documents(_documents(asked), asked.query, callbacks=callbacks)
        return _scores(found, len(asked.texts))

    async def ascore(asked: Rerank, callbacks: Callbacks) -> list[Any]:
        documents = _documents(asked)
        found = await compressor.acompress_documents(documents, asked.query, callbacks=callbacks)
        return _scores(found, len(asked.texts))

    own = type(compressor).acompress_documents is not BaseDocumentCompressor.acompress_documents
    return Reranker(score, ascore if own else None)


def _documents(asked: Rerank) -> list[Document]:
    """The texts as documents of ours, so that no score in older metadata is taken for a new one."""
    return [
        Document(page_content=text, metadata={_PLACE: place})
        for place, text in enumerate(asked.texts)
    ]


def _scores(found: Sequence[Document], count: int) -> list[Any]:
    """One score a text; None for what the compressor left out or gave none."""
    places = set(range(count))
    scores: list[Any] = [None] * count
    for document in found:
        place = document.metadata.get(_PLACE)
        if place not in places:
            raise InvalidScores
        places.remove(place)
        values = [value for key, value in document.metadata.items() if key.endswith(_SCORE)]
        scores[place] = values[0] if values else None
    return scores
