"""`PGVectorStore`: the score is the cosine in the default mode, for vectors of any norm.

A hybrid page mixes cosines with text ranks, row by row, and MMR has a value of its own: there
the stored vectors decide.
"""

from collections.abc import Sequence
from typing import Protocol

from llama_index.core.schema import BaseNode

from llama_index_recall_signal.stores._base import DefaultModeAdapter, Hits, Vectors
from recall_signal import ScoreKind


class _Store(Protocol):
    """The part of the store that is read."""

    def get_nodes(self, *, node_ids: Sequence[str]) -> Sequence[BaseNode]: ...


class PostgresAdapter(DefaultModeAdapter[_Store]):
    """Reads `PGVectorStore`."""

    def default_kind(self, store: object) -> ScoreKind:  # noqa: ARG002
        """Return the cosine."""
        return ScoreKind.COSINE

    def vectors(self, store: _Store, hits: Hits) -> Vectors | None:
        """Read the stored vectors by the nodes' ids."""
        ids = hits.node_ids
        if not ids:
            return None  # for no ids, the store returns the whole table
        try:
            known = {node.node_id: node.embedding for node in store.get_nodes(node_ids=ids)}
        except ValueError:  # the store cannot make a node with a vector of half precision
            return None
        return [known.get(id_) for id_ in ids]
