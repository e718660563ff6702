"""`SimpleVectorStore`: the score is the cosine in the default mode, for vectors of any norm.

The other modes (MMR and the learners) score by something else, but the store keeps its vectors
at hand.
"""

from collections.abc import Mapping
from typing import Protocol

from llama_index_recall_signal.stores._base import DefaultModeAdapter, Hits, Vectors
from recall_signal import ScoreKind
from recall_signal.stores import ScoreReading, Vector
from recall_signal.stores._readings import are_stand_ins


class _Data(Protocol):
    embedding_dict: Mapping[str, Vector]


class _Store(Protocol):
    """The part of the store that is read."""

    data: _Data


class SimpleAdapter(DefaultModeAdapter[_Store]):
    """Reads `SimpleVectorStore`."""

    reads_nodes = False

    def default_kind(self, store: object) -> ScoreKind:  # noqa: ARG002
        """Return the cosine."""
        return ScoreKind.COSINE

    def read(self, store: _Store, hits: Hits) -> ScoreReading:
        """Return the scores, unless the store may have made them up for vectors of no length."""
        if are_stand_ins(hits.scores):
            return ScoreReading(None, reason="norm_unknown")
        return super().read(store, hits)

    def vectors(self, store: _Store, hits: Hits) -> Vectors:
        """Return the vectors as they were stored."""
        known = store.data.embedding_dict
        return [known.get(id_) for id_ in hits.node_ids]
