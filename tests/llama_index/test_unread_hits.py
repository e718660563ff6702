"""Of what nobody reads beyond the page only ids and scores are fetched, with the same result."""

from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import VectorStoreQueryResult

from llama_index_recall_signal import RecallQueryEngine, RecallRetriever, _internals
from llama_index_recall_signal._unread import UnreadHit
from llama_index_recall_signal.stores import Hits, StoreAdapter, register_adapter
from llama_index_recall_signal.stores._simple import SimpleAdapter
from recall_signal import Baseline
from recall_signal._flow.values import FixedCalibration
from recall_signal.stores import ScoreReading
from tests.golden import llama_results
from tests.golden.world import QUESTIONS
from tests.llama_index.fakes import (
    QUERY,
    Embedding,
    RecordingLLM,
    caught_events,
    index_with_cosines,
    nodes_with_cosines,
    page_of,
    texts_with_metadata,
)

COSINES = [0.9 - number / 50 for number in range(40)]


class CountingDocuments(SimpleDocumentStore):
    """Notes how many nodes each read asks for."""

    reads: list[int]

    def __init__(self) -> None:
        super().__init__()
        self.reads = []

    def get_nodes(self, node_ids: list[str], raise_error: bool = True) -> list[Any]:
        self.reads.append(len(node_ids))
        return super().get_nodes(node_ids, raise_error)

    async def aget_nodes(self, node_ids: list[str], raise_error: bool = True) -> list[Any]:
        self.reads.append(len(node_ids))
        return await super().aget_nodes(node_ids, raise_error)


@pytest.fixture
def documents() -> CountingDocuments:
    return CountingDocuments()


def index(documents: CountingDocuments, cosines: Sequence[float] = COSINES) -> VectorStoreIndex:
    context = StorageContext.from_defaults(docstore=documents)
    return index_with_cosines(cosines, storage_context=context, store_nodes_override=True)


def wrapped(of: VectorStoreIndex, **settings: Any) -> RecallRetriever:
    return RecallRetriever(of.as_retriever(similarity_top_k=3), **settings)


WAYS = pytest.mark.parametrize("way", ["retrieve", "aretrieve", "batch", "abatch"])


async def retrieved(wrapper: RecallRetriever, way: str) -> list[Any]:
    if way.endswith("batch"):
        found: Any = getattr(wrapper, way)([QUERY, QUERY])
        return (await found if way == "abatch" else found)[0]
    found = getattr(wrapper, way)(QUERY)
    nodes: list[Any] = await found if way == "aretrieve" else found
    return nodes


@WAYS
async def test_only_the_page_is_fetched_and_all_else_is_the_same(
    documents: CountingDocuments, way: str
) -> None:
    wrapper = wrapped(index(documents))
    found = await retrieved(wrapper, way)
    assert set(documents.reads) == {3}
    documents.reads.clear()
    response = wrapper.recall(QUERY)
    assert documents.reads == [40]
    assert page_of(found) == page_of(response.nodes)
    assert [node.metadata["recall"] for node in found] == [
        node.metadata["recall"] for node in response.nodes
    ]
    assert response.confidence.result_count == 40
    assert response.pool.texts == [f"stored text {number}" for number in range(40)]


@WAYS
async def test_a_tie_at_the_end_of_the_page_is_still_the_retrievers_own(
    documents: CountingDocuments, way: str
) -> None:
    of = index(documents, [0.9, 0.8, 0.5, 0.5, 0.5, 0.2, 0.1])
    found = await retrieved(wrapped(of), way)
    assert page_of(found) == page_of(of.as_retriever(similarity_top_k=3).retrieve(QUERY))
    assert found[0].metadata["recall"]["confidence"]["result_count"] == 7
    assert [node.metadata["recall"]["cosine"] for node in found] == pytest.approx([0.9, 0.8, 0.5])
    assert max(documents.reads) == 3


def test_an_encoder_gets_all_texts(documents: CountingDocuments) -> None:
    wrapped(index(documents), embed_model=texts_with_metadata(COSINES)).retrieve(QUERY)
    assert documents.reads == [40]


@pytest.mark.parametrize("name", ["stored", "near", "absent"])
def test_a_calibration_gets_the_words_of_all_candidates(name: str) -> None:
    wrapper = llama_results.wrapped(calibration=llama_results.wrapped().calibrate())
    found, response = wrapper.retrieve(QUESTIONS[name]), wrapper.recall(QUESTIONS[name])
    entries = [node.metadata["recall"] for node in found]
    assert entries == [node.metadata["recall"] for node in response.nodes]
    assert entries[0]["confidence"]["term_coverage"] is not None


def test_a_calibration_that_may_come_at_any_time_gets_all_texts(
    documents: CountingDocuments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECALL_SIGNAL_AUTO", "off")
    wrapped(index(documents), calibration="auto").retrieve(QUERY)
    assert documents.reads == [40]


class ReadingAdapter(StoreAdapter[Any]):
    """Reads a number that the store's owner keeps in the metadata."""

    def read(self, store: Any, hits: Hits) -> ScoreReading:
        return ScoreReading([hit.node.metadata["page"] / 100 for hit in hits.nodes], "store")


class DerivedAdapter(SimpleAdapter):
    """Reads more of a hit than its parent does, which says that it reads no nodes."""

    read = ReadingAdapter.read


class OwnStore(SimpleVectorStore):
    """A store with an adapter of its own."""


@pytest.mark.parametrize("adapter", [ReadingAdapter(), DerivedAdapter()], ids=["own", "derived"])
def test_an_adapter_that_reads_nodes_gets_all_of_them(
    adapter: StoreAdapter[Any], documents: CountingDocuments
) -> None:
    register_adapter(f"{__name__}.OwnStore", adapter)
    context = StorageContext.from_defaults(docstore=documents, vector_store=OwnStore())
    of = index_with_cosines(COSINES, storage_context=context, store_nodes_override=True)
    entries = [node.metadata["recall"] for node in wrapped(of).retrieve(QUERY)]
    assert [entry["cosine"] for entry in entries] == [0.0, 0.01, 0.02]
    assert entries[0]["confidence"]["top_score"] == 0.39
    assert documents.reads == [40]


def test_a_baseline_reads_none(documents: CountingDocuments) -> None:
    wrapped(index(documents), baseline=Baseline()).retrieve(QUERY)
    assert documents.reads == [3]


def test_a_query_engine_has_the_whole_pool(documents: CountingDocuments) -> None:
    seen: list[Any] = []

    def absent(question: str, response: Any) -> str:
        seen.append(response.pool)
        return "nothing"

    of = index(documents, [0.1 - number / 100 for number in range(5)])
    wrapper = RecallQueryEngine.from_args(wrapped(of), llm=RecordingLLM(), on_absent=absent)
    assert str(wrapper.query(QUERY)) == "nothing"
    assert seen[0].texts == [f"stored text {number}" for number in range(5)]


def test_whoever_hears_the_event_has_the_whole_pool(documents: CountingDocuments) -> None:
    with caught_events() as caught:
        wrapped(index(documents)).retrieve(QUERY)
    (event,) = caught.of("RecallSignalEvent")
    assert event._outcome.pool.texts == [f"stored text {number}" for number in range(40)]


def test_a_calibration_that_fails_is_no_reason_to_fail(documents: CountingDocuments) -> None:
    class Failing:
        @property
        def reads_words(self) -> bool:
            raise RuntimeError("secret")

        def apply(self, confidence: Any, pool: Any) -> Any:
            raise RuntimeError("secret")

    wrapper = wrapped(index(documents))
    settings = wrapper._runtime.flow

    object.__setattr__(settings, "calibration", FixedCalibration(Failing()))
    assert len(wrapper.retrieve(QUERY)) == 3
    assert documents.reads == [40]


def test_a_document_that_is_missing_beyond_the_page_loses_no_level(
    documents: CountingDocuments,
) -> None:
    of = index(documents)
    documents.delete_document("n20")
    (first, *_) = wrapped(of).retrieve(QUERY)
    assert first.metadata["recall"]["confidence"]["level"] != "unknown"
    assert first.metadata["recall"]["confidence"]["result_count"] == 40


def test_a_result_that_the_store_keeps_is_left_alone(
    documents: CountingDocuments, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[VectorStoreQueryResult] = []
    search = SimpleVectorStore.query

    def query(self: SimpleVectorStore, query: Any, **kwargs: Any) -> VectorStoreQueryResult:
        if not kept:
            kept.append(search(self, query, **kwargs))
        return kept[0]

    monkeypatch.setattr(SimpleVectorStore, "query", query)
    wrapper = wrapped(index(documents))
    assert page_of(wrapper.retrieve(QUERY)) == page_of(wrapper.retrieve(QUERY))
    assert len(kept[0].ids or ()) == len(kept[0].similarities or ()) == 40


ODD = {
    "tuples": lambda ids, scores: (tuple(ids), tuple(scores)),
    "no scores": lambda ids, scores: (ids, None),
    "too few": lambda ids, scores: (ids, [*scores, 0.1]),
}


@pytest.mark.parametrize("odd", ODD)
def test_results_of_another_shape_are_left_as_they_are(
    documents: CountingDocuments, monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    search = SimpleVectorStore.query

    def query(self: SimpleVectorStore, query: Any, **kwargs: Any) -> VectorStoreQueryResult:
        found = search(self, query, **kwargs)
        ids: Any
        scores: Any
        ids, scores = ODD[odd](found.ids or [], found.similarities or [])
        return VectorStoreQueryResult(ids=ids, similarities=scores)

    monkeypatch.setattr(SimpleVectorStore, "query", query)
    found = wrapped(index(documents)).retrieve(QUERY)
    assert [node.node_id for node in found] == ["n0", "n1", "n2"]
    assert documents.reads[0] == 40


def test_a_store_that_keeps_its_nodes_gives_all_of_them(
    documents: CountingDocuments, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = SimpleVectorStore.query
    nodes = {node.node_id: node for node in nodes_with_cosines(COSINES)}

    def query(self: SimpleVectorStore, query: Any, **kwargs: Any) -> VectorStoreQueryResult:
        found = search(self, query, **kwargs)
        found.nodes = [nodes[id_] for id_ in found.ids or ()]
        return found

    monkeypatch.setattr(SimpleVectorStore, "query", query)
    found = wrapped(index(documents)).retrieve(QUERY)
    assert [node.node_id for node in found] == ["n0", "n1", "n2"]
    assert found[0].metadata["recall"]["confidence"]["result_count"] == 40
    assert documents.reads == []


def test_what_stands_for_an_unread_hit() -> None:
    hit = UnreadHit("n7", 0.5)
    assert (hit.node.node_id, hit.node.embedding, hit.node.metadata) == ("n7", None, {})
    assert hit.node.get_content() == ""
    with pytest.raises(AttributeError):
        hit.score = 0.1  # type: ignore[misc]


def test_the_view_of_a_store_is_otherwise_the_store(documents: CountingDocuments) -> None:
    search = _internals.vector_search(wrapped(index(documents)).retriever)
    assert search is not None
    view: Any = _internals.with_larger_top_k(search, 40, 3, [], [], fetched=3)
    assert view._vector_store.is_embedding_query is True
    assert view._vector_store.client is search.retriever._vector_store.client
    assert isinstance(search.encoder, Embedding)
