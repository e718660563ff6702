"""``WeaviateVectorStore``: every search is a hybrid one, and every hit brings its vector along.

The score is fused and normalised within each result list: the best hit is near 1 every time.
"""

from __future__ import annotations

from typing import Any

from llama_index_recall_signal.stores.base import StoreAdapter
from recall_signal import ScoreKind

__all__ = ["WeaviateAdapter"]


class WeaviateAdapter(StoreAdapter):
    """Reads ``WeaviateVectorStore``."""

    def score_kind(self, store: Any, mode: str) -> ScoreKind:  # noqa: ARG002
        """Always a fused score."""
        return ScoreKind.FUSED_NORMALIZED
