"""Services that do not run here: settings -> kind, and documented numbers -> cosines."""

import asyncio
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from elasticsearch.helpers.vectorstore import AsyncBM25Strategy as LlamaBM25
from elasticsearch.helpers.vectorstore import AsyncDenseVectorStrategy as LlamaDense
from elasticsearch.helpers.vectorstore import DistanceMetric
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStoreRetriever
from langchain_elasticsearch import (
    AsyncBM25Strategy,
    AsyncDenseVectorStrategy,
    AsyncElasticsearchStore,
    BM25Strategy,
    DenseVectorScriptScoreStrategy,
    DenseVectorStrategy,
    SparseVectorStrategy,
)
from llama_index.core import VectorStoreIndex

from langchain_recall_signal import RecallRetriever
from langchain_recall_signal.stores import find_adapter
from llama_index_recall_signal import RecallRetriever as LlamaRecall
from llama_index_recall_signal.stores import Hits
from llama_index_recall_signal.stores import find_adapter as find_llama_adapter
from recall_signal import ConfigurationError
from tests.stores.llama_store_cases import QUERY, QUERY_VECTOR, Embedding
from tests.stores.remote_payloads import (
    ServerlessAuth,
    Shape,
    astra,
    azure,
    elasticsearch,
    hits_with,
    llama_azure,
    llama_elasticsearch,
    llama_mongodb,
    llama_opensearch,
    llama_pinecone,
    llama_weaviate,
    mongodb,
    opensearch,
    pinecone,
    weaviate,
)

COSINES = [0.8, 0.5, -0.2]
HALVES = [0.9, 0.75, 0.4]
L2, DOT = DistanceMetric.EUCLIDEAN_DISTANCE, DistanceMetric.DOT_PRODUCT


def field(similarity: str | None, **more: Any) -> dict[str, Any]:
    known = {} if similarity is None else {"similarity": similarity}
    return {"vector": {"type": "dense_vector", "dims": 16, **known, **more}}


def elastic(similarity: str | None, **more: Any) -> Any:
    return partial(elasticsearch, mapping=field(similarity, **more))


def exact(**strategy: Any) -> Any:
    return partial(elasticsearch, strategy=DenseVectorScriptScoreStrategy(**strategy))


INVERSE = [1 / (1 + 0.4**0.5), 0.5, 1 / (1 + 2.4**0.5)]
INVERSE_SQUARED = [1 / 1.4, 0.5, 1 / 3.4]
SIGMOID = [0.689974, 0.622459, 0.450166]
AZURE = [1 / 1.2, 1 / 1.5, 1 / 2.2]

READ_BY_SCORE: dict[str, tuple[Callable[..., Any], list[float], bool]] = {
    "astra cosine": (partial(astra, metric="cosine"), HALVES, False),
    "astra dot_product": (partial(astra, metric="dot_product"), HALVES, True),
    "astra euclidean": (partial(astra, metric="euclidean"), INVERSE_SQUARED, True),
    "elasticsearch cosine": (elastic("cosine"), HALVES, False),
    "elasticsearch dot_product": (elastic("dot_product"), HALVES, False),
    "elasticsearch l2_norm": (elastic("l2_norm"), INVERSE_SQUARED, True),
    "elasticsearch exact cosine": (exact(), [1.8, 1.5, 0.8], False),
    "elasticsearch exact dot": (exact(distance=DOT), SIGMOID, True),
    "elasticsearch exact l2": (exact(distance=L2), INVERSE, True),
    "mongodb cosine": (mongodb, HALVES, False),
    "mongodb dotProduct": (partial(mongodb, similarity="dotProduct"), HALVES, True),
    "pinecone cosine": (pinecone, COSINES, False),
    "pinecone dotproduct": (partial(pinecone, metric="dotproduct"), COSINES, True),
    "pinecone euclidean": (partial(pinecone, metric="euclidean"), [0.4, 1.0, 2.4], True),
}
"""Store, its documented numbers for the cosines above, and whether they need unit vectors."""

READ_BY_VECTORS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "astra, metric unknown": (partial(astra, metric=None), {}),
    "astra hybrid": (astra, {}),
    "azure vector": (partial(azure, search_type="similarity"), {}),
    "azure hybrid": (partial(azure, search_type="hybrid"), {}),
    "azure semantic": (partial(azure, search_type="semantic_hybrid"), {}),
    "mongodb euclidean": (partial(mongodb, similarity="euclidean"), {}),
    "mongodb with vectors": (partial(mongodb, similarity=""), {"include_embeddings": True}),
    "mongodb reranked": (mongodb, {"rerank_path": "text"}),
    "opensearch": (opensearch, {}),
    "opensearch with vectors": (opensearch, {"metadata_field": "*"}),
    "pinecone, metric unknown": (partial(pinecone, metric=""), {}),
    "weaviate with vectors": (weaviate, {"include_vector": True}),
    "weaviate by id": (weaviate, {"return_uuids": True}),
}

UNKNOWN: dict[str, tuple[Callable[..., Any], str]] = {
    "azure hidden": (partial(azure, hidden=True, search_type="hybrid"), "score_not_convertible"),
    "elasticsearch max_inner_product": (elastic("max_inner_product"), "score_not_convertible"),
    "elasticsearch without a similarity": (elastic(None), "score_not_convertible"),
    "elasticsearch bytes": (elastic("cosine", element_type="byte"), "score_not_convertible"),
    "elasticsearch hybrid": (
        partial(elasticsearch, strategy=DenseVectorStrategy(hybrid=True)),
        "no_score_access",
    ),
    "weaviate": (weaviate, "score_not_convertible"),
}


def retriever(store: Any, **search: Any) -> VectorStoreRetriever:
    return VectorStoreRetriever(vectorstore=store, search_kwargs={"k": 3, **search})


def recall(store: Any, **search: Any) -> Any:
    """The response, whose page is the bare retriever's."""
    bare = retriever(store, **search)
    response = RecallRetriever(retriever=bare).recall(QUERY)
    assert [d.page_content for d in response.documents] == [
        d.page_content for d in bare.invoke(QUERY)
    ]
    return response


@pytest.mark.parametrize("norm", [1.0, 2.0])
@pytest.mark.parametrize("name", READ_BY_SCORE)
def test_a_documented_number_gives_the_cosine(name: str, norm: float) -> None:
    make, scores, unit_only = READ_BY_SCORE[name]
    response = recall(make(hits_with(scores, COSINES, norm)))
    if norm == 1.0 or not unit_only:
        assert response.cosine_source == "store"
        assert response.pool.cosines == pytest.approx(COSINES, abs=1e-5)
    elif name.startswith("elasticsearch"):  # nothing to read vectors by: the query's length counts
        assert response.cosine_source == "store"
    else:
        assert response.cosine_source == "vectors"
        assert response.pool.cosines == pytest.approx(COSINES, abs=1e-5)


@pytest.mark.filterwarnings("ignore:.*[Hh]ybrid.*")
@pytest.mark.parametrize("norm", [1.0, 2.0])
@pytest.mark.parametrize("name", READ_BY_VECTORS)
def test_vectors_are_read_where_the_number_gives_none(name: str, norm: float) -> None:
    make, search = READ_BY_VECTORS[name]
    store = make(hits_with([0.7, 0.6, 0.5], COSINES, norm))
    if name == "astra hybrid":
        store.hybrid_search = True
    response = recall(store, **search)
    assert response.cosine_source == "vectors"
    assert response.pool.cosines == pytest.approx(COSINES, abs=1e-5)


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_holds_no_cosine_is_unknown(name: str) -> None:
    make, reason = UNKNOWN[name]
    response = recall(make(hits_with([0.7, 0.6, 0.5], COSINES)))
    assert (response.confidence.level, response.confidence.reason) == ("unknown", reason)


def kind_of(store: Any) -> str:
    adapter: Any = find_adapter(store)
    return str(adapter.score_kind(store))


class Custom(DenseVectorStrategy):
    def es_query(self, **search: Any) -> dict[str, Any]:
        return {**super().es_query(**search), "min_score": 0.5}


@pytest.mark.parametrize(
    ("strategy", "kind", "waits"),
    [
        (BM25Strategy(), "bm25", False),
        (DenseVectorStrategy(), "half_cosine", True),
        (DenseVectorStrategy(model_id="its-model"), "half_cosine", True),
        (SparseVectorStrategy(), "unknown", False),
        (DenseVectorStrategy(hybrid=True, rrf=False), "unknown", False),
        (
            DenseVectorScriptScoreStrategy(distance=DistanceMetric.MAX_INNER_PRODUCT),
            "unknown",
            False,
        ),
        (Custom(), "unknown", False),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "es_query") else str(value),
)
def test_a_strategy_of_elasticsearch(strategy: Any, kind: str, waits: bool) -> None:
    """Only an approximate search has to wait for the mapping."""
    store = elasticsearch([], strategy=strategy)
    adapter: Any = find_adapter(store)
    assert adapter.waits(store) is waits
    assert kind_of(store) == kind
    assert not adapter.waits(store)


def test_an_asynchronous_elasticsearch_reads_no_mapping() -> None:
    client: Any = Shape(options=lambda **_: client)
    for strategy, kind in ((AsyncDenseVectorStrategy(), "unknown"), (AsyncBM25Strategy(), "bm25")):
        assert kind_of(AsyncElasticsearchStore("i", client=client, strategy=strategy)) == kind


def test_the_mapping_of_elasticsearch_may_be_nested_or_that_of_several_indices() -> None:
    nested = {"vector": {"properties": {"predicted_value": field("cosine")["vector"]}}}
    store = elasticsearch([], nested, vector_query_field="vector.predicted_value")
    assert kind_of(store) == "half_cosine"
    several = elasticsearch([])
    indices = {
        name: {"mappings": {"properties": field(similarity)}}
        for name, similarity in (("a", "cosine"), ("b", "l2_norm"))
    }
    with patch.object(several.client, "indices", Shape(get_mapping=lambda index: indices)):
        assert kind_of(several) == "unknown"


def test_pinecones_declared_strategy_is_not_believed() -> None:
    store = pinecone([], "dotproduct")
    assert str(store.distance_strategy) == "DistanceStrategy.COSINE"
    assert kind_of(store) == "inner_product"


ONE = hits_with([0.5], [1.0])[0]
OTHER_TEXT = Document(id=ONE.id, page_content="another text", metadata={"id": ONE.id})
SAME = Document(id=ONE.id, page_content=ONE.text, metadata={"id": ONE.id, "uuid": ONE.id})


@pytest.mark.parametrize("make", [pinecone, opensearch, partial(opensearch, routing="r"), azure])
def test_the_same_id_elsewhere_is_not_the_same_text(make: Any) -> None:
    store = make([ONE])
    adapter: Any = find_adapter(store)
    gone = Document(id=str(UUID(int=99)), page_content=ONE.text)
    assert adapter.vectors(store, [OTHER_TEXT, SAME, gone]) == [None, ONE.vector, None]


@pytest.mark.parametrize(
    ("make", "document"),
    [
        (partial(weaviate, tenants=True), SAME),
        (partial(opensearch, http_auth=ServerlessAuth()), SAME),
        (pinecone, Document("no id")),
        (
            partial(mongodb, embedding_key=None, relevance_score_fn=None, auto_create_index=False),
            SAME,
        ),
        *((azure, Document("a", metadata={"id": key})) for key in (None, 7, "it's")),
    ],
)
def test_vectors_that_cannot_be_read(make: Any, document: Document) -> None:
    store = make([ONE])
    adapter: Any = find_adapter(store)
    assert adapter.vectors(store, [document]) is None


def test_properties_under_the_names_that_are_read() -> None:
    store = weaviate([ONE])
    adapter: Any = find_adapter(store)
    named = Document("t0", metadata={"vector": "a drawing"})
    assert adapter.vectors(store, [named]) == [None]
    assert adapter.vectors(store, [named, SAME]) == [None, ONE.vector]


def test_astra_reads_many_vectors_in_several_requests() -> None:
    hits = hits_with([0.5] * 250, [0.5] * 250)
    store = astra(hits)
    adapter: Any = find_adapter(store)
    found = adapter.vectors(store, [Document("", id=hit.id) for hit in hits] + [Document("")])
    assert found == [*(hit.vector for hit in hits), None]


def test_a_hybrid_search_of_astra_survives_its_own_warning() -> None:
    store = astra(hits_with([0.7, 0.6, 0.5], COSINES))
    store.hybrid_search = True
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert recall(store).cosine_source == "vectors"


def test_azures_own_retriever_shows_nothing() -> None:
    store = azure(hits_with([0.7, 0.6, 0.5], COSINES))
    response = RecallRetriever(retriever=store.as_retriever(k=3)).recall(QUERY)
    assert response.confidence.reason == "no_score_access"
    with pytest.raises(ConfigurationError) as caught:
        RecallRetriever.from_vectorstore(store, k=2)
    assert 'VectorStoreRetriever(vectorstore=store, search_kwargs={"k": 5})' in str(caught.value)


def test_a_declared_kind_saves_azure_a_request() -> None:
    bare = retriever(azure(hits_with(AZURE, COSINES), search_type="similarity"))
    response = RecallRetriever(retriever=bare, score_kind="azure").recall(QUERY)
    assert response.cosine_source == "declared"
    assert response.pool.cosines == pytest.approx(COSINES)


def test_the_maintained_copy_of_azure_is_read_alike() -> None:
    own = {"__module__": "langchain_azure_ai.vectorstores.azuresearch"}
    copied = type("AzureSearch", (), own)
    adapter: Any = find_adapter(copied())
    assert type(adapter).__name__ == "AzureSearchAdapter"
    with pytest.raises(LookupError):  # which the wrapper turns into a reason
        adapter.vectors(copied(), [])


def llama_mongo(similarity: str) -> Any:
    return partial(llama_mongodb, similarity=similarity)


def llama_space(field: dict[str, Any]) -> Any:
    return partial(llama_opensearch, field=field)


SPACE = {"type": "knn_vector", "method": {"space_type": "l2"}}
LLAMA: dict[str, tuple[Callable[..., Any], str, list[float], str]] = {
    "azure cosine": (llama_azure, "default", AZURE, "score"),
    "azure dotProduct": (partial(llama_azure, metric="dotProduct"), "default", AZURE, "vectors"),
    "azure, metric unknown": (partial(llama_azure, metric=None), "default", AZURE, "vectors"),
    "azure hybrid": (llama_azure, "hybrid", [0.03, 0.02, 0.01], "vectors"),
    "azure semantic": (llama_azure, "semantic_hybrid", [3.0, 2.0, 1.0], "vectors"),
    "mongodb cosine": (llama_mongodb, "default", HALVES, "score"),
    "mongodb dotProduct": (llama_mongo("dotProduct"), "default", HALVES, "unit vectors"),
    "mongodb euclidean": (llama_mongo("euclidean"), "default", HALVES, "vectors"),
    "mongodb hybrid": (llama_mongodb, "hybrid", [0.03, 0.02, 0.01], "vectors"),
    "opensearch l2": (llama_space(SPACE), "default", INVERSE_SQUARED, "unit vectors"),
    "opensearch l2 by the field": (
        llama_space({"space_type": "l2"}),
        "default",
        INVERSE_SQUARED,
        "unit vectors",
    ),
    "opensearch cosinesimil": (
        llama_space({"space_type": "cosinesimil"}),
        "default",
        HALVES,
        "vectors",
    ),
    "opensearch without a space": (llama_space({}), "default", HALVES, "vectors"),
    "pinecone cosine": (llama_pinecone, "default", COSINES, "score"),
    "pinecone dotproduct": (
        partial(llama_pinecone, metric="dotproduct"),
        "default",
        COSINES,
        "vectors",
    ),
    "weaviate": (llama_weaviate, "default", [1.0, 0.5, 0.0], "vectors"),
    "weaviate hybrid": (llama_weaviate, "hybrid", [1.0, 0.5, 0.0], "vectors"),
}
"""Store, query mode, its documented numbers for the cosines above, and what they are read by."""


def llama_retriever(store: Any, mode: str = "default", **search: Any) -> Any:
    index = VectorStoreIndex.from_vector_store(store, embed_model=Embedding({QUERY: QUERY_VECTOR}))
    return index.as_retriever(similarity_top_k=3, vector_store_query_mode=mode, **search)


@pytest.mark.parametrize("norm", [1.0, 2.0])
@pytest.mark.parametrize("name", LLAMA)
def test_llama_index_by_the_score_or_by_the_vectors(name: str, norm: float) -> None:
    make, mode, scores, read_by = LLAMA[name]
    bare = llama_retriever(make(hits_with(scores, COSINES, norm)), mode)
    response = LlamaRecall(bare).recall(QUERY)
    by_score = read_by == "score" or (read_by == "unit vectors" and norm == 1.0)
    assert response.cosine_source == ("store" if by_score else "vectors")
    assert response.pool.cosines == pytest.approx(COSINES, abs=1e-5)
    assert [node.node_id for node in response.nodes] == [n.node_id for n in bare.retrieve(QUERY)]


@pytest.mark.parametrize(
    ("make", "mode"),
    [
        (llama_azure, "sparse"),
        (llama_mongodb, "text_search"),
        (partial(llama_opensearch, field=SPACE), "text_search"),
    ],
)
def test_llama_index_keyword_scores_decide_as_such(make: Any, mode: str) -> None:
    scores = [9.0, 5.0, 4.0]
    response = LlamaRecall(llama_retriever(make(hits_with(scores, COSINES)), mode)).recall(QUERY)
    assert response.confidence.basis == "separation"
    assert response.pool.scores == scores


@pytest.mark.parametrize("make", [llama_azure, llama_mongodb, llama_pinecone])
def test_llama_index_other_modes_are_unknown(make: Any) -> None:
    store = make([])
    adapter: Any = find_llama_adapter(store)
    assert adapter.score_kind(store, "mmr") == "unknown"


def test_llama_index_pinecone_without_the_vectors() -> None:
    """A caller can keep them from being sent; products then say nothing."""
    store = llama_pinecone(hits_with(COSINES, COSINES), "dotproduct")
    bare = llama_retriever(store, vector_store_kwargs={"include_values": False})
    assert LlamaRecall(bare).recall(QUERY).confidence.reason == "score_not_convertible"


def test_llama_index_vectors_that_cannot_be_read() -> None:
    serverless = llama_opensearch([], SPACE, http_auth=ServerlessAuth())
    adapter: Any = find_llama_adapter(serverless)
    assert adapter.vectors(serverless, Hits([], "default")) is None
    store = llama_azure([])
    store._search_client = None
    adapter = find_llama_adapter(store)
    assert adapter.vectors(store, Hits([], "default")) is None


@pytest.fixture
def no_patched_loops() -> Iterator[None]:
    """LlamaIndex's Elasticsearch patches asyncio for the whole process, and needs a loop."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    with patch("nest_asyncio.apply"):
        yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.mark.usefixtures("no_patched_loops")
@pytest.mark.parametrize(
    ("mode", "strategy"),
    [
        ("default", LlamaDense()),
        ("text_search", LlamaBM25()),
        ("hybrid", LlamaDense(hybrid=True)),
    ],
)
def test_llama_index_elasticsearch_scales_every_search(mode: str, strategy: Any) -> None:
    bare = llama_retriever(llama_elasticsearch(hits_with(HALVES, COSINES), strategy), mode)
    assert [bare.retrieve(QUERY)[n].score for n in (0, -1)] == [1.0, 0.0]
    assert LlamaRecall(bare).recall(QUERY).confidence.reason == "score_not_convertible"
