"""`FaissVectorStore` and `FaissMapVectorStore`: the index's own metric decides.

The score is the index's own number: the inner product, or squared L2, where a lower one is
better although it is called a similarity. The first store names the vectors by the ids of its
hits, the second by a map.
"""

from typing import Protocol

from llama_index_recall_signal.stores._base import DefaultModeAdapter, Hits, Vectors
from recall_signal import ScoreKind
from recall_signal.stores._vendors import FaissIndex, faiss_kind, faiss_vectors


class _Store(Protocol):
    """The part of both stores that is read."""

    client: FaissIndex


class FaissAdapter(DefaultModeAdapter[_Store]):
    """Reads the two FAISS stores."""

    reads_nodes = False

    def default_kind(self, store: _Store) -> ScoreKind:
        """Return the kind by the index's own metric."""
        return faiss_kind(store.client)

    def dimension(self, store: _Store) -> int:
        """Return the length that the index was made for."""
        return store.client.d

    def vectors(self, store: _Store, hits: Hits) -> Vectors | None:
        """Read the stored vectors; not every index returns them."""
        # The store has no public name for its map of node ids to positions.
        known = getattr(store, "_node_id_to_faiss_id_map", None)
        try:
            if known is None:  # the store's ids are positions in the index
                return faiss_vectors(store.client, [int(id_) for id_ in hits.ids])
            return faiss_vectors(store.client, [known.get(id_) for id_ in hits.node_ids])
        except RuntimeError:
            return None
