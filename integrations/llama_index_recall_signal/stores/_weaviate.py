"""`WeaviateVectorStore`: every search is a hybrid one, and every hit carries its vector.

The score is fused and normalised within each result list: the best hit is near 1 every time.
"""

from llama_index_recall_signal.stores._base import StoreAdapter
from recall_signal import ScoreKind


class WeaviateAdapter(StoreAdapter[object]):
    """Reads `WeaviateVectorStore`."""

    def score_kind(self, store: object, mode: str) -> ScoreKind:  # noqa: ARG002
        """Return the fused score, in every mode."""
        return ScoreKind.FUSED_NORMALIZED
