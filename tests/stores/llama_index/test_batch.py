"""Many questions in one call: embedded together, with the nodes and reports of `retrieve`."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import faiss
import numpy as np
import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.vector_stores.faiss import FaissVectorStore

from llama_index_recall_signal import RecallRetriever
from llama_index_recall_signal import _search as search_module
from llama_index_recall_signal._encoders import EncoderEmbedding
from recall_signal import ConfigurationError
from recall_signal._wrapper import batches
from tests.llama_index.fakes import ListRetriever, caught_events, scored

QUESTIONS = [f"which kiln was fired in week {number}" for number in range(7)]


class Encoder:
    """Gives each text a vector of its own, and counts its calls."""

    name = "counting"

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.refuses: str | None = None

    def _vector(self, text: str) -> list[float]:
        if text == self.refuses:
            raise ValueError("the secret question")
        vector = np.random.default_rng([*text.encode()]).random(16)
        unit: list[float] = (vector / np.linalg.norm(vector)).tolist()
        return unit

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.calls["one"] += 1
        return self._vector(text)


class Together(Encoder):
    def embed_queries(self, texts: list[str]) -> list[list[float]]:
        self.calls["together"] += 1
        return self.embed_documents(texts)


def wrapped(encoder: Encoder, kind: str = "simple") -> RecallRetriever:
    nodes = [TextNode(id_=f"n{n}", text=f"The kiln of week {n}.") for n in range(40)]
    context = None
    if kind == "faiss":
        store = FaissVectorStore(faiss_index=faiss.IndexFlatIP(16))
        context = StorageContext.from_defaults(vector_store=store)
    index = VectorStoreIndex(nodes, embed_model=EncoderEmbedding(encoder), storage_context=context)
    return RecallRetriever(index.as_retriever(similarity_top_k=4))


def figures(nodes: Sequence[NodeWithScore]) -> list[tuple[Any, ...]]:
    reports = [item.node.metadata["recall"] for item in nodes]
    return [
        (item.node_id, item.score, report["cosine"], report["confidence"])
        for item, report in zip(nodes, reports, strict=True)
    ]


@pytest.mark.parametrize("kind", ["simple", "faiss"])
@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_batch_is_what_one_by_one_is(
    kind: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "QUESTIONS_AT_ONCE", 3)
    encoder = Together()
    retriever = wrapped(encoder, kind)
    one_by_one = [retriever.retrieve(question) for question in QUESTIONS]
    encoder.calls.clear()
    with caught_events() as events:
        if way == "sync":
            found = retriever.batch(QUESTIONS)
        else:
            found = asyncio.run(retriever.abatch(QUESTIONS))
    assert [*map(figures, found)] == [*map(figures, one_by_one)]
    assert encoder.calls == {"together": 2, "one": 1}  # the last part is one question
    assert len(events.of("RecallSignalEvent")) == len(QUESTIONS)


def batch(retriever: RecallRetriever, way: str, **options: Any) -> list[list[NodeWithScore]]:
    if way == "sync":
        return retriever.batch(QUESTIONS, **options)
    return asyncio.run(retriever.abatch(QUESTIONS, **options))


class Near(Together):
    """Embeds two texts so alike that a question is nearer to the other one in company."""

    def _vector(self, text: str) -> list[float]:
        near = {"The kiln of week 3.": [0.8 - 3e-7, -0.6 - 4e-7], "The kiln of week 8.": [0.8, 0.6]}
        first = [1.0, 0.0] if text in QUESTIONS else near.get(text, [0.0, 0.0])
        return [*first, 0.0 if any(first) else 1.0, *[0.0] * 13]

    def embed_queries(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, -5e-7, *[0.0] * 14] for _ in super().embed_queries(texts)]


@pytest.mark.parametrize("kind", ["simple", "faiss"])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("way", ["sync", "async"])
def test_what_the_seventh_digit_decides_is_the_retrievers(kind: str, k: int, way: str) -> None:
    encoder = Near()
    retriever = wrapped(encoder, kind)
    expected = [retriever.retrieve(question, k=k) for question in QUESTIONS]
    assert [item.text for item in expected[0]] == [f"The kiln of week {n}." for n in (8, 3)][:k]
    encoder.calls.clear()
    close = [pytest.approx(one, abs=1e-6) for one in map(scores, expected)]
    found = batch(retriever, way, k=k)
    assert [ids(nodes) for nodes in found] == [ids(nodes) for nodes in expected]
    assert [*map(scores, found)] == close
    assert encoder.calls == {"together": 1, "one": len(QUESTIONS)}


def ids(nodes: Sequence[NodeWithScore]) -> list[str]:
    return [item.node_id for item in nodes]


def scores(nodes: Sequence[NodeWithScore]) -> list[Any]:
    return [item.score for item in nodes]


@pytest.mark.parametrize("kind", ["simple", "faiss"])
@pytest.mark.parametrize("k", [3, 60], ids=["wider", "no wider"])
@pytest.mark.parametrize("way", ["sync", "async"])
def test_vectors_of_another_dimension_lead_back_to_one_by_one(
    kind: str, k: int, way: str, caplog: pytest.LogCaptureFixture, monkeypatch: Any
) -> None:
    encoder = Together()
    retriever = wrapped(encoder, kind)
    expected = [figures(retriever.retrieve(question, k=k)) for question in QUESTIONS]
    monkeypatch.setattr(encoder, "embed_queries", lambda texts: [[1.0] * 3 for _ in texts])
    assert [*map(figures, batch(retriever, way, k=k))] == expected
    assert "searching by a vector failed" in caplog.text
    assert not any(question in caplog.text for question in QUESTIONS)

    def unviewed(*_: Any, **__: Any) -> Any:
        raise TypeError

    monkeypatch.setattr(search_module, "with_larger_top_k", unviewed)
    assert [*map(len, batch(retriever, way, k=k))] == [min(k, 4)] * len(QUESTIONS)


@pytest.mark.parametrize("way", ["sync", "async"])
def test_an_error_of_the_store_is_that_of_each_question(way: str, monkeypatch: Any) -> None:
    retriever = wrapped(Together())

    def broken(*_: Any, **__: Any) -> Any:
        raise ConnectionError

    monkeypatch.setattr(SimpleVectorStore, "query", broken)
    found = batch(retriever, way, return_exceptions=True)
    assert all(isinstance(nodes, ConnectionError) for nodes in found)


def test_behind_a_declared_number_each_question_is_embedded_alone() -> None:
    encoder = Near()
    retriever = RecallRetriever(wrapped(encoder).retriever, score_key="cosine", score_kind="cosine")
    encoder.calls.clear()
    assert [*map(len, retriever.batch(QUESTIONS))] == [4] * len(QUESTIONS)
    assert encoder.calls == {"one": len(QUESTIONS)}


@pytest.mark.parametrize("way", ["sync", "async"])
def test_an_error_stands_for_its_question(way: str, caplog: pytest.LogCaptureFixture) -> None:
    encoder = Together()
    retriever = wrapped(encoder)
    encoder.refuses = QUESTIONS[2]
    if way == "sync":
        found = retriever.batch(QUESTIONS, return_exceptions=True)
    else:
        found = asyncio.run(retriever.abatch(QUESTIONS, return_exceptions=True))
    failed = [isinstance(nodes, ValueError) for nodes in found]
    assert failed == [question == QUESTIONS[2] for question in QUESTIONS]
    assert "secret" not in caplog.text
    with pytest.raises(ValueError, match="secret"):
        _ = (
            retriever.batch(QUESTIONS)
            if way == "sync"
            else asyncio.run(retriever.abatch(QUESTIONS))
        )


def test_a_query_with_settings_of_its_own_keeps_them() -> None:
    encoder = Together()
    retriever = wrapped(encoder)
    given = QueryBundle("anything", embedding=encoder.embed_query(QUESTIONS[0]))
    encoder.calls.clear()
    found = retriever.batch([QUESTIONS[0], given, QUESTIONS[1]], k=2)
    assert [len(nodes) for nodes in found] == [2, 2, 2]
    assert [item.node_id for item in found[0]] == [item.node_id for item in found[1]]
    assert encoder.calls == {"together": 1, "one": 1}  # is the vector the question's own?
    with pytest.raises(ConfigurationError):
        retriever.batch(QUESTIONS, kk=2)


@pytest.mark.parametrize("way", ["sync", "async"])
def test_without_a_batch_of_queries_each_is_embedded_alone(way: str) -> None:
    encoder = Encoder()
    for retriever in (wrapped(encoder), RecallRetriever(ListRetriever(scored(0.5, 0.4)))):
        if way == "sync":
            found = retriever.batch(QUESTIONS)
        else:
            found = asyncio.run(retriever.abatch(QUESTIONS))
        assert [*map(len, found)] == [len(retriever.retrieve("x"))] * 7
    assert retriever.batch([]) == []
    assert encoder.calls["one"] == len(QUESTIONS) + 1


class Denied(Exception):
    """What a subclass refuses."""


def check(query: Any) -> None:
    if query == QUESTIONS[1]:
        raise Denied


class GuardedRetrieve(RecallRetriever):
    """Lets nobody ask the second question, which it compares as it was given."""

    def retrieve(self, str_or_query_bundle: Any, **options: Any) -> list[NodeWithScore]:
        check(str_or_query_bundle)
        return super().retrieve(str_or_query_bundle, **options)

    async def aretrieve(self, str_or_query_bundle: Any, **options: Any) -> list[NodeWithScore]:
        check(str_or_query_bundle)
        return await super().aretrieve(str_or_query_bundle, **options)


class GuardedSearch(RecallRetriever):
    """The same, one step further inside."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        assert query_bundle.embedding is None
        check(query_bundle.query_str)
        return super()._retrieve(query_bundle)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        assert query_bundle.embedding is None
        check(query_bundle.query_str)
        return await super()._aretrieve(query_bundle)


class Named(RecallRetriever):
    """Asks as its base does."""


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("guarded", [GuardedRetrieve, GuardedSearch, Named])
def test_a_subclass_that_asks_in_its_own_way_is_given_the_queries(guarded: Any, way: str) -> None:
    encoder = Together()
    retriever = guarded(wrapped(encoder).retriever)
    if way == "sync":
        found = retriever.batch(QUESTIONS, return_exceptions=True)
    else:
        found = asyncio.run(retriever.abatch(QUESTIONS, return_exceptions=True))
    refused = [isinstance(nodes, Denied) for nodes in found]
    if guarded is Named:
        assert not any(refused)
        assert encoder.calls == {"together": 1}
        return
    assert refused == [question == QUESTIONS[1] for question in QUESTIONS]
    assert encoder.calls == {"one": len(QUESTIONS) - 1}


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_a_fit_embeds_its_queries_together(way: str) -> None:
    encoder = Together()
    retriever = wrapped(encoder, "faiss")
    encoder.calls.clear()
    fitted = retriever.calibrate() if way == "sync" else await retriever.acalibrate()
    assert encoder.calls["together"] == 3
    assert encoder.calls["one"] < 25  # the canaries once more, and the fingerprint
    same = wrapped(Encoder(), "faiss").calibrate()
    assert same.scale.cut == pytest.approx(fitted.scale.cut, abs=1e-6)
    assert same.counts == fitted.counts
