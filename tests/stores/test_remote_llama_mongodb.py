"""MongoDB Atlas under LlamaIndex, read and not run: three similarities, words and both."""

from typing import Any, ClassVar
from unittest.mock import patch

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.vector_stores.mongodb import MongoDBAtlasVectorSearch as LlamaMongo
from llama_store_cases import Embedding
from remote_rows import OTHERS, LlamaRemoteConformance, Rows, filled
from test_remote_mongodb import FakeCollection

from llama_index_recall_signal import RecallRetriever
from llama_index_recall_signal.stores import find_adapter
from recall_signal import ScoreKind


class AsyncCollection:
    """The few calls that LlamaIndex makes of the driver's asynchronous class."""

    def __init__(self, collection: FakeCollection) -> None:
        self._collection = collection

    async def aggregate(self, pipeline: list[dict[str, Any]]) -> Any:
        return AsyncCursor(self._collection.aggregate(pipeline))


class AsyncCursor:
    def __init__(self, documents: list[dict[str, Any]]) -> None:
        self._documents = iter(documents)

    def __aiter__(self) -> "AsyncCursor":
        return self

    async def __anext__(self) -> dict[str, Any]:
        try:
            return next(self._documents)
        except StopIteration:
            raise StopAsyncIteration from None


class FakeDatabase(dict[str, Any]):
    def list_collection_names(self) -> list[str]:
        return list(self)


class LlamaInMongoDB(LlamaRemoteConformance):
    norms = (1.0, *OTHERS)
    similarity = "cosine"

    def serve(self, rows: Rows) -> Any:
        return llama_store(FakeCollection(rows, self.similarity))


def llama_store(collection: FakeCollection) -> LlamaMongo:
    name = "default_collection"
    client: Any = {"default_db": FakeDatabase({name: collection})}
    aclient: Any = {"default_db": {name: AsyncCollection(collection)}}
    return LlamaMongo(mongodb_client=client, async_mongodb_client=aclient)


class TestLlamaCosine(LlamaInMongoDB):
    pass


class TestLlamaDotProduct(LlamaInMongoDB):
    similarity = "dotProduct"
    norms: ClassVar[Any] = (1.0,)


class TestLlamaDotProductOfOtherNorms(TestLlamaDotProduct):
    norms: ClassVar[Any] = OTHERS
    source = "vectors"


class TestLlamaEuclidean(LlamaInMongoDB):
    similarity = "euclidean"
    source = "vectors"


class TestLlamaHybrid(LlamaInMongoDB):
    mode = "hybrid"
    source = "vectors"

    def test_the_top_hit_has_the_highest_cosine(self) -> None:
        """Not where words have a say."""


def test_llama_keyword_scores_decide_as_such() -> None:
    texts = [f"text {number}" for number in range(20)]
    store = llama_store(FakeCollection(filled(texts, [[1.0] * 16] * 20)))
    index = VectorStoreIndex.from_vector_store(store, embed_model=Embedding())
    bare = index.as_retriever(similarity_top_k=5, vector_store_query_mode="text_search")
    response = RecallRetriever(bare).recall("text 7")
    assert response.confidence.basis == "separation"
    assert response.confidence.top_score == 9.0


def test_llama_no_index_of_that_name_reads_the_vectors() -> None:
    collection = FakeCollection(filled(["a"], [[0.6, 0.8, *[0.0] * 14]]))
    store = llama_store(collection)
    index = VectorStoreIndex.from_vector_store(
        store, embed_model=Embedding({"q": [2.0, *[0.0] * 15]})
    )
    with patch.object(collection, "list_search_indexes", lambda name: []):
        response = RecallRetriever(index.as_retriever()).recall("q")
    assert response.pool.cosines == pytest.approx([0.6])


def test_llama_an_index_of_another_field_does_not_tell() -> None:
    store = llama_store(FakeCollection(Rows(), path="another"))
    adapter: Any = find_adapter(store)
    assert adapter.score_kind(store, "default") is ScoreKind.UNKNOWN
    assert adapter.score_kind(store, "mmr") is ScoreKind.UNKNOWN
