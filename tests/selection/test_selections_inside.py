"""Selections inside the wrapped retriever, and selections after it: one page, one advice."""

from typing import Any

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever, MergerRetriever
from llama_index.core.schema import QueryBundle

from langchain_recall_signal import RecallRetriever, SelectorCompressor
from llama_index_recall_signal import RecallSelectorPostprocessor
from recall_signal._steps.driver import drive
from recall_signal._wrapper.page_selection import PageSelection
from recall_signal.reports import NOT_CONFIGURED
from recall_signal.selection import SelectionOptions
from tests.frameworks import QUERY, STRONG, WEAK, Framework, Keeping
from tests.langchain.fakes import simple_store

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


def select_again(framework: Framework, page: Any, *kept: int) -> list[dict[str, Any]]:
    """The entries after one more selector."""
    if framework.name == "langchain":
        compressor = SelectorCompressor(selector=Keeping(*kept))
        return [d.metadata["recall"] for d in compressor.compress_documents(page, QUERY)]
    selecting = RecallSelectorPostprocessor(selector=Keeping(*kept))
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


def test_without_a_signal_only_none_of_these_is_an_advice(framework: Framework) -> None:
    """Of an earlier selector nothing is left."""
    response = framework.over().recall(QUERY)
    page = response.documents if framework.name == "langchain" else response.nodes
    for item in page:
        getattr(item, "node", item).metadata.pop("recall")
    (first, *_) = refused = select_again(framework, page)
    assert [entry["advice"] for entry in refused] == ["fallback"] * 4
    for item in page:
        getattr(item, "node", item).metadata["recall"] = first
    assert ["advice" in entry for entry in select_again(framework, page, 0, 1)] == [False] * 2


def test_items_whose_text_cannot_be_read_stay(caplog: pytest.LogCaptureFixture) -> None:
    def unreadable(item: str) -> str:
        raise LookupError

    steps = PageSelection("recall", lambda _: {}, unreadable, lambda _: None).flow("?", ["a"], KEEP)
    found = drive(steps, lambda request: request.call(), lambda _: True)  # type: ignore[union-attr]
    assert (found.items, found.entries[0]["rank"]) == (["a"], 0)
    assert found.report["selection"] == {"applied": False, "reason": "llm_error"}
    assert "reading the page's texts failed: LookupError" in caplog.text
