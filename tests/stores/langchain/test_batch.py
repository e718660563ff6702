"""Many questions in one call: embedded together, with the pages and reports of `invoke`."""

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import chromadb
import numpy as np
import pytest
from langchain_chroma import Chroma
from langchain_community.vectorstores import FAISS
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import RunnableConfig
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_qdrant import QdrantVectorStore

from langchain_recall_signal import RecallRetriever
from langchain_recall_signal._encoders import EncoderEmbeddings
from langchain_recall_signal._search import Call
from langchain_recall_signal.stores import find_adapter
from recall_signal import ConfigurationError
from recall_signal._wrapper import batches
from recall_signal.testing import SettableEncoder
from tests.langchain.fakes import entry

QUESTIONS = [f"which kiln was fired in week {number}" for number in range(7)]
TEXTS = [f"The kiln of week {number} reached cone {number % 9}." for number in range(40)]


class Together(Embeddings):
    """Gives each text a vector of its own, counts its calls, and takes questions together."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.refuses: str | None = None

    def _vector(self, text: str) -> list[float]:
        if text == self.refuses:
            raise ValueError("the secret question")
        seed = [*text.encode()]
        vector = np.random.default_rng(seed).random(16)
        unit: list[float] = (vector / np.linalg.norm(vector)).tolist()
        return unit

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.calls["one"] += 1
        return self._vector(text)

    def embed_queries(self, texts: list[str]) -> Any:
        self.calls["together"] += 1
        return self.embed_documents(texts)


def documents() -> list[Document]:
    return [Document(id=f"d{n}", page_content=text) for n, text in enumerate(TEXTS)]


def in_memory(encoder: Embeddings) -> VectorStore:
    store = InMemoryVectorStore(encoder)
    store.add_documents(documents())
    return store


def in_faiss(encoder: Embeddings) -> VectorStore:
    return FAISS.from_documents(documents(), encoder, ids=[str(d.id) for d in documents()])


def in_chroma(encoder: Embeddings) -> VectorStore:
    store = Chroma(
        f"c{uuid4().hex}",
        encoder,
        client=chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False)),
        collection_metadata={"hnsw:space": "cosine"},
    )
    store.add_documents(documents())
    return store


def in_qdrant(encoder: Embeddings) -> VectorStore:
    store = QdrantVectorStore.construct_instance(
        embedding=encoder, client_options={"location": ":memory:"}
    )
    store.add_documents([Document(page_content=text, id=str(uuid4())) for text in TEXTS])
    return store


STORES = [in_memory, in_faiss, in_chroma, in_qdrant]
SEARCHES: list[tuple[Any, dict[str, str]]] = [
    *((store_of, {}) for store_of in STORES),
    *((store_of, {"search_type": "similarity_score_threshold"}) for store_of in STORES[1:]),
]


def figures(page: Sequence[Document]) -> Any:
    """Ids and texts exactly, the figures of the report with a tolerance."""
    return [
        (
            document.id,
            document.page_content,
            pytest.approx(entry(document)["cosine"], abs=1e-6),
            pytest.approx(entry(document)["confidence"], abs=1e-6),
        )
        for document in page
    ]


def plain(page: Sequence[Document]) -> Any:
    return [
        (
            document.id,
            document.page_content,
            entry(document)["cosine"],
            entry(document)["confidence"],
        )
        for document in page
    ]


@pytest.mark.parametrize(("store_of", "search"), SEARCHES)
@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_batch_is_what_one_by_one_is(
    store_of: Any, search: dict[str, str], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "QUESTIONS_AT_ONCE", 3)
    encoder = Together()
    kwargs = {"k": 4, **({"score_threshold": 0.0} if search else {})}
    store = store_of(encoder)
    retriever = RecallRetriever(retriever=store.as_retriever(search_kwargs=kwargs, **search))
    one_by_one = [retriever.invoke(question) for question in QUESTIONS]
    encoder.calls.clear()
    pages = (
        retriever.batch(QUESTIONS)
        if way == "sync"
        else asyncio.run(retriever.abatch(QUESTIONS, {"max_concurrency": 2}))
    )
    assert encoder.calls == {"together": 3}
    assert [plain(page) for page in pages] == [figures(page) for page in one_by_one]
    assert all(page for page in pages)


class Near(Together):
    """Embeds two texts so alike that a question is nearer to the other one in company."""

    def _vector(self, text: str) -> list[float]:
        if text in QUESTIONS:
            return [1.0, 0.0, 0.0]
        near = {TEXTS[3]: [0.8 - 3e-7, -0.6 - 4e-7, 0.0], TEXTS[8]: [0.8, 0.6, 0.0]}
        other = 0.4 + 0.2 * super()._vector(text)[0]
        return near.get(text, [other, 0.0, (1 - other**2) ** 0.5])

    def embed_queries(self, texts: list[str]) -> Any:
        return [[1.0, -5e-7, 0.0] for _ in super().embed_queries(texts)]


def batch(retriever: RecallRetriever, way: str, **kwargs: Any) -> list[list[Document]]:
    if way == "sync":
        return retriever.batch(QUESTIONS, **kwargs)
    return asyncio.run(retriever.abatch(QUESTIONS, **kwargs))


@pytest.mark.parametrize(("store_of", "search"), SEARCHES)
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("way", ["sync", "async"])
def test_what_the_seventh_digit_decides_is_the_retrievers(
    store_of: Any, search: dict[str, str], k: int, way: str
) -> None:
    encoder = Near()
    kwargs = {"k": k, **({"score_threshold": 0.0} if search else {})}
    bare = store_of(encoder).as_retriever(search_kwargs=kwargs, **search)
    retriever = RecallRetriever(retriever=bare)
    expected = [retriever.invoke(question) for question in QUESTIONS]
    assert [d.page_content for d in bare.invoke(QUESTIONS[0])] == [TEXTS[8], TEXTS[3]][:k]
    encoder.calls.clear()
    assert [*map(plain, batch(retriever, way))] == [*map(figures, expected)]
    assert encoder.calls == {"together": 1, "one": len(QUESTIONS)}


@pytest.mark.parametrize("store_of", [in_faiss, in_chroma])
@pytest.mark.parametrize("way", ["sync", "async"])
def test_an_error_stands_for_its_question(store_of: Any, way: str) -> None:
    encoder = Together()
    retriever = RecallRetriever.from_vectorstore(store_of(encoder), k=2)
    encoder.refuses = QUESTIONS[2]
    if way == "sync":
        pages = retriever.batch(QUESTIONS, return_exceptions=True)
    else:
        pages = asyncio.run(retriever.abatch(QUESTIONS, return_exceptions=True))
    failed = [isinstance(page, ValueError) for page in pages]
    assert failed == [question == QUESTIONS[2] for question in QUESTIONS]
    with pytest.raises(ValueError, match="secret"):
        _ = (
            retriever.batch(QUESTIONS)
            if way == "sync"
            else asyncio.run(retriever.abatch(QUESTIONS))
        )


@pytest.mark.parametrize(
    "answer",
    [[[1.0] * 16], [[1.0], *[[1.0, 2.0]] * 6], [[]] * 7, None, "nonsense", [[1.0] * 3] * 7],
    ids=["too few", "ragged", "no dimension", "nothing", "text", "another dimension"],
)
@pytest.mark.parametrize("store_of", [in_memory, in_faiss])
@pytest.mark.parametrize("k", [3, 60], ids=["wider", "no wider"])
@pytest.mark.parametrize("way", ["sync", "async"])
def test_wrong_vectors_lead_back_to_one_by_one(
    store_of: Any,
    k: int,
    way: str,
    answer: object,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: Any,
) -> None:
    encoder = Together()
    retriever = RecallRetriever.from_vectorstore(store_of(encoder), k=k)
    expected = [retriever.invoke(question) for question in QUESTIONS]
    monkeypatch.setattr(encoder, "embed_queries", lambda texts: answer)
    with caplog.at_level(logging.DEBUG):
        pages = batch(retriever, way)
    assert [*map(plain, pages)] == [*map(figures, expected)]
    assert caplog.records
    assert not any(question in caplog.text for question in QUESTIONS)


def test_vectors_may_be_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Together()
    retriever = RecallRetriever.from_vectorstore(in_faiss(encoder), k=3)
    expected = [retriever.invoke(question) for question in QUESTIONS]
    monkeypatch.setattr(encoder, "embed_queries", lambda t: np.array(encoder.embed_documents(t)))
    assert [*map(plain, retriever.batch(QUESTIONS))] == [*map(figures, expected)]


class Heard(BaseCallbackHandler):
    def __init__(self) -> None:
        self.started: list[str] = []
        self.tags: list[Any] = []
        self.ended: list[int] = []
        self.reports = 0

    def on_retriever_start(self, serialized: Any, query: str, **kwargs: Any) -> None:
        if kwargs.get("parent_run_id") is None:
            self.started.append(query)
            self.tags.append(kwargs.get("tags"))

    def on_retriever_end(self, documents: Any, **kwargs: Any) -> None:
        if kwargs.get("parent_run_id") is None:
            self.ended.append(len(documents))

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        self.reports += 1


@pytest.mark.parametrize("each", [True, False], ids=["a config each", "one config"])
def test_each_question_has_its_run_its_event_and_its_config(each: bool) -> None:
    encoder, heard = Together(), Heard()
    retriever = RecallRetriever.from_vectorstore(in_memory(encoder), k=2)
    configs: list[RunnableConfig] = [
        {"callbacks": [heard], "tags": [question]} for question in QUESTIONS
    ]
    retriever.batch(QUESTIONS, configs if each else {"callbacks": [heard], "tags": ["all"]}, k=3)
    assert heard.started == QUESTIONS
    assert heard.tags == [[question] if each else ["all"] for question in QUESTIONS]
    assert heard.ended == [3] * len(QUESTIONS)
    assert heard.reports == len(QUESTIONS)
    assert encoder.calls == {"together": 1}


def test_what_a_call_is_given_reaches_each_question() -> None:
    encoder = Together()
    retriever = RecallRetriever.from_vectorstore(in_memory(encoder), k=2)
    found = retriever.batch(QUESTIONS, filter=lambda document: document.id == "d7")
    assert [[document.id for document in page] for page in found] == [["d7"]] * len(QUESTIONS)
    bound = retriever.bind(k=1).batch(QUESTIONS)
    assert [len(page) for page in bound] == [1] * len(QUESTIONS)
    with pytest.raises(ConfigurationError, match="selector"):
        retriever.batch(QUESTIONS, select=True)
    with pytest.raises(ConfigurationError, match="k must be"):
        retriever.batch(QUESTIONS, k=0)


class Alone(Together):
    embed_queries = None  # type: ignore[assignment]


class Reranking(InMemoryVectorStore):
    """A store of somebody's own, whose search with scores does more than its base's."""

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Any:
        return super().similarity_search_with_score(query, k, **kwargs)[::-1]


def test_anything_else_goes_the_inherited_way() -> None:
    alone, own = Alone(), Together()
    store = Reranking(own)
    store.add_documents(documents())
    for encoder, searched in ((alone, in_memory(alone)), (own, store)):
        retriever = RecallRetriever.from_vectorstore(searched, k=2)
        assert len(retriever.batch(QUESTIONS)) == len(asyncio.run(retriever.abatch(QUESTIONS))) == 7
        assert encoder.calls == {"one": 14}
    retriever = RecallRetriever.from_vectorstore(in_memory(own), k=2)
    own.calls.clear()
    assert retriever.batch([]) == []
    assert len(retriever.batch(QUESTIONS[:1])) == 1
    assert own.calls == {"one": 1}


def test_a_search_by_vector_that_fails_leaves_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Together()
    store = in_chroma(encoder)
    retriever = RecallRetriever.from_vectorstore(store, k=3)
    expected = [[d.id for d in retriever.invoke(question)] for question in QUESTIONS]

    def broken(*_: Any, **__: Any) -> Any:
        raise NotImplementedError

    monkeypatch.setattr(Chroma, "similarity_search_by_vector_with_relevance_scores", broken)
    assert [[d.id for d in page] for page in retriever.batch(QUESTIONS)] == expected


@pytest.mark.parametrize("way", ["sync", "async"])
def test_an_error_of_the_store_is_that_of_each_question(way: str, monkeypatch: Any) -> None:
    class Gone(dict[str, Any]):
        def values(self) -> Any:
            raise ConnectionError

    store = in_memory(Together())
    retriever = RecallRetriever.from_vectorstore(store, k=3)
    monkeypatch.setattr(store, "store", Gone())
    found = batch(retriever, way, return_exceptions=True)
    assert all(isinstance(page, ConnectionError) for page in found)


def test_a_reading_that_fails_leaves_the_retrievers_page(monkeypatch: Any) -> None:
    """Also where the search was no wider than the page, which is then not asked for twice."""
    retriever = RecallRetriever.from_vectorstore(in_memory(Near()), k=2, pool_size=2)
    monkeypatch.setattr(Call, "seen", lambda *_: 1 / 0)
    for page in retriever.batch(QUESTIONS):
        assert [d.page_content for d in page] == [TEXTS[8], TEXTS[3]]


def test_cancelling_a_batch_cancels_its_questions() -> None:
    encoder = Together()
    retriever = RecallRetriever.from_vectorstore(in_memory(encoder), k=3)

    async def main() -> None:
        task = asyncio.create_task(retriever.abatch(QUESTIONS * 100))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_qdrant_searches_by_vector_in_dense_mode_only() -> None:
    store = in_qdrant(Together())
    adapter = find_adapter(store)
    assert adapter is not None
    assert adapter.vector_search(store) == "similarity_search_with_score_by_vector"
    store.retrieval_mode = "hybrid"  # type: ignore[attr-defined]
    assert adapter.vector_search(store) is None


def test_an_encoder_of_the_core_takes_questions_together_where_it_can() -> None:
    class Single(SettableEncoder):
        name = "single"

    class Both(Single):
        def embed_queries(self, texts: list[str]) -> list[tuple[float, ...]]:
            return [(1.0, float(len(text))) for text in texts]

    assert EncoderEmbeddings(Both({})).embed_queries(["a", "bc"]) == [[1.0, 1.0], [1.0, 2.0]]
    one_by_one = EncoderEmbeddings(Single({"a": [1.0, 0.0], "bc": [0.0, 1.0]}))
    assert one_by_one.embed_queries(["a", "bc"]) == [[1.0, 0.0], [0.0, 1.0]]


class Denied(Exception):
    """What a subclass refuses."""


class GuardedInvoke(RecallRetriever):
    """Lets nobody ask the second question, nor pass arguments that it does not know."""

    def invoke(self, input: str, config: RunnableConfig | None = None) -> list[Document]:  # type: ignore[override]  # noqa: A002
        if input == QUESTIONS[1]:
            raise Denied
        return super().invoke(input, config)

    async def ainvoke(self, input: str, config: RunnableConfig | None = None) -> list[Document]:  # type: ignore[override]  # noqa: A002
        if input == QUESTIONS[1]:
            raise Denied
        return await super().ainvoke(input, config)


class GuardedSearch(RecallRetriever):
    """The same, one step further inside."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: Any, **kwargs: Any
    ) -> list[Document]:
        if query == QUESTIONS[1]:
            raise Denied
        return super()._get_relevant_documents(query, run_manager=run_manager, **kwargs)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: Any, **kwargs: Any
    ) -> list[Document]:
        if query == QUESTIONS[1]:
            raise Denied
        return await super()._aget_relevant_documents(query, run_manager=run_manager, **kwargs)


class Named(RecallRetriever):
    """Asks as its base does."""


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("guarded", [GuardedInvoke, GuardedSearch, Named])
def test_a_subclass_that_asks_in_its_own_way_is_asked(guarded: Any, way: str) -> None:
    encoder = Together()
    retriever = guarded(retriever=in_memory(encoder).as_retriever())
    if way == "sync":
        found = retriever.batch(QUESTIONS, return_exceptions=True)
    else:
        found = asyncio.run(retriever.abatch(QUESTIONS, return_exceptions=True))
    refused = [isinstance(page, Denied) for page in found]
    if guarded is Named:
        assert not any(refused)
        assert encoder.calls == {"together": 1}
        return
    assert refused == [question == QUESTIONS[1] for question in QUESTIONS]
    assert sum(isinstance(page, list) for page in found) == len(QUESTIONS) - 1
    assert encoder.calls == {"one": len(QUESTIONS) - 1}


PAST = [f"which glaze was mixed in week {number}" for number in range(70)]


@pytest.mark.parametrize("refuses", [None, PAST[3]])
@pytest.mark.parametrize("way", ["sync", "async"])
async def test_a_fit_embeds_its_queries_together(way: str, refuses: str | None) -> None:
    encoder, alone = Together(), Together()
    retriever = RecallRetriever.from_vectorstore(in_faiss(encoder))
    encoder.calls.clear()
    encoder.refuses = alone.refuses = refuses
    if way == "sync":
        fitted = retriever.calibrate(past_queries=PAST)
    else:
        fitted = await retriever.acalibrate(past_queries=PAST)
    assert encoder.calls["together"] == 5  # at most 60 at a time: 60, 60, 40 and 60, 10 past ones
    # Canaries that are asked again and the fingerprint; where a query is refused, each of its 60.
    assert encoder.calls["one"] < 25 + (0 if refuses is None else 60)

    alone.embed_queries = None  # type: ignore[assignment, method-assign]
    same = RecallRetriever.from_vectorstore(in_faiss(alone)).calibrate(past_queries=PAST)
    assert same.scale.cut == pytest.approx(fitted.scale.cut, abs=1e-6)
    assert same.counts == fitted.counts


@pytest.mark.parametrize("answer", [float("nan"), float("inf"), "1.0"])
def test_vectors_that_are_no_numbers_are_not_taken(answer: Any) -> None:
    found = batches.embed_questions(lambda texts: [[0.5, answer]] * len(texts), ["a", "b"])
    assert found == [None, None]


def test_a_coroutine_takes_no_questions_together() -> None:
    class Awaited:
        async def embed_queries(self, texts: list[str]) -> None: ...

    assert batches.embedder_of(Awaited()) is None
