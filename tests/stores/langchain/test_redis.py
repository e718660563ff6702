"""`RedisVectorStore` on a Redis with its search module."""

from typing import Any
from uuid import uuid4

import pytest
from langchain_core.embeddings import Embeddings
from langchain_redis import RedisConfig, RedisVectorStore

from tests.stores.cases import conformance
from tests.stores.langchain_world import LONG, MIXED, FlatMetadata, StoreConformance


class InRedis(FlatMetadata, StoreConformance):
    ties_keep_order = False  # equal hits come in another order each time, k or no k
    metric = "COSINE"

    @pytest.fixture(autouse=True)
    def _client(self, redis_url: str) -> None:
        self.url = redis_url

    def store(self, encoder: Embeddings) -> Any:
        config = RedisConfig(
            index_name=uuid4().hex,
            redis_url=self.url,
            distance_metric=self.metric,
            embedding_dimensions=self.dimension,
        )
        return RedisVectorStore(encoder, config)


OTHERS = {"norms": (LONG, MIXED[::-1]), "expected_reason": "norm_unknown"}
"""Nothing but the first query shows the length of the vectors."""

CASES: dict[str, dict[str, Any]] = {
    "Cosine": {},
    "L2": {"metric": "L2", "norms": (1.0,)},
    "L2OfOtherNorms": {"metric": "L2", **OTHERS},
    "InnerProduct": {"metric": "IP", "norms": (1.0,)},
    "InnerProductOfOtherNorms": {"metric": "IP", **OTHERS},
}
globals().update(conformance(InRedis, CASES))
