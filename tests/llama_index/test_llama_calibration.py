"""Calibration, baseline and survival around LlamaIndex retrievers."""

from dataclasses import replace
from typing import Any

import pytest
from llama_fakes import QUERY, ListRetriever, index_of, scored
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.schema import QueryBundle, TextNode
from llama_index.core.vector_stores import SimpleVectorStore

from llama_index_recall_signal import RecallRetriever
from recall_signal import Baseline, CalibrationError, ConfigurationError, Thresholds

INDEX = index_of([TextNode(text=f"stored text {n}", id_=f"n{n}") for n in range(60)])


def bare(k: int = 3) -> BaseRetriever:
    return INDEX.as_retriever(similarity_top_k=k)


async def test_a_bare_retriever_is_enough() -> None:
    wrapped = RecallRetriever(bare())
    calibration = wrapped.calibrate()
    assert calibration.encoder == "settable"
    assert (await wrapped.acalibrate()).scale == calibration.scale
    assert calibration.status == "no_valid_threshold"  # the encoder here tells nothing
    decided = replace(calibration, status="ok")
    confidence = wrapped.with_calibration(decided).recall(QUERY).confidence
    assert confidence.basis == "calibration"
    assert confidence.probability is not None


def test_another_encoders_calibration_is_refused() -> None:
    calibration = RecallRetriever(bare()).calibrate(encoder="another")
    with pytest.raises(CalibrationError, match="'another'"):
        RecallRetriever(bare(), calibration=calibration)


def test_another_encoders_thresholds_are_refused() -> None:
    cuts = Thresholds(encoder="another")
    with pytest.raises(ConfigurationError, match="'another' and cannot be used with 'settable'"):
        RecallRetriever(bare(), thresholds=cuts)
    RecallRetriever(bare(), thresholds=Thresholds(encoder="settable"))
    RecallRetriever(ListRetriever(scored(0.5)), thresholds=cuts)  # it is not known


def test_an_encoder_without_a_name_goes_by_its_class() -> None:
    encoder = MockEmbedding(embed_dim=3)
    retriever = ListRetriever(scored(None))
    cuts = Thresholds(encoder="MockEmbedding")
    RecallRetriever(retriever, embed_model=encoder, thresholds=cuts)
    with pytest.raises(ConfigurationError, match="cannot be used with 'MockEmbedding'"):
        RecallRetriever(retriever, embed_model=encoder, thresholds=Thresholds(encoder="a"))


def test_a_baseline_remembers_what_it_sees() -> None:
    baseline = Baseline()
    wrapped = RecallRetriever(bare(), baseline=baseline)
    bases = [wrapped.recall(f"question {n}").confidence.basis for n in range(31)]
    assert [basis == "stream" for basis in bases] == [False] * 30 + [True]


async def test_a_wider_search_that_fails_is_replaced_by_the_retrievers_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search = SimpleVectorStore.query

    def query(self: Any, query: Any, **kwargs: Any) -> Any:
        if query.similarity_top_k > 5:
            raise ValueError("too many")
        return search(self, query, **kwargs)

    expected = [item.node_id for item in bare().retrieve(QUERY)]
    monkeypatch.setattr(SimpleVectorStore, "query", query)
    response = RecallRetriever(bare()).recall(QUERY)
    assert [item.node_id for item in response.nodes] == expected
    response = await RecallRetriever(bare()).arecall(QueryBundle(QUERY))
    assert [item.node_id for item in response.nodes] == expected
    with pytest.raises(ValueError, match="too many"):
        RecallRetriever(bare(9)).recall(QUERY)
