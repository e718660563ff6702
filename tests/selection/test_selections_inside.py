"""Selections inside the wrapped retriever, and selections after it: one page, one advice."""

from copy import deepcopy
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from langchain_classic.retrievers import ContextualCompressionRetriever, MergerRetriever
from langchain_core.documents import Document
from llama_index.core.schema import QueryBundle

from langchain_recall_signal import RecallRetriever, SelectorCompressor, route_on_recall
from llama_index_recall_signal import RecallSelectorPostprocessor
from recall_signal import assess, parse_report
from recall_signal._steps.driver import drive
from recall_signal._wrapper.page_selection import PageSelection
from recall_signal.reports import NOT_CONFIGURED, metadata_entry
from recall_signal.reranking import RerankerOptions
from recall_signal.selection import SelectionOptions
from tests.frameworks import QUERY, STRONG, WEAK, Framework, Keeping
from tests.langchain.fakes import simple_store
from tests.reports import report_of
from tests.schemas import published

ENTRY = Draft202012Validator(published("entry.v1.json"))
KEEP, DROP = SelectionOptions(on_empty="keep"), SelectionOptions(on_empty="drop")


@pytest.mark.parametrize("options", [KEEP, DROP], ids=["keep", "drop"])
@pytest.mark.parametrize("order", [1, -1])
async def test_one_arm_does_not_speak_for_the_page(options: SelectionOptions, order: int) -> None:
    plain = simple_store(cosines=STRONG).as_retriever(search_kwargs={"k": 4})
    selecting = ContextualCompressionRetriever(
        base_retriever=simple_store(cosines=WEAK).as_retriever(),
        base_compressor=SelectorCompressor(selector=Keeping(), options=options),
    )
    both = MergerRetriever(retrievers=[plain, selecting][::order])
    for wrapped in (
        RecallRetriever(retriever=both),
        RecallRetriever(retriever=both, k=4),
        RecallRetriever(retriever=RecallRetriever(retriever=both)),
    ):
        for response in (wrapped.recall(QUERY), await wrapped.arecall(QUERY)):
            assert response.selection == NOT_CONFIGURED
            assert response.advice == {"high": "read", "unknown": "undecided"}[response.level]


def select_again(
    framework: Framework, page: Any, *kept: int, options: SelectionOptions = KEEP
) -> list[dict[str, Any]]:
    """The entries after one more selector."""
    if framework.name == "langchain":
        compressor = SelectorCompressor(selector=Keeping(*kept), options=options)
        return [d.metadata["recall"] for d in compressor.compress_documents(page, QUERY)]
    selecting = RecallSelectorPostprocessor(selector=Keeping(*kept), options=options)
    nodes = selecting.postprocess_nodes(page, QueryBundle(QUERY))
    return [item.node.metadata["recall"] for item in nodes]


@pytest.mark.parametrize(
    ("cosines", "before", "after", "advice"),
    [
        (STRONG, [], [0, 1], "read"),
        (STRONG, [0, 1], [], "fallback"),
        (STRONG, [0, 1], [1], "read"),
        (WEAK, [], [0, 1], "fallback"),
    ],
)
def test_an_entry_has_the_advice_of_the_last_selector(
    framework: Framework, cosines: list[float], before: list[int], after: list[int], advice: str
) -> None:
    response = framework.over(cosines, selector=Keeping(*before)).recall(QUERY)
    page = response.documents if framework.name == "langchain" else response.nodes
    entries = select_again(framework, page, *after)
    assert {entry["advice"] for entry in entries} == {advice}
    assert entries[0]["selection"]["applied"] == bool(after)


def carrying(framework: Framework, entry: Any) -> Any:
    """Four plain documents or nodes with this under the key, or without the key."""
    response = framework.over().recall(QUERY)
    page = response.documents if framework.name == "langchain" else response.nodes
    for item in page:
        getattr(item, "node", item).metadata.pop("recall")
        if entry is not None:
            getattr(item, "node", item).metadata["recall"] = deepcopy(entry)
    return page


def test_without_a_signal_only_none_of_these_is_an_advice(framework: Framework) -> None:
    """Of an earlier selector nothing is left."""
    (first, *_) = refused = select_again(framework, carrying(framework, None))
    assert [entry["advice"] for entry in refused] == ["fallback"] * 4
    again = select_again(framework, carrying(framework, first), 0, 1)
    assert [entry["advice"] for entry in again] == ["undecided"] * 2


@pytest.mark.parametrize(
    ("kept", "advice", "route"), [([0, 1], "undecided", "u"), ([], "fallback", "a")]
)
def test_an_entry_without_a_signal_is_an_entry(
    framework: Framework, kept: list[int], advice: str, route: str
) -> None:
    page = carrying(framework, None)
    entries = select_again(framework, page, *kept)
    decide = route_on_recall(relevant="r", absent="a", unknown="u")
    for entry in entries:
        ENTRY.validate(entry)
        report = parse_report(entry)
        assert report is not None
        assert (report.confidence.level, report.confidence.reason) == ("unknown", "no_signal")
        assert report.confidence.result_count == 4
        assert report.advice == advice
        assert decide({"documents": [Document("t", metadata={"recall": entry})]}) == route


WHOLE: dict[str, Any] = metadata_entry(report_of(assess([0.9, 0.5])), 3, 0.9)
ASKING = SelectionOptions(skip_levels=frozenset({"high"}))


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in WHOLE.items() if key != name}


@pytest.mark.parametrize(
    "entry",
    [
        {"v": 1, "confidence": {"level": "high"}, "advice": "read"},
        {**WHOLE, "v": 2},
        {**WHOLE, "confidence": {**WHOLE["confidence"], "top_score": "best"}},
        {**WHOLE, "confidence": {**WHOLE["confidence"], "result_count": -1}},
        {**WHOLE, "selection": {"applied": False, "reason": "bored"}},
        {**WHOLE, "cosine": "near"},
        {**WHOLE, "calibration": {"id": 1}},
        *map(without, WHOLE),
        *(
            {**WHOLE, "confidence": {k: v for k, v in WHOLE["confidence"].items() if k != name}}
            for name in WHOLE["confidence"]
        ),
        ["high"],
        "high",
    ],
)
def test_what_a_store_holds_under_the_key_is_no_entry(framework: Framework, entry: Any) -> None:
    """It neither turns the selector off nor is carried on."""
    stored = {**entry, "evil": "x"} if isinstance(entry, dict) else entry
    bare = select_again(framework, carrying(framework, None), 0, options=ASKING)
    assert select_again(framework, carrying(framework, stored), 0, options=ASKING) == bare
    assert bare[0]["selection"]["kept"] == 1


def test_of_a_whole_entry_only_what_the_schema_knows_is_carried_on(framework: Framework) -> None:
    more = {**WHOLE, "evil": "x", "confidence": {**WHOLE["confidence"], "evil": "x"}}
    (entry,) = select_again(framework, carrying(framework, more), 0)
    assert entry == {**WHOLE, "selection": entry["selection"], "rank": 0}
    (first, *_) = select_again(framework, carrying(framework, more), 0, options=ASKING)
    assert first["selection"]["reason"] == "skipped_by_level"


def test_an_entry_keeps_all_that_a_wrapper_wrote(framework: Framework) -> None:
    reranker = RerankerOptions(lambda query, texts: [1.0, None, 3.0, 2.0], scale="logit")
    wrapped = framework.over(STRONG, reranker=reranker, use_rerank=True)
    response = wrapped.recall(QUERY)
    page = response.documents if framework.name == "langchain" else response.nodes
    before = [getattr(item, "node", item).metadata["recall"] for item in page]
    for entry in before:
        entry["calibration"] = {"id": None, "created": None, "status": "waiting"}
    after = select_again(framework, page, 1, 3)
    assert {"calibration", "rerank", "rerank_score"} <= after[0].keys()
    for rank, (entry, place) in enumerate(zip(after, (1, 3), strict=True)):
        ENTRY.validate(entry)
        assert entry == {**before[place], "selection": entry["selection"], "rank": rank}


def test_items_whose_text_cannot_be_read_stay(caplog: pytest.LogCaptureFixture) -> None:
    def unreadable(item: str) -> str:
        raise LookupError

    steps = PageSelection("recall", lambda _: {}, unreadable, lambda _: None).flow("?", ["a"], KEEP)
    found = drive(steps, lambda request: request.call(), lambda _: True)  # type: ignore[union-attr]
    assert (found.items, found.entries[0]["rank"]) == (["a"], 0)
    assert found.report["selection"] == {"applied": False, "reason": "llm_error"}
    assert "reading the page's texts failed: LookupError" in caplog.text
