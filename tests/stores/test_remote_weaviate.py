"""Weaviate, read and not run: every search is hybrid, so that cosines take the stored vectors."""

from copy import deepcopy
from typing import Any, ClassVar
from uuid import UUID

import pytest
import weaviate
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_weaviate import WeaviateVectorStore
from langchain_world import Encoder
from llama_index.vector_stores.weaviate import WeaviateVectorStore as LlamaWeaviate
from remote_rows import (
    OTHERS,
    Fused,
    LlamaRemoteConformance,
    RemoteConformance,
    Rows,
    Shape,
    cosine,
)

from langchain_recall_signal import RecallRetriever
from langchain_recall_signal.stores import find_adapter


class FakeCollection:
    """One collection, asked by ``query.hybrid`` and by id."""

    def __init__(self, rows: Rows, tenants: bool = False) -> None:
        self.rows, self.query, self.asked_by_id = rows, self, 0
        enabled = Shape(multi_tenancy_config=Shape(enabled=tenants), properties=[])
        self.config = Shape(get=lambda simple=False: enabled)

    def hybrid(
        self,
        query: str | None,
        vector: list[float],
        limit: int,
        alpha: float = 0.7,
        include_vector: bool = False,
        **rest: Any,
    ) -> Any:
        if query is None or alpha == 1:
            ranked = self.rows.nearest(vector, cosine, limit)
            ranked = self.rows.by_relative_scores("", vector, limit, 1.0) if query else ranked
        else:
            ranked = self.rows.by_relative_scores(query, vector, limit, alpha)
        return Shape(objects=[_sent(row, score, include_vector) for row, score in ranked])

    def fetch_objects_by_ids(
        self, ids: list[str], *, limit: int | None, include_vector: bool, return_properties: Any
    ) -> Any:
        self.asked_by_id += 1
        found = self.rows.of([str(UUID(id_)) for id_ in ids])[: limit or 10]
        return Shape(objects=[_sent(row, None, include_vector) for row in found])


def _sent(row: Any, score: float | None, with_vector: bool) -> Any:
    return Shape(
        uuid=UUID(row.id),
        properties={"text": row.text, **deepcopy(row.metadata)},
        metadata=Shape(score=score, distance=None, certainty=None),
        vector={"default": list(row.vector)} if with_vector else {},
    )


class FakeClient(weaviate.WeaviateClient):
    """A client that was never connected; its class is looked at by LlamaIndex."""

    def __init__(self, collection: FakeCollection) -> None:
        self.collections: Any = Shape(
            exists=lambda name: True, get=lambda name: collection, close=lambda: None
        )
        self.integrations: Any = None

    def close(self) -> None:
        """Nothing to close."""


def store_over(collection: FakeCollection, encoder: Embeddings) -> WeaviateVectorStore:
    return WeaviateVectorStore(FakeClient(collection), "Index", "text", embedding=encoder)


class InWeaviate(Fused, RemoteConformance):
    """The best hit has about 1 in every search; nothing here can be told from that."""

    norms = (1.0, *OTHERS)

    def serve(self, rows: Rows, encoder: Embeddings) -> Any:
        return store_over(FakeCollection(rows), encoder)

    def document(self, number: int, text: str) -> Document:
        document = super().document(number, text)
        return document.model_copy(update={"id": str(UUID(int=number + 1))})


class TestScoresAlone(InWeaviate):
    expected_reason = "score_not_convertible"


class TestVectorsBroughtAlong(InWeaviate):
    options: ClassVar[dict[str, Any]] = {"include_vector": True}
    source = "vectors"


class TestVectorsById(InWeaviate):
    options: ClassVar[dict[str, Any]] = {"return_uuids": True}
    source = "vectors"


class TestEmbeddedAgain(InWeaviate):
    """With an encoder of the wrapper's, nothing more is asked of the store."""

    source = "embeddings"

    def build(
        self, texts: list[str], vectors: Any, encoder: Any, k: int, pool_size: int
    ) -> tuple[Any, Any]:
        self.settings = {"embeddings": encoder}  # type: ignore[misc]
        return super().build(texts, vectors, encoder, k, pool_size)


def two_rows() -> Rows:
    rows = Rows()
    for number, vector in enumerate([[1.0, 0.0], [0.0, 1.0]]):
        rows.add(str(UUID(int=number)), f"t{number}", {}, vector)
    return rows


def test_with_tenants_nothing_is_read_by_id() -> None:
    """The same id can be another object for each of them."""
    collection = FakeCollection(two_rows(), tenants=True)
    store = store_over(collection, Encoder({"q": [1.0, 0.0]}, dimension=2))
    adapter: Any = find_adapter(store)
    hit = Document(page_content="t0", metadata={"uuid": str(UUID(int=0))})
    assert adapter.vectors(store, [hit]) is None
    assert collection.asked_by_id == 0


def test_properties_under_the_names_that_are_read() -> None:
    store = store_over(FakeCollection(two_rows()), Encoder(dimension=2))
    adapter: Any = find_adapter(store)
    named = Document(page_content="t0", metadata={"vector": "a drawing"})
    assert adapter.vectors(store, [named]) == [None]
    known = Document(page_content="t1", metadata={"uuid": str(UUID(int=1))})
    assert adapter.vectors(store, [named, known]) == [None, [0.0, 1.0]]


def test_one_request_reads_all_vectors() -> None:
    collection = FakeCollection(two_rows())
    store = store_over(collection, Encoder({"q 1": [1.0, 0.0]}, dimension=2))
    wrapped = RecallRetriever.from_vectorstore(store, k=2, search_kwargs={"return_uuids": True})
    assert sorted(wrapped.recall("q 1").pool.cosines) == [0.0, 1.0]  # type: ignore[type-var]
    assert collection.asked_by_id == 1


class LlamaInWeaviate(LlamaRemoteConformance):
    norms = (1.0, *OTHERS)
    source = "vectors"
    has_async = False  # it takes another client

    def serve(self, rows: Rows) -> Any:
        return LlamaWeaviate(weaviate_client=FakeClient(FakeCollection(rows)), index_name="Index")


class TestLlamaDefault(LlamaInWeaviate):
    """A vector search, in the form of a hybrid one without a weight for words."""


class TestLlamaHybrid(LlamaInWeaviate):
    mode = "hybrid"
    search: ClassVar[dict[str, Any]] = {"alpha": 0.4}

    def test_the_top_hit_has_the_highest_cosine(self) -> None:
        """Not where words have a say."""


@pytest.mark.parametrize("mode", ["default", "hybrid"])
def test_llama_hits_have_their_vectors(mode: str) -> None:
    from llama_index_recall_signal.stores import find_adapter as find_llama

    adapter: Any = find_llama(LlamaInWeaviate().serve(Rows()))
    assert adapter.score_kind(None, mode) == "fused_normalized"
