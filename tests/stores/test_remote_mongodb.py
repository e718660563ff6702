"""MongoDB Atlas, read and not run: three similarities, hybrid and reranked searches."""

from copy import deepcopy
from typing import Any, ClassVar
from unittest.mock import patch

import pytest
from bson import ObjectId
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_mongodb import MongoDBAtlasVectorSearch
from langchain_mongodb.retrievers import MongoDBAtlasHybridSearchRetriever
from langchain_world import Encoder
from remote_rows import (
    OTHERS,
    Metric,
    RemoteConformance,
    Rows,
    Shape,
    half_cosine,
    half_product,
    inverse,
)

from langchain_recall_signal import RecallRetriever
from langchain_recall_signal.stores import find_adapter
from recall_signal import ScoreKind

SIMILARITIES: dict[str, Metric] = {
    "cosine": half_cosine,
    "dotProduct": half_product,
    "euclidean": inverse,
}


class FakeCollection:
    """Aggregations that begin with a search, ``find`` by id, and the list of search indexes."""

    name = "collection"

    def __init__(self, rows: Rows, similarity: str = "cosine", **field: Any) -> None:
        self.rows, self.similarity = rows, similarity
        self.database = Shape(client=Shape(append_metadata=lambda info: None))
        vector = {"type": "vector", "path": "embedding", "similarity": similarity, **field}
        self.fields: list[dict[str, Any]] = [{"type": "filter", "path": "year"}, vector]
        self.listed = self.found = 0

    def list_search_indexes(self, name: str = "s") -> list[dict[str, Any]]:
        self.listed += 1
        definition = {"fields": self.fields}
        return [{"name": name, "type": "vectorSearch", "latestDefinition": definition}]

    def find(self, filter_: dict[str, Any], projection: dict[str, int]) -> list[dict[str, Any]]:
        self.found += 1
        asked = filter_["_id"]["$in"]
        return [
            {"_id": _key(row.id), "embedding": list(row.vector)}
            for row in self.rows.all
            if _key(row.id) in asked
        ]

    def count_documents(self, filter_: dict[str, Any]) -> int:
        return len(self.rows.all)

    def aggregate(self, pipeline: list[dict[str, Any]]) -> list[dict[str, Any]]:
        found = self._search(pipeline)
        documents = [{**_sent(row), "score": score} for row, score in found]
        for document in documents:
            if any("$rerank" in stage for stage in pipeline):
                document["score"] = document["rerankScore"] = 1.0 - document["score"] / 2.0
            if {"$project": {"embedding": 0}} in pipeline:
                del document["embedding"]
        return documents

    def _search(self, pipeline: list[dict[str, Any]]) -> Any:
        search = pipeline[0].get("$vectorSearch")
        if search is None:
            words = pipeline[0]["$search"]["text"]["query"]
            return self.rows.by_words(words, pipeline[1]["$limit"])
        if any("$unionWith" in stage for stage in pipeline):
            union = next(stage["$unionWith"] for stage in pipeline if "$unionWith" in stage)
            words = union["pipeline"][0]["$search"]["text"]["query"]
            return self.rows.by_ranks(words, search["queryVector"], search["limit"])
        metric = SIMILARITIES[self.similarity]
        return self.rows.nearest(search["queryVector"], metric, search["limit"])


def _key(id_: str) -> Any:
    """The database keeps ids of 24 hexadecimal digits in a type of its own."""
    return ObjectId(id_) if ObjectId.is_valid(id_) else id_


def _sent(row: Any) -> dict[str, Any]:
    metadata = deepcopy(row.metadata)
    document = {"_id": _key(row.id), "text": row.text, "embedding": list(row.vector)}
    return {**document, **metadata, "metadata": metadata}


class InMongoDB(RemoteConformance):
    similarity = "cosine"

    def serve(self, rows: Rows, encoder: Embeddings) -> Any:
        collection: Any = FakeCollection(rows, self.similarity)
        return MongoDBAtlasVectorSearch(collection, encoder)

    def document(self, number: int, text: str) -> Document:
        """Every other one has an id of the database's own kind."""
        document = super().document(number, text)
        id_ = f"{number:024x}" if number % 2 else f"id{number}"
        return document.model_copy(update={"id": id_})


class TestCosine(InMongoDB):
    norms = (1.0, *OTHERS)


class TestDotProduct(InMongoDB):
    similarity = "dotProduct"


class TestDotProductOfOtherNorms(TestDotProduct):
    norms = OTHERS
    source = "vectors"


class TestEuclidean(InMongoDB):
    similarity = "euclidean"
    norms = (1.0, *OTHERS)
    source = "vectors"


class TestReranked(InMongoDB):
    """The reranker's number stands where the similarity was."""

    options: ClassVar[dict[str, Any]] = {"rerank_path": "text"}
    source = "vectors"


class TestEmbeddingsBroughtAlong(InMongoDB):
    options: ClassVar[dict[str, Any]] = {"include_embeddings": True}
    similarity = "euclidean"
    source = "vectors"


class TestMmr(InMongoDB):
    search = "mmr"
    source = "vectors"
    can_be_empty = False

    def test_the_top_hit_has_the_highest_cosine(self) -> None:
        """Not with MMR, whose pool is the page."""


def store_over(collection: Any, **settings: Any) -> MongoDBAtlasVectorSearch:
    return MongoDBAtlasVectorSearch(collection, Encoder(dimension=2), **settings)


def kind_of(store: Any) -> ScoreKind:
    adapter: Any = find_adapter(store)
    kind: ScoreKind = adapter.score_kind(store)
    return kind


def test_the_index_is_asked_for_its_similarity_once() -> None:
    collection = FakeCollection(Rows())
    store = store_over(collection, relevance_score_fn="euclidean")  # what the store was told
    assert [kind_of(store) for _ in range(3)] == [ScoreKind.HALF_COSINE] * 3
    assert collection.listed == 1


@pytest.mark.parametrize(
    "field", [{"path": "another"}, {"type": "autoEmbed"}, {"similarity": "manhattan"}]
)
def test_an_index_that_does_not_tell(field: dict[str, Any]) -> None:
    assert kind_of(store_over(FakeCollection(Rows(), **field))) is ScoreKind.UNKNOWN


def test_no_index_of_that_name() -> None:
    collection = FakeCollection(Rows())
    with patch.object(collection, "list_search_indexes", lambda name: []):
        assert kind_of(store_over(collection)) is ScoreKind.UNKNOWN


def test_a_store_whose_server_embeds_has_no_vectors_to_give() -> None:
    collection: Any = FakeCollection(Rows())
    store = MongoDBAtlasVectorSearch(
        collection, "a-model", embedding_key=None, relevance_score_fn=None, auto_create_index=False
    )
    adapter: Any = find_adapter(store)
    assert adapter.vectors(store, [Document(id="a", page_content="a")]) is None
    assert collection.found == 0


def test_the_hybrid_retriever_shows_no_score_that_could_be_read() -> None:
    """It is a class of its own, and fuses ranks."""
    rows = Rows()
    for number in range(9):
        rows.add(f"id{number}", f"text {number}", {}, [1.0, 0.1 * number])
    encoder = Encoder({"text 3": [1.0, 0.0], "t": [1.0, 0.0]}, dimension=2)
    collection: Any = FakeCollection(rows)
    store = MongoDBAtlasVectorSearch(collection, encoder)
    bare = MongoDBAtlasHybridSearchRetriever(vectorstore=store, search_index_name="s", k=4)
    response = RecallRetriever(retriever=bare).recall("text 3")
    assert response.confidence.reason == "no_score_access"
    again = RecallRetriever(retriever=bare, embeddings=encoder).recall("text 3")
    assert again.cosine_source == "embeddings"
    assert [d.page_content for d in again.documents] == [
        d.page_content for d in bare.invoke("text 3")
    ]
