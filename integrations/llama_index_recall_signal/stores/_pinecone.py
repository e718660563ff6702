"""`PineconeVectorStore`: the index's metric decides, and every hit carries its vector.

The metrics on products and distances are not read from the score: the store scales the query
where its retriever was given an `alpha`, in every mode.
"""

from typing import Protocol

from llama_index_recall_signal.stores._base import Hits, ServerMetricAdapter, Vectors
from recall_signal import ScoreKind
from recall_signal.stores import Kind, ScoreReading
from recall_signal.stores._vendors import PineconeIndex, pinecone_kind


class _Store(Protocol):
    """The part of the store that is read."""

    client: PineconeIndex


class PineconeAdapter(ServerMetricAdapter[_Store]):
    """Reads `PineconeVectorStore`."""

    def fetch_kind(self, store: _Store) -> Kind:
        """Return the kind by the index's metric."""
        return pinecone_kind(store.client)

    def read(self, store: _Store, hits: Hits) -> ScoreReading:
        """Read the hits of a cosine index; the hits' vectors decide for any other."""
        if self.score_kind(store, hits.mode) is ScoreKind.COSINE:
            return super().read(store, hits)
        return ScoreReading(None, reason="score_not_convertible")

    def vectors(self, store: object, hits: Hits) -> Vectors:  # noqa: ARG002
        """Return the hits' own vectors, which a caller can keep the index from sending."""
        return [hit.node.embedding or None for hit in hits.nodes]
