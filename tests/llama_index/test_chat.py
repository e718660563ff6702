"""Chat engines: where the signal is found, and where the framework drops it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
)
from llama_index.core.memory import ChatMemoryBuffer

from llama_index_recall_signal import RecallQueryEngine, RecallRetriever
from tests.llama_index.fakes import QUERY, RecordingLLM, index_with_cosines


def retriever() -> RecallRetriever:
    return RecallRetriever(index_with_cosines([0.9, 0.5, 0.45, 0.4]).as_retriever())


def condensing(**settings: Any) -> CondenseQuestionChatEngine:
    engine = RecallQueryEngine.from_args(retriever(), llm=RecordingLLM(), **settings)
    return CondenseQuestionChatEngine.from_defaults(engine, **chatting())


def chatting() -> dict[str, Any]:
    return {"llm": RecordingLLM(), "memory": ChatMemoryBuffer.from_defaults(token_limit=3000)}


def level_in(answer: Any) -> Any:
    return answer.sources[0].raw_output.metadata["recall"]["confidence"]["level"]


async def test_condense_question_chat_engine() -> None:
    assert level_in(condensing().chat(QUERY)) == "high"
    answer = await condensing().achat(QUERY)
    assert level_in(answer) == "high"
    assert answer.metadata is None  # the framework's own, which it never fills


async def test_streaming_needs_a_streaming_engine() -> None:
    stream = condensing(streaming=True).stream_chat(QUERY)
    assert "".join(stream.response_gen) == "answer"
    assert level_in(stream) == "high"
    late = await condensing(streaming=True).astream_chat(QUERY)
    assert await consume(late.async_response_gen()) == "answer"
    assert level_in(late) == "high"
    with pytest.raises(ValueError, match="Streaming is not enabled"):
        condensing().stream_chat(QUERY)


async def consume(stream: AsyncIterator[str]) -> str:
    return "".join([token async for token in stream])


@pytest.mark.parametrize("chat_class", [ContextChatEngine, CondensePlusContextChatEngine])
async def test_chat_engines_that_take_the_retriever(chat_class: Any) -> None:
    for way in ("chat", "achat"):
        chat = chat_class.from_defaults(retriever(), **chatting())
        answer = chat.chat(QUERY) if way == "chat" else await chat.achat(QUERY)
        assert answer.source_nodes[0].metadata["recall"]["confidence"]["level"] == "high"
