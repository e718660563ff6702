"""`QdrantVectorStore` on Qdrant's local mode: three distances, and what holds no cosine."""

from typing import Any
from uuid import NAMESPACE_OID, uuid4, uuid5

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_qdrant import QdrantVectorStore, RetrievalMode
from qdrant_client import QdrantClient
from qdrant_client.models import Distance, SparseVectorParams, VectorParams

from langchain_recall_signal import RecallRetriever
from tests.stores.cases import conformance
from tests.stores.langchain_world import MMR, Encoder, StoreConformance, Words


class InQdrant(StoreConformance):
    distance = Distance.COSINE
    mode = RetrievalMode.DENSE
    vector_name = ""

    def store(self, encoder: Embeddings) -> Any:
        client = QdrantClient(":memory:")
        dense = VectorParams(size=self.dimension, distance=self.distance)
        name = f"c{uuid4().hex}"
        client.create_collection(
            name,
            vectors_config={self.vector_name: dense} if self.vector_name else dense,
            sparse_vectors_config={"langchain-sparse": SparseVectorParams()},
        )
        return QdrantVectorStore(
            client,
            name,
            encoder,
            retrieval_mode=self.mode,
            distance=self.distance,
            vector_name=self.vector_name,
            sparse_embedding=Words(),
        )

    def document(self, number: int, text: str) -> Document:
        document = super().document(number, text)
        return document.model_copy(update={"id": str(uuid5(NAMESPACE_OID, text))})


CASES: dict[str, dict[str, Any]] = {
    "Cosine": {},
    "CosineNamed": {"norms": (1.0,), "vector_name": "dense"},
    "Dot": {"distance": Distance.DOT, "unit_only": True},
    "Euclid": {"distance": Distance.EUCLID, "unit_only": True, "vector_name": "dense"},
    "Manhattan": {"distance": Distance.MANHATTAN, "source": "vectors", "ranks_by_cosine": False},
    "Mmr": MMR,
    "Hybrid": {"mode": RetrievalMode.HYBRID, "source": "vectors", "ranks_by_cosine": False},
    "Sparse": {  # only word weights are stored
        "mode": RetrievalMode.SPARSE,
        "norms": (1.0,),
        "expected_reason": "score_not_convertible",
    },
}
globals().update(conformance(InQdrant, CASES))


def opened(distance: Distance, norm: float, **vectors: Any) -> QdrantVectorStore:
    """A collection of this distance, opened as one of cosines."""
    client = QdrantClient(":memory:")
    client.create_collection(
        "c", vectors_config=VectorParams(size=16, distance=distance, **vectors)
    )
    encoder = Encoder(norm=norm)
    return QdrantVectorStore(client, "c", encoder, validate_collection_config=False)


@pytest.mark.parametrize("norm", [1.0, 0.8])
@pytest.mark.parametrize("distance", [Distance.DOT, Distance.EUCLID, Distance.COSINE])
async def test_the_collection_decides_and_not_an_unvalidated_setting(
    distance: Distance, norm: float
) -> None:
    """mem0ai/mem0#6319, langchain-ai/langchain#10872: a product of 0.419 for a cosine of 0.655."""
    store = opened(distance, norm)
    store.add_texts([f"text {n}" for n in range(12)])
    wrapped = RecallRetriever.from_vectorstore(store, k=5)
    response = wrapped.recall("a query")
    encoder = store.embeddings
    assert encoder is not None
    query = np.array(encoder.embed_query("a query"))
    texts = [document.page_content for document in response.documents]
    exact = np.array(encoder.embed_documents(texts)) @ query / norm**2
    assert response.pool.cosines[:5] == pytest.approx(exact, abs=1e-4)
    by_score = norm == 1.0 or distance is Distance.COSINE
    assert response.cosine_source == ("store" if by_score else "vectors")
    assert (await wrapped.arecall("a query")).to_dict() == response.to_dict()


def test_a_server_that_refuses_to_describe_its_collection(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The number is then unknown; the stored vectors decide."""
    store = opened(Distance.DOT, 0.8)
    store.add_texts(["one", "two"])
    monkeypatch.setattr(store.client, "get_collection", lambda name: 1 / 0)
    assert RecallRetriever.from_vectorstore(store).recall("a query").cosine_source == "vectors"
    assert "ZeroDivisionError" in caplog.text
