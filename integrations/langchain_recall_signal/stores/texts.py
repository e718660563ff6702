"""What stores without ids share: stored vectors found by the texts they were made from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from langchain_core.documents import Document

__all__ = ["vectors_by_text"]


def vectors_by_text(
    rows: Iterable[Sequence[Any]], documents: Sequence[Document]
) -> list[Any | None]:
    """The vector of each document, None where its text has none, or several that differ.

    Args:
        rows: A text and its vector each.
        documents: The hits.
    """
    known: dict[str, Any] = {}
    for text, vector in rows:
        if text in known and not np.array_equal(known[text], vector):
            known[text] = None  # which of them the hit is cannot be told
        else:
            known[text] = vector
    return [known.get(document.page_content) for document in documents]
