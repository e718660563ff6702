"""A selector that fails or is not asked leaves the page alone, and says why."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from llama_fakes import QUERY, index_of, nodes_with_cosines

from llama_index_recall_signal import RecallResponse, RecallRetriever
from recall_signal.selection import Answer, SelectionOptions, SelectionRequest

INDEX = index_of(nodes_with_cosines(np.linspace(0.95, 0.05, 30)))


class RateLimitError(Exception):
    """As a client raises it, quoting what it was sent."""


class Scripted:
    """Raises or answers, one entry a call; keeps every request."""

    def __init__(self, *script: Any) -> None:
        self.script, self.requests = list(script), []  # type: list[Any], list[SelectionRequest]

    def select(self, request: SelectionRequest) -> Answer:
        self.requests.append(request)
        step = self.script.pop(0) if self.script else "first"
        if isinstance(step, Exception):
            raise step
        keep = [request.labels[0]] if step == "first" else step
        return Answer({"keep": keep}, "scripted")


def recall(selector: Scripted, **options: Any) -> RecallResponse:
    settings = SelectionOptions(**options)
    retriever = INDEX.as_retriever(similarity_top_k=4)
    return RecallRetriever(retriever, selector=selector, selector_options=settings).recall(QUERY)


def test_a_rate_limit_costs_nothing_and_quotes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    response = recall(Scripted(RateLimitError(f"429 for {QUERY} stored text 0")))
    assert response.selection.model_dump() == {"applied": False, "reason": "llm_error"}
    assert len(response.nodes) == 4
    assert QUERY not in caplog.text
    assert "stored text" not in caplog.text


def test_retries_are_made_as_often_as_asked() -> None:
    selector = Scripted(RateLimitError(), ["no label"], "first")
    response = recall(selector, retries=2)
    assert (response.selection.kept, len(selector.requests)) == (1, 3)
    again = Scripted(RateLimitError(), "first")
    assert recall(again).selection.reason == "llm_error"
    assert len(again.requests) == 1


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"min_results": 5}, "too_few_results"), ({"skip_levels": {"high"}}, "skipped_by_level")],
)
def test_no_call_is_spent_where_none_is_wanted(options: Any, reason: str) -> None:
    selector = Scripted()
    response = recall(selector, **options)
    assert response.confidence.level == "high"
    assert (response.selection.reason, selector.requests) == (reason, [])


def test_results_beyond_the_limits_stay_unjudged() -> None:
    selector = Scripted()
    response = recall(selector, max_candidates=2, max_characters=6)
    assert [len(passage) <= 6 for passage in selector.requests[0].passages] == [True, True]
    assert [item.node_id for item in response.nodes] == ["n0", "n2", "n3"]


async def test_concurrent_calls_have_labels_of_their_own() -> None:
    selector = Scripted()
    wrapped = RecallRetriever(INDEX.as_retriever(similarity_top_k=4), selector=selector)
    responses = await asyncio.gather(*(wrapped.arecall(QUERY) for _ in range(20)))
    with ThreadPoolExecutor(8) as pool:
        responses += list(pool.map(lambda _: wrapped.recall(QUERY), range(20)))
    assert [response.selection.kept for response in responses] == [1] * 40
    assert len({label for request in selector.requests for label in request.labels}) > 150
