"""A wrapper is as picklable as what it holds, and works where it arrives."""

import pickle
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from langchain_fakes import QUERY, simple_store

from langchain_recall_signal import RecallRetriever
from recall_signal import Baseline
from recall_signal.reranking import RerankerOptions
from recall_signal.selection import Answer, SelectionRequest

STORE = simple_store()


class KeepFirst:
    """Keeps the first result."""

    def select(self, request: SelectionRequest) -> Answer:
        return Answer({"keep": [request.labels[0]]}, "first")


def lengths(query: str, texts: list[str]) -> list[float]:
    return [float(len(text)) for text in texts]


def sent(retriever: RecallRetriever) -> RecallRetriever:
    arrived: RecallRetriever = pickle.loads(pickle.dumps(retriever))
    return arrived


async def test_with_everything_that_it_can_hold() -> None:
    baseline = Baseline([0.1, 0.2])
    settings: dict[str, Any] = {
        "baseline": baseline,
        "selector": KeepFirst(),
        "reranker": RerankerOptions(lengths, scale="logit"),
        "use_rerank": True,
        "tags": ["mine"],
    }
    retriever = RecallRetriever.from_vectorstore(STORE, k=3, **settings)
    response = retriever.recall(QUERY)
    arrived = sent(retriever)
    assert len(arrived.baseline or ()) == 3
    assert arrived.tags == ["mine"]
    assert arrived.model_fields_set == retriever.model_fields_set
    for again in (arrived.recall(QUERY), await arrived.arecall(QUERY)):
        assert again.selection == response.selection
        assert again.confidence.rerank_score == response.confidence.rerank_score
        assert [d.id for d in again.documents] == [d.id for d in response.documents]
    assert len(baseline) == 3


def test_with_an_encoder_of_its_own() -> None:
    retriever = RecallRetriever(
        retriever=STORE.as_retriever(), embeddings=STORE.embeddings, score_kind="cosine"
    )
    before = retriever.recall(QUERY)
    assert sent(retriever).recall(QUERY).to_dict() == before.to_dict()


def test_what_cannot_be_pickled_says_so_itself() -> None:
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(RecallRetriever(retriever=RunnableLambda(lambda _: [])))
