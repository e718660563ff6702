"""``QdrantVectorStore`` on Qdrant's local mode: three distances, and what holds no cosine."""

from typing import Any
from uuid import NAMESPACE_OID, uuid4, uuid5

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_qdrant import QdrantVectorStore, RetrievalMode
from langchain_qdrant.sparse_embeddings import SparseEmbeddings, SparseVector
from langchain_world import LONG, MIXED, StoreConformance
from qdrant_client import QdrantClient
from qdrant_client.models import Distance, SparseVectorParams, VectorParams


class Words(SparseEmbeddings):
    """Each word is one dimension, by its length."""

    def embed_query(self, text: str) -> SparseVector:
        lengths = sorted({len(word) for word in text.split()})
        return SparseVector(indices=lengths, values=[1.0] * len(lengths))

    def embed_documents(self, texts: list[str]) -> list[SparseVector]:
        return [self.embed_query(text) for text in texts]


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


class TestCosine(InQdrant):
    pass


class TestCosineNamed(InQdrant):
    norms = (1.0,)
    vector_name = "dense"


class TestDot(InQdrant):
    norms = (1.0,)
    distance = Distance.DOT


class TestDotOfOtherNorms(InQdrant):
    norms = (LONG, MIXED)
    distance = Distance.DOT
    source = "vectors"


class TestEuclid(TestDot):
    distance = Distance.EUCLID


class TestEuclidOfOtherNorms(TestDotOfOtherNorms):
    distance = Distance.EUCLID
    vector_name = "dense"


class TestManhattan(TestDotOfOtherNorms):
    distance = Distance.MANHATTAN

    def test_the_top_hit_has_the_highest_cosine(self) -> None:
        """Not by the sum of differences."""


class TestMmr(InQdrant):
    search = "mmr"
    source = "vectors"

    def test_the_top_hit_has_the_highest_cosine(self) -> None:
        """Not with MMR, whose pool is the page."""


class TestHybrid(InQdrant):
    mode = RetrievalMode.HYBRID
    source = "vectors"

    def test_the_top_hit_has_the_highest_cosine(self) -> None:
        """Not where words have a say."""


class TestSparse(InQdrant):
    """Only word weights are stored."""

    mode = RetrievalMode.SPARSE
    norms = (1.0,)
    expected_reason = "score_not_convertible"
