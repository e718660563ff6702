"""A wrapper is as picklable as what it holds, and works where it arrives."""

import pickle
from copy import copy
from dataclasses import replace
from typing import Any

import pytest
from llama_fakes import QUERY, Embedding, ListRetriever, index_of, index_with_cosines, scored
from llama_index.core.prompts import PromptTemplate
from llama_index.core.schema import TextNode

from llama_index_recall_signal import RecallRetriever
from recall_signal import Baseline
from recall_signal.reranking import RerankerOptions
from recall_signal.selection import Answer, SelectionRequest

COSINES = [0.9, 0.5, 0.45, 0.4]


class KeepFirst:
    """Keeps the first result."""

    def select(self, request: SelectionRequest) -> Answer:
        return Answer({"keep": [request.labels[0]]}, "first")


def lengths(query: str, texts: list[str]) -> list[float]:
    return [float(len(text)) for text in texts]


def sent(retriever: RecallRetriever) -> RecallRetriever:
    arrived: RecallRetriever = pickle.loads(pickle.dumps(retriever))
    return arrived


async def test_around_a_vector_retriever() -> None:
    baseline = Baseline([0.1, 0.2])
    retriever = RecallRetriever(
        index_with_cosines(COSINES).as_retriever(similarity_top_k=2),
        k=3,
        baseline=baseline,
        selector=KeepFirst(),
        reranker=RerankerOptions(lengths, scale="logit"),
        use_rerank=True,
    )
    response = retriever.recall(QUERY)
    arrived = sent(retriever)
    assert len(arrived.settings.baseline or ()) == 3
    for again in (arrived.recall(QUERY), await arrived.arecall(QUERY)):
        assert again.selection == response.selection
        assert again.confidence.rerank_score == response.confidence.rerank_score
        assert [item.node_id for item in again.nodes] == [item.node_id for item in response.nodes]
    assert len(baseline) == 3


def test_with_a_calibration() -> None:
    nodes = [TextNode(text=f"stored text {n}", id_=f"n{n}") for n in range(60)]
    retriever = RecallRetriever(index_of(nodes).as_retriever())
    calibration = replace(retriever.calibrate(), status="ok")  # the encoder here tells nothing
    arrived = sent(retriever.with_calibration(calibration))
    assert arrived.settings.calibration == calibration
    assert arrived.recall(QUERY).confidence.basis == "calibration"


def test_with_an_encoder_of_its_own() -> None:
    retriever = RecallRetriever(ListRetriever(scored(None, None)), embed_model=Embedding())
    before = retriever.recall(QUERY)
    assert before.cosine_source == "embeddings"
    assert sent(retriever).recall(QUERY).to_dict() == before.to_dict()


def test_the_prompt_goes_along() -> None:
    retriever = RecallRetriever(ListRetriever(scored(0.9)), selector=KeepFirst())
    retriever.update_prompts({"selection": PromptTemplate("Mine: {question} {candidates}")})
    for other in (sent(retriever), copy(retriever), retriever.with_calibration(None)):
        prompt: Any = other.get_prompts()["selection"]
        assert prompt.get_template().startswith("Mine: ")


def test_what_cannot_be_pickled_says_so_itself() -> None:
    retriever = RecallRetriever(ListRetriever(scored(0.9)), selector=KeepFirst())
    retriever.retriever.own = lambda: None  # type: ignore[attr-defined]
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(retriever)
