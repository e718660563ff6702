"""`MilvusVectorStore`: the metric of the dense index decides.

In the default mode the score is the cosine, the inner product, or the squared L2 distance,
where a lower one is better although it is called a similarity. The other modes score by words,
by a ranker or by MMR: there the stored vectors decide.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from llama_index_recall_signal.stores._base import Hits, ServerMetricAdapter, Vectors
from recall_signal import ScoreKind

_KINDS = {"COSINE": ScoreKind.COSINE, "IP": ScoreKind.INNER_PRODUCT, "L2": ScoreKind.SQUARED_L2}


class _Client(Protocol):
    def list_indexes(self, collection_name: str, /, *, field_name: str) -> Iterable[str]: ...

    def describe_index(self, collection_name: str, index_name: str, /) -> Mapping[str, str]: ...

    def get(
        self, collection_name: str, /, *, ids: Sequence[str], output_fields: Sequence[str]
    ) -> Iterable[Mapping[str, Any]]: ...


class _Store(Protocol):
    """The part of the store that is read."""

    client: _Client
    collection_name: str
    embedding_field: str


class MilvusAdapter(ServerMetricAdapter[_Store]):
    """Reads `MilvusVectorStore`, through its synchronous client."""

    def fetch_kind(self, store: _Store) -> ScoreKind:
        """Return the kind by the metric of the index, which may differ from the store's."""
        client, collection = store.client, store.collection_name
        names = client.list_indexes(collection, field_name=store.embedding_field)
        metrics = {client.describe_index(collection, name)["metric_type"] for name in names}
        metric = metrics.pop() if len(metrics) == 1 else ""
        return _KINDS.get(metric, ScoreKind.UNKNOWN)

    def vectors(self, store: _Store, hits: Hits) -> Vectors | None:
        """Read the stored dense vectors by the nodes' ids, which are the primary keys."""
        ids, field = hits.node_ids, store.embedding_field
        if not ids:
            return None
        rows = store.client.get(store.collection_name, ids=ids, output_fields=[field])
        known = {row["id"]: row.get(field) for row in rows}
        return [known.get(id_) for id_ in ids]
