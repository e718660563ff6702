"""Nothing lost, nobody locked out: one table, and a failure where anything went wrong.

Usage: python benchmarks/stress.py [--scale 0.1] [--only NAME]

At scale 1: 20,000 calls with injected faults over both frameworks, 2,000 cancellations, 400
malformed answers, 400 healthy calls beside 500 hanging ones of each framework, 1,000 calls at the
same time, 16,000 calls for memory, 20,000 mutated files, 500 kills during a save. About ten minutes
on two cores.
"""

import argparse
import asyncio
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table
from stress_calls import cancel, inject, malform
from stress_checks import Row
from stress_files import kill, mutate
from stress_load import crowd, hang, remember

FAULTS = (
    "lost",
    "wrong raises",
    "swallowed",
    "late cancellations",
    "refused",
    "leaked",
    "no JSON",
    "broken files",
    "temporary files",
    "foreign errors",
    "senseless levels",
)
"""Faults that are counted; every count has to be 0."""

FULL = {
    "kill": 500,
    "mutate": 20_000,
    "inject": 20_000,
    "cancel": 2_000,
    "malform": 400,
    "hang": 400,
    "crowd": 1_000,
    "remember": 16_000,
}
"""Tries of each scenario at scale 1. Forks come first, while there is one thread."""


def run(scale: float, only: str | None = None) -> list[Row]:
    """Run the scenarios, and return a row for each."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        scenarios: dict[str, Callable[[int], Row]] = {
            "kill": lambda tries: kill(tries, place),
            "mutate": lambda tries: mutate(tries, place),
            "inject": lambda tries: asyncio.run(inject(tries)),
            "cancel": lambda tries: asyncio.run(cancel(tries)),
            "malform": lambda tries: asyncio.run(malform(tries)),
            "hang": lambda tries: asyncio.run(hang(tries, round(500 * min(scale, 1.0)))),
            "crowd": lambda tries: asyncio.run(crowd(tries)),
            "remember": lambda tries: asyncio.run(remember(tries)),
        }
        rows = []
        for name, scenario in scenarios.items():
            if only in (None, name):
                began = time.monotonic()
                row = scenario(max(4, round(FULL[name] * scale)))
                row.seconds = time.monotonic() - began
                rows.append(row)
        return rows


def table_of(rows: list[Row]) -> Table:
    """Lay the rows out, what must be 0 in its columns."""
    table = Table(title="Stress: every count but the tries must be 0")
    table.add_column("lost", justify="right")
    table.add_column("scenario", no_wrap=True)
    for name in ("tries", *FAULTS[1:], "seconds"):
        table.add_column(name, justify="right")
    for row in rows:
        counts = [str(row.faults[name]) for name in FAULTS]
        table.add_row(counts[0], row.scenario, f"{row.tries:,}", *counts[1:], f"{row.seconds:.0f}")
    return table


def main() -> int:
    """Run, print, and return 1 where anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Plain)
    parser.add_argument("--scale", type=float, default=float(os.environ.get("SCALE", "1")))
    parser.add_argument("--only", choices=FULL)
    given = parser.parse_args()
    with _quiet():
        rows = run(given.scale, given.only)
    console = Console(width=max(Console().width, 190))
    console.print(table_of(rows))
    for row in rows:
        for text, count in row.notes.most_common(10):
            console.print(f"{row.scenario}: {text} ({count} times)", markup=False)
    return int(any(row.faults.total() for row in rows))


@contextmanager
def _quiet() -> Iterator[None]:
    """Show no warnings: every fault is one."""
    names = ("recall_signal", "langchain_recall_signal", "llama_index_recall_signal")
    loggers = [logging.getLogger(name) for name in (*names, "langchain_core")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


_Plain = argparse.RawDescriptionHelpFormatter


if __name__ == "__main__":
    sys.exit(main())
