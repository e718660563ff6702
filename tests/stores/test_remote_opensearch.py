"""OpenSearch, read and not run: the number depends on the search, the vectors do not."""

from copy import deepcopy
from typing import Any, ClassVar
from unittest.mock import patch

from langchain_community.vectorstores import OpenSearchVectorSearch, opensearch_vector_search
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_world import Encoder
from remote_rows import (
    OTHERS,
    Fused,
    Metric,
    RemoteConformance,
    Rows,
    boosted_product,
    cosine_plus_one,
    half_cosine,
    inverse_squared,
)

from langchain_recall_signal.stores import find_adapter

SPACES: dict[str, Metric] = {
    "l2": inverse_squared,
    "cosinesimil": half_cosine,
    "innerproduct": boosted_product,
}
SCRIPTS: dict[str, Metric] = {
    "1/(1.0 + l2Squared(": inverse_squared,
    "(1.0 + cosineSimilarity(": cosine_plus_one,
}


class FakeOpenSearch:
    """Answers searches, ``mget`` and ``indices.get_mapping``; it is its own transport."""

    def __init__(self, rows: Rows, space: str = "l2", field: str = "vector_field") -> None:
        self.rows, self.space, self.field = rows, space, field
        self.transport = self.indices = self
        self.read_by_id = self.mapped = 0

    def info(self) -> dict[str, Any]:
        return {"version": {"number": "2.19.1"}}

    def get(self, index: str) -> dict[str, Any]:
        return {index: {}}

    def get_mapping(self, index: str) -> dict[str, Any]:
        self.mapped += 1
        method = {"name": "hnsw", "space_type": self.space, "engine": "faiss"}
        field = {"type": "knn_vector", "dimension": 16, "method": method}
        return {index: {"mappings": {"properties": {self.field: field}}}}

    def mget(self, body: dict[str, Any], index: str, params: dict[str, Any]) -> dict[str, Any]:
        self.read_by_id += 1
        included = params["_source_includes"].split(",")
        docs: list[dict[str, Any]] = [
            {"_id": id_, "found": False} for id_ in body["ids"] if not self.rows.of([id_])
        ]
        for row in self.rows.of(body["ids"]):
            source = {k: v for k, v in self._source(row).items() if k in included}
            docs.append({"_id": row.id, "found": True, "_source": source})
        return {"docs": docs}

    def search(
        self, index: str, body: dict[str, Any], params: Any = None, **rest: Any
    ) -> dict[str, Any]:
        return self._answer(self._found(body["query"], body["size"]))

    def perform_request(self, method: str, url: str, body: dict[str, Any]) -> dict[str, Any]:
        assert "search_pipeline=fuse" in url
        return self._answer(self._found(body["query"], body["size"]))

    def close(self) -> None:
        """Nothing to close."""

    def _found(self, query: dict[str, Any], size: int) -> Any:
        if "hybrid" in query:
            words, near = query["hybrid"]["queries"]
            (knn,) = near["knn"].values()
            return self.rows.by_relative_scores(_words(words), knn["vector"], size)
        if "knn" in query:
            (knn,) = query["knn"].values()
            return self.rows.nearest(knn["vector"], SPACES[self.space], size)
        if "script_score" in query:
            script = query["script_score"]["script"]
            asked, space = script["params"]["query_value"], script["params"].get("space_type")
            by_name = [m for name, m in SCRIPTS.items() if script["source"].startswith(name)]
            return self.rows.nearest(asked, by_name[0] if by_name else SPACES[space], size)
        return self.rows.by_words(_words(query), size)

    def _answer(self, found: Any) -> dict[str, Any]:
        hits = [
            {"_index": "index", "_id": row.id, "_score": score, "_source": self._source(row)}
            for row, score in found
        ]
        return {"hits": {"hits": hits}}

    def _source(self, row: Any) -> dict[str, Any]:
        texts = {"text": row.text, "content": row.text}
        return {**texts, "metadata": deepcopy(row.metadata), self.field: list(row.vector)}


def _words(query: dict[str, Any]) -> str:
    match = query.get("match") or query["bool"]["must"]["match"]
    (field,) = match.values()
    words: str = field["query"]
    return words


def store_over(client: Any, encoder: Embeddings, **settings: Any) -> OpenSearchVectorSearch:
    with (
        patch.object(opensearch_vector_search, "_get_opensearch_client", lambda *a, **k: client),
        patch.object(opensearch_vector_search, "_get_async_opensearch_client"),
    ):
        return OpenSearchVectorSearch("https://node.example", "index", encoder, **settings)


class InOpenSearch(RemoteConformance):
    """What the search is told decides its number, so that the vectors are read."""

    norms = (1.0, *OTHERS)
    space = "l2"
    source = "vectors"

    def serve(self, rows: Rows, encoder: Embeddings) -> Any:
        return store_over(FakeOpenSearch(rows, self.space), encoder)


class TestL2(InOpenSearch):
    pass


class TestCosine(InOpenSearch):
    space = "cosinesimil"


class TestInnerProduct(InOpenSearch):
    space = "innerproduct"


class TestScriptScoring(InOpenSearch):
    options: ClassVar[dict[str, Any]] = {"search_type": "script_scoring", "space_type": "l2"}


class TestPainlessL2(InOpenSearch):
    options: ClassVar[dict[str, Any]] = {"search_type": "painless_scripting"}


class TestPainlessCosine(InOpenSearch):
    options: ClassVar[dict[str, Any]] = {
        "search_type": "painless_scripting",
        "space_type": "cosineSimilarity",
    }


class TestHybrid(Fused, InOpenSearch):
    options: ClassVar[dict[str, Any]] = {"search_type": "hybrid_search", "search_pipeline": "fuse"}


class TestWholeDocumentAsMetadata(InOpenSearch):
    """The vector then lies in the metadata."""

    options: ClassVar[dict[str, Any]] = {"metadata_field": "*"}


class TestMmr(InOpenSearch):
    search = "mmr"
    can_be_empty = False

    def test_the_top_hit_has_the_highest_cosine(self) -> None:
        """Not with MMR, whose pool is the page."""

    def test_empty_store(self) -> None:
        """Its own search fails there."""


class Serverless:
    """How the service's serverless kind shows itself."""

    service = "aoss"


def test_the_serverless_service_reads_nothing_by_id() -> None:
    client = FakeOpenSearch(Rows())
    store = store_over(client, Encoder(dimension=2), http_auth=Serverless())
    adapter: Any = find_adapter(store)
    assert adapter.vectors(store, [Document(id="a", page_content="a")]) is None
    assert client.read_by_id == 0


def test_a_vector_that_came_along_is_not_asked_for_again() -> None:
    client = FakeOpenSearch(Rows())
    store = store_over(client, Encoder(dimension=2))
    adapter: Any = find_adapter(store)
    hits = [
        Document(page_content="a", metadata={"vector_field": [1.0]}),
        Document(page_content="b"),
    ]
    assert adapter.vectors(store, hits) == [[1.0], None]
    assert client.read_by_id == 0


def test_the_same_id_in_another_index_is_not_the_same_text() -> None:
    client = FakeOpenSearch(Rows())
    client.rows.add("a", "its text", {}, [1.0, 0.0])
    client.rows.add("b", "another", {}, [0.0, 1.0])
    store = store_over(client, Encoder(dimension=2), routing="shard")
    adapter: Any = find_adapter(store)
    hits = [Document(id=id_, page_content="its text") for id_ in ("a", "b", "c")]
    assert adapter.vectors(store, hits) == [[1.0, 0.0], None, None]
