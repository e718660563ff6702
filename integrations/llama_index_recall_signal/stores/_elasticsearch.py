"""`ElasticsearchStore`: scores are scaled within each result list, from 0 to 1.

The best hit has 1.0 whatever it is worth, in every strategy and mode, and hits carry no vector.
"""

from llama_index_recall_signal.stores._base import StoreAdapter
from recall_signal import ScoreKind


class ElasticsearchAdapter(StoreAdapter[object]):
    """Reads `ElasticsearchStore`."""

    gives_vectors = False

    def score_kind(self, store: object, mode: str) -> ScoreKind:  # noqa: ARG002
        """Return the scaled score, in every mode."""
        return ScoreKind.MINMAX
