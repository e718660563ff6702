"""Checks of the stress run's calls: nothing lost, nothing raised by itself, nothing left."""

import asyncio
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from stress_faults import HANG
from stress_worlds import RAISING, World

THREAD_NAME = "recall-signal-call"
"""Name of the threads in which a wrapper calls its models."""


@dataclass
class Row:
    """One row of the table: what was tried, and what went wrong."""

    scenario: str
    tries: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def note(self, text: str) -> None:
        """Remember an example of what went wrong."""
        self.notes[text] += 1


def check_response(row: Row, world: World, query: str, response: Any) -> None:
    """Compare a response with the bare page, and read its report as JSON.

    Selectors that work keep every second result.
    """
    expected, page = world.bare(query), world.page(response)
    rerank, selection = response.rerank, response.selection
    reordered = rerank is not None and rerank.applied and rerank.reordered
    kept = selection.applied
    right = set(page) <= set(expected) if kept else sorted(page) == sorted(expected)
    right = right and len(page) == (-(-len(expected) // 2) if kept else len(expected))
    if not reordered and right:
        right = page == [item for item in expected if item in page]
    if not right:
        row.faults["lost"] += 1
        row.note(f"{world.name}: another page")
    try:
        json.dumps(response.to_dict(), allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        row.faults["no JSON"] += 1
        row.note(f"{world.name}: {type(error).__name__} of a report")


def check_raised(
    row: Row, world: World, query: str, error: BaseException, *, is_async: bool
) -> None:
    """Compare an exception with the one of the bare retriever."""
    if query not in RAISING:
        row.faults["lost"] += 1
    elif type(error) is not world.raised[query, is_async]:
        row.faults["wrong raises"] += 1
    else:
        return
    row.note(f"{world.name}: {type(error).__name__} for {query.split()[0]}")


async def settled(row: Row, tasks: int) -> None:
    """Count the tasks and threads that are left when everything had time to end."""
    ends = time.monotonic() + 5.0 + HANG
    while time.monotonic() < ends:
        left = [t for t in threading.enumerate() if t.name == THREAD_NAME]
        if not left and len(asyncio.all_tasks()) <= tasks:
            return
        await asyncio.sleep(0.02)
    row.faults["leaked"] += len(left) + max(0, len(asyncio.all_tasks()) - tasks)
    row.note(f"{len(left)} threads are left")
