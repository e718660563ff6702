"""Documents as the flow sees them, and what leaves us: the copies, and the response."""

from __future__ import annotations

import logging

from langchain_core.documents import Document

from langchain_recall_signal.response import RecallResponse
from recall_signal.flow import Outcome
from recall_signal.items import id_in
from recall_signal.models import copied_with
from recall_signal.reports import fresh_copy

__all__ = ["id_of", "page_of", "respond", "text_of"]

log = logging.getLogger(__name__)


def text_of(document: Document) -> str:
    """The text, which the encoder and a language model see alike."""
    return document.page_content


def id_of(key: str | None, document: Document) -> str | None:
    """The id: what the metadata has under ``key``, else the document's own."""
    return id_in(document.metadata, key, document.id)


def page_of(outcome: Outcome[Document]) -> list[Document]:
    """The page as it leaves us: copies that carry the entries.

    A document that cannot be copied goes out as it is.
    """
    key = outcome.settings.metadata_key
    page = []
    for document, entry in zip(outcome.items, outcome.entries, strict=True):
        try:
            metadata = fresh_copy(document.metadata)  # the document is shared with the store
            if entry is not None:
                metadata[key] = entry
            page.append(copied_with(document, {"metadata": metadata}))
        except Exception as error:
            log.warning("a document could not be copied: %s", type(error).__name__)
            page.append(document)
    return page


def respond(outcome: Outcome[Document], documents: list[Document]) -> RecallResponse:
    """The response of a query whose page left as these documents."""
    return RecallResponse(
        documents=documents,
        confidence=outcome.confidence,
        selection=outcome.selection,
        pool=outcome.pool,
        cosine_source=outcome.cosine_source,
        rerank=outcome.rerank,
    )
