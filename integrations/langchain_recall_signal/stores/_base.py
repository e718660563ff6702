"""Base classes of the adapters: the kind of a vector store's score."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from langchain_core.documents import Document

from recall_signal import ConfigurationError
from recall_signal.stores import Kind, ScoreReading, Vector, read_scores
from recall_signal.stores._server_metric import CachedServerMetric

Store = TypeVar("Store")

Vectors: TypeAlias = Sequence[Vector | None]
"""Stored vector of each hit, None where the store has none."""

SCORED_SEARCH = "similarity_search_with_score"
"""The search with scores that most stores have."""

VECTOR_SEARCH = "similarity_search_with_score_by_vector"
"""The same by a vector, under the name that most stores have for it."""


@dataclass(slots=True)
class Hits:
    """The result of one search of a store, in rank order.

    Attributes:
        documents: The hits as the store gave them.
        scores: The store's own number for each; empty where the search exposed none.
        query_vector: The vector of the search, where the store exposed it.
    """

    documents: Sequence[Document]
    scores: Sequence[float | None]
    query_vector: Vector | None = None

    @property
    def identified(self) -> Sequence[Document]:
        """Return the hits with the ids by which `StoreAdapter.vectors` finds their vectors."""
        return self.documents


class StoreAdapter(Generic[Store]):
    """Reads one kind of vector store. Most stores need `score_kind` only.

    An adapter holds no state of a query and never writes to the store. `Store` is its class, or
    a protocol of what is read of it.

    Attributes:
        ties_keep_order: Whether the order of equal scores is independent of the number of
            requested hits.
        is_local: Whether a search computes in this process and waits for nothing, so that threads
            make many of them slower.
        unsupported_kwargs: Search arguments with which the scored search differs from the plain
            one, or its number is of another kind. The plain search then runs without scores.
        search_arguments: Every argument of the search that its signature does not name, of a
            store that ignores what it does not know: another one is refused. None where others
            may be taken.
    """

    ties_keep_order: bool = True
    is_local: bool = False
    unsupported_kwargs: frozenset[str] = frozenset()
    search_arguments: frozenset[str] | None = None

    def score_kind(self, store: Store) -> Kind | None:  # noqa: ARG002
        """Return the kind of the number in `scored_search`, by the store's settings.

        None from an adapter with a `read` of its own. Where the store's server has to be
        asked, derive from `ServerMetricAdapter`.
        """
        return None

    def dimension(self, store: Store) -> int | None:  # noqa: ARG002
        """Return the length of the stored vectors, where the store says it without a search."""
        return None

    def scored_search(self, store: Store) -> str | None:  # noqa: ARG002
        """Name the method that does what `similarity_search` does and returns scores.

        Its asynchronous twin has the same name with an `a` before it. None for a store whose
        `similarity_search` does more: that runs as it is, and the scores are seen where it
        calls `similarity_search_with_score` itself.
        """
        return SCORED_SEARCH

    def vector_search(self, store: Store) -> str | None:  # noqa: ARG002
        """Name the search with scores by a vector, where the scored search is that and no more.

        It then does what `similarity_search_with_score` does once the query is embedded, with
        the same arguments. None elsewhere; the questions of a batch are then embedded one by one.
        """
        return None

    def score_key(self, store: Store) -> str | None:  # noqa: ARG002
        """Name the metadata key where `similarity_search` puts the score, if it does.

        For stores without a search that returns scores.
        """
        return None

    def encoder(self, store: Store) -> object:
        """Return the encoder of the store's queries, None where it is unknown."""
        return getattr(store, "embeddings", None)

    def item_count(
        self,
        store: Store,  # noqa: ARG002
        arguments: Mapping[str, object],  # noqa: ARG002
        limit: int,  # noqa: ARG002
    ) -> int | None:
        """Count the records that a search applies its limit to, in one round trip.

        For stores that drop hits after their limit; None for all others. Called where a search
        brought fewer hits than requested.

        Args:
            store: The store.
            arguments: The arguments of the search (a filter).
            limit: The limit of the search, beyond which nothing has to be counted.
        """
        return None

    def hit_ids(self, store: Store) -> Mapping[int, str] | None:  # noqa: ARG002
        """Return the id of each place in `store.index`, where a search reads its hits by them.

        For stores whose search finds places in an index, and then reads each document by itself:
        those of the page are enough where of the others only scores are needed. The store's
        numbers have to be its index's own. `vectors` may then be given hits that have an `id` and
        nothing else. None elsewhere.
        """
        return None

    def waits(self, store: Store) -> bool:  # noqa: ARG002
        """Return whether reading settings or scores may wait for the store.

        Asynchronous calls then do it in a worker thread.
        """
        return False

    def read(self, store: Store, hits: Hits) -> ScoreReading:
        """Compute the cosines of these hits from their scores."""
        kind = self.score_kind(store)
        if kind is None:  # neither a kind nor a read of its own
            return ScoreReading(None, reason="adapter_failed")
        return read_scores(hits.scores, kind, "store", ranked=True)

    def vectors(
        self,
        store: Store,  # noqa: ARG002
        documents: Sequence[Document],  # noqa: ARG002
    ) -> Vectors | None:
        """Return the stored vector of each document, in one round trip; None if impossible.

        Called where scores give no cosine, and once to check the length of the vectors;
        from a worker thread in asynchronous calls.
        """
        return None


AnyAdapter: TypeAlias = StoreAdapter[Any]
"""Adapter that was found by the name of its store's class."""


class ServerMetricAdapter(StoreAdapter[Store], ABC):
    """Reads a store whose metric its server knows: one request per store, then cached."""

    def __init__(self) -> None:
        self._metrics = CachedServerMetric(self.fetch_kind)

    @abstractmethod
    def fetch_kind(self, store: Store) -> Kind:
        """Request the kind of the store's score from its server."""

    def local_kind(self, store: Store) -> Kind | None:  # noqa: ARG002
        """Return the kind where the store's own settings decide it, else None."""
        return None

    def waits(self, store: Store) -> bool:
        """Return True until the metric has been fetched."""
        return self.local_kind(store) is None and self._metrics.waits(store)

    def score_kind(self, store: Store) -> Kind:
        """Return the kind by the store's settings, else by its server's."""
        return self.local_kind(store) or self._metrics.kind(store)


def check_settings(adapter: AnyAdapter) -> None:
    """Check the attributes of an adapter.

    Raises:
        ConfigurationError: One of them is of another type.
    """
    for setting in ("ties_keep_order", "is_local"):
        switch = getattr(adapter, setting)
        if not isinstance(switch, bool):
            raise ConfigurationError(
                f"an adapter's {setting} must be True or False, got {type(switch).__name__}"
            )
    for setting in ("unsupported_kwargs", "search_arguments"):
        names = getattr(adapter, setting)
        if setting == "search_arguments" and names is None:
            continue
        if not isinstance(names, frozenset) or not all(isinstance(name, str) for name in names):
            raise ConfigurationError(
                f"an adapter's {setting} must be a frozenset of str, got {type(names).__name__}"
            )


def by_id(documents: Sequence[Document], vectors: Mapping[str, Vector | None]) -> Vectors:
    """Return the vector of each document by its id."""
    return [vectors.get(document.id or "") for document in documents]


def ids_of(documents: Sequence[Document]) -> list[str]:
    """Return the ids of those documents that have one."""
    return [document.id for document in documents if document.id is not None]
