"""Stored vectors found by their texts, for stores that return no ids."""

from collections.abc import Iterable, Sequence

import numpy as np
from langchain_core.documents import Document

from recall_signal.stores import Vector


def vectors_by_text(
    rows: Iterable[tuple[str, Vector]], documents: Sequence[Document]
) -> list[Vector | None]:
    """Return the vector of each document, None where its text has none, or several that differ.

    Args:
        rows: Pairs of a text and its vector.
        documents: The hits.
    """
    known: dict[str, Vector | None] = {}
    for text, vector in rows:
        same = known.get(text, vector)
        known[text] = vector if same is not None and np.array_equal(same, vector) else None
    return [known.get(document.page_content) for document in documents]
