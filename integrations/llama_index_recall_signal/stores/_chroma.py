"""`ChromaVectorStore`: the collection's space decides the distance.

The score is `exp(-distance)` in the space `l2` (squared), `cosine` or `ip` (1 minus the
inner product).
"""

from typing import Any, Protocol

from llama_index_recall_signal.stores._base import DefaultModeAdapter, Hits, Vectors
from recall_signal import ScoreKind
from recall_signal.stores import Kind, unit_only

_KINDS: dict[str, Kind] = {
    "l2": ScoreKind.EXP_NEG_SQUARED_L2,
    "cosine": ScoreKind.EXP_NEG_COSINE_DISTANCE,
    "ip": unit_only(ScoreKind.EXP_NEG_COSINE_DISTANCE),  # exp(inner product - 1)
}


class _Store(Protocol):
    """The part of the store that is read."""

    client: Any  # the collection


class ChromaAdapter(DefaultModeAdapter[_Store]):
    """Reads `ChromaVectorStore`."""

    def default_kind(self, store: _Store) -> Kind:
        """Return the kind by the space of the index, which older releases do not expose."""
        configuration = getattr(store.client, "configuration", None) or {}
        index = configuration.get("hnsw") or configuration.get("spann") or {}
        return _KINDS.get(index.get("space", ""), ScoreKind.UNKNOWN)

    def vectors(self, store: _Store, hits: Hits) -> Vectors | None:
        """Read the stored vectors by the nodes' ids."""
        ids = hits.node_ids
        if not ids:
            return None
        found = store.client.get(ids=ids, include=["embeddings"])
        known = dict(zip(found["ids"], found["embeddings"], strict=True))
        return [known.get(id_) for id_ in ids]
