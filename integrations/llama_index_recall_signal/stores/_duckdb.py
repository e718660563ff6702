"""`DuckDBVectorStore`: the score is the cosine, for vectors of any norm; hits carry vectors."""

from llama_index_recall_signal.stores._base import DefaultModeAdapter
from recall_signal import ScoreKind


class DuckDBAdapter(DefaultModeAdapter[object]):
    """Reads `DuckDBVectorStore`."""

    def default_kind(self, store: object) -> ScoreKind:  # noqa: ARG002
        """Return the cosine."""
        return ScoreKind.COSINE
