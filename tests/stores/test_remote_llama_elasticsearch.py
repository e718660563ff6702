"""Elasticsearch under LlamaIndex, read and not run: every search is scaled from 0 to 1."""

import asyncio
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar
from unittest.mock import patch

import pytest
from elasticsearch.helpers.vectorstore import AsyncBM25Strategy, AsyncDenseVectorStrategy
from remote_rows import OTHERS, LlamaRemoteConformance, Rows
from test_remote_elasticsearch import AsyncTwinOf, FakeElasticsearch

with warnings.catch_warnings():  # its class is configured in a way that pydantic retires
    warnings.simplefilter("ignore")
    from llama_index.vector_stores.elasticsearch import ElasticsearchStore as LlamaElasticsearch


@pytest.fixture
def _no_patched_loops() -> Iterator[None]:
    """LlamaIndex's store patches asyncio for the whole process, and needs a loop at hand."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    with patch("nest_asyncio.apply"):
        yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.mark.usefixtures("_no_patched_loops")
class LlamaInElasticsearch(LlamaRemoteConformance):
    """1.0 for the best hit and 0.0 for the worst, in every search."""

    expected_reason = "score_not_convertible"
    norms = (1.0, *OTHERS)
    has_async = False  # it would run in another loop than the one above

    def strategy(self) -> Any:
        return AsyncDenseVectorStrategy()

    def serve(self, rows: Rows) -> Any:
        client: Any = AsyncTwinOf(FakeElasticsearch(rows))
        return LlamaElasticsearch("index", es_client=client, retrieval_strategy=self.strategy())


class TestLlamaVectors(LlamaInElasticsearch):
    pass


class TestLlamaWords(LlamaInElasticsearch):
    mode = "text_search"

    def strategy(self) -> Any:
        return AsyncBM25Strategy()


class TestLlamaHybrid(LlamaInElasticsearch):
    mode = "hybrid"
    norms: ClassVar[Any] = (1.0,)

    def strategy(self) -> Any:
        return AsyncDenseVectorStrategy(hybrid=True)
