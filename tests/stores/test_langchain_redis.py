"""``RedisVectorStore`` on a Redis with its search module."""

from typing import Any
from uuid import uuid4

import pytest
from langchain_core.embeddings import Embeddings
from langchain_redis import RedisConfig, RedisVectorStore
from langchain_world import LONG, MIXED, FlatMetadata, StoreConformance


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


class TestCosine(InRedis):
    pass


class TestL2(InRedis):
    norms = (1.0,)
    metric = "L2"


class TestL2OfOtherNorms(InRedis):
    norms = (LONG, MIXED[::-1])  # nothing but the first query tells
    metric = "L2"
    expected_reason = "norm_unknown"


class TestInnerProduct(TestL2):
    metric = "IP"


class TestInnerProductOfOtherNorms(TestL2OfOtherNorms):
    metric = "IP"
