"""The adapters of LlamaIndex's stores."""

from llama_index_recall_signal.stores._base import AnyAdapter, StoreAdapter
from recall_signal.stores import AdapterRegistry

_HERE = "llama_index_recall_signal.stores"
_THEIRS = "llama_index.vector_stores"
_KNOWN = {
    "llama_index.core.vector_stores.simple.SimpleVectorStore": "_simple:SimpleAdapter",
    f"{_THEIRS}.azureaisearch.base.AzureAISearchVectorStore": "_azure_search:AzureAISearchAdapter",
    f"{_THEIRS}.chroma.base.ChromaVectorStore": "_chroma:ChromaAdapter",
    f"{_THEIRS}.duckdb.base.DuckDBVectorStore": "_duckdb:DuckDBAdapter",
    f"{_THEIRS}.elasticsearch.base.ElasticsearchStore": "_elasticsearch:ElasticsearchAdapter",
    f"{_THEIRS}.faiss.base.FaissVectorStore": "_faiss:FaissAdapter",
    f"{_THEIRS}.faiss.map_store.FaissMapVectorStore": "_faiss:FaissAdapter",
    f"{_THEIRS}.lancedb.base.LanceDBVectorStore": "_lancedb:LanceDBAdapter",
    f"{_THEIRS}.milvus.base.MilvusVectorStore": "_milvus:MilvusAdapter",
    f"{_THEIRS}.mongodb.base.MongoDBAtlasVectorSearch": "_mongodb:MongoDBAdapter",
    f"{_THEIRS}.opensearch.base.OpensearchVectorStore": "_opensearch:OpenSearchAdapter",
    f"{_THEIRS}.pinecone.base.PineconeVectorStore": "_pinecone:PineconeAdapter",
    f"{_THEIRS}.postgres.base.PGVectorStore": "_postgres:PostgresAdapter",
    f"{_THEIRS}.qdrant.base.QdrantVectorStore": "_qdrant:QdrantAdapter",
    f"{_THEIRS}.redis.base.RedisVectorStore": "_redis:RedisAdapter",
    f"{_THEIRS}.weaviate.base.WeaviateVectorStore": "_weaviate:WeaviateAdapter",
}
"""Store class -> adapter in this package; neither is imported before its store turns up."""

_registry: AdapterRegistry[AnyAdapter] = AdapterRegistry(
    StoreAdapter,
    searches=("query", "aquery"),
    known={store: f"{_HERE}.{adapter}" for store, adapter in _KNOWN.items()},
)


def register_adapter(store_class: str, adapter: str | AnyAdapter) -> None:
    """Register the adapter of a store class.

    Args:
        store_class: The store's class as `package.module.Class`.
        adapter: An adapter, or the place of its class as `package.module:Class`.

    Raises:
        ConfigurationError: One of the two has another form.
    """
    _registry.register(store_class, adapter)


def find_adapter(store: object) -> AnyAdapter | None:
    """Return the adapter of a store; None for an unknown one, or one that overrides a search."""
    return _registry.find(store)


def is_altered(store: object) -> bool:
    """Return whether the class of a known store may filter inside of the query it inherits."""
    return _registry.is_altered(store)


def search_methods(store: object) -> frozenset[str]:
    """Return the searches of a store, and the methods of its class that they may call."""
    return _registry.search_methods(store)
