"""``DuckDBVectorStore``: the score is the cosine, for vectors of any norm; hits carry vectors."""

from __future__ import annotations

from typing import Any

from llama_index_recall_signal.stores.base import StoreAdapter
from recall_signal import ScoreKind

__all__ = ["DuckDBAdapter"]


class DuckDBAdapter(StoreAdapter):
    """Reads ``DuckDBVectorStore``, which has one search only."""

    def score_kind(self, store: Any, mode: str) -> ScoreKind:  # noqa: ARG002
        """The cosine; what another mode would be is not known, but the vectors are at hand."""
        return ScoreKind.COSINE if mode == "default" else ScoreKind.UNKNOWN
