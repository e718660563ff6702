"""Where only nodes are at hand."""

import pickle
from typing import Any

import pytest
from llama_index.core.callbacks import CallbackManager
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_index_recall_signal import RecallPostprocessor, RecallRetriever
from recall_signal import ConfigurationError, Thresholds
from tests.llama_index.fakes import (
    QUERY,
    QUERY_VECTOR,
    Embedding,
    ListRetriever,
    RecordingLLM,
    caught_events,
    nodes_with_cosines,
    page_of,
    scored,
)

BUNDLE = QueryBundle(QUERY)


async def both(processor: RecallPostprocessor, nodes: Any, bundle: Any = BUNDLE) -> list[Any]:
    page = processor.postprocess_nodes(nodes, bundle)
    assert await processor.apostprocess_nodes(nodes, bundle) == page
    return page


async def test_a_number_in_metadata() -> None:
    nodes = scored(0.1, 0.2, 0.3)
    for node, near in zip(nodes, (0.9, "text", 0.4), strict=True):
        node.node.metadata["near"] = near
    settings: Any = {"score_kind": "cosine", "score_key": "near"}
    page = await both(RecallPostprocessor(**settings), nodes)
    assert page_of(page) == page_of(nodes)
    assert [item.metadata["recall"]["cosine"] for item in page] == [0.9, None, 0.4]
    expected = RecallRetriever(ListRetriever(nodes), **settings).recall(QUERY)
    assert {key: page[0].metadata["recall"][key] for key in expected.to_dict()} == (
        expected.to_dict()
    )
    with pytest.raises(ConfigurationError, match=r"^RecallPostprocessor: score_key='near' needs"):
        RecallPostprocessor(score_key="near")


async def test_reading_that_fails_loses_no_node(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> Any:
        raise OSError("secret")

    monkeypatch.setattr("llama_index_recall_signal._postprocessor.scored_under", fail)
    nodes = scored(0.1, 0.2)
    page = await both(RecallPostprocessor(score_kind="cosine", score_key="near"), nodes)
    assert page_of(page) == page_of(nodes)
    assert page[0].metadata["recall"]["confidence"]["reason"] == "adapter_failed"
    assert "reading the nodes failed: OSError" in caplog.text
    assert "secret" not in caplog.text


async def test_declared_scores() -> None:
    nodes = scored(0.9, None, 0.3, 0.2)
    page = await both(RecallPostprocessor(score_kind="cosine"), nodes)
    assert page_of(page) == page_of(nodes)
    entry = page[0].metadata["recall"]
    expected = RecallRetriever(ListRetriever(nodes), score_kind="cosine").recall(QUERY)
    assert {key: entry[key] for key in expected.to_dict()} == expected.to_dict()
    assert page[0].node.excluded_llm_metadata_keys == ["recall"]
    assert nodes[0].metadata == {}


async def test_an_empty_list() -> None:
    with caught_events() as catcher:
        assert await both(RecallPostprocessor(), []) == []
    events = catcher.of("RecallSignalEvent")
    assert [event.confidence.level for event in events] == ["none", "none"]


async def test_vectors_and_texts() -> None:
    nodes = [NodeWithScore(node=node) for node in nodes_with_cosines([0.9, 0.2])]
    page = await both(RecallPostprocessor(embed_model=Embedding({QUERY: QUERY_VECTOR})), nodes)
    assert page[0].metadata["recall"]["cosine_source"] == "vectors"
    page = await both(RecallPostprocessor(embed_model=Embedding()), scored(None, None))
    assert page[0].metadata["recall"]["cosine_source"] == "embeddings"


async def test_without_a_query_nothing_is_embedded() -> None:
    encoder = Embedding()
    page = await both(RecallPostprocessor(embed_model=encoder), scored(0.9, 0.2), None)
    assert page[0].metadata["recall"]["confidence"]["reason"] == "store_not_recognised"
    assert encoder.encoder.calls == 0
    page = RecallPostprocessor(embed_model=encoder).postprocess_nodes(scored(1.0), query_str=QUERY)
    assert page[0].metadata["recall"]["cosine_source"] == "embeddings"


async def test_without_a_query_the_scores_are_judged_all_the_same() -> None:
    """A question that was not handed over is no empty question."""
    processor = RecallPostprocessor(score_kind="cosine")
    (asked, *_) = await both(processor, scored(0.9, 0.3, 0.2))
    (unasked, *_) = await both(processor, scored(0.9, 0.3, 0.2), None)
    assert unasked.metadata["recall"] == asked.metadata["recall"]
    assert unasked.metadata["recall"]["advice"] == "read"
    (empty, *_) = await both(processor, scored(0.9, 0.3, 0.2), QueryBundle(""))
    assert empty.metadata["recall"]["confidence"]["reason"] == "empty_query"


async def test_in_a_pipeline() -> None:
    processor = RecallPostprocessor(score_kind="cosine", metadata_key="mine", annotate="first")
    manager = CallbackManager([])
    engine = RetrieverQueryEngine.from_args(
        ListRetriever(scored(0.9, 0.2)),
        llm=RecordingLLM(),
        node_postprocessors=[processor],
        callback_manager=manager,
    )
    assert processor.callback_manager is manager
    for response in (engine.query(QUERY), await engine.aquery(QUERY)):
        assert ["mine" in item.metadata for item in response.source_nodes] == [True, False]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"score_kind": "cosin"}, "RecallPostprocessor: score_kind must be one of"),
        ({"annotate": 1}, "annotate: .*got 1"),
        ({"metadata_key": "ref_doc_id"}, "metadata_key 'ref_doc_id'"),
        ({"embed_model": object()}, "embed_model: "),
        ({"pool_size": 3}, "pool_size: there is no such setting"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        RecallPostprocessor(**settings)
    with pytest.raises(ConfigurationError, match=said):
        RecallPostprocessor().model_copy(update=settings)


async def test_settings_are_fixed() -> None:
    processor = RecallPostprocessor(score_kind="cosine")
    for name, value in (("score_kind", "l2"), ("annotate", "none"), ("embed_model", None)):
        with pytest.raises(ConfigurationError, match=rf"{name} is fixed .*model_copy\(update="):
            setattr(processor, name, value)
    other = processor.model_copy(update={"annotate": "none"})
    assert "recall" not in (await both(other, scored(0.9, 0.2)))[0].metadata
    assert "recall" in (await both(processor, scored(0.9, 0.2)))[0].metadata


def test_cuts_of_another_encoder_are_refused() -> None:
    cuts = Thresholds(encoder="another")
    with pytest.raises(ConfigurationError, match="'another' and cannot be used with 'settable'"):
        RecallPostprocessor(embed_model=Embedding(), thresholds=cuts)
    RecallPostprocessor(thresholds=cuts)


async def test_a_pickled_one_works(caplog: pytest.LogCaptureFixture) -> None:
    sent = pickle.loads(pickle.dumps(RecallPostprocessor(score_kind="cosine", id_key="page")))
    page = await both(sent, scored(0.9, 0.2))
    assert page[0].metadata["recall"]["confidence"]["level"] == "high"
    assert caplog.records == []


def test_it_is_a_component() -> None:
    processor = RecallPostprocessor(score_kind="l2", id_key="page")
    again = RecallPostprocessor.from_dict(processor.to_dict())
    assert again.to_dict() == processor.to_dict()
    assert again.score_kind == "l2"
    assert RecallPostprocessor.class_name() == "RecallPostprocessor"
