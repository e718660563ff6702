"""The selector as a node postprocessor, its prompt, its events, its time; and parity."""

import asyncio
import json
import pickle
import time
from copy import copy
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from llama_index.core.llms import MockLLM
from llama_index.core.prompts import PromptTemplate
from llama_index.core.schema import QueryBundle

from langchain_recall_signal import RecallRetriever as LangChainRetriever
from llama_index_recall_signal import RecallQueryEngine, RecallSelectorPostprocessor
from recall_signal import ConfigurationError
from recall_signal.selection import DEFAULT_PROMPT, SelectionOptions
from tests.frameworks import Keeping
from tests.llama_index.fakes import caught_events, page_of
from tests.llama_index.selector_fakes import (
    APPLIED,
    TEXTS,
    AsyncLLM,
    TextLLM,
    both,
    found,
    kept,
    report,
    wrapped,
)
from tests.selection.prompts import NAME, QUESTION, keeping, labels_in

# Time


@pytest.mark.timing
async def test_nobody_waits_for_a_slow_model() -> None:
    async def sleep(prompt: str) -> str:
        await asyncio.sleep(10)
        return ""

    def block(prompt: str) -> str:
        time.sleep(4)
        return ""

    for llm in (TextLLM(reply=block), AsyncLLM(reply=block, areply=sleep)):
        retriever = wrapped(llm, selector_timeout=0.1)
        start = time.monotonic()
        assert report(retriever.recall(QUESTION))["reason"] == "timeout"
        assert report(await retriever.arecall(QUESTION))["reason"] == "timeout"
        assert time.monotonic() - start < 3
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_cancelled_caller_leaves_no_task_behind() -> None:
    asked = asyncio.Event()

    async def wait(prompt: str) -> str:
        asked.set()
        await asyncio.sleep(10)
        return ""

    task = asyncio.create_task(wrapped(AsyncLLM(reply=None, areply=wait)).aretrieve(QUESTION))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == {asyncio.current_task()}


# Events


@pytest.mark.parametrize("llm", [TextLLM(reply=keeping(0)), AsyncLLM(reply=keeping(0))])
async def test_the_models_events_are_kept(llm: Any) -> None:
    with caught_events() as catcher:
        wrapped(llm).retrieve(QUESTION)
        await wrapped(llm).aretrieve(QUESTION)
    assert len(catcher.of("LLMCompletionEndEvent")) == 2
    signals = catcher.of("RecallSignalEvent")
    assert [signal.report["selection"]["kept"] for signal in signals] == [1, 1]


async def test_an_emptied_page_is_told_out_of_band() -> None:
    options = SelectionOptions(on_empty="drop")
    retriever = wrapped(AsyncLLM(reply=keeping()), selector_options=options)
    with caught_events() as catcher:
        assert retriever.retrieve(QUESTION) == []
    assert catcher.of("RecallSignalEvent")[0].report["selection"]["dropped"] == 4
    engine = RecallQueryEngine.from_args(retriever, llm=MockLLM())
    metadata = (await engine.aquery(QUESTION)).metadata
    assert metadata is not None
    assert metadata["recall"]["selection"]["kept"] == 0


# Prompts


def test_the_prompt_can_be_seen_and_replaced() -> None:
    llm = TextLLM(reply=keeping(0))
    retriever = wrapped(llm)
    prompts = retriever.get_prompts()
    assert prompts["selection"].get_template() == DEFAULT_PROMPT
    retriever.update_prompts({"selection": PromptTemplate("Choose:\n{candidates}\nAs JSON.")})
    retriever.retrieve(QUESTION)
    assert llm.prompts[-1].startswith("Choose:\n=====")
    assert llm.prompts[-1].endswith("=====\nAs JSON.")
    assert "selection" not in wrapped(None).get_prompts()


def test_a_query_engine_lists_and_replaces_it_too() -> None:
    llm = TextLLM(reply=keeping(0))
    engine = RecallQueryEngine.from_args(wrapped(llm), llm=MockLLM())
    prompts = engine.get_prompts()
    assert prompts["selection"].get_template() == DEFAULT_PROMPT
    assert "response_synthesizer:text_qa_template" in prompts
    engine.update_prompts({"selection": PromptTemplate("Choose:\n{candidates}\nAs JSON.")})
    engine.query(QUESTION)
    assert llm.prompts[-1].startswith("Choose:\n=====")
    without = RecallQueryEngine.from_args(wrapped(None), llm=MockLLM())
    without.update_prompts({"selection": PromptTemplate("{candidates}")})
    assert "selection" not in without.get_prompts()


def test_a_prompt_without_a_place_for_the_candidates_is_refused() -> None:
    for target in (
        wrapped(TextLLM(reply=keeping(0))),
        RecallSelectorPostprocessor(selector=TextLLM(reply=keeping(0))),
    ):
        with pytest.raises(ConfigurationError, match="candidates"):
            target.update_prompts({"selection": PromptTemplate("{context_str}")})


# The postprocessor


async def test_the_postprocessor_removes_and_says_so() -> None:
    selecting = RecallSelectorPostprocessor(selector=AsyncLLM(reply=keeping(2, 0)))
    nodes = found()
    sync = selecting.postprocess_nodes(nodes, query_str=QUESTION)
    not_sync = await selecting.apostprocess_nodes(nodes, query_bundle=QueryBundle(QUESTION))
    for left in (sync, not_sync):
        assert kept(left) == ["id0", "id2"]
        entries = [item.node.metadata["recall"] for item in left]
        assert [(e["selection"], e["rank"]) for e in entries] == [(APPLIED, 0), (APPLIED, 1)]
        assert {entry["confidence"]["reason"] for entry in entries} == {"no_signal"}
        assert "recall" in left[0].node.excluded_llm_metadata_keys
        assert "recall" in left[0].node.excluded_embed_metadata_keys
    assert page_of(nodes) == page_of(found())
    assert selecting.class_name() == "RecallSelectorPostprocessor"
    selecting.update_prompts({"selection": PromptTemplate("Mine: {candidates}")})
    assert selecting.get_prompts()["selection"].get_template() == "Mine: {candidates}"
    selecting.update_prompts({"other": PromptTemplate("x")})


async def test_without_a_query_or_nodes_nothing_is_asked() -> None:
    llm = AsyncLLM(reply=keeping(0))
    selecting = RecallSelectorPostprocessor(selector=llm)
    nodes = found()
    assert selecting.postprocess_nodes(nodes) == nodes
    assert await selecting.apostprocess_nodes(nodes) == nodes
    assert selecting.postprocess_nodes([], query_str=QUESTION) == []
    assert llm.prompts == []


def test_behind_a_recall_retriever_the_signal_stays() -> None:
    nodes = wrapped(None).retrieve(QUESTION)
    before = nodes[2].node.metadata["recall"]
    selecting = RecallSelectorPostprocessor(selector=TextLLM(reply=keeping(2)), id_key="n")
    (left,) = selecting.postprocess_nodes(nodes, query_str=QUESTION)
    entry = left.node.metadata["recall"]
    assert entry["confidence"] == before["confidence"]
    assert entry["selection"]["dropped_memory_ids"] == ["0", "1", "3"]
    assert (entry["rank"], before["rank"]) == (0, 2)
    skipping = SelectionOptions(skip_levels=frozenset({"unknown"}))
    selecting = RecallSelectorPostprocessor(selector=TextLLM(reply=None), options=skipping)
    left = selecting.postprocess_nodes(nodes, query_str=QUESTION)[0]
    assert left.node.metadata["recall"]["selection"]["reason"] == "skipped_by_level"


@pytest.mark.parametrize(
    "setting",
    [{}, {"options": 3}, {"metadata_key": ""}, {"metadata_key": "ref_doc_id"}, {"seletor": 1}],
)
def test_a_wrong_postprocessor_is_refused(setting: dict[str, Any]) -> None:
    selector = {} if setting == {} else {"selector": TextLLM(reply=None)}
    with pytest.raises(ConfigurationError, match="RecallSelectorPostprocessor"):
        RecallSelectorPostprocessor(**selector, **setting)
    made = RecallSelectorPostprocessor(selector=TextLLM(reply=None))
    with pytest.raises(ConfigurationError, match=r"selector|RecallSelectorPost"):
        made.model_copy(update=setting or {"selector": 5})


def test_a_copy_of_the_postprocessor_asks_its_own_selector() -> None:
    first = RecallSelectorPostprocessor(selector=TextLLM(reply=keeping(0)))
    other = first.model_copy(update={"selector": TextLLM(reply=keeping(1))})
    assert kept(other.postprocess_nodes(found(), query_str=QUESTION)) == ["id1"]
    assert kept(first.postprocess_nodes(found(), query_str=QUESTION)) == ["id0"]


# Parity


ANSWERS: list[Any] = [
    keeping(0),
    keeping(3, 1),
    keeping(0, 1, 2, 3),
    keeping(),
    keeping(1, 1),
    lambda prompt: keeping(0)(prompt)[:-1],
    lambda prompt: f"```json\n{keeping(0)(prompt)}\n```",
    lambda prompt: json.dumps({"keep": [0, 1]}),
    lambda prompt: json.dumps({"keep": [labels_in(prompt)[0], "ZZZZZ"]}),
    lambda prompt: json.dumps({"keep": labels_in(prompt), "why": "all"}),
    lambda prompt: "The first one.",
    lambda prompt: "",
    lambda prompt: RuntimeError("down"),
    lambda prompt: TimeoutError(),
]


@pytest.mark.parametrize("reply", ANSWERS)
@pytest.mark.parametrize("on_empty", ["keep", "drop"])
async def test_both_frameworks_do_the_same(reply: Any, on_empty: Any) -> None:
    def said(prompt: str) -> AIMessage:
        text = reply(prompt)
        if isinstance(text, Exception):
            raise text
        return AIMessage(text, response_metadata={"model_name": NAME})

    async def asaid(prompt: str) -> AIMessage:
        return said(prompt)

    options = SelectionOptions(on_empty=on_empty)
    ours = await both(AsyncLLM(reply=reply), selector_options=options)
    documents = [Document(text, id=f"id{n}") for n, text in enumerate(TEXTS)]
    theirs = LangChainRetriever(
        retriever=RunnableLambda(lambda _: documents),
        selector=RunnableLambda(said, afunc=asaid),
        selector_options=options,
    )
    for response in (theirs.recall(QUESTION), await theirs.arecall(QUESTION)):
        assert [document.id for document in response.documents] == kept(ours.nodes)
        assert report(response) == report(ours)


def test_the_prompt_goes_along() -> None:
    retriever = wrapped(Keeping(0))
    retriever.update_prompts({"selection": PromptTemplate("Mine: {question} {candidates}")})
    sent = pickle.loads(pickle.dumps(retriever))
    for other in (sent, copy(retriever), retriever.with_calibration(None)):
        prompt: Any = other.get_prompts()["selection"]
        assert prompt.get_template().startswith("Mine: ")
