"""``InMemoryVectorStore``: the score is the cosine itself, for vectors of any norm."""

from __future__ import annotations

from typing import Any

from langchain_recall_signal.stores.base import StoreAdapter
from recall_signal import ScoreKind

__all__ = ["InMemoryAdapter"]


class InMemoryAdapter(StoreAdapter):
    """Reads ``InMemoryVectorStore``."""

    def score_kind(self, store: Any) -> ScoreKind:  # noqa: ARG002
        """Always the cosine."""
        return ScoreKind.COSINE
