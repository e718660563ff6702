"""Runs that were saved in one process, in the middle of a step, and go on in another."""

import asyncio
import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.workflow import Context
from workflows.errors import WorkflowCancelledByUser

from llama_index_recall_signal import CorrectiveAnswer
from tests.llama_index import resume as llama_resume
from tests.llama_index.agent_fakes import LOOK, WEAK, WEB, agent, notes, web
from tests.llama_index.fakes import QUERY
from tests.llama_index.resume import Held, workflow

pytestmark = [
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::workflows.context.state_store.UnserializableKeyWarning"),
]

STEPS = ["retrieve", "rewrite", "web_search", "answer"]
PATHS = {
    "stored": ["retrieve", "answer"],
    "helped": ["retrieve", "rewrite", "retrieve", "answer"],
    "lost": ["retrieve", "rewrite", "retrieve", "web_search", "answer"],
    "same": ["retrieve", "rewrite", "web_search", "answer"],
}


def elsewhere(saved: dict[str, Any]) -> dict[str, Any]:
    """The same in another process."""
    command = [sys.executable, "-m", llama_resume.__name__]
    run = subprocess.run(
        command,
        input=json.dumps(saved),
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    done: dict[str, Any] = json.loads(run.stdout)
    return done


async def stop(handler: Any, reached: asyncio.Event) -> dict[str, Any]:
    """The context of a run that waits in a step, which is then given up."""
    await asyncio.wait_for(reached.wait(), 20)
    await asyncio.sleep(0.1)  # what is on its way between two steps is in none of them
    saved: dict[str, Any] = handler.ctx.to_dict()
    await handler.cancel_run()
    with pytest.raises(WorkflowCancelledByUser):
        await handler
    return saved


async def test_a_workflow_goes_on_from_every_step_by_every_branch() -> None:
    saved, expected, taken = {}, {}, set()
    for question, path in PATHS.items():
        held = Held()
        answer: CorrectiveAnswer = await workflow(held).run(question=question)
        expected[question] = answer.model_dump()
        assert held.ran == path
        for step in dict.fromkeys(path):
            held = Held(step)
            handler = workflow(held).run(question=question)
            saved[f"workflow {step} {question}"] = await stop(handler, held.reached)
    for name, done in elsewhere(saved).items():
        _, step, question = name.split()
        assert done["ran"] == PATHS[question][PATHS[question].index(step) :]
        assert done["result"] == expected[question]
        taken |= set(pairwise(done["ran"]))
    assert taken == {edge for path in PATHS.values() for edge in pairwise(path)}


def waiting(held: Held) -> Any:
    async def search(query: str) -> str:
        await held.at("web")
        return query

    return search


async def test_an_agent_goes_on_in_the_middle_of_a_turn() -> None:
    """The web is being searched when it is saved: the signal and the count come along.

    By every call of the step: one that the framework has not begun yet is not in what it saves.
    """
    saved = {}
    for calls in (1, 2):
        held = Held("web", calls)
        runner, _ = agent([[LOOK], [WEB] * calls], notes(WEAK), web(waiting(held)), max_fallbacks=2)
        saved[f"agent {calls}"] = await stop(runner.run(QUERY), held.reached)
    done = elsewhere(saved)
    for calls in (1, 2):
        found = done[f"agent {calls}"]
        assert found["said"] == "done"
        assert found["recall"]["confidence"]["level"] == "none"
        assert found["recall_fallbacks"] == 2
        assert ["web" in names for names in found["offered"]] == [calls == 1, False]
        assert found["heard"].count(f"web on {QUERY}") >= 1


async def test_between_two_turns_it_starts_anew() -> None:
    runner, _ = agent([[LOOK], [WEB]], notes(WEAK), web())
    context: Any = Context(runner)
    await runner.run(QUERY, ctx=context)
    assert await context.store.get("recall_fallbacks") == 1
    again, llm = agent([[WEB]], notes(WEAK), web())
    restored: Any = Context.from_dict(again, json.loads(json.dumps(context.to_dict())))
    await again.run(QUERY, ctx=restored)
    assert ["web" in names for names in llm.offered] == [False, False]
    assert await restored.store.get("recall_fallbacks") == 0
