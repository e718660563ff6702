"""The command line application: registers the commands."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer
from rich.text import Text

from recall_signal.cli._ask import ask
from recall_signal.cli._calibrate import calibrate
from recall_signal.cli._demo import demo
from recall_signal.cli._evaluate import evaluate
from recall_signal.cli._explain import explain
from recall_signal.cli._explore import explore
from recall_signal.cli._mcp import mcp
from recall_signal.cli._monitor import monitor
from recall_signal.cli._score import score
from recall_signal.cli._terminal import Terminal

__all__ = ["app"]

app = typer.Typer(
    name="recall-signal",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Says whether what a retriever returned is worth reading.",
)
for command in (demo, ask, explore, mcp, calibrate, evaluate, score, monitor, explain):
    app.command()(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        Terminal.open().out.print(Text(f"recall-signal {version('recall-signal')}"))
        raise typer.Exit


@app.callback()
def _common(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass
