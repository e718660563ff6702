"""``recall-signal calibrate``: learns the scale of a retriever over some texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Any

from rich.padding import Padding
from rich.text import Text

from recall_signal.calibration import Calibration
from recall_signal.calibration.journal import Journal
from recall_signal.cli.corpus import Corpus
from recall_signal.cli.frameworks import Workbench, load_framework
from recall_signal.cli.sources import read_corpus, read_labelled, read_past
from recall_signal.cli.terminal import ProgressBar, Terminal, command, plain
from recall_signal.encoders import DemoEncoder
from recall_signal.errors import ConfigurationError, MissingDependencyError

__all__ = ["CalibrateOptions", "calibrate"]

PICTURES = (".png", ".svg", ".pdf")
DOTS_PER_INCH = 150

NO_THRESHOLD = (
    "No cut tells relevant from irrelevant here, so with this file levels stay uncalibrated."
)


@dataclass(frozen=True, slots=True)
class CalibrateOptions:
    """The command line of ``recall-signal calibrate``.

    Attributes:
        out: Where the calibration is written.
        docs: A folder of texts, or
        jsonl: a file with one JSON object a line, with ``id`` and ``text``.
        past: A file of past queries, one a line.
        labelled: A file with one JSON object a line, with ``query`` and ``label``.
        figure: Where a picture of the calibration is drawn.
        framework: A name in the entry point group (:mod:`recall_signal.cli.frameworks`).
        resume: A file for the figures of each search, from which an interrupted run goes on.
        cache: Folder of the vectors; None for the user's cache folder.
    """

    out: Path
    docs: Path | None = None
    jsonl: Path | None = None
    past: Path | None = None
    labelled: Path | None = None
    figure: Path | None = None
    framework: str = "langchain"
    resume: Path | None = None
    cache: Path | None = None


def calibrate(options: CalibrateOptions, terminal: Terminal) -> None:
    """Fit, show, save, and draw.

    Raises:
        RecallSignalError: An option is wrong, there is nothing to read, a fit is not possible,
            or an extra is missing.
    """
    _check_targets(options)
    build = load_framework(options.framework)
    queries: dict[str, Any] = {}
    if options.past is not None:
        queries["past_queries"] = read_past(options.past)
    if options.labelled is not None:
        queries["labelled"] = read_labelled(options.labelled)
    corpus = read_corpus(options.docs, options.jsonl, terminal)
    workbench = corpus.open(build, DemoEncoder(), options.cache, terminal)
    calibration = _fit(workbench, corpus, options, terminal, **queries)
    for line in str(calibration).splitlines():
        indent = len(line) - len(line.lstrip())
        text = Text(plain(line.lstrip()))
        terminal.out.print(Padding(text, (0, 0, 0, indent), expand=False))
    _write(options.out, "--out", calibration.save)
    terminal.note(f"Saved to {options.out}; use it with", whole=True)
    terminal.note(_use(options), whole=True)
    if not calibration.decides:
        terminal.note(NO_THRESHOLD)
    if options.figure is not None:
        from recall_signal.display.calibration import plot_calibration

        picture: Any = plot_calibration(calibration).figure
        _write(options.figure, "--figure", lambda path: picture.savefig(path, dpi=DOTS_PER_INCH))


def _use(options: CalibrateOptions) -> str:
    """The command that asks with what was learnt."""
    folder, file = (quote(str(path)) for path in (options.docs or "FOLDER", options.out))
    return f'{command()} ask --docs {folder} --calibration {file} "your question"'


def _check_targets(options: CalibrateOptions) -> None:
    """Whether what is written can be, and replaces nothing else, before searches are spent."""
    if options.figure is not None:
        if options.figure.suffix.lower() not in PICTURES:
            raise ConfigurationError(
                f"--figure must end in {', '.join(PICTURES)}, got {options.figure}"
            )
        if find_spec("matplotlib") is None:
            raise MissingDependencyError("--figure", "eval")
    sources = {"--jsonl": options.jsonl, "--past": options.past, "--labelled": options.labelled}
    targets = {"--out": options.out, "--figure": options.figure, "--resume": options.resume}
    taken = {path.resolve(): name for name, path in sources.items() if path is not None}
    for name, path in targets.items():
        if path is None:
            continue
        if path.is_dir():
            raise ConfigurationError(f"{name} {path} is a folder; give a file")
        if not path.parent.is_dir():
            raise ConfigurationError(f"{name} {path} is in a folder that does not exist; make it")
        if (other := taken.setdefault(path.resolve(), name)) != name:
            raise ConfigurationError(f"{name} {path} is the file of {other}; give another")
    if options.resume is not None and options.resume.exists():
        with _resuming(options.resume):
            Journal(options.resume, "--resume")


def _fit(
    workbench: Workbench,
    corpus: Corpus,
    options: CalibrateOptions,
    terminal: Terminal,
    **queries: Any,
) -> Calibration:
    documents = [(passage.id, passage.text) for passage in corpus.passages]
    with _resuming(options.resume), ProgressBar(terminal.err, "Calibrating") as bar:
        return workbench.calibrate(
            documents=documents, resume=options.resume, progress=bar, **queries
        )


@contextmanager
def _resuming(path: Path | None) -> Iterator[None]:
    """Of all that is done within, only this file can fail so."""
    try:
        yield
    except OSError as error:
        raise ConfigurationError(f"--resume {path} cannot be used: {error.strerror}") from None


def _write(path: Path, name: str, write: Callable[[Path], object]) -> None:
    try:
        write(path)
    except OSError as error:
        raise ConfigurationError(f"{name} {path} cannot be written: {error.strerror}") from None
