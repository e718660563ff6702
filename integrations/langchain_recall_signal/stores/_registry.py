"""The adapters of LangChain's stores."""

from langchain_recall_signal.stores._base import AnyAdapter, StoreAdapter, check_settings
from recall_signal.stores import AdapterRegistry

_HERE = "langchain_recall_signal.stores"
_CORE, _COMMUNITY = "langchain_core.vectorstores", "langchain_community.vectorstores"
_ELASTIC, _POSTGRES = "langchain_elasticsearch.vectorstores", "langchain_postgres"
_KNOWN = {
    f"{_CORE}.in_memory.InMemoryVectorStore": "_in_memory:InMemoryAdapter",
    f"{_COMMUNITY}.azuresearch.AzureSearch": "_azure_search:AzureSearchAdapter",
    f"{_COMMUNITY}.duckdb.DuckDB": "_duckdb:DuckDBAdapter",
    f"{_COMMUNITY}.faiss.FAISS": "_faiss:FaissAdapter",
    f"{_COMMUNITY}.lancedb.LanceDB": "_lancedb:CommunityLanceDBAdapter",
    f"{_COMMUNITY}.opensearch_vector_search.OpenSearchVectorSearch": (
        "_opensearch:OpenSearchAdapter"
    ),
    f"{_COMMUNITY}.sqlitevec.SQLiteVec": "_sqlitevec:SQLiteVecAdapter",
    "langchain_astradb.vectorstores.AstraDBVectorStore": "_astra:AstraDBAdapter",
    "langchain_azure_ai.vectorstores.azuresearch.AzureSearch": "_azure_search:AzureSearchAdapter",
    "langchain_chroma.vectorstores.Chroma": "_chroma:ChromaAdapter",
    f"{_ELASTIC}.AsyncElasticsearchStore": "_elasticsearch:AsyncElasticsearchAdapter",
    f"{_ELASTIC}.ElasticsearchStore": "_elasticsearch:ElasticsearchAdapter",
    "langchain_lancedb.vectorstores.LanceDB": "_lancedb:LanceDBAdapter",
    "langchain_milvus.vectorstores.milvus.Milvus": "_milvus:MilvusAdapter",
    "langchain_mongodb.vectorstores.MongoDBAtlasVectorSearch": "_mongodb:MongoDBAdapter",
    "langchain_pinecone.vectorstores.PineconeVectorStore": "_pinecone:PineconeAdapter",
    f"{_POSTGRES}.v2.async_vectorstore.AsyncPGVectorStore": "_pgvector:AsyncPGVectorStoreAdapter",
    f"{_POSTGRES}.v2.vectorstores.PGVectorStore": "_pgvector:PGVectorStoreAdapter",
    f"{_POSTGRES}.vectorstores.PGVector": "_pgvector:PGVectorAdapter",
    "langchain_qdrant.qdrant.QdrantVectorStore": "_qdrant:QdrantAdapter",
    "langchain_redis.vectorstores.RedisVectorStore": "_redis:RedisAdapter",
    "langchain_weaviate.vectorstores.WeaviateVectorStore": "_weaviate:WeaviateAdapter",
}
"""Store class -> adapter in this package; neither is imported before its store turns up."""

_registry: AdapterRegistry[AnyAdapter] = AdapterRegistry(
    StoreAdapter,
    searches=(
        "similarity_search",
        "asimilarity_search",
        "similarity_search_with_score",
        "asimilarity_search_with_score",
        "similarity_search_with_score_by_vector",  # called by the searches of FAISS and others
        "asimilarity_search_with_score_by_vector",
    ),
    known={store: f"{_HERE}.{adapter}" for store, adapter in _KNOWN.items()},
    check=check_settings,
    pure={"_select_relevance_score_fn"},
)


def register_adapter(store_class: str, adapter: str | AnyAdapter) -> None:
    """Register the adapter of a store class.

    Args:
        store_class: The store's class as `package.module.Class`.
        adapter: An adapter, or the place of its class as `package.module:Class`.

    Raises:
        ConfigurationError: One of the two has another form, or the adapter wrong settings.
    """
    _registry.register(store_class, adapter)


def find_adapter(store: object) -> AnyAdapter | None:
    """Return the adapter of a store; None for an unknown one, or one that overrides a search."""
    return _registry.find(store)


def is_altered(store: object) -> bool:
    """Return whether the class of a known store may filter inside of the search it inherits."""
    return _registry.is_altered(store)


def search_methods(store: object) -> frozenset[str]:
    """Return the searches of a store, and the methods of its class that they may call."""
    return _registry.search_methods(store)
