"""Stores of services that do not run here, over answers as their services document them.

Each function returns the framework's real class around a client that answers every search with
the same hits. Nothing is searched: what is tested is how a documented answer is read.
"""

import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, patch
from uuid import UUID

import weaviate as weaviate_client
from langchain_astradb import AstraDBVectorStore
from langchain_astradb.utils.astradb import SetupMode
from langchain_community.vectorstores import OpenSearchVectorSearch, azuresearch
from langchain_community.vectorstores import opensearch_vector_search as opensearch_module
from langchain_elasticsearch import ElasticsearchStore
from langchain_mongodb import MongoDBAtlasVectorSearch
from langchain_pinecone import PineconeVectorStore
from langchain_weaviate import WeaviateVectorStore
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.utils import node_to_metadata_dict
from llama_index.vector_stores.mongodb import MongoDBAtlasVectorSearch as LlamaMongo
from llama_index.vector_stores.opensearch import OpensearchVectorClient, OpensearchVectorStore
from llama_index.vector_stores.pinecone import PineconeVectorStore as LlamaPinecone
from llama_index.vector_stores.weaviate import WeaviateVectorStore as LlamaWeaviate

from recall_signal.testing import vectors_with_cosines
from tests.stores.langchain_world import Encoder
from tests.stores.llama_store_cases import QUERY, QUERY_VECTOR, node_id

with warnings.catch_warnings():  # their sources hold escapes and settings that are deprecated
    warnings.simplefilter("ignore")
    from azure.search.documents import SearchClient
    from azure.search.documents.indexes import SearchIndexClient
    from llama_index.vector_stores.azureaisearch import AzureAISearchVectorStore
    from llama_index.vector_stores.elasticsearch import ElasticsearchStore as LlamaElasticsearch


class Shape(SimpleNamespace):
    """A response that clients read by attribute and by key."""

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        return getattr(self, name, default)


@dataclass(frozen=True)
class Hit:
    """One document of an answer."""

    id: str
    text: str
    score: float
    vector: list[float]

    @property
    def node(self) -> dict[str, Any]:
        """Its metadata as LlamaIndex stores it, with the whole node inside."""
        node = TextNode(id_=self.id, text=self.text, metadata={"rank": 0})
        return node_to_metadata_dict(node, remove_text=False, flat_metadata=False)


def hits_with(scores: Sequence[float], cosines: Sequence[float], norm: float = 1.0) -> list[Hit]:
    """An answer with these scores, whose vectors have these cosines with the query's."""
    vectors = vectors_with_cosines(QUERY_VECTOR, cosines, norm=norm)
    return [
        Hit(node_id(n), f"text {n}", score, vector.tolist())
        for n, (score, vector) in enumerate(zip(scores, vectors, strict=True))
    ]


def encoder() -> Encoder:
    return Encoder({QUERY: QUERY_VECTOR})


def of(hits: Sequence[Hit], ids: Sequence[Any]) -> list[Hit]:
    return [hit for hit in hits if hit.id in {str(id_) for id_ in ids}]


def _pinecone_index(hits: Sequence[Hit], metric: str) -> Any:
    def match(hit: Hit, *, with_values: bool = True) -> Shape:
        values = hit.vector if with_values else []
        return Shape(
            id=hit.id, score=hit.score, values=values, metadata={"text": hit.text, **hit.node}
        )

    return Shape(
        config=Shape(host="index.example", api_key="none"),
        describe_index_stats=lambda: Shape(dimension=16, **({"metric": metric} if metric else {})),
        query=lambda top_k, include_values=False, **_: Shape(
            matches=[match(hit, with_values=include_values) for hit in hits[:top_k]]
        ),
        fetch=lambda ids, namespace: Shape(vectors={hit.id: match(hit) for hit in of(hits, ids)}),
    )


def pinecone(hits: Sequence[Hit], metric: str = "cosine", **settings: Any) -> Any:
    return PineconeVectorStore(_pinecone_index(hits, metric), encoder(), **settings)


def llama_pinecone(hits: Sequence[Hit], metric: str = "cosine") -> Any:
    return LlamaPinecone(pinecone_index=_pinecone_index(hits, metric))


class _WeaviateClient(weaviate_client.WeaviateClient):
    """A client that was never connected; LlamaIndex looks at its class."""

    def __init__(self, hits: Sequence[Hit], tenants: bool) -> None:
        def answer(found: Sequence[Hit], with_vector: bool) -> Shape:
            return Shape(
                objects=[
                    Shape(
                        uuid=UUID(hit.id),
                        properties={"text": hit.text, **hit.node},
                        metadata=Shape(score=hit.score, distance=None, certainty=None),
                        vector={"default": hit.vector} if with_vector else {},
                    )
                    for hit in found
                ]
            )

        query = Shape(
            hybrid=lambda limit, include_vector=False, **_: answer(hits[:limit], include_vector),
            fetch_objects_by_ids=lambda ids, **_: answer(of(hits, ids), True),
        )
        enabled = Shape(multi_tenancy_config=Shape(enabled=tenants), properties=[])
        collection = Shape(query=query, config=Shape(get=lambda simple=False: enabled))
        self.collections: Any = Shape(exists=lambda name: True, get=lambda name: collection)
        self.integrations: Any = None

    def close(self) -> None:
        """Nothing to close."""


def weaviate(hits: Sequence[Hit], tenants: bool = False) -> Any:
    return WeaviateVectorStore(_WeaviateClient(hits, tenants), "Index", "text", encoder())


def llama_weaviate(hits: Sequence[Hit]) -> Any:
    return LlamaWeaviate(weaviate_client=_WeaviateClient(hits, False), index_name="Index")


def _elastic_answer(hits: Sequence[Hit]) -> dict[str, Any]:
    found = [
        {
            "_id": hit.id,
            "_score": hit.score,
            "_source": {"text": hit.text, "content": hit.text, "metadata": hit.node},
        }
        for hit in hits
    ]
    return {"hits": {"total": {"value": len(found)}, "hits": found}}


def elasticsearch(
    hits: Sequence[Hit], mapping: dict[str, Any] | None = None, **settings: Any
) -> Any:
    """Args: mapping: Of the index's fields; by default the vector field of a cosine index."""
    fields = mapping or {"vector": {"type": "dense_vector", "similarity": "cosine"}}
    indices = {"index": {"mappings": {"properties": fields}}}
    client: Any = Shape(
        indices=Shape(get_mapping=lambda index: indices),
        search=lambda size, **_: _elastic_answer(hits[:size]),
    )
    client.options = lambda **_: client
    return ElasticsearchStore("index", client=client, embedding=encoder(), **settings)


def llama_elasticsearch(hits: Sequence[Hit], strategy: Any) -> Any:
    client: Any = Shape(search=AsyncMock(return_value=_elastic_answer(hits)), close=AsyncMock())
    client.options = lambda **_: client
    return LlamaElasticsearch("index", es_client=client, retrieval_strategy=strategy)


def _opensearch_client(hits: Sequence[Hit], field: str, properties: dict[str, Any]) -> Any:
    def source(hit: Hit) -> dict[str, Any]:
        texts = {"text": hit.text, "content": hit.text, "metadata": hit.node}
        return {**texts, field: hit.vector}

    def mget(index: str, body: dict[str, Any], params: dict[str, str]) -> dict[str, Any]:
        names = params["_source_includes"].split(",")
        docs: list[dict[str, Any]] = [{"_id": id_, "found": False} for id_ in body["ids"]]
        docs += [
            {"_id": hit.id, "_source": {name: source(hit)[name] for name in names}}
            for hit in of(hits, body["ids"])
        ]
        return {"docs": docs}

    found = [{"_id": hit.id, "_score": hit.score, "_source": source(hit)} for hit in hits]
    mapping = {"index": {"mappings": {"properties": properties}}}
    return Shape(
        info=lambda: {"version": {"number": "2.19.1"}},
        indices=Shape(get=lambda index: {index: {}}, get_mapping=lambda index: mapping),
        search=lambda **_: {"hits": {"hits": found}},
        mget=mget,
        close=lambda: None,
    )


def opensearch(hits: Sequence[Hit], **settings: Any) -> Any:
    client = _opensearch_client(hits, "vector_field", {})
    with (
        patch.object(opensearch_module, "_get_opensearch_client", lambda *_, **__: client),
        patch.object(opensearch_module, "_get_async_opensearch_client"),
    ):
        return OpenSearchVectorSearch("https://node.example", "index", encoder(), **settings)


def llama_opensearch(hits: Sequence[Hit], field: dict[str, Any], **settings: Any) -> Any:
    client = _opensearch_client(hits, "embedding", {"embedding": field})
    twin: Any = Shape(indices=Shape(get=AsyncMock()), close=AsyncMock())
    return OpensearchVectorStore(
        OpensearchVectorClient(
            "https://node.example",
            "index",
            16,
            os_client=client,
            os_async_client=twin,
            search_pipeline="fuse",
            **settings,
        )
    )


class ServerlessAuth:
    """The mark of OpenSearch's serverless service."""

    service = "aoss"


class _MongoCollection:
    """Answers aggregations, `find` by id, and the list of search indexes."""

    name = "collection"

    def __init__(self, hits: Sequence[Hit], similarity: str) -> None:
        self.hits = hits
        self.database = Shape(client=Shape(append_metadata=lambda info: None))
        self.field = {"type": "vector", "path": "embedding", "similarity": similarity}

    def list_search_indexes(self, name: str) -> list[dict[str, Any]]:
        definition = {"fields": [{"type": "filter", "path": "year"}, self.field]}
        return [{"name": name, "type": "vectorSearch", "latestDefinition": definition}]

    def find(self, asked: dict[str, Any], fields: dict[str, int]) -> list[dict[str, Any]]:
        found = of(self.hits, asked["_id"]["$in"])
        return [{"_id": hit.id, "embedding": hit.vector} for hit in found]

    def aggregate(self, pipeline: list[dict[str, Any]]) -> list[dict[str, Any]]:
        search = pipeline[0].get("$vectorSearch", {"limit": len(self.hits)})
        keeps = {"$project": {"embedding": 0}} not in pipeline
        reranked = any("$rerank" in stage for stage in pipeline)
        return [
            {"_id": hit.id, "text": hit.text, "score": hit.score, "metadata": hit.node}
            | ({"embedding": hit.vector} if keeps else {})
            | ({"rerankScore": hit.score} if reranked else {})
            for hit in self.hits[: search["limit"]]
        ]


def mongodb(hits: Sequence[Hit], similarity: str = "cosine", **settings: Any) -> Any:
    collection: Any = _MongoCollection(hits, similarity)
    return MongoDBAtlasVectorSearch(collection, encoder(), **settings)


class _MongoDatabase(dict[str, Any]):
    def list_collection_names(self) -> list[str]:
        return list(self)


def llama_mongodb(hits: Sequence[Hit], similarity: str = "cosine") -> Any:
    database = _MongoDatabase(default_collection=_MongoCollection(hits, similarity))
    client: Any = {"default_db": database}
    return LlamaMongo(mongodb_client=client, async_mongodb_client=client)


class _AzureAnswer(list[dict[str, Any]]):
    def get_answers(self) -> None:
        """No answers were extracted."""


def _azure_search(hits: Sequence[Hit], hidden: bool) -> Any:
    def search(search_text: Any = None, filter: Any = None, **asked: Any) -> _AzureAnswer:  # noqa: A002
        found = list(hits[: asked.get("top") or 50])
        if filter is not None:
            found = of(hits, filter.removesuffix("', ',')").partition(", '")[2].split(","))
        return _AzureAnswer(
            {
                "id": hit.id,
                "content": hit.text,
                "chunk": hit.text,
                "doc_id": None,
                "metadata": json.dumps(hit.node),
                "@search.score": hit.score,
                "@search.reranker_score": hit.score,
            }
            | ({} if hidden else {"content_vector": hit.vector, "embedding": hit.vector})
            for hit in found
        )

    policy = Shape(user_agent="agent", add_user_agent=lambda agent: None)
    return Shape(search=search, _client=Shape(_config=Shape(user_agent_policy=policy)))


class _AzureSearch(azuresearch.AzureSearch):
    def __del__(self) -> None:
        """Nothing to close."""


def azure(hits: Sequence[Hit], hidden: bool = False, **settings: Any) -> Any:
    client = _azure_search(hits, hidden)
    with patch.object(azuresearch, "_get_search_client", lambda *_, **__: client):
        return _AzureSearch("https://node.example", None, "index", encoder(), **settings)


class _AzureSearchClient(SearchClient):
    def __init__(self, client: Any) -> None:
        self.search = client.search  # type: ignore[method-assign]
        self._client = client._client

    def close(self) -> None:
        """Nothing to close."""


class _AzureIndexClient(SearchIndexClient):
    def __init__(self, client: Any, metric: str) -> None:
        self._search, self.metric, self._client = client, metric, client._client

    def get_search_client(self, index_name: str, **_: Any) -> Any:
        return _AzureSearchClient(self._search)

    def get_index(self, name: str, **_: Any) -> Any:
        field = Shape(name="embedding", vector_search_profile_name="profile")
        algorithm = Shape(name="hnsw", parameters=Shape(metric=self.metric))
        profile = Shape(name="profile", algorithm_configuration_name="hnsw")
        search = Shape(algorithms=[algorithm], profiles=[profile])
        return Shape(fields=[Shape(name="id"), field], vector_search=search)

    def close(self) -> None:
        """Nothing to close."""


def llama_azure(hits: Sequence[Hit], metric: str | None = "cosine") -> Any:
    """Args: metric: Of the index; None for a client that may not read it."""
    search = _azure_search(hits, False)
    client: Any = _AzureIndexClient(search, metric) if metric else _AzureSearchClient(search)
    named: dict[str, Any] = {"index_name": "index"} if metric else {}
    return AzureAISearchVectorStore(
        search_or_index_client=client,
        async_search_or_index_client=None,
        id_field_key="id",
        chunk_field_key="chunk",
        embedding_field_key="embedding",
        metadata_string_field_key="metadata",
        doc_id_field_key="doc_id",
        **named,
    )


def astra(hits: Sequence[Hit], metric: str | None = "cosine", **settings: Any) -> Any:
    def sent(hit: Hit, projection: Any) -> dict[str, Any]:
        document = {"_id": hit.id, "content": hit.text, "metadata": hit.node}
        vector = {"$vector": hit.vector} if "$vector" in projection else {}
        return {**document, **vector, "$similarity": hit.score}

    def find(filter: Any, projection: Any, limit: int, **asked: Any) -> list[dict[str, Any]]:  # noqa: A002
        found = hits
        if "_id" in (filter or {}):
            ids = filter["_id"]["$in"] if isinstance(filter["_id"], dict) else [filter["_id"]]
            assert len(ids) <= 100
            found = of(hits, ids)
        return [sent(hit, projection) for hit in found[:limit]]

    def find_and_rerank(limit: int, **_: Any) -> Iterator[Any]:
        for hit in hits[:limit]:
            yield Shape(document=sent(hit, {}), scores={"$rerank": hit.score})

    store = AstraDBVectorStore(
        collection_name="collection",
        embedding=encoder(),
        api_endpoint="https://node.example",
        token="none",
        environment="other",
        namespace="keyspace",
        setup_mode=SetupMode.OFF,
        **settings,
    )
    environment: Any = store.astra_env
    environment.collection = Shape(
        options=lambda: Shape(vector=Shape(dimension=16, metric=metric)),
        find=find,
        find_and_rerank=find_and_rerank,
    )
    return store
