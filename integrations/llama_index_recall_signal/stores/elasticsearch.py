"""``ElasticsearchStore``: scores are scaled within each result list, from 0 to 1.

The best hit has 1.0 whatever it is worth, in every strategy and mode, and no vector comes along.
"""

from __future__ import annotations

from typing import Any

from llama_index_recall_signal.stores.base import StoreAdapter
from recall_signal import ScoreKind

__all__ = ["ElasticsearchAdapter"]


class ElasticsearchAdapter(StoreAdapter):
    """Reads ``ElasticsearchStore``."""

    def score_kind(self, store: Any, mode: str) -> ScoreKind:  # noqa: ARG002
        """Always scaled between the worst and the best hit."""
        return ScoreKind.MINMAX
