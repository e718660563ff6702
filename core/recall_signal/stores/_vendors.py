"""Settings of vendors' indexes that the stores of both frameworks search.

Each function takes the vendor's own client, collection or index, which both frameworks hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

from recall_signal.scores import ScoreKind
from recall_signal.stores._kinds import Kind, unit_only
from recall_signal.stores._vectors import Vector

__all__ = [
    "FaissIndex",
    "MongoCollection",
    "PineconeIndex",
    "QdrantClient",
    "faiss_kind",
    "faiss_vectors",
    "mongodb_kind",
    "pinecone_kind",
    "qdrant_kind",
    "qdrant_vector",
]

_FAISS = {0: ScoreKind.INNER_PRODUCT, 1: ScoreKind.SQUARED_L2}
_FLAT = frozenset({"IndexFlat", "IndexFlatIP", "IndexFlatL2"})
_OTHER_NUMBERS = ("LSH", "Binary", "PreTransform")
"""FAISS's index types whose distance is not between the vectors themselves: bits, projections."""

_QDRANT = {
    "Cosine": ScoreKind.COSINE,
    "Dot": ScoreKind.INNER_PRODUCT,
    "Euclid": ScoreKind.L2,
}
_PINECONE = {
    "cosine": ScoreKind.COSINE,
    "dotproduct": ScoreKind.INNER_PRODUCT,
    "euclidean": ScoreKind.SQUARED_L2,
}
_MONGODB: dict[str, Kind] = {
    "cosine": ScoreKind.HALF_COSINE,
    "dotProduct": unit_only(ScoreKind.HALF_COSINE),  # (1 + inner product) / 2
}
"""Without `euclidean`: the vendor's page says `1 / (1 + distance)`, where the engine
underneath squares the distance."""


class FaissIndex(Protocol):
    """Index of FAISS."""

    @property
    def metric_type(self) -> int: ...

    @property
    def d(self) -> int: ...

    def reconstruct_batch(self, key: Sequence[int], /) -> Sequence[Vector]: ...


class QdrantClient(Protocol):
    """Client of Qdrant, whose answers are models of its own."""

    def get_collection(self, collection_name: str, /) -> Any: ...

    def retrieve(
        self,
        collection_name: str,
        /,
        *,
        ids: Sequence[object],
        with_payload: bool,
        with_vectors: bool | Sequence[str],
    ) -> Sequence[Any]: ...


class PineconeIndex(Protocol):
    """Index of Pinecone."""

    def describe_index_stats(self) -> object: ...


class MongoCollection(Protocol):
    """Collection of MongoDB."""

    def list_search_indexes(self, name: str, /) -> Iterable[Mapping[str, Any]]: ...

    def find(
        self, query: Mapping[str, object], fields: Mapping[str, int], /
    ) -> Iterable[Mapping[str, Any]]: ...


def faiss_kind(index: FaissIndex) -> ScoreKind:
    """Return the kind by an index's own metric."""
    if type(index).__name__ in _FLAT:  # has no index inside, which takes a while to find out
        return _FAISS.get(index.metric_type, ScoreKind.UNKNOWN)
    parts = [type(part).__name__ for part in _nested(index)]
    if any(word in part for word in _OTHER_NUMBERS for part in parts):
        return ScoreKind.UNKNOWN
    return _FAISS.get(index.metric_type, ScoreKind.UNKNOWN)


def faiss_vectors(index: FaissIndex, places: Sequence[int | None]) -> list[Vector | None]:
    """Return the vectors at these places, None where there is no place.

    One call for all takes a fourteenth of the time of a call for each of fifty.

    Raises:
        RuntimeError: The index does not return vectors.
    """
    known = [place for place in places if place is not None]
    found = iter(index.reconstruct_batch(known) if known else ())
    return [None if place is None else next(found) for place in places]


def _nested(index: object) -> Iterator[object]:
    """Yield an index and those inside of it, whose types FAISS hides."""
    yield index
    if hasattr(index, "index"):
        yield from _nested(import_module("faiss").downcast_index(index.index))


def qdrant_kind(client: QdrantClient, collection: str, vector_name: str) -> ScoreKind:
    """Return the kind by the distance that a collection of Qdrant has for life."""
    settings = client.get_collection(collection).config.params.vectors
    if isinstance(settings, dict):
        settings = settings.get(vector_name)
    if settings is None or settings.multivector_config is not None:
        return ScoreKind.UNKNOWN
    return _QDRANT.get(settings.distance.value, ScoreKind.UNKNOWN)


def qdrant_vector(vector: Vector | Mapping[str, Vector] | None, name: str) -> Vector | None:
    """Return the vector of this name, of a point that may hold several."""
    return vector.get(name) if isinstance(vector, Mapping) else vector


def pinecone_kind(index: PineconeIndex) -> ScoreKind:
    """Return the kind by the metric in an index's statistics, which older services leave out."""
    return _PINECONE.get(getattr(index.describe_index_stats(), "metric", ""), ScoreKind.UNKNOWN)


def mongodb_kind(collection: MongoCollection, index_name: str, path: str | None) -> Kind:
    """Return the kind by the similarity of the vector field that a search index holds."""
    for index in collection.list_search_indexes(index_name):
        for field in index["latestDefinition"].get("fields", ()):
            if field.get("type") == "vector" and field.get("path") == path:
                return _MONGODB.get(field.get("similarity", ""), ScoreKind.UNKNOWN)
    return ScoreKind.UNKNOWN
