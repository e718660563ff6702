"""Of what nobody reads beyond the page, FAISS finds ids and scores only, with the same result."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

import faiss
import numpy as np
import pytest
from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.docstore.in_memory import InMemoryDocstore
from langchain_community.vectorstores import FAISS
from langchain_community.vectorstores.utils import DistanceStrategy
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import VectorStoreRetriever

from langchain_recall_signal import RecallRetriever
from langchain_recall_signal.stores import Hits, find_adapter
from langchain_recall_signal.stores._faiss import FaissAdapter
from recall_signal import Baseline
from recall_signal.stores import ScoreReading
from recall_signal.testing import vectors_with_cosines
from tests.faults.test_steps import FOREIGN
from tests.golden.langchain_results import TrigramEmbeddings
from tests.golden.langchain_results import documents as golden_documents
from tests.golden.world import QUESTIONS
from tests.langchain.fakes import (
    DIMENSION,
    QUERY,
    Encoder,
    contents,
    documents,
    encoder_for,
    entry,
    plain,
)

COUNT, PAGE, POOL = 60, 5, 50
ASKED = np.eye(DIMENSION)[0]
SPREAD = np.linspace(0.95, 0.5, COUNT)
UNIT = vectors_with_cosines(ASKED, SPREAD)
MIXED = UNIT * np.resize([1.0, 2.5, 0.4], COUNT)[:, None]
TIED = np.vstack([UNIT[:3], np.resize(np.eye(DIMENSION)[1:], (300, DIMENSION))])
NEARLY_TIED = vectors_with_cosines(ASKED, 0.9 - np.arange(COUNT) * 1e-7)


class CountingDocuments(InMemoryDocstore):
    """Notes the id of each document that is read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[str] = []

    def search(self, search: str) -> str | Document:
        self.reads.append(search)
        return super().search(search)


class Together(Encoder):
    """Takes questions together."""

    def embed_queries(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def stored(
    vectors: Any = UNIT,
    index: Any = None,
    *,
    kind: type[FAISS] = FAISS,
    encoder: type[Encoder] = Encoder,
    **settings: Any,
) -> FAISS:
    """A store of these vectors, which counts what is read."""
    index = faiss.IndexFlatL2(DIMENSION) if index is None else index
    embedding = encoder(encoder_for(vectors, ASKED).vectors)
    store = kind(embedding, index, CountingDocuments(), {}, **settings)
    if len(vectors):
        store.add_documents(documents(len(vectors)))
    return store


def reads(store: FAISS) -> list[str]:
    assert isinstance(store.docstore, CountingDocuments)
    return store.docstore.reads


def lose(store: FAISS, *ids: str) -> None:
    """Delete documents, and leave their vectors in the index."""
    assert isinstance(store.docstore, InMemoryDocstore)
    store.docstore.delete([*ids])


def wrapped(store: FAISS, **settings: Any) -> RecallRetriever:
    bare = store.as_retriever(search_kwargs={"k": PAGE})
    return RecallRetriever(retriever=bare, **{"pool_size": POOL, **settings})


WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke", "batch", "abatch"])


async def pages(retriever: Any, way: str, *options: Any) -> list[list[Document]]:
    """The pages of one question, or of the same one twice."""
    question: Any = [QUERY, QUERY] if "batch" in way else QUERY
    found = getattr(retriever, way)(question, *options)
    found = await found if way.startswith("a") else found
    return list(found) if "batch" in way else [found]


async def outcome(retriever: Any, way: str) -> Any:
    """The pages without our entries, or what was raised."""
    try:
        return [plain(page) for page in await pages(retriever, way)]
    except Exception as error:
        return type(error), str(error)


async def assert_same(store: FAISS, way: str, **settings: Any) -> None:
    """The page is the bare retriever's, with the entries that `recall` gives."""
    wrapper = wrapped(store, **settings)
    expected = wrapper.recall(QUERY).documents
    assert plain(expected) == plain(store.as_retriever(search_kwargs={"k": PAGE}).invoke(QUERY))
    for page in await pages(wrapper, way):
        assert page == expected


class TestOnlyThePageIsRead:
    @WAYS
    @pytest.mark.parametrize("encoder", [Encoder, Together])
    async def test_with_every_way_of_asking(self, way: str, encoder: type[Encoder]) -> None:
        store = stored(encoder=encoder)
        found = await pages(wrapped(store), way)
        assert reads(store) == [f"id{n}" for n in range(PAGE)] * len(found)
        for page in found:
            assert [document.page_content for document in page] == ["t0", "t1", "t2", "t3", "t4"]
            assert entry(page[0])["confidence"]["result_count"] == POOL

    @pytest.mark.parametrize(
        "settings",
        [
            {"baseline": Baseline()},
            {"annotate": "none"},
            {"reranker": lambda question, texts: [0.5] * len(texts), "use_rerank": True},
        ],
        ids=["baseline", "no entries", "reranker"],
    )
    def test_whatever_else_looks_at_it(self, settings: dict[str, Any]) -> None:
        store = stored()
        assert len(wrapped(store, **settings).invoke(QUERY)) == PAGE
        assert len(reads(store)) == PAGE

    def test_of_the_size_that_the_wrapper_or_the_call_asks_for(self) -> None:
        store = stored()
        wrapper = wrapped(store, k=3)
        assert len(wrapper.invoke(QUERY)) == len(reads(store)) == 3
        reads(store).clear()
        assert len(wrapper.invoke(QUERY, k=7)) == len(reads(store)) == 7

    def test_where_the_stored_vectors_decide(self) -> None:
        store = stored(MIXED)
        (first, *_) = wrapped(store).invoke(QUERY)
        assert entry(first)["cosine_source"] == "vectors"
        assert len(reads(store)) == PAGE

    @WAYS
    async def test_and_once_more_where_ties_decide_what_is_on_it(self, way: str) -> None:
        store = stored(TIED)
        found = await pages(wrapped(store), way)
        assert len(reads(store)) == (POOL + PAGE) * len(found)

    @pytest.mark.parametrize("way", ["invoke", "recall"])
    def test_by_a_wrapper_inside_of_a_wrapper(self, way: str) -> None:
        store = stored()
        getattr(RecallRetriever(retriever=wrapped(store)), way)(QUERY)
        assert len(reads(store)) == PAGE

    def test_by_a_store_whose_class_overrides_no_search(self) -> None:
        class Named(FAISS):
            """A store with a name of its own."""

        store = stored(kind=Named)
        (first, *_) = wrapped(store).invoke(QUERY)
        assert entry(first)["cosine_source"] == "store"
        assert len(reads(store)) == PAGE


class Listener(BaseCallbackHandler):
    """Keeps the custom events."""

    run_inline = True

    def __init__(self) -> None:
        self.events: list[Any] = []

    def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
        self.events.append(data)


class TestTheWholePoolIsRead:
    @pytest.mark.parametrize("way", ["recall", "arecall"])
    async def test_for_a_response(self, way: str) -> None:
        store = stored()
        response: Any = getattr(wrapped(store), way)(QUERY)
        response = await response if way == "arecall" else response
        assert reads(store) == response.pool.ids == [f"id{n}" for n in range(POOL)]
        assert response.pool.texts == [f"t{n}" for n in range(POOL)]

    @WAYS
    @pytest.mark.parametrize("encoder", [Encoder, Together])
    async def test_for_a_handler(self, way: str, encoder: type[Encoder]) -> None:
        store, listener = stored(encoder=encoder), Listener()
        found = await pages(wrapped(store), way, {"callbacks": [listener]})
        assert len(reads(store)) == POOL * len(found)
        assert listener.events == [wrapped(store).recall(QUERY).to_dict()] * len(found)

    def test_for_a_handler_of_a_wrapper_around(self) -> None:
        store = stored()
        outer = RecallRetriever(retriever=wrapped(store))
        outer.invoke(QUERY, {"callbacks": [Listener()]})
        assert len(reads(store)) == POOL

    def test_for_an_encoder(self) -> None:
        store = stored()
        wrapped(store, embeddings=store.embeddings).invoke(QUERY)
        assert len(reads(store)) == POOL

    def test_for_a_calibration_that_may_come_at_any_time(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RECALL_SIGNAL_AUTO", "off")
        store = stored()
        wrapped(store, calibration="auto").invoke(QUERY)
        assert len(reads(store)) == POOL

    def test_for_a_calibration_that_reads_words(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RECALL_SIGNAL_AUTO", "off")
        encoder, index = TrigramEmbeddings(), faiss.IndexFlatL2(192)
        store = FAISS(encoder, index, CountingDocuments(), {})
        store.add_documents(golden_documents())
        calibration = wrapped(store).calibrate()
        question, count = QUESTIONS["near"], len(golden_documents())
        for words, expected in ((calibration.words, count), (None, PAGE)):
            wrapper = wrapped(store, calibration=replace(calibration, words=words))
            reads(store).clear()
            page = wrapper.invoke(question)
            assert len(reads(store)) == expected
            assert page == wrapper.recall(question).documents
            assert (entry(page[0])["confidence"]["term_coverage"] is None) == (words is None)

    @pytest.mark.parametrize(
        ("search_type", "search_kwargs"),
        [
            ("similarity", {"filter": {"n": {"$lt": COUNT}}, "fetch_k": POOL}),
            ("similarity", {"score_threshold": 9.0}),
            ("similarity_score_threshold", {"score_threshold": 0.0}),
        ],
        ids=["filter", "threshold", "search type"],
    )
    def test_for_a_search_that_looks_at_hits(
        self, search_type: str, search_kwargs: dict[str, Any]
    ) -> None:
        store = stored()
        bare = store.as_retriever(
            search_type=search_type, search_kwargs={"k": PAGE, **search_kwargs}
        )
        page = RecallRetriever(retriever=bare, pool_size=POOL).invoke(QUERY)
        assert [document.page_content for document in page] == ["t0", "t1", "t2", "t3", "t4"]
        assert len(reads(store)) == POOL

    def test_for_a_filter_of_the_call(self) -> None:
        store = stored()
        wrapped(store).invoke(QUERY, filter={"n": {"$gt": 1}}, fetch_k=POOL)
        assert len(reads(store)) == POOL

    def test_for_a_retriever_that_is_not_langchains_own(self) -> None:
        class Own(VectorStoreRetriever):
            """A retriever with a name of its own."""

        store = stored()
        settings: Any = {"vectorstore": store, "search_kwargs": {"k": PAGE}}
        for bare in (Own(**settings), VectorStoreRetriever(**settings).with_config(tags=["t"])):
            reads(store).clear()
            RecallRetriever(retriever=bare, pool_size=POOL).invoke(QUERY)
            assert len(reads(store)) == POOL

    @pytest.mark.parametrize("k", [POOL, POOL + 5])
    async def test_where_the_page_is_no_smaller(self, k: int) -> None:
        store = stored()
        page = await wrapped(store).ainvoke(QUERY, k=k)
        assert [document.id for document in page] == reads(store) == [f"id{n}" for n in range(k)]
        assert page == wrapped(store).recall(QUERY, k=k).documents


def product() -> Any:
    return faiss.IndexFlatIP(DIMENSION)


BY_PRODUCT: dict[str, Any] = {"distance_strategy": DistanceStrategy.MAX_INNER_PRODUCT}

WORLDS: dict[str, Callable[[type[Encoder]], FAISS]] = {
    "squared distance": lambda encoder: stored(encoder=encoder),
    "inner product": lambda encoder: stored(UNIT, product(), encoder=encoder, **BY_PRODUCT),
    "normalised": lambda encoder: stored(MIXED, encoder=encoder, normalize_L2=True),
    "unequal lengths": lambda encoder: stored(MIXED, encoder=encoder),
    "unequal lengths, product": lambda encoder: stored(MIXED, product(), encoder=encoder),
    "one length": lambda encoder: stored(UNIT * 3.0, encoder=encoder),
    "ties": lambda encoder: stored(TIED, encoder=encoder),
    "ties, product": lambda encoder: stored(TIED, product(), encoder=encoder),
    "near ties": lambda encoder: stored(NEARLY_TIED, encoder=encoder),
    "near ties, product": lambda encoder: stored(NEARLY_TIED, product(), encoder=encoder),
    "duplicates": lambda encoder: stored(np.repeat(UNIT, 3, axis=0), encoder=encoder),
    "all the same": lambda encoder: stored(np.repeat(UNIT[:1], COUNT, axis=0), encoder=encoder),
    "fewer than the pool": lambda encoder: stored(UNIT[:30], encoder=encoder),
    "one more than the page": lambda encoder: stored(UNIT[: PAGE + 1], encoder=encoder),
    "the page": lambda encoder: stored(UNIT[:PAGE], encoder=encoder),
    "fewer than the page": lambda encoder: stored(UNIT[:3], encoder=encoder),
    "nothing": lambda encoder: stored(UNIT[:0], encoder=encoder),
}


class TestAllElseIsTheSame:
    @WAYS
    @pytest.mark.parametrize("encoder", [Encoder, Together])
    @pytest.mark.parametrize("world", WORLDS)
    async def test_page_and_entries(self, world: str, encoder: type[Encoder], way: str) -> None:
        await assert_same(WORLDS[world](encoder), way)

    @WAYS
    @pytest.mark.parametrize("pool_size", [PAGE, PAGE + 1, 200])
    async def test_with_a_pool_of_any_size(self, pool_size: int, way: str) -> None:
        await assert_same(stored(TIED), way, pool_size=pool_size)
        await assert_same(stored(MIXED), way, pool_size=pool_size)

    @WAYS
    async def test_where_vectors_made_together_differ_a_little(self, way: str) -> None:
        """The page is that of a question which is embedded alone."""

        askew = ASKED + 1e-6 * np.eye(DIMENSION)[1]

        class Inexact(Together):
            def embed_queries(self, texts: list[str]) -> list[list[float]]:
                return [askew.tolist() for _ in texts]

        store = stored(NEARLY_TIED, encoder=Inexact)
        expected = wrapped(store).recall(QUERY).documents
        assert plain(store.similarity_search_by_vector(askew.tolist(), PAGE)) != plain(expected)
        for page in await pages(wrapped(store), way):
            assert plain(page) == plain(expected)
            assert entry(page[0])["confidence"]["result_count"] == POOL

    @WAYS
    async def test_for_vectors_without_a_cosine(self, way: str) -> None:
        vectors = UNIT.copy()
        vectors[::2] = 0.0
        await assert_same(stored(vectors), way)
        await assert_same(stored(UNIT * 0.0), way)

    @WAYS
    async def test_where_deleting_has_moved_the_places(self, way: str) -> None:
        store = stored(MIXED)
        wrapped(store).invoke(QUERY)
        store.delete(["id3", "id30"])
        await assert_same(store, way)
        reads(store).clear()
        found = await pages(wrapped(store), way)
        assert not {"id3", "id30"} & {document.id for page in found for document in page}
        assert len(reads(store)) == PAGE * len(found)

    def test_where_documents_came_after_a_call(self) -> None:
        store = stored(UNIT[:20])
        wrapper = wrapped(store)
        wrapper.invoke(QUERY)
        assert isinstance(store.embeddings, Encoder)
        store.embeddings.vectors["t20"] = ASKED
        store.add_documents(documents(1, start=20))
        page = wrapper.invoke(QUERY)
        assert page[0].id == "id20"
        assert entry(page[0])["confidence"]["result_count"] == 21
        assert page == wrapper.recall(QUERY).documents


class TestAMissingDocument:
    @WAYS
    @pytest.mark.parametrize("vectors", [UNIT, MIXED], ids=["one length", "unequal lengths"])
    async def test_beyond_the_page_costs_nothing(self, vectors: Any, way: str) -> None:
        store = stored(vectors)
        whole = await pages(wrapped(store), way)
        assert entry(whole[0][0])["confidence"]["level"] != "unknown"
        far = store.similarity_search(QUERY, k=POOL)[PAGE:]
        lose(store, *(str(document.id) for document in far))
        assert await pages(wrapped(store), way) == whole

    @WAYS
    @pytest.mark.parametrize("encoder", [Encoder, Together])
    async def test_on_the_page_is_as_in_the_bare_retriever(
        self, encoder: type[Encoder], way: str
    ) -> None:
        store = stored(encoder=encoder)
        lose(store, "id3")
        wrapper = wrapped(store)
        raised = await outcome(wrapper.retriever, way)
        assert raised == (ValueError, "Could not find document for id id3, got ID id3 not found.")
        assert await outcome(wrapper, way) == raised


def trained(name: str) -> Any:
    index = faiss.index_factory(DIMENSION, name)
    random = np.random.default_rng(2).standard_normal((800, DIMENSION), np.float32)
    index.train(random / np.linalg.norm(random, axis=1, keepdims=True))
    return index


class TestOtherIndexes:
    @WAYS
    @pytest.mark.parametrize("vectors", [UNIT, MIXED], ids=["one length", "unequal lengths"])
    @pytest.mark.parametrize("metric", [faiss.METRIC_L2, faiss.METRIC_INNER_PRODUCT])
    async def test_a_graph(self, metric: int, vectors: Any, way: str) -> None:
        index = faiss.IndexHNSWFlat(DIMENSION, 32, metric)
        index.hnsw.efSearch = 100
        store = stored(vectors, index)
        await assert_same(store, way)
        reads(store).clear()
        found = await pages(wrapped(store), way)
        assert len(reads(store)) == PAGE * len(found)

    @WAYS
    @pytest.mark.parametrize("lists", [2, 16])
    async def test_an_inverted_file_that_finds_too_few(self, lists: int, way: str) -> None:
        """The lists that are searched hold fewer vectors than the pool, or than the page."""
        index = trained(f"IVF{lists},Flat")
        index.nprobe = 1
        vectors = np.random.default_rng(5).standard_normal((COUNT, DIMENSION))
        store = stored(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), index)
        _, places = index.search(np.array([ASKED], np.float32), POOL)
        found = int((places != -1).sum())
        assert PAGE < found < POOL if lists == 2 else 0 < found < PAGE
        await assert_same(store, way)
        (first, *_) = wrapped(store).invoke(QUERY)
        assert entry(first)["confidence"]["result_count"] == found
        assert entry(first)["cosine_source"] == "store"

    @pytest.mark.parametrize("name", ["SQ8", "PQ4x4", "IVF4,SQ8", "PCA8,Flat"])
    async def test_inexact_ones(self, name: str) -> None:
        await assert_same(stored(UNIT, trained(name)), "invoke")


def attributes(part: Any) -> dict[str, int]:
    """The names of an object's attributes, and which objects they are."""
    return {name: id(value) for name, value in vars(part).items()}


class TestTheStoreIsUntouched:
    @WAYS
    async def test_by_a_search(self, way: str) -> None:
        store = stored(MIXED)
        index, held = store.index, (attributes(store), attributes(store.index), contents(store))
        await pages(wrapped(store), way)
        assert store.index is index
        assert (attributes(store), attributes(store.index), contents(store)) == held

    @WAYS
    async def test_by_one_that_raised(self, way: str) -> None:
        store = stored()
        lose(store, "id0")
        index, held = store.index, (attributes(store), attributes(store.index))
        with pytest.raises(ValueError, match="id0"):
            await pages(wrapped(store), way)
        assert store.index is index
        assert (attributes(store), attributes(store.index)) == held

    @WAYS
    async def test_and_usable_after_one_that_raised(self, way: str) -> None:
        store = stored()
        wrapper = wrapped(store)
        expected = await pages(wrapper, way)
        assert isinstance(store.embeddings, Encoder)
        asked = store.embeddings.vectors[QUERY]
        store.embeddings.vectors[QUERY] = [1.0]
        with pytest.raises(AssertionError):
            await pages(wrapper, way)
        store.embeddings.vectors[QUERY] = asked
        reads(store).clear()
        assert await pages(wrapper, way) == expected
        assert len(reads(store)) == PAGE * len(expected)

    @WAYS
    async def test_an_index_that_is_assigned_is_the_next_calls(self, way: str) -> None:
        store = stored(MIXED)
        wrapper = wrapped(store)
        (before, *_) = await pages(wrapper, way)
        other = product()
        other.add(np.ascontiguousarray(UNIT[::-1], np.float32))
        store.index = other
        (after, *_) = await pages(wrapper, way)
        assert store.index is other
        assert [document.id for document in after] == [f"id{COUNT - 1 - n}" for n in range(PAGE)]
        assert entry(after[0])["cosine"] == pytest.approx(0.95)
        assert after == wrapper.recall(QUERY).documents
        assert [document.id for document in before] != [document.id for document in after]


class Reordering(FAISS):
    """Puts its hits into another order, by a vector."""

    def similarity_search_with_score_by_vector(self, *args: Any, **kwargs: Any) -> Any:
        hits = super().similarity_search_with_score_by_vector(*args, **kwargs)
        return sorted(hits, key=lambda hit: -(hit[0].metadata["n"] % 3))

    async def asimilarity_search_with_score_by_vector(self, *args: Any, **kwargs: Any) -> Any:
        return self.similarity_search_with_score_by_vector(*args, **kwargs)


class Dropping(FAISS):
    """Leaves out hits, by a question."""

    def similarity_search_with_score(self, *args: Any, **kwargs: Any) -> Any:
        hits = super().similarity_search_with_score(*args, **kwargs)
        return [hit for hit in hits if hit[0].metadata["n"] % 2]

    async def asimilarity_search_with_score(self, *args: Any, **kwargs: Any) -> Any:
        return self.similarity_search_with_score(*args, **kwargs)


class Plain(FAISS):
    """Has another search without scores."""

    def similarity_search(self, *args: Any, **kwargs: Any) -> list[Document]:
        return super().similarity_search(*args, **kwargs)[::-1]

    async def asimilarity_search(self, *args: Any, **kwargs: Any) -> list[Document]:
        return self.similarity_search(*args, **kwargs)


class Asynchronous(FAISS):
    """Has another asynchronous search, and no other."""

    async def asimilarity_search_with_score_by_vector(self, *args: Any, **kwargs: Any) -> Any:
        return (await super().asimilarity_search_with_score_by_vector(*args, **kwargs))[::-1]


class Diverse(FAISS):
    """Has a search of another kind, which is not the retriever's."""

    def similarity_search_by_vector(self, *args: Any, **kwargs: Any) -> list[Document]:
        raise AssertionError("nobody searches so")


class TestOtherClasses:
    @WAYS
    @pytest.mark.parametrize("kind", [Reordering, Dropping, Plain, Asynchronous, Diverse])
    async def test_a_store_with_a_search_of_its_own_gives_its_own_page(
        self, kind: type[FAISS], way: str
    ) -> None:
        wrapper = wrapped(stored(kind=kind, encoder=Together))
        own = await outcome(wrapper.retriever, way)
        assert await outcome(wrapper, way) == own

    @WAYS
    async def test_a_search_that_a_tracer_put_on_the_store_is_called(self, way: str) -> None:
        store: Any = stored()
        search, seen = store.similarity_search_with_score_by_vector, list[int]()

        def traced(*args: Any, **kwargs: Any) -> Any:
            hits = search(*args, **kwargs)
            seen.append(len(hits))
            return hits

        store.similarity_search_with_score_by_vector = traced
        for page in await pages(wrapped(store), way):
            assert [entry(d)["cosine"] for d in page] == pytest.approx(SPREAD[:PAGE].tolist())
        assert set(seen) == {POOL, PAGE}  # it might filter, so the page is searched for by itself

    @WAYS
    @pytest.mark.parametrize("error", FOREIGN)
    async def test_an_adapter_whose_ids_fail_costs_no_page(
        self,
        error: type[BaseException],
        way: str,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        def hit_ids(*_: Any) -> Any:
            raise error("a secret")

        store = stored()
        expected = wrapped(store).recall(QUERY).documents
        monkeypatch.setattr(FaissAdapter, "hit_ids", hit_ids)
        reads(store).clear()
        found = await pages(wrapped(store), way)
        assert found == [expected] * len(found)
        assert len(reads(store)) == POOL * len(found)
        assert f"a store's ids could not be read: {error.__name__}" in caplog.text
        assert "secret" not in caplog.text

    @WAYS
    @pytest.mark.parametrize("vectors", [UNIT, MIXED], ids=["one length", "unequal lengths"])
    async def test_an_adapter_whose_ids_are_no_mapping_costs_no_page(
        self, vectors: Any, way: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(FaissAdapter, "hit_ids", lambda *_: 7)
        wrapper = wrapped(stored(vectors))
        found = await pages(wrapper, way)
        assert [plain(page) for page in found] == await outcome(wrapper.retriever, way)

    @WAYS
    async def test_an_adapter_that_fails_on_what_was_not_read_costs_no_page(
        self, way: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def read(_: Any, store: Any, hits: Hits) -> ScoreReading:
            return ScoreReading([hit.metadata["n"] / 100 for hit in hits.documents], "store")

        monkeypatch.setattr(FaissAdapter, "read", read)
        wrapper = wrapped(stored())
        found = await pages(wrapper, way)
        assert [plain(page) for page in found] == await outcome(wrapper.retriever, way)
        assert "reading the store's scores failed: AttributeError" in caplog.text

    def test_the_adapter_names_the_ids_of_the_store(self) -> None:
        store = stored()
        adapter = find_adapter(store)
        assert adapter is not None
        assert adapter.hit_ids(store) is store.index_to_docstore_id


QUESTIONS_AT_ONCE = [f"question {number}" for number in range(50)]


def crowded(vectors: Any = MIXED) -> FAISS:
    """A store in which each of many questions has a page of its own."""
    store = stored(vectors)
    assert isinstance(store.embeddings, Encoder)
    for number, question in enumerate(QUESTIONS_AT_ONCE):
        store.embeddings.vectors[question] = vectors[number]
    return store


class MeetingDocuments(CountingDocuments):
    """Lets threads read together only."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.barrier = Barrier(count, timeout=5)

    def search(self, search: str) -> str | Document:
        self.barrier.wait()
        return super().search(search)


class TestManyAtOnce:
    @pytest.mark.parametrize("vectors", [UNIT, MIXED], ids=["one length", "unequal lengths"])
    def test_threads_that_are_in_the_same_search(self, vectors: Any) -> None:
        store = crowded(vectors)
        wrapper, questions = wrapped(store), QUESTIONS_AT_ONCE[:8]
        alone = [wrapper.invoke(question) for question in questions]
        assert isinstance(store.docstore, InMemoryDocstore)
        together = MeetingDocuments(len(questions))
        together.add(store.docstore._dict)
        store.docstore = together
        with ThreadPoolExecutor(len(questions)) as threads:
            assert list(threads.map(wrapper.invoke, questions)) == alone
        assert len(reads(store)) == PAGE * len(questions)

    def test_threads_some_of_which_read_everything(self) -> None:
        wrapper = wrapped(crowded())
        alone = [wrapper.recall(question) for question in QUESTIONS_AT_ONCE]

        def ask(number: int) -> Any:
            question = QUESTIONS_AT_ONCE[number]
            if number % 2:
                return wrapper.invoke(question) == alone[number].documents
            return wrapper.recall(question).to_dict() == alone[number].to_dict()

        with ThreadPoolExecutor(8) as threads:
            assert all(threads.map(ask, range(len(QUESTIONS_AT_ONCE))))

    async def test_tasks(self) -> None:
        store = crowded()
        wrapper = wrapped(store)
        alone = [wrapper.invoke(question) for question in QUESTIONS_AT_ONCE]
        assert len({page[0].id for page in alone}) > 10
        reads(store).clear()
        found = await asyncio.gather(*map(wrapper.ainvoke, QUESTIONS_AT_ONCE))
        assert found == alone
        assert len(reads(store)) == PAGE * len(QUESTIONS_AT_ONCE)


class TestInsideOfOthers:
    @WAYS
    async def test_an_ensemble_has_the_text_of_every_document(self, way: str) -> None:
        store, other = stored(), stored(UNIT[::-1])
        parts: Any = [
            wrapped(store),
            other.as_retriever(search_kwargs={"k": PAGE}),
            RunnableLambda(lambda _: documents(4, start=2)),
        ]
        ensemble = EnsembleRetriever(retrievers=parts, weights=[0.4, 0.3, 0.3])
        outer = RecallRetriever(retriever=ensemble)
        found = await pages(outer, way)
        assert [plain(page) for page in found] == await outcome(ensemble, way)
        for page in found:
            assert {d.page_content for d in page} >= {"t0", "t4", "t59", "t5"}
            assert all(document.page_content for document in page)

    @pytest.mark.parametrize("way", ["recall", "arecall"])
    async def test_so_has_the_response_of_a_wrapper_around_it(self, way: str) -> None:
        store = stored(MIXED)
        parts: Any = [wrapped(store), RunnableLambda(lambda _: documents(4, start=2))]
        ensemble = EnsembleRetriever(retrievers=parts, weights=[0.5, 0.5])
        response: Any = getattr(RecallRetriever(retriever=ensemble), way)(QUERY)
        response = await response if way == "arecall" else response
        assert plain(response.documents) == plain(ensemble.invoke(QUERY))
        assert response.pool.texts == [d.page_content for d in response.documents]
        assert all(response.pool.texts)
        assert set(reads(store)) <= {d.id for d in response.documents}
