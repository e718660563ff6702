"""Which adapter reads which store of LangChain."""

from __future__ import annotations

from typing import Any

from langchain_recall_signal.stores.base import StoreAdapter
from recall_signal.stores import AdapterRegistry

__all__ = ["find_adapter", "register_adapter"]

_HERE = "langchain_recall_signal.stores"
_CORE, _COMMUNITY = "langchain_core.vectorstores", "langchain_community.vectorstores"
_POSTGRES = "langchain_postgres"
_registry = AdapterRegistry(
    StoreAdapter,
    searches=(
        "similarity_search",
        "asimilarity_search",
        "similarity_search_with_score",
        "asimilarity_search_with_score",
        "similarity_search_with_score_by_vector",  # what FAISS's and others' searches end in
        "asimilarity_search_with_score_by_vector",
    ),
    known={
        f"{_CORE}.in_memory.InMemoryVectorStore": f"{_HERE}.in_memory:InMemoryAdapter",
        f"{_COMMUNITY}.azuresearch.AzureSearch": f"{_HERE}.azure_search:AzureSearchAdapter",
        f"{_COMMUNITY}.duckdb.DuckDB": f"{_HERE}.duckdb:DuckDBAdapter",
        f"{_COMMUNITY}.faiss.FAISS": f"{_HERE}.faiss:FaissAdapter",
        f"{_COMMUNITY}.lancedb.LanceDB": f"{_HERE}.lancedb:CommunityLanceDBAdapter",
        f"{_COMMUNITY}.opensearch_vector_search.OpenSearchVectorSearch": (
            f"{_HERE}.opensearch:OpenSearchAdapter"
        ),
        f"{_COMMUNITY}.sqlitevec.SQLiteVec": f"{_HERE}.sqlitevec:SQLiteVecAdapter",
        "langchain_astradb.vectorstores.AstraDBVectorStore": f"{_HERE}.astra:AstraDBAdapter",
        "langchain_azure_ai.vectorstores.azuresearch.AzureSearch": (
            f"{_HERE}.azure_search:AzureSearchAdapter"
        ),
        "langchain_chroma.vectorstores.Chroma": f"{_HERE}.chroma:ChromaAdapter",
        "langchain_elasticsearch.vectorstores.AsyncElasticsearchStore": (
            f"{_HERE}.elasticsearch:AsyncElasticsearchAdapter"
        ),
        "langchain_elasticsearch.vectorstores.ElasticsearchStore": (
            f"{_HERE}.elasticsearch:ElasticsearchAdapter"
        ),
        "langchain_lancedb.vectorstores.LanceDB": f"{_HERE}.lancedb:LanceDBAdapter",
        "langchain_milvus.vectorstores.milvus.Milvus": f"{_HERE}.milvus:MilvusAdapter",
        "langchain_mongodb.vectorstores.MongoDBAtlasVectorSearch": (
            f"{_HERE}.mongodb:MongoDBAdapter"
        ),
        "langchain_pinecone.vectorstores.PineconeVectorStore": f"{_HERE}.pinecone:PineconeAdapter",
        f"{_POSTGRES}.v2.async_vectorstore.AsyncPGVectorStore": (
            f"{_HERE}.pgvector:AsyncPGVectorStoreAdapter"
        ),
        f"{_POSTGRES}.v2.vectorstores.PGVectorStore": f"{_HERE}.pgvector:PGVectorStoreAdapter",
        f"{_POSTGRES}.vectorstores.PGVector": f"{_HERE}.pgvector:PGVectorAdapter",
        "langchain_qdrant.qdrant.QdrantVectorStore": f"{_HERE}.qdrant:QdrantAdapter",
        "langchain_redis.vectorstores.RedisVectorStore": f"{_HERE}.redis:RedisAdapter",
        "langchain_weaviate.vectorstores.WeaviateVectorStore": f"{_HERE}.weaviate:WeaviateAdapter",
    },
)


def register_adapter(store_class: str, adapter: str | StoreAdapter) -> None:
    """Teach the wrapper a store of yours.

    Args:
        store_class: The store's class as ``package.module.Class``.
        adapter: An adapter, or where to find its class, as ``package.module:Class``.

    Raises:
        ConfigurationError: One of the two has another form.
    """
    _registry.register(store_class, adapter)


def find_adapter(store: Any) -> StoreAdapter | None:
    """The adapter of a store; None for one that is not known, or has a search of its own."""
    return _registry.find(store)
