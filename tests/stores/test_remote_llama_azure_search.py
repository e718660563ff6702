"""Azure AI Search under LlamaIndex, read and not run: who tells the metric, and in which mode."""

import warnings
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_store_cases import Embedding
from remote_rows import OTHERS, LlamaRemoteConformance, Rows, Shape, filled
from test_remote_azure_search import FakeAsyncSearch, FakeSearch

from llama_index_recall_signal import RecallRetriever
from llama_index_recall_signal.stores import find_adapter
from recall_signal import ScoreKind

with warnings.catch_warnings():  # their sources hold escapes that Python retires
    warnings.simplefilter("ignore")
    from azure.search.documents import SearchClient
    from azure.search.documents.aio import SearchClient as AsyncSearchClient
    from azure.search.documents.indexes import SearchIndexClient
    from llama_index.vector_stores.azureaisearch import AzureAISearchVectorStore


class FakeClient(SearchClient):
    """A search client that was never connected; LlamaIndex looks at its class."""

    def __init__(self, fake: FakeSearch) -> None:
        self.search = fake.search  # type: ignore[method-assign,assignment]
        self._client: Any = fake._client

    def close(self) -> None:
        """Nothing to close."""


class FakeAsyncClient(AsyncSearchClient):
    def __init__(self, fake: FakeSearch) -> None:
        self.search = FakeAsyncSearch(fake).search  # type: ignore[method-assign,assignment]
        self._client: Any = fake._client

    async def close(self) -> None:
        """Nothing to close."""


class FakeIndexClient(SearchIndexClient):
    """Tells the index's definition as well."""

    def __init__(self, fake: FakeSearch, metric: str | None = None) -> None:
        self._fake, self._client = fake, fake._client  # type: ignore[assignment]
        self.metric, self.told = metric or fake.metric, 0

    def get_search_client(self, index_name: str, **rest: Any) -> Any:
        return FakeClient(self._fake)

    def get_index(self, name: str, **rest: Any) -> Any:
        self.told += 1
        field = Shape(name="embedding", vector_search_profile_name="profile")
        algorithm = Shape(name="hnsw", parameters=Shape(metric=self.metric))
        profile = Shape(name="profile", algorithm_configuration_name="hnsw")
        search = Shape(algorithms=[algorithm], profiles=[profile])
        return Shape(fields=[Shape(name="id"), field], vector_search=search)

    def close(self) -> None:
        """Nothing to close."""


def llama_store(client: Any, fake: FakeSearch, **settings: Any) -> AzureAISearchVectorStore:
    return AzureAISearchVectorStore(
        search_or_index_client=client,
        async_search_or_index_client=None,
        id_field_key="id",
        chunk_field_key="chunk",
        embedding_field_key="embedding",
        metadata_string_field_key="metadata",
        doc_id_field_key="doc_id",
        **settings,
    )


class LlamaInAzure(LlamaRemoteConformance):
    norms = (1.0, *OTHERS)
    metric = "cosine"
    tells = True

    def serve(self, rows: Rows) -> Any:
        fake = FakeSearch(rows, self.metric)
        client = FakeIndexClient(fake) if self.tells else FakeClient(fake)
        named = {"index_name": "index"} if self.tells else {}
        store = llama_store(client, fake, **named)
        store._async_search_client = FakeAsyncClient(fake)
        return store


class TestLlamaVectorSearch(LlamaInAzure):
    pass


class TestLlamaDotProduct(LlamaInAzure):
    metric = "dotProduct"
    source = "vectors"


class TestLlamaMetricNotTold(LlamaInAzure):
    """A client for searches alone may not ask for it."""

    tells = False
    source = "vectors"


class TestLlamaHybrid(LlamaInAzure):
    mode = "hybrid"
    source = "vectors"

    def test_the_top_hit_has_the_highest_cosine(self) -> None:
        """Not where words have a say."""


class TestLlamaSemantic(TestLlamaHybrid):
    mode = "semantic_hybrid"


def test_llama_keyword_scores_decide_as_such() -> None:
    texts = [f"text {number}" for number in range(20)]
    fake = FakeSearch(filled(texts, [[1.0] * 16] * 20))
    store = llama_store(FakeClient(fake), fake)
    index = VectorStoreIndex.from_vector_store(store, embed_model=Embedding())
    bare = index.as_retriever(similarity_top_k=5, vector_store_query_mode="sparse")
    response = RecallRetriever(bare).recall("text 7")
    assert response.confidence.basis == "separation"
    assert response.confidence.top_score == 9.0


def test_llama_asks_for_the_metric_once() -> None:
    fake = FakeSearch(filled(["a"], [[1.0] * 16]))
    client = FakeIndexClient(fake)
    store = llama_store(client, fake, index_name="index")
    index = VectorStoreIndex.from_vector_store(store, embed_model=Embedding())
    wrapped = RecallRetriever(index.as_retriever())
    for _ in range(3):
        wrapped.recall("q")
    assert client.told == 1
    adapter: Any = find_adapter(store)
    assert adapter.score_kind(store, "default") is ScoreKind.AZURE
    assert adapter.score_kind(store, "mmr") is ScoreKind.UNKNOWN


def test_llama_without_a_synchronous_client_reads_no_vectors() -> None:
    fake = FakeSearch(filled(["a"], [[1.0] * 16]))
    store = llama_store(FakeAsyncClient(fake), fake)
    adapter: Any = find_adapter(store)
    assert adapter.vectors(store, Shape(nodes=[])) is None
