"""Which adapter reads which store of LlamaIndex."""

from __future__ import annotations

from typing import Any

from llama_index_recall_signal.stores.base import StoreAdapter
from recall_signal.stores import AdapterRegistry

__all__ = ["find_adapter", "register_adapter"]

_HERE = "llama_index_recall_signal.stores"
_THEIRS = "llama_index.vector_stores"
_registry = AdapterRegistry(
    StoreAdapter,
    searches=("query", "aquery"),
    known={
        "llama_index.core.vector_stores.simple.SimpleVectorStore": f"{_HERE}.simple:SimpleAdapter",
        f"{_THEIRS}.azureaisearch.base.AzureAISearchVectorStore": (
            f"{_HERE}.azure_search:AzureAISearchAdapter"
        ),
        f"{_THEIRS}.chroma.base.ChromaVectorStore": f"{_HERE}.chroma:ChromaAdapter",
        f"{_THEIRS}.duckdb.base.DuckDBVectorStore": f"{_HERE}.duckdb:DuckDBAdapter",
        f"{_THEIRS}.elasticsearch.base.ElasticsearchStore": (
            f"{_HERE}.elasticsearch:ElasticsearchAdapter"
        ),
        f"{_THEIRS}.faiss.base.FaissVectorStore": f"{_HERE}.faiss:FaissAdapter",
        f"{_THEIRS}.faiss.map_store.FaissMapVectorStore": f"{_HERE}.faiss:FaissAdapter",
        f"{_THEIRS}.lancedb.base.LanceDBVectorStore": f"{_HERE}.lancedb:LanceDBAdapter",
        f"{_THEIRS}.milvus.base.MilvusVectorStore": f"{_HERE}.milvus:MilvusAdapter",
        f"{_THEIRS}.mongodb.base.MongoDBAtlasVectorSearch": f"{_HERE}.mongodb:MongoDBAdapter",
        f"{_THEIRS}.opensearch.base.OpensearchVectorStore": f"{_HERE}.opensearch:OpenSearchAdapter",
        f"{_THEIRS}.pinecone.base.PineconeVectorStore": f"{_HERE}.pinecone:PineconeAdapter",
        f"{_THEIRS}.postgres.base.PGVectorStore": f"{_HERE}.postgres:PostgresAdapter",
        f"{_THEIRS}.qdrant.base.QdrantVectorStore": f"{_HERE}.qdrant:QdrantAdapter",
        f"{_THEIRS}.redis.base.RedisVectorStore": f"{_HERE}.redis:RedisAdapter",
        f"{_THEIRS}.weaviate.base.WeaviateVectorStore": f"{_HERE}.weaviate:WeaviateAdapter",
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
