"""A wrapper is as picklable as what it holds, and works where it arrives."""

import pickle
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.documents import Document
from llama_index.core import get_response_synthesizer
from llama_index.core.llms import MockLLM
from llama_index.core.schema import NodeWithScore, TextNode

from langchain_recall_signal import SelectorCompressor
from llama_index_recall_signal import RecallQueryEngine, RecallSelectorPostprocessor
from recall_signal import Baseline
from recall_signal.reranking import RerankerOptions
from recall_signal.selection import SelectionOptions
from tests.frameworks import FRAMEWORKS, QUERY, WEAK, Framework, Keeping


def lengths(query: str, texts: list[str]) -> list[float]:
    return [float(len(text)) for text in texts]


def elsewhere(question: str, response: object) -> str:
    return "elsewhere"


def sent(retriever: Any) -> Any:
    return pickle.loads(pickle.dumps(retriever))


def settings_of(retriever: Any) -> Any:
    return getattr(retriever, "settings", retriever)


async def test_with_everything_that_it_can_hold(framework: Framework) -> None:
    baseline = Baseline([0.1, 0.2])
    retriever = framework.over(
        baseline=baseline,
        selector=Keeping(0),
        reranker=RerankerOptions(lengths, scale="logit"),
        use_rerank=True,
    )
    response = retriever.recall(QUERY)
    arrived = sent(retriever)
    assert len(settings_of(arrived).baseline) == 3
    for again in (arrived.recall(QUERY), await arrived.arecall(QUERY)):
        assert again.selection == response.selection
        assert again.confidence.rerank_score == response.confidence.rerank_score
        assert framework.page(again)[0].id == framework.page(response)[0].id
    assert len(baseline) == 3


def test_with_a_calibration(framework: Framework) -> None:
    retriever = framework.over()
    calibration = replace(retriever.calibrate(), status="ok")
    arrived = sent(retriever.with_calibration(calibration))
    assert settings_of(arrived).calibration == calibration
    assert arrived.recall(QUERY).confidence.basis == "calibration"


def test_with_an_encoder_of_its_own(framework: Framework) -> None:
    retriever = framework.listed([None, None], **framework.encoding({})[1])
    before = retriever.recall(QUERY)
    assert before.cosine_source == "embeddings"
    assert sent(retriever).recall(QUERY).to_dict() == before.to_dict()


def test_langchains_own_fields_arrive() -> None:
    retriever = FRAMEWORKS["langchain"].over(tags=["mine"])
    arrived = sent(retriever)
    assert arrived.tags == ["mine"]
    assert arrived.model_fields_set == retriever.model_fields_set


@pytest.mark.parametrize(
    ("on_absent", "said"), [("refuse", "Not answered: "), (elsewhere, "elsewhere")]
)
def test_an_engine_arrives_with_what_it_answers_elsewhere(on_absent: Any, said: str) -> None:
    engine = RecallQueryEngine(
        FRAMEWORKS["llama_index"].over(WEAK),
        get_response_synthesizer(llm=MockLLM()),
        on_absent=on_absent,
    )
    assert str(sent(engine).query(QUERY)).startswith(said)


def test_what_cannot_be_pickled_says_so_itself(framework: Framework) -> None:
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(framework.around(lambda: ["t0"]))


def test_a_response_takes_its_pool_along(framework: Framework) -> None:
    response = framework.over().recall(QUERY)
    arrived = sent(response)
    assert (arrived.confidence, arrived.pool.cosines) == (
        response.confidence,
        response.pool.cosines,
    )


@pytest.mark.parametrize("way", [sent, deepcopy, lambda part: part.model_copy(deep=True)])
def test_a_selector_in_a_pipeline(way: Callable[[Any], Any]) -> None:
    options = SelectionOptions(skip_levels=frozenset({"none"}))
    compressor = way(SelectorCompressor(selector=Keeping(0), options=options))
    documents = [Document("a", id="a"), Document("b", id="b")]
    assert [left.id for left in compressor.compress_documents(documents, "?")] == ["a"]
    postprocessor = way(RecallSelectorPostprocessor(selector=Keeping(0), options=options))
    nodes = [NodeWithScore(node=TextNode(text=text)) for text in "ab"]
    assert len(postprocessor.postprocess_nodes(nodes, query_str="?")) == 1
    assert '"skip_levels": ["none"]' in postprocessor.to_json()
