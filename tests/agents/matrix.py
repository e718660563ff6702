"""One page, one advice: every kind of page, and what each channel does with it.

`CASES` are the rows and `Done` has the columns; `python -m tests.agents.matrix` prints the table of
`docs/reports.md`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from recall_signal.selection import SelectionOptions
from tests.frameworks import STRONG, WEAK, Framework, Keeping

__all__ = ["CASES", "Boom", "Case", "case_of", "table"]


class Boom(RuntimeError):
    """Raised by the retriever that fails."""


RAISED = "the error passes through"


@dataclass(frozen=True)
class Done:
    """What the channels do.

    Attributes:
        route: The branch that `route_on_recall` takes.
        web: What an agent sees of its fallback tools.
        flow: Where the corrective graph or workflow answers from.
        refusing: Who answers in a chain or an engine with `on_absent="refuse"`.
        router: Where the router query engine answers from.
    """

    route: Literal["relevant", "absent", "unknown"]
    web: Literal["hidden", "offered"]
    flow: str
    refusing: str
    router: str


DONE = {
    "read": Done("relevant", "hidden", "memory", "the model", "answer"),
    "fallback": Done("absent", "offered", "web", "the refusal", "fallback"),
    "undecided": Done("unknown", "offered", "memory", "the model", "answer"),
}
"""By the advice alone, unless the retriever raised."""


@dataclass(frozen=True)
class Case:
    """A page.

    Attributes:
        page: What it is, for a reader.
        make: Makes the wrapper that returns it.
        level: The level of its pool.
        advice: The advice on it.
        shown: Results that it has.
        says: Part of what a tool's first line and `advice_text` say.
        raises: True where the retriever raises.
    """

    page: str
    make: Callable[[Framework], Any]
    level: str
    advice: Literal["read", "fallback", "undecided"]
    shown: int
    says: str
    raises: bool = False

    @property
    def done(self) -> Done:
        done = DONE[self.advice]
        if self.raises:
            done = replace(done, flow=RAISED, refusing=RAISED, router=RAISED)
        return done


def fail() -> list[str]:
    raise Boom("secret")


DROP, KEEP = SelectionOptions(on_empty="drop"), SelectionOptions(on_empty="keep")

CASES = {
    "read": Case(
        "high, moderate", lambda f: f.over(STRONG), "high", "read", 4, "on this topic: read"
    ),
    "weak": Case(
        "low",
        lambda f: f.over([0.4, 0.35, 0.33, 0.32]),
        "low",
        "fallback",
        4,
        "a weak match only",
    ),
    "nothing": Case(
        "none", lambda f: f.over(WEAK), "none", "fallback", 4, "likely nothing relevant"
    ),
    "empty store": Case(
        "empty: nothing stored",
        lambda f: f.around(list),
        "none",
        "fallback",
        0,
        "found nothing, or left nothing",
    ),
    "emptied by a threshold": Case(
        "empty: a threshold",
        lambda f: f.thresholded(STRONG),
        "high",
        "fallback",
        0,
        "none passed the retriever's own limits",
    ),
    "emptied by the selector": Case(
        "empty: the selector",
        lambda f: f.over(STRONG, selector=Keeping(), selector_options=DROP),
        "high",
        "fallback",
        0,
        "a selector removed all of them",
    ),
    "none selected": Case(
        'the selector chose "none of these", the page stays',
        lambda f: f.over(STRONG, selector=Keeping(), selector_options=KEEP),
        "high",
        "fallback",
        4,
        "a selector found that likely none helps",
    ),
    "selected inside, emptied": Case(
        "empty: a selector inside the wrapped retriever",
        lambda f: f.selected_inside(DROP),
        "none",
        "fallback",
        0,
        "a selector removed all of them",
    ),
    "selected inside, none": Case(
        'that one chose "none of these"',
        lambda f: f.selected_inside(KEEP),
        "unknown",
        "fallback",
        2,
        "a selector found that likely none helps",
    ),
    "not measurable": Case(
        "unknown",
        lambda f: f.around(lambda: ["a", "b"]),
        "unknown",
        "undecided",
        2,
        "match strength not measured",
    ),
    "retrieval failed": Case(
        "the retriever raised",
        lambda f: f.around(fail),
        "unknown",
        "fallback",
        0,
        "nothing was searched",
        raises=True,
    ),
}


def case_of(name: str, framework: str) -> Case:
    """The case in a framework: no retriever of LlamaIndex has a limit, its postprocessors have."""
    case = CASES[name]
    if name == "emptied by a threshold" and framework == "llama_index":
        return replace(case, level="none", says="found nothing, or left nothing")
    return case


HEADER = (
    "the page",
    "advice",
    "a tool's line (MCP as well), `advice_text`",
    "`route_on_recall`",
    "middleware, agent: the web is",
    "graph, workflow: answer from",
    'chain, query engine, `on_absent="refuse"`: answered by',
    "router engine",
)


def table() -> str:
    """The matrix as a table of Markdown."""
    rows = [HEADER, ("---",) * len(HEADER)]
    for case in CASES.values():
        done = case.done
        rows.append(
            (
                case.page,
                f"`{case.advice}`",
                case.says,
                f"`{done.route}`",
                done.web,
                done.flow,
                done.refusing,
                done.router if case.raises else f"`{done.router}`",
            )
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    sys.stdout.write(f"{table()}\n")
