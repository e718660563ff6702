"""Nothing loops: whatever a model calls, the calls of fallback tools are counted."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workflows.errors import WorkflowRuntimeError

from recall_signal.confidence import LEVELS
from tests.llama_index.agent_fakes import LOOK, STRONG, WEAK, WEB, agent, notes, unmeasured, web
from tests.llama_index.fakes import QUERY

pytestmark = pytest.mark.filterwarnings(
    "ignore::pydantic.warnings.PydanticDeprecationWarning",
)

FOUND = {"strong": "high", "weak": "none", "unmeasured": "unknown"}
STEP = st.lists(st.sampled_from(["web", *FOUND]), min_size=1, max_size=4)


def expected_runs(steps: list[list[str]], most: int) -> int:
    """Calls of the web that may run: the rule, once more."""
    level, used = None, 0
    for one in steps:
        room = most - used if level in ("low", "none", "unknown") else 0
        used += min(one.count("web"), max(room, 0))
        found = [FOUND[name] for name in one if name != "web"]
        level = min(found, key=LEVELS.index) if found else level
    return used


@given(st.lists(STEP, max_size=6), st.integers(1, 3))
@settings(deadline=None, max_examples=25)
def test_whatever_a_model_calls_the_fallbacks_are_counted(
    steps: list[list[str]], most: int
) -> None:
    asked: list[str] = []
    runner, _ = agent(
        [[(name, {"query": QUERY}) for name in one] for one in steps],
        notes(STRONG, "strong"),
        notes(WEAK, "weak"),
        unmeasured("unmeasured"),
        web(lambda query: asked.append(query)),
        retriever_tools=list(FOUND),
        max_fallbacks=most,
    )

    async def run() -> str:
        return str(await runner.run(QUERY))

    assert asyncio.run(run()) == "done"
    assert len(asked) == expected_runs(steps, most) <= most


async def test_a_model_that_never_stops_is_stopped_by_the_framework() -> None:
    asked: list[str] = []
    endless: Any = [[LOOK, WEB]] * 100
    runner, _ = agent(endless, notes(WEAK), web(lambda query: asked.append(query)))
    with pytest.raises(WorkflowRuntimeError, match=r"(?i)max iterations"):
        await runner.run(QUERY, max_iterations=8)
    assert len(asked) == 3
