"""`Milvus` on Milvus Lite: three metrics, and what holds no cosine."""

from typing import Any, ClassVar
from uuid import uuid4

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_milvus import BM25BuiltInFunction, Milvus
from langchain_milvus.utils.sparse import BaseSparseEmbedding

from langchain_recall_signal import RecallRetriever
from tests.stores.cases import conformance
from tests.stores.langchain_world import LONG, MMR, FlatMetadata, StoreConformance

FLAT = {"index_type": "FLAT", "params": {}}
BY_WORDS = {"metric_type": "BM25", "index_type": "SPARSE_INVERTED_INDEX", "params": {}}


class InMilvus(FlatMetadata, StoreConformance):
    metric = "L2"
    can_be_empty = False  # the collection is made for the first documents

    @pytest.fixture(autouse=True)
    def _uri(self, milvus_uri: str) -> None:
        self.uri = milvus_uri

    def store(self, encoder: Embeddings) -> Any:
        return self.collection(encoder, index_params=FLAT | {"metric_type": self.metric})

    def collection(self, encoder: Any, **settings: Any) -> Milvus:
        where = {"uri": self.uri}
        return Milvus(encoder, f"c{uuid4().hex}", connection_args=where, **settings)

    def add(self, store: Any, documents: list[Document]) -> None:
        store.add_documents(documents, ids=[document.id for document in documents])


class Default(InMilvus):
    """By the metric of the index that the store makes of its own accord."""

    def store(self, encoder: Embeddings) -> Any:
        return self.collection(encoder)


CASES: dict[str, dict[str, Any]] = {
    "L2": {"unit_only": True},
    "InnerProduct": {"metric": "IP", "unit_only": True},
    "Cosine": {"metric": "COSINE"},
    "Mmr": MMR,
}
globals().update(conformance(InMilvus, CASES))
globals().update(conformance(Default, {"Default": {"norms": (1.0,)}}))


@pytest.mark.filterwarnings("ignore:The 'ranker_type' and 'ranker_params'")  # the store's own
class TestHybrid(InMilvus):
    """Vectors and words, ranked together: the vectors are read back."""

    source = "vectors"
    norms = (1.0, LONG)
    page_sizes = (1, 4)  # it fuses 4 of either kind
    options: ClassVar[dict[str, Any]] = {"ranker_type": "rrf"}
    ranks_by_cosine = False

    def store(self, encoder: Embeddings) -> Any:
        return self.collection(
            encoder,
            builtin_function=BM25BuiltInFunction(output_field_names="words"),
            vector_field=["dense", "words"],
            index_params=[FLAT | {"metric_type": "L2"}, BY_WORDS],
            search_params=[{"metric_type": "L2", "params": {}}, {"metric_type": "BM25"}],
        )


class TestTwoEncoders(TestHybrid):
    """No one cosine is that of both."""

    expected_reason = "score_not_convertible"

    def store(self, encoder: Embeddings) -> Any:
        index = FLAT | {"metric_type": "COSINE"}
        return self.collection(
            [encoder, encoder], vector_field=["one", "other"], index_params=[index, index]
        )


class Words(BaseSparseEmbedding):
    """Each word is one dimension, by its length."""

    def embed_query(self, query: str) -> dict[int, float]:
        return {len(word): 1.0 for word in query.split()}

    def embed_documents(self, texts: list[str]) -> list[dict[int, float]]:
        return [self.embed_query(text) for text in texts]


class TestSparse(InMilvus):
    norms = (1.0,)
    expected_reason = "score_not_convertible"

    def store(self, encoder: Embeddings) -> Any:
        index = BY_WORDS | {"metric_type": "IP"}
        search = {"metric_type": "IP", "params": {}}
        return self.collection(Words(), index_params=index, search_params=search)


def test_words_alone_are_judged_by_their_separation(milvus_uri: str) -> None:
    store = Milvus(
        None,
        f"c{uuid4().hex}",
        connection_args={"uri": milvus_uri},
        builtin_function=BM25BuiltInFunction(output_field_names="words"),
        vector_field="words",
        index_params=BY_WORDS,
        search_params={"metric_type": "BM25", "params": {}},
    )
    texts = ["the lamp is red", "the chair is old", "the table is old", "the door is old"]
    store.add_texts(texts, ids=["0", "1", "2", "3"])
    response = RecallRetriever.from_vectorstore(store, k=2).recall("red lamp is")
    assert response.documents[0].page_content == texts[0]
    assert response.confidence.basis == "separation"
    assert response.confidence.level in {"moderate", "high"}
    scores = [score or 0.0 for score in response.pool.scores or ()]
    assert scores[0] == max(scores) > 0.0
