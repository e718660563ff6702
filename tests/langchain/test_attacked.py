"""Stores that behave in ways nobody planned for: what they may not do to a level or a page."""

import asyncio
import logging
from collections.abc import Sequence
from threading import get_ident
from typing import Any

import numpy as np
import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_recall_signal import RecallRetriever
from langchain_recall_signal.stores._faiss import FaissAdapter
from langchain_recall_signal.stores._texts import vectors_by_text
from recall_signal import Calibration, CalibrationError
from recall_signal.testing import vectors_with_cosines
from tests.langchain.fakes import (
    DIMENSION,
    QUERY,
    Encoder,
    documents,
    encoder_for,
    faiss_store,
    plain,
    simple_store,
)

ASKED = np.eye(DIMENSION)[0]


class Prefetching(VectorStore):
    """Keeps its documents as objects, and searches for something related in a task of its own."""

    def __init__(self) -> None:
        self.documents, self.tasks = documents(4), list[Any]()

    def hits(self, query: str, k: int) -> list[tuple[Document, float]]:
        best = 0.95 if query == "related" else 0.30
        return [(document, best - 0.01 * n) for n, document in enumerate(self.documents[:k])]

    def similarity_search(self, query: str, k: int = 4, **_: Any) -> list[Document]:
        return [document for document, _ in self.hits(query, k)]

    async def asimilarity_search_with_score(self, *args: Any, k: int = 4, **_: Any) -> Any:
        if args[0] == "related":
            await asyncio.sleep(0.005)
        else:
            self.tasks.append(asyncio.create_task(self.asimilarity_search_with_score("related")))
        return self.hits(args[0], k)

    @classmethod
    def from_texts(cls, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


class SlowTracer(AsyncCallbackHandler):
    async def on_retriever_end(self, *_: Any, **__: Any) -> None:
        await asyncio.sleep(0.03)


async def test_what_a_store_searches_for_in_tasks_of_its_own_stays_out() -> None:
    store = Prefetching()
    wrapped = RecallRetriever.from_vectorstore(store, k=4, score_kind="cosine")
    response = await wrapped.arecall(QUERY, {"callbacks": [SlowTracer()]})
    assert response.confidence.top_score == pytest.approx(0.30)
    await asyncio.gather(*store.tasks)


async def test_a_filter_whose_comparison_has_no_truth_value_is_no_reason_to_fail() -> None:
    bare = simple_store(6).as_retriever(search_kwargs={"k": 2})
    wrapped = RecallRetriever(retriever=bare)
    assert len(wrapped.invoke(QUERY)) == 2
    for size in (3, 4):
        bare.search_kwargs = {"k": size, "unused": np.zeros(size)}
        assert plain(wrapped.invoke(QUERY)) == plain(bare.invoke(QUERY))
        assert plain(await wrapped.ainvoke(QUERY)) == plain(bare.invoke(QUERY))


class Named(Encoder):
    """An encoder that says which one it is."""

    def __init__(self, name: str) -> None:
        base = encoder_for(np.eye(DIMENSION), ASKED)
        self.__dict__.update(base.__dict__)
        self.model = name


def test_a_calibration_does_not_survive_another_encoder_in_an_exchanged_store(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store, other = InMemoryVectorStore(Named("one")), InMemoryVectorStore(Named("other"))
    for one in (store, other):
        one.add_documents(documents(5))
    calibration = Calibration.fit(
        lambda query: [0.9 - 0.01 * (len(query) % 7), 0.1, 0.0],
        documents=[f"a stored text about subject {n}, with some words" for n in range(30)],
        encoder="one",
    )
    bare = store.as_retriever(search_kwargs={"k": 3})
    wrapped = RecallRetriever(retriever=bare, calibration=calibration)
    bare.vectorstore = other
    with caplog.at_level(logging.WARNING):
        response = wrapped.recall(QUERY)
    assert len(response.documents) == 3
    assert response.confidence.basis in ("prominence", "absolute")
    assert "another one" in caplog.text
    wrapped.recall(QUERY)
    assert caplog.text.count("another one") == 1
    with pytest.raises(CalibrationError):
        RecallRetriever(retriever=bare, calibration=calibration)


async def test_the_lengths_in_an_index_are_looked_at_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cosines = np.linspace(0.9, 0.1, 12)
    store = faiss_store(encoder_for(vectors_with_cosines(ASKED, cosines), ASKED), 8)
    threads: list[int] = []
    read = FaissAdapter.read

    def reading(self: Any, *args: Any) -> Any:
        threads.append(get_ident())
        return read(self, *args)

    monkeypatch.setattr(FaissAdapter, "read", reading)
    wrapped = RecallRetriever.from_vectorstore(store, k=4)
    for _ in range(2):
        response = await wrapped.arecall(QUERY)
        assert response.cosine_source == "store"
    store.add_documents(documents(4, start=8), ids=[f"more{n}" for n in range(4)])
    grown = await wrapped.arecall(QUERY)
    assert len(grown.pool) == 12
    here = get_ident()
    assert [thread == here for thread in threads] == [False, True, False]


def test_equal_texts_with_different_vectors_have_none() -> None:
    rows: Sequence[Any] = [("a", [1.0, 0.0]), ("b", [0.0, 1.0]), ("a", [0.0, 1.0]), ("b", [0, 1])]
    found = vectors_by_text(rows, [Document("a"), Document("b"), Document("c")])
    assert found[0] is None
    assert found[1] == [0.0, 1.0]
    assert found[2] is None
