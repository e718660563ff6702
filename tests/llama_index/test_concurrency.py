"""Many questions at once, errors and cancellation."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import pytest
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_index_recall_signal import RecallQueryEngine, RecallRetriever
from tests.llama_index.fakes import (
    QUERY,
    ListRetriever,
    RecordingLLM,
    index_of,
    nodes_with_cosines,
    scored,
)

QUESTIONS = 20


class Echo(ListRetriever):
    """Finds as well as the question says, after a while."""

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        await asyncio.sleep(self.seconds)
        return self._retrieve(query_bundle)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return scored(float(query_bundle.query_str), 0.1, 0.1)


def cosine_asked(number: int) -> float:
    return round(0.2 + number / 50, 3)


@pytest.mark.timing
async def test_twenty_questions_take_the_time_of_one() -> None:
    wrapped = RecallRetriever(Echo([], seconds=0.1), score_kind="cosine")
    engine = RecallQueryEngine.from_args(wrapped, llm=RecordingLLM())
    await engine.aquery("0.5")
    start = perf_counter()
    questions = [str(cosine_asked(number)) for number in range(QUESTIONS)]
    responses = await asyncio.gather(*(engine.aquery(question) for question in questions))
    assert perf_counter() - start < 1.0
    for number, response in enumerate(responses):
        assert response.metadata is not None
        report = response.metadata["recall"]
        assert report["confidence"]["top_score"] == cosine_asked(number)


async def test_every_call_has_its_own_report() -> None:
    wrapped = RecallRetriever(Echo([], seconds=0.01), score_kind="cosine")

    async def ask(number: int) -> None:
        response = await wrapped.arecall(str(cosine_asked(number)))
        assert response.confidence.top_score == cosine_asked(number)
        assert response.nodes[0].metadata["recall"]["cosine"] == cosine_asked(number)

    await asyncio.gather(*(ask(number) for number in range(QUESTIONS)))


def test_threads() -> None:
    engine = RecallQueryEngine.from_args(
        RecallRetriever(Echo([]), score_kind="cosine"), llm=RecordingLLM()
    )
    together = threading.Barrier(4)

    def ask(number: int) -> Any:
        together.wait()
        response = engine.query(str(cosine_asked(number)))
        assert response.metadata is not None
        return response.metadata["recall"]["confidence"]["top_score"]

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(ask, range(QUESTIONS)))
    assert found == [cosine_asked(number) for number in range(QUESTIONS)]


async def test_a_vector_index_asked_at_once_with_different_sizes() -> None:
    index = index_of(nodes_with_cosines([0.9, 0.5, 0.4, 0.3]))
    bare: Any = index.as_retriever(similarity_top_k=1)
    sizes = [1, 2, 3, 4] * 5
    wrapped = [RecallRetriever(bare, k=size) for size in sizes]
    pages = await asyncio.gather(*(one.aretrieve(QUERY) for one in wrapped))
    assert [len(page) for page in pages] == sizes
    assert bare.similarity_top_k == 1


async def test_cancellation_of_a_query() -> None:
    engine = RecallQueryEngine.from_args(ListRetriever([], seconds=60), llm=RecordingLLM())
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(engine.aquery(QUERY), timeout=0.05)
    assert str(await RecallQueryEngine.from_args(Echo([]), llm=RecordingLLM()).aquery("0.5"))
