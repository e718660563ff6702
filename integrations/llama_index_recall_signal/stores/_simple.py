"""`SimpleVectorStore`: the score is the cosine in the default mode, for vectors of any norm.

The other modes (MMR and the learners) score by something else, but the store keeps its vectors
at hand.
"""

from collections.abc import Mapping
from typing import Protocol

from llama_index_recall_signal.stores._base import DefaultModeAdapter, Hits, Vectors
from recall_signal import ScoreKind
from recall_signal.stores import Vector


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

    def vectors(self, store: _Store, hits: Hits) -> Vectors:
        """Return the vectors as they were stored."""
        known = store.data.embedding_dict
        return [known.get(id_) for id_ in hits.node_ids]
