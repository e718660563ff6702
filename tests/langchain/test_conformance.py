"""LangChain's own standard tests, and our conformance suite on the stores of this package."""

from collections.abc import Sequence
from typing import Any, ClassVar

import faiss
import numpy as np
from langchain_community.vectorstores.utils import DistanceStrategy
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests

from langchain_recall_signal import RecallRetriever
from recall_signal.testing import AdapterConformance
from tests.langchain.fakes import DIMENSION, Encoder, documents, faiss_store, simple_store
from tests.stores.cases import conformance

MIXED = (1.0, 2.5, 0.4)


class TestStandard(RetrieversIntegrationTests):
    """`k` of the wrapper."""

    @property
    def retriever_constructor(self) -> type[RecallRetriever]:
        return RecallRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"retriever": simple_store().as_retriever()}

    @property
    def retriever_query_example(self) -> str:
        return "an example"


class TestStandardByStore(TestStandard):
    """`k` of the wrapped retriever."""

    @property
    def retriever_constructor(self) -> Any:
        return lambda k=4, **_: RecallRetriever.from_vectorstore(simple_store(), k=k)

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {}


class InLangChain(AdapterConformance):
    """Builds the two retrievers around what `store` returns."""

    encoder_class = Encoder
    settings: ClassVar[dict[str, Any]] = {}

    def store(self, encoder: Encoder) -> Any:
        raise NotImplementedError

    def build(
        self, texts: list[str], vectors: Any, encoder: Any, k: int, pool_size: int
    ) -> tuple[Any, Any]:
        store = self.store(encoder)
        if texts:
            store.add_documents(
                [
                    Document(id=d.id, page_content=text, metadata=d.metadata)
                    for d, text in zip(documents(len(texts)), texts, strict=True)
                ]
            )
        bare = store.as_retriever(search_kwargs={"k": k})
        return RecallRetriever(retriever=bare, pool_size=pool_size, **self.settings), bare


class TestInMemory(InLangChain):
    norms: ClassVar[Sequence[float | Sequence[float]]] = (1.0, 3.0, MIXED)

    def store(self, encoder: Encoder) -> Any:
        return InMemoryVectorStore(encoder)


class TestDeclaredKind(TestInMemory):
    norms = (1.0,)
    settings: ClassVar[dict[str, Any]] = {"score_kind": "cosine"}


class TestEmbeddedAgain(TestInMemory):
    """A search that has no scores: the cosines come from the texts."""

    norms = (3.0,)

    def build(
        self, texts: list[str], vectors: Any, encoder: Any, k: int, pool_size: int
    ) -> tuple[Any, Any]:
        bare = super().build(texts, vectors, encoder, k, pool_size)[1]
        bare = bare.model_copy(update={"search_type": "mmr"})
        return RecallRetriever(retriever=bare, embeddings=encoder, pool_size=pool_size), bare

    def test_the_top_hit_has_the_highest_cosine(self) -> None:
        """Not with MMR, whose pool is the page."""


class InFaiss(InLangChain):
    """By FAISS's own name of an index."""

    page_sizes = (1, 10)
    index = "Flat"
    metric = faiss.METRIC_L2
    norms: ClassVar[Sequence[float | Sequence[float]]] = (1.0, 3.0, MIXED)

    def store(self, encoder: Encoder) -> Any:
        index = faiss.index_factory(DIMENSION, self.index, self.metric)
        index.train(np.random.default_rng(3).standard_normal((700, DIMENSION), np.float32))
        return faiss_store(encoder, 0, index)


BY_PRODUCT = {"metric": faiss.METRIC_INNER_PRODUCT, "ties_keep_order": False}
HNSW = {"index": "HNSW32", "pool_size": 10}
"""With a pool above efSearch=16 FAISS would search wider than it does for k."""

NO_COSINE = {"expected_reason": "score_not_convertible"}
CASES: dict[str, dict[str, Any]] = {
    "FlatL2": {},
    "FlatInnerProduct": BY_PRODUCT,
    "HnswL2": HNSW,
    "HnswInnerProduct": {**HNSW, **BY_PRODUCT},
    "HalfPrecision": {"index": "SQfp16", "tolerance": 1e-3, "ties_keep_order": False},
    "Bits": {
        "index": "LSH",
        "ties_keep_order": False,
        "pool_size": 10,
        "page_sizes": (10,),
        **NO_COSINE,
    },
    "Projection": {"index": "PCA8,Flat", **NO_COSINE},
}
globals().update(conformance(InFaiss, CASES))


class TestInvertedFile(InFaiss):
    index = "IVF4,Flat"
    norms: ClassVar[Sequence[float | Sequence[float]]] = (1.0, 3.0)

    def store(self, encoder: Encoder) -> Any:
        store = super().store(encoder)
        store.index.nprobe = 4
        return store


class TestInvertedFileOfMixedNorms(TestInvertedFile):
    """It gives no single vector back."""

    norms = (MIXED,)
    expected_reason = "norm_unknown"


class TestNormalized(InFaiss):
    """The store scales vectors itself, so the norm of what it is given does not matter."""

    def store(self, encoder: Encoder) -> Any:
        index = faiss.IndexFlatL2(DIMENSION)
        return faiss_store(encoder, 0, index, normalize_L2=True)


class TestCosineStrategyOnInnerProduct(InFaiss):
    ties_keep_order = False

    def store(self, encoder: Encoder) -> Any:
        index, strategy = faiss.IndexFlatIP(DIMENSION), DistanceStrategy.COSINE
        return faiss_store(encoder, 0, index, distance_strategy=strategy)
