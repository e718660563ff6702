"""What a search callable may return, as documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage

from recall_signal import InvalidResultError

__all__ = ["as_documents", "as_text"]

TEXT_KEYS = ("page_content", "content", "snippet", "text")
"""Where search services put the text of a hit, the best one first."""


def as_documents(found: Any) -> list[Document]:
    """The hits of a search, in order, without empty ones.

    Args:
        found: A text, a document, a mapping with a text under one of :data:`TEXT_KEYS`, a list
            of these, or a mapping with such a list under ``results``.

    Raises:
        InvalidResultError: It is something else.
    """
    hits = found.get("results", found) if isinstance(found, Mapping) else found
    single = isinstance(hits, str | Document | Mapping) or not isinstance(hits, Iterable)
    documents = [_document(hit) for hit in ([hits] if single else hits)]
    return [document for document in documents if document.page_content.strip()]


def as_text(answer: Any) -> str:
    """The text of what a model or a callable gave.

    Raises:
        InvalidResultError: It is neither a text nor a message.
    """
    if isinstance(answer, BaseMessage):
        return str(answer.text)
    if isinstance(answer, str):
        return answer
    raise InvalidResultError(f"expected a text or a message, got {type(answer).__name__}")


def _document(hit: Any) -> Document:
    if isinstance(hit, Document):
        return hit
    if isinstance(hit, str):
        return Document(hit)
    key = next((key for key in TEXT_KEYS if isinstance(hit, Mapping) and key in hit), None)
    if key is None or not isinstance(hit[key], str):
        raise InvalidResultError(
            "a web search must return texts, documents, or mappings with a text under one of "
            f"{', '.join(TEXT_KEYS)}; got {type(hit).__name__}"
        )
    rest = {name: value for name, value in hit.items() if name not in (*TEXT_KEYS, "metadata")}
    inner = hit.get("metadata")
    return Document(hit[key], metadata={**rest, **(inner if isinstance(inner, Mapping) else {})})
