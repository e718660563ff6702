"""Documents as the flow reads them, and the copies that are returned."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import partial

from langchain_core.documents import Document

from recall_signal._flow.values import Outcome, item_id
from recall_signal._pydantic import copy_with
from recall_signal._steps.failures import contained, original
from recall_signal._wrapper.plain_copies import require_items
from recall_signal.report_parsing import KEY
from recall_signal.reports import copy_nested

__all__ = ["id_of", "page_of", "text_of", "without_report"]

log = logging.getLogger(__name__)


def text_of(document: Document) -> str:
    """Return the text, which the encoder and a language model see alike."""
    return document.page_content


def id_of(key: str | None, document: Document) -> str | None:
    """Return the id: what the metadata has under `key`, else the document's own."""
    return item_id(document.metadata, key, document.id)


def page_of(outcome: Outcome[Document]) -> list[Document]:
    """Copy the page; the copies carry the entries, and nothing else under their key."""
    key = outcome.settings.metadata_key
    carried = zip(outcome.items, outcome.entries, strict=True)
    return [_annotated(document, key, entry) for document, entry in carried]


def _annotated(document: Document, key: str, entry: dict[str, object] | None) -> Document:
    """Return a copy with the entry; a document that cannot be copied is returned as it is."""
    try:
        return contained(partial(_copy, document, key, entry))
    except Exception as error:
        log.warning("a document could not be copied: %s", type(original(error)).__name__)
        return document


def _copy(document: Document, key: str, entry: dict[str, object] | None) -> Document:
    metadata = copy_nested(document.metadata)  # the document is shared with the store
    if entry is not None:
        metadata[key] = entry
    else:
        metadata.pop(key, None)
    return copy_with(document, {"metadata": metadata})


def without_report(documents: Iterable[Document], metadata_key: str = KEY) -> list[Document]:
    """Copy documents without the reports, as they have to be to be stored again.

    Many stores take no nested metadata, and an indexing API would take a document that carries
    a report for another one than the stored one.

    Args:
        documents: Returned by a `RecallRetriever`; left alone.
        metadata_key: The wrapper's.

    Raises:
        InvalidInputError: It is a single document, or holds something else than documents.
    """
    return [
        copy_with(
            document,
            {"metadata": {k: v for k, v in (document.metadata or {}).items() if k != metadata_key}},
        )
        for document in require_items(documents, (Document,), "documents")
    ]
