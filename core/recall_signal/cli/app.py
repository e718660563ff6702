"""The commands and their options."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.text import Text

from recall_signal.cli.ask import DEFAULT_POOL, AskOptions, ask
from recall_signal.cli.demo import demo
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

Framework = Annotated[
    str, typer.Option(metavar="NAME", help="The framework whose retriever is wrapped.")
]


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
def demo_command(framework: Framework = "langchain") -> None:
    """Ask a small team's memory 72 questions and look at the signal."""
    with _terminal() as terminal:
        demo(framework, terminal)


@app.command("ask")
def ask_command(
    questions: Annotated[
        list[str], typer.Argument(metavar="QUESTION", help="One or more questions, quoted.")
    ],
    docs: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER", help="Folder with .txt, .md, .markdown and .rst files to search."
        ),
    ],
    framework: Framework = "langchain",
    k: Annotated[int, typer.Option("-k", metavar="N", help="Results on the page.")] = 5,
    pool_size: Annotated[
        Optional[int],  # noqa: UP045  (typer before 0.12.4 knows no other way to say it)
        typer.Option(
            metavar="N",
            help="Candidates the signal looks at.",
            show_default=f"{DEFAULT_POOL}, or -k where that is more",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per question.")
    ] = False,
    cache: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="DIR",
            help="Folder where vectors are kept, so that texts are embedded once.",
            show_default="the user's cache folder",
        ),
    ] = None,
) -> None:
    """Ask a folder of texts, and see whether what was found is worth reading."""
    with _terminal() as terminal:
        ask(AskOptions(docs, questions, framework, k, pool_size, as_json, cache), terminal)
