"""Redis with its search module: 1 minus what each metric gives."""

from typing import Any, ClassVar

import pytest
from llama_index.vector_stores.redis import RedisVectorStore
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redisvl.schema import IndexSchema

from llama_index_recall_signal.stores import Hits, find_adapter
from recall_signal import ScoreKind
from tests.stores.cases import conformance
from tests.stores.llama_store_cases import (
    DIMENSION,
    OTHER_NORMS,
    QUERY,
    StoreConformance,
    index_with_cosines,
)


@pytest.fixture(scope="module", autouse=True)
def server(redis_url: str) -> None:
    Server.url = redis_url


class Server:
    """Where the server is; it lives as long as the session.

    No store is made with `overwrite=True`: its first asynchronous call would empty it.
    """

    url = ""

    @classmethod
    def store(cls, name: str, metric: str = "cosine") -> RedisVectorStore:
        fields: list[dict[str, Any]] = [
            {"name": "id", "type": "tag"},
            {"name": "doc_id", "type": "tag"},
            {"name": "text", "type": "text"},
            {
                "name": "vector",
                "type": "vector",
                "attrs": {"dims": DIMENSION, "algorithm": "flat", "distance_metric": metric},
            },
        ]
        index = {"name": name, "prefix": name}
        return RedisVectorStore(
            schema=IndexSchema.from_dict({"index": index, "fields": fields}),
            redis_client=Redis.from_url(cls.url),
            redis_client_async=AsyncRedis.from_url(cls.url),
        )


class RedisConformance(StoreConformance):
    norms = (1.0, *OTHER_NORMS)
    ties_keep_order = False  # nor does it from one search to the next
    metric: ClassVar[str] = "cosine"

    async def ask_async(self, retriever: Any, query: str) -> Any:
        """Nothing is kept open: each asynchronous case has an event loop of its own."""
        try:
            return await super().ask_async(retriever, query)
        finally:
            await retriever.retriever._vector_store.client.aclose()

    def store(self, number: int) -> Any:
        return Server.store(f"{type(self).__name__}{number}", self.metric)


METRICS = {"RedisCosine": "cosine", "RedisL2": "l2", "RedisInnerProduct": "ip"}
CASES = {name: {"metric": metric} for name, metric in METRICS.items()}
globals().update(conformance(RedisConformance, CASES))


def test_the_private_index_that_is_read_is_still_there() -> None:
    store = Server.store("private")
    hits = index_with_cosines(store, [0.9, 0.4]).as_retriever().retrieve(QUERY)
    adapter: Any = find_adapter(store)
    vectors = adapter.vectors(store, Hits(hits, "hybrid"))
    assert [vector[0] for vector in vectors] == pytest.approx([0.9, 0.4]), (
        "RedisVectorStore keeps its index elsewhere: change vectors in stores/redis.py"
    )
    store.delete_nodes([hits[0].node_id])
    first, second = adapter.vectors(store, Hits(hits, "hybrid"))
    assert first is None
    assert second is not None
    assert adapter.vectors(store, Hits([], "hybrid")) is None


def test_an_asynchronous_client_alone_gives_no_vectors() -> None:
    store = Server.store("async_only")
    hits = index_with_cosines(store, [0.9]).as_retriever().retrieve(QUERY)
    alone = RedisVectorStore(
        schema=store.schema, redis_client_async=AsyncRedis.from_url(Server.url)
    )
    adapter: Any = find_adapter(alone)
    assert adapter.score_kind(alone, "default") is ScoreKind.COSINE
    assert adapter.vectors(alone, Hits(hits, "default")) is None
