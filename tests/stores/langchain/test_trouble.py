"""What users of LangChain's stores ran into with scores: one test for each known trouble.

The numbers in the names are those of the list that the tests were written from.
"""

from typing import Any, ClassVar
from uuid import NAMESPACE_OID, uuid4, uuid5

import chromadb
import faiss
import numpy as np
import pytest
from langchain_chroma import Chroma
from langchain_community.docstore.in_memory import InMemoryDocstore
from langchain_community.vectorstores import FAISS
from langchain_community.vectorstores.utils import DistanceStrategy
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_qdrant import QdrantVectorStore, RetrievalMode
from qdrant_client import QdrantClient
from qdrant_client.models import Distance, SparseVectorParams, VectorParams

from langchain_recall_signal import RecallResponse, RecallRetriever
from recall_signal import ConfigurationError, Thresholds
from recall_signal.testing import vectors_with_cosines
from tests.stores.langchain_world import Encoder, Words

# Chroma warns where its configuration is read for relevance scores.
pytestmark = pytest.mark.filterwarnings("ignore:legacy embedding function config")

QUERY = "what is asked"
ASKED = np.eye(16)[0]
SPREAD = (0.6, 0.2, 0.0, -0.2)
TEXTS = [f"text of cosine {cosine}" for cosine in SPREAD]


def encoder(cosines: Any = SPREAD, **vectors: Any) -> Encoder:
    """Every text has the cosine that it names."""
    stored = vectors_with_cosines(ASKED, cosines, **vectors)
    texts = [f"text of cosine {cosine}" for cosine in cosines]
    return Encoder({QUERY: ASKED, **dict(zip(texts, stored, strict=True))})


def in_chroma(space: str = "l2") -> Chroma:
    client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
    settings: dict[str, Any] = {"collection_configuration": {"hnsw": {"space": space}}}
    store = Chroma(f"c{uuid4().hex}", encoder(), client=client, **settings)
    store.add_texts(TEXTS, ids=TEXTS)
    return store


def in_faiss(index: Any, **settings: Any) -> FAISS:
    store = FAISS(encoder(), index, InMemoryDocstore(), {}, **settings)
    store.add_texts(TEXTS, ids=TEXTS)
    return store


def in_qdrant(mode: RetrievalMode = RetrievalMode.DENSE, cosines: Any = SPREAD) -> Any:
    client = QdrantClient(":memory:")
    client.create_collection(
        "c",
        VectorParams(size=16, distance=Distance.COSINE),
        sparse_vectors_config={"langchain-sparse": SparseVectorParams()},
    )
    store = QdrantVectorStore(
        client, "c", encoder(cosines), retrieval_mode=mode, sparse_embedding=Words()
    )
    texts = [f"text of cosine {cosine}" for cosine in cosines]
    store.add_texts(texts, ids=[str(uuid5(NAMESPACE_OID, text)) for text in texts])
    return store


def recall(store: Any, **settings: Any) -> RecallResponse:
    return RecallRetriever.from_vectorstore(store, **settings).recall(QUERY)


def check(response: RecallResponse, tolerance: float = 1e-5) -> None:
    """Every document carries the cosine that its text names."""
    assert response.documents
    for document in response.documents:
        named = float(document.page_content.rpartition(" ")[2])
        assert document.metadata["recall"]["cosine"] == pytest.approx(named, abs=tolerance)


def texts(documents: list[Document]) -> list[str]:
    return [document.page_content for document in documents]


def test_row_01_a_relevance_below_zero_is_no_cosine(monkeypatch: pytest.MonkeyPatch) -> None:
    """LangChain makes relevance of a squared distance with the formula for a plain one."""
    store = in_chroma()
    with pytest.warns(UserWarning, match="between 0 and 1"):
        relevances = [r for _, r in store.similarity_search_with_relevance_scores(QUERY)]
    assert min(relevances) < -0.6
    monkeypatch.delattr(Chroma, "_select_relevance_score_fn")
    response = recall(store)
    check(response)
    assert texts(response.documents) == TEXTS


def test_row_03_the_best_hit_by_inner_product_has_the_highest_cosine() -> None:
    store = in_faiss(faiss.IndexFlatIP(16), distance_strategy=DistanceStrategy.MAX_INNER_PRODUCT)
    relevances = [r for _, r in store.similarity_search_with_relevance_scores(QUERY)]
    assert relevances[0] < relevances[1]  # the wrong way round
    response = recall(store)
    check(response)
    assert response.confidence.reason is None
    assert response.pool.cosines[0] == max(c for c in response.pool.cosines if c is not None)


@pytest.mark.parametrize("strategy", DistanceStrategy)
@pytest.mark.parametrize("metric", [faiss.METRIC_L2, faiss.METRIC_INNER_PRODUCT])
def test_row_04_the_index_decides_and_not_the_strategy(metric: int, strategy: Any) -> None:
    check(recall(in_faiss(faiss.IndexFlat(16, metric), distance_strategy=strategy)))


@pytest.mark.parametrize("threshold", [-1.0, 0.2, 0.6, 2.0])
@pytest.mark.parametrize("strategy", DistanceStrategy)
@pytest.mark.parametrize("metric", [faiss.METRIC_L2, faiss.METRIC_INNER_PRODUCT])
async def test_row_04_a_threshold_that_goes_by_the_strategy_stays_the_retrievers_own(
    metric: int, strategy: Any, threshold: float
) -> None:
    store = in_faiss(faiss.IndexFlat(16, metric), distance_strategy=strategy)
    bare = store.as_retriever(search_kwargs={"k": 3, "score_threshold": threshold})
    wrapped = RecallRetriever(retriever=bare)
    assert texts(wrapped.invoke(QUERY)) == texts(bare.invoke(QUERY))
    assert texts(await wrapped.ainvoke(QUERY)) == texts(await bare.ainvoke(QUERY))


class TestRow05:
    """`score_threshold` means a largest distance here and a least relevance there."""

    @pytest.mark.filterwarnings("ignore:Relevance scores must be between 0 and 1")
    @pytest.mark.parametrize("threshold", [0.0, 0.1, 0.5, 0.9, np.float64(0.3)])
    @pytest.mark.parametrize("make", [in_chroma, in_qdrant])
    def test_row_05_a_least_relevance_stays_the_retrievers_own(
        self, make: Any, threshold: Any
    ) -> None:
        bare = make().as_retriever(
            search_type="similarity_score_threshold",
            search_kwargs={"k": 4, "score_threshold": threshold},
        )
        try:
            expected = texts(bare.invoke(QUERY))
        except ValueError:
            with pytest.raises(ValueError, match="score_threshold"):
                RecallRetriever(retriever=bare).invoke(QUERY)
            return
        response = RecallRetriever(retriever=bare).recall(QUERY)
        assert texts(response.documents) == expected
        if expected:
            check(response)

    @pytest.mark.parametrize("threshold", [-1, 0, 0.1, 0.5, 1])
    def test_row_05_a_threshold_of_the_stores_own_search(self, threshold: float) -> None:
        search_kwargs = {"k": 4, "score_threshold": threshold}
        bare = in_qdrant().as_retriever(search_kwargs=search_kwargs)
        response = RecallRetriever(retriever=bare).recall(QUERY)
        assert texts(response.documents) == texts(bare.invoke(QUERY))

    def test_row_05_a_largest_distance(self) -> None:
        store = in_faiss(faiss.IndexFlatL2(16))
        bare = store.as_retriever(search_kwargs={"k": 4, "score_threshold": 1.7})
        assert texts(bare.invoke(QUERY)) == TEXTS[:2]
        response = RecallRetriever(retriever=bare).recall(QUERY)
        assert texts(response.documents) == TEXTS[:2]
        check(response)

    def test_row_05_our_cuts_are_cosines_whatever_the_store_counts_in(self) -> None:
        cuts = Thresholds(prominence_low=1e-6, prominence_moderate=1e-6, prominence_high=1e-6)
        levels = {
            space: recall(in_chroma(space), thresholds=cuts).confidence.level
            for space in ("l2", "cosine", "ip")
        }
        assert set(levels.values()) == {"moderate"}


class TestRow07:
    @pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int64(1)])
    @pytest.mark.parametrize("name", ["cosine_high", "prominence_high", "separation_high"])
    def test_row_07_any_real_number_is_a_threshold(self, name: str, value: Any) -> None:
        low = name.replace("high", "low"), name.replace("high", "moderate")
        cuts = Thresholds(**{name: value, **dict.fromkeys(low, 0.1)})
        assert type(getattr(cuts, name)) is float
        assert recall(in_chroma(), thresholds=cuts).confidence.level != "unknown"

    @pytest.mark.parametrize("value", [True, float("nan")])
    def test_row_07_what_is_none_is_refused_by_name(self, value: Any) -> None:
        with pytest.raises(ConfigurationError, match="cosine_high"):
            Thresholds(cosine_high=value)


class TestRow08:
    @pytest.mark.parametrize(
        "make",
        [
            in_chroma,
            in_qdrant,
            lambda: in_faiss(faiss.IndexFlatL2(16)),
            lambda: InMemoryVectorStore.from_texts(TEXTS, encoder()),
        ],
        ids=["chroma", "qdrant", "faiss", "memory"],
    )
    def test_row_08_every_document_of_a_known_store_carries_its_cosine(self, make: Any) -> None:
        check(recall(make()))

    def test_row_08_without_a_score_the_reason_is_told(self) -> None:
        class Own(InMemoryVectorStore):
            def similarity_search(self, *args: Any, **kwargs: Any) -> list[Document]:
                return super().similarity_search(*args, **kwargs)

        found = [Document(page_content=text) for text in TEXTS]
        for retriever, reason in (
            (RunnableLambda(lambda _: found), "no_score_access"),
            (Own.from_texts(TEXTS, encoder()).as_retriever(), "store_not_recognised"),
        ):
            response = RecallRetriever(retriever=retriever).recall(QUERY)
            assert (response.confidence.level, response.confidence.reason) == ("unknown", reason)
            assert [d.metadata["recall"]["cosine"] for d in response.documents] == [None] * 4


def test_row_09_chromas_relevance_by_vector_is_a_distance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If this fails, the method means what it says now; we never call it, whatever it means."""
    store = in_chroma("cosine")
    hits = store.similarity_search_by_vector_with_relevance_scores(ASKED.tolist())
    assert [score for _, score in hits] == pytest.approx([0.4, 0.8, 1.0, 1.2], abs=1e-5)
    monkeypatch.delattr(Chroma, "similarity_search_by_vector_with_relevance_scores")
    check(recall(store))


class TestRow18:
    """Tracers take `metadata["score"]` for what it is called."""

    KEYS: ClassVar[set[str]] = {"score", "relevance_score", "similarity", "distance"}

    @pytest.mark.parametrize("make", [in_chroma, in_qdrant])
    def test_row_18_nothing_is_added_but_our_one_key(self, make: Any) -> None:
        store = make()
        bare: BaseRetriever = store.as_retriever()
        response = RecallRetriever(retriever=bare).recall(QUERY)
        for document, plain in zip(response.documents, bare.invoke(QUERY), strict=True):
            assert set(document.metadata) - set(plain.metadata) == {"recall"}
            assert not set(document.metadata) & self.KEYS
            assert document.metadata["recall"]["cosine_source"] == "store"

    def test_row_18_what_a_user_stores_under_such_a_key_stays(self) -> None:
        store = in_chroma()
        store.add_texts(["text of cosine 0.6"], [{"score": 7, "similarity": "mine"}], ids=["own"])
        by_id = {document.id: document for document in recall(store).documents}
        rest = {k: v for k, v in by_id["own"].metadata.items() if k != "recall"}
        assert rest == {"score": 7, "similarity": "mine"}
        assert by_id["own"].metadata["recall"]["cosine"] == pytest.approx(0.6, abs=1e-5)


class TestFused:
    """Where words have a say as well, the score is a fusion of ranks."""

    MANY = tuple(np.linspace(0.9, -0.9, 60).round(3).tolist())

    def test_row_19_a_fused_rank_is_never_a_level(self) -> None:
        """The best fused score is there for an off-topic query too."""
        store = in_qdrant(RetrievalMode.HYBRID, self.MANY)
        fused = [score for _, score in store.similarity_search_with_score(QUERY, k=10)]
        response = recall(store, k=10)
        check(response)
        assert response.cosine_source == "vectors"
        assert response.confidence.top_score != pytest.approx(max(fused), abs=1e-3)
        off_topic = in_qdrant(RetrievalMode.HYBRID, tuple(c / 10 for c in self.MANY))
        assert recall(off_topic, k=10).confidence.level in {"none", "low"}

    def test_row_19_without_vectors_it_is_unknown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def unreachable(*_: Any, **__: Any) -> Any:
            raise ConnectionError

        store = in_qdrant(RetrievalMode.HYBRID, self.MANY)
        monkeypatch.setattr(store.client, "retrieve", unreachable)
        response = recall(store, k=10)
        assert response.confidence.level == "unknown"
        assert len(response.documents) == 10
        again = recall(store, k=10, embeddings=encoder(self.MANY))
        assert again.cosine_source == "embeddings"
        check(again)

    @pytest.mark.parametrize("k", [1, 4, 10])
    def test_row_20_the_order_is_the_stores_and_the_cosines_absolute(self, k: int) -> None:
        store = in_qdrant(RetrievalMode.HYBRID, self.MANY)
        bare = store.as_retriever(search_kwargs={"k": k})
        before = bare.invoke(QUERY)
        response = RecallRetriever(retriever=bare).recall(QUERY)
        check(response)
        assert texts(response.documents) == texts(before)
        for document, plain in zip(response.documents, before, strict=True):
            rest = {key: v for key, v in document.metadata.items() if key != "recall"}
            assert (document.id, rest) == (plain.id, plain.metadata)
