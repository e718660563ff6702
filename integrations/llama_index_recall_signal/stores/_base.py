"""Base classes of the adapters: the kind of a vector store's score in each query mode."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from llama_index.core.schema import NodeWithScore

from recall_signal import ScoreKind
from recall_signal.stores import Kind, ScoreReading, Vector, read_scores
from recall_signal.stores._server_metric import CachedServerMetric

Store = TypeVar("Store")

Vectors: TypeAlias = Sequence[Vector | None]
"""Stored vector of each hit, None where the store has none."""


@dataclass(frozen=True, slots=True)
class Hits:
    """The result of one search of a store.

    Attributes:
        nodes: The hits as the store gave them, in rank order.
        mode: The query mode of the search (see `StoreAdapter.mode`).
        ids: The store's own ids of the hits; empty where it returned none.
    """

    nodes: Sequence[NodeWithScore]
    mode: str
    ids: Sequence[str] = ()

    @property
    def scores(self) -> list[float | None]:
        """Return the store's own number for each."""
        return [hit.score for hit in self.nodes]

    @property
    def node_ids(self) -> list[str]:
        """Return the ids of the nodes."""
        return [hit.node.node_id for hit in self.nodes]


class StoreAdapter(Generic[Store]):
    """Reads one kind of vector store. Most stores need `score_kind` only.

    An adapter holds no state of a query and never writes to the store. `Store` is its class, or
    a protocol of what is read of it.

    Attributes:
        may_drop: Whether the store leaves out hits after it has applied its limit. Where a wider
            search finds fewer than it asked for, the retriever is then called for its own page.
        reads_nodes: Whether `read` or `vectors` looks at more of a hit's node than its id. Where
            not, and nobody else does, hits beyond the page come without text and metadata.
    """

    may_drop: ClassVar[bool] = False
    reads_nodes: ClassVar[bool] = True
    gives_vectors: ClassVar[bool] = True

    def mode(self, store: Store, mode: str, options: Mapping[str, object]) -> str:  # noqa: ARG002
        """Return the query mode that the store will really search in.

        Args:
            store: The store.
            mode: The retriever's, as `VectorStoreQueryMode` names it.
            options: What the retriever passes to the store beside the query.
        """
        return mode

    def dimension(self, store: Store) -> int | None:  # noqa: ARG002
        """Return the length of the stored vectors, where the store says it without a search."""
        return None

    def score_kind(self, store: Store, mode: str) -> Kind | None:  # noqa: ARG002
        """Return the kind of `NodeWithScore.score`, by the store's settings and the mode.

        None from an adapter with a `read` of its own. Where the store's server has to be
        asked, derive from `ServerMetricAdapter`.
        """
        return None

    def waits(self, store: Store) -> bool:  # noqa: ARG002
        """Return whether reading settings or scores may wait for the store.

        Asynchronous calls then do it in a worker thread.
        """
        return False

    def read(self, store: Store, hits: Hits) -> ScoreReading:
        """Compute the cosines of these hits from their scores."""
        kind = self.score_kind(store, hits.mode)
        if kind is None:  # neither a kind nor a read of its own
            return ScoreReading(None, reason="adapter_failed")
        return read_scores(hits.scores, kind, "store", ranked=hits.mode == "default")

    def vectors(self, store: Store, hits: Hits) -> Vectors | None:  # noqa: ARG002
        """Return the stored vector of each hit, None where one round trip cannot read them.

        Called where scores give no cosine, and once to check the length of the vectors;
        from a worker thread in asynchronous calls.
        """
        return [hit.node.embedding for hit in hits.nodes]


AnyAdapter: TypeAlias = StoreAdapter[Any]
"""Adapter that was found by the name of its store's class."""


class DefaultModeAdapter(StoreAdapter[Store], ABC):
    """Reads a store whose score is known in the default query mode.

    Attributes:
        other_modes: The kind in other query modes, where it is known.
    """

    other_modes: ClassVar[Mapping[str, ScoreKind]] = {}

    @abstractmethod
    def default_kind(self, store: Store) -> Kind | None:
        """Return the kind of the score in the default query mode."""

    def score_kind(self, store: Store, mode: str) -> Kind | None:
        """Return the kind by the query mode, in the default one by the store."""
        if mode == "default":
            return self.default_kind(store)
        return self.other_modes.get(mode, ScoreKind.UNKNOWN)


class ServerMetricAdapter(DefaultModeAdapter[Store]):
    """Reads a store whose metric its server knows: one request per store, then cached."""

    def __init__(self) -> None:
        self._metrics = CachedServerMetric(self.fetch_kind)

    @abstractmethod
    def fetch_kind(self, store: Store) -> Kind:
        """Request the kind of the store's score in the default mode from its server."""

    def waits(self, store: Store) -> bool:
        """Return True until the metric has been fetched."""
        return self._metrics.waits(store)

    def default_kind(self, store: Store) -> Kind:
        """Return the kind by the server's metric."""
        return self._metrics.kind(store)
