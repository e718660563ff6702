"""``recall-signal evaluate``: how well the signal tells absence, on a corpus with labels."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from recall_signal.cli.terminal import EmbeddingBar, Terminal
from recall_signal.encoders import DemoEncoder, Encoder
from recall_signal.errors import (
    ConfigurationError,
    MissingDependencyError,
    RecallSignalError,
)
from recall_signal.pool import DEFAULT_POOL_SIZE

__all__ = ["evaluate_command"]

DEMO = "demo"


def evaluate_command(
    corpus: Annotated[
        Path, typer.Option(metavar="FILE", help="Documents: JSON lines with id and text.")
    ],
    queries: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Queries: JSON lines with id, text and label (present or absent), and kind and "
            "split where known; without split about half are fitted on, the others reported.",
        ),
    ],
    qrels: Annotated[
        Optional[list[Path]],  # noqa: UP045  (typer before 0.12.4 knows no other way to say it)
        typer.Option(metavar="FILE", help="BEIR's judgements, for queries without labels."),
    ] = None,
    encoder: Annotated[
        str, typer.Option(metavar="NAME", help=f"'{DEMO}', or module:Class of your own.")
    ] = DEMO,
    pool: Annotated[int, typer.Option(metavar="N", help="Candidates the signal looks at.")] = (
        DEFAULT_POOL_SIZE
    ),
    html: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Write a report with figures."),
    ] = None,
    as_json: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--json", metavar="FILE", help="Write every figure and score."),
    ] = None,
) -> None:
    """Measure on labelled queries how well each mode, and each rule of thumb, tells absence."""
    from recall_signal.evaluation import (  # with numpy, which other commands start without
        evaluate,
        load_corpus,
        load_queries,
        print_report,
        write_html,
        write_json,
    )

    terminal = Terminal.open()
    try:
        _check_targets(html, as_json)
        with EmbeddingBar(terminal.err) as bar:
            evaluation = evaluate(
                load_corpus(corpus),
                load_queries(queries, qrels or ()),
                load_encoder(encoder),
                pool_size=pool,
                progress=bar,
            )
        print_report(evaluation, terminal.out)
        if as_json is not None:
            write_json(evaluation, as_json)
        if html is not None:
            write_html(evaluation, html)
    except RecallSignalError as error:
        terminal.error(str(error))
        raise typer.Exit(2) from None


def _check_targets(html: Path | None, as_json: Path | None) -> None:
    """Whether the reports can be written at the end, before anything is embedded."""
    if html is not None and find_spec("matplotlib") is None:
        raise MissingDependencyError("--html", "eval")
    for name, path in (("--html", html), ("--json", as_json)):
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise ConfigurationError(
                f"{name} {path} cannot be written; give a file in a folder that exists"
            )


def load_encoder(name: str) -> Encoder:
    """The encoder of this name: ``demo``, or ``module:Class``, made without arguments.

    The module may lie in the current folder.

    Raises:
        ConfigurationError: There is none, or it is no encoder.
    """
    if name == DEMO:
        return DemoEncoder()
    module, _, attribute = name.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        made: Any = getattr(import_module(module), attribute)()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ConfigurationError(
            f"--encoder {name!r} cannot be made ({type(error).__name__}: {error}); give "
            f"'{DEMO}', or module:Class of a class that is made without arguments"
        ) from None
    missing = [m for m in ("embed_query", "embed_documents") if not hasattr(made, m)]
    if missing:
        raise ConfigurationError(f"--encoder {name!r} has no {' and no '.join(missing)}")
    return _Named(made, name)


class _Named:
    """An encoder with a name, its own or the one it was asked for by."""

    def __init__(self, encoder: Any, name: str) -> None:
        self.name = str(getattr(encoder, "name", name))
        self.embed_query = encoder.embed_query
        self.embed_documents = encoder.embed_documents
        if hasattr(encoder, "embed_queries"):
            self.embed_queries = encoder.embed_queries
