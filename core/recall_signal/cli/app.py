"""The commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Annotated

import typer
from rich.text import Text

from recall_signal.cli import options as given
from recall_signal.cli.ask import AskOptions, ask
from recall_signal.cli.calibrate import CalibrateOptions, calibrate
from recall_signal.cli.chat import Server
from recall_signal.cli.demo import DemoOptions, demo
from recall_signal.cli.evaluate import evaluate_command
from recall_signal.cli.terminal import Terminal
from recall_signal.errors import RecallSignalError

__all__ = ["app"]

app = typer.Typer(
    name="recall-signal",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Says whether what a retriever returned is worth reading.",
)


@contextmanager
def _terminal() -> Iterator[Terminal]:
    """The consoles; an error of ours ends the command with its message and code 2."""
    terminal = Terminal.open()
    try:
        yield terminal
    except RecallSignalError as error:
        terminal.error(str(error))
        raise typer.Exit(2) from None


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


@app.command("demo")
def demo_command(
    framework: given.OnlyFramework = None,
    selector: given.Selector = given.NO_SERVER,
    selector_timeout: given.SelectorTimeout = None,
) -> None:
    """Ask a small team's memory 72 questions and look at the signal."""
    with _terminal() as terminal:
        demo(DemoOptions(framework, _server(selector), selector_timeout), terminal)


@app.command("ask")
def ask_command(
    questions: given.Questions,
    docs: given.Docs,
    framework: given.Framework = "langchain",
    k: given.PageSize = 5,
    pool_size: given.PoolSize = None,
    calibration: given.CalibrationFile = None,
    selector: given.Selector = given.NO_SERVER,
    selector_timeout: given.SelectorTimeout = None,
    as_json: given.AsJson = False,
    cache: given.Cache = None,
) -> None:
    """Ask a folder of texts, and see whether what was found is worth reading."""
    options = AskOptions(
        docs=docs,
        questions=questions,
        framework=framework,
        k=k,
        pool_size=pool_size,
        as_json=as_json,
        cache=cache,
        calibration=calibration,
        server=_server(selector),
        selector_timeout=selector_timeout,
    )
    with _terminal() as terminal:
        ask(options, terminal)


@app.command("calibrate")
def calibrate_command(
    out: given.Out,
    docs: given.TextsFolder = None,
    jsonl: given.TextsFile = None,
    past: given.Past = None,
    labelled: given.Labelled = None,
    figure: given.Figure = None,
    framework: given.Framework = "langchain",
    resume: given.Resume = None,
    cache: given.Cache = None,
) -> None:
    """Learn, in at most 180 searches, which score means a match in these texts."""
    options = CalibrateOptions(
        out=out,
        docs=docs,
        jsonl=jsonl,
        past=past,
        labelled=labelled,
        figure=figure,
        framework=framework,
        resume=resume,
        cache=cache,
    )
    with _terminal() as terminal:
        calibrate(options, terminal)


app.command("evaluate")(evaluate_command)


def _server(selector: Server) -> Server | None:
    return None if selector == given.NO_SERVER else selector
