"""`recall-signal calibrate`: learn the scale of a retriever over some texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from shlex import quote

from rich.padding import Padding
from rich.text import Text

from recall_signal._files import SHARED, refuse_other_than_file, write_whole
from recall_signal._safe_text import terminal_text
from recall_signal.calibration import Calibration
from recall_signal.cli import _options as opt
from recall_signal.cli._backends import load_framework
from recall_signal.cli._corpus import cache_folder, read_corpus, read_past
from recall_signal.cli._models import DEMO, load_encoder
from recall_signal.cli._terminal import Terminal, command, open_terminal
from recall_signal.display._calibration_plot import calibration_figure
from recall_signal.errors import ConfigurationError, MissingDependencyError

__all__ = ["calibrate", "draw", "show_calibration", "verdict"]

PICTURES = (".png", ".svg", ".pdf")
DOTS_PER_INCH = 150

CLEAR = 0.05
"""Overlap up to which a calibration separates clearly: the shipped target for false alarms."""

BETTER = {
    "null": "It gets better with --past (30 real questions) or --labelled (50).",
    "null+past": "It gets better with --labelled (50 questions).",
    "labelled": "Calibrate again when the texts or the encoder change.",
}
"""Mode -> the next step."""


def calibrate(
    out: opt.Out,
    docs: opt.TextsFolder = None,
    glob: opt.Glob = None,
    jsonl: opt.TextsFile = None,
    past: opt.Past = None,
    labelled: opt.Labelled = None,
    figure: opt.Figure = None,
    framework: opt.Framework = "langchain",
    encoder: opt.Encoder = DEMO,
    as_json: opt.AsJson = False,
    cache: opt.Cache = None,
) -> None:
    """Learn, in at most 186 searches, which score means a match in these texts."""
    with open_terminal() as terminal:
        sources = {"--jsonl": jsonl, "--past": past, "--labelled": labelled}
        _check_targets(sources, {"--out": out, "--figure": figure})
        build = load_framework(framework)
        named = load_encoder(encoder)
        past_queries = None if past is None else read_past(past)
        labels = None if labelled is None else _read_labelled(labelled)
        folder = cache_folder(cache)
        corpus = read_corpus(docs, jsonl, terminal, glob)
        backend = corpus.open(build, named, folder, terminal)
        calibration, _ = corpus.fit(backend, terminal, past_queries, labels)
        if as_json:
            terminal.out.out(json.dumps(_as_dict(calibration, out)), highlight=False)
        else:
            show_calibration(calibration, terminal)
        _write(out, "--out", calibration.save)
        terminal.note(f"Saved to {out}; use it with", whole=True)
        use = f"--docs {quote(str(docs or 'FOLDER'))} --calibration {quote(str(out))}"
        terminal.note(f'{command()} ask {use} "your question"', whole=True)
        if figure is not None:
            draw(calibration, figure)


def draw(calibration: Calibration, path: Path) -> None:
    """Write the picture of a calibration.

    Raises:
        ConfigurationError: The file cannot be written, or is of no kind that can be drawn.
        MissingDependencyError: matplotlib is not installed.
    """
    _check_picture(path)
    picture = calibration_figure(calibration)
    drawn = BytesIO()
    picture.savefig(drawn, format=path.suffix[1:].lower(), dpi=DOTS_PER_INCH)
    _write(path, "--figure", partial(write_whole, content=drawn.getvalue(), mode=SHARED))


def _as_dict(calibration: Calibration, out: Path) -> dict[str, object]:
    return {
        "file": str(out),
        "status": calibration.status,
        "mode": calibration.mode,
        "encoder": calibration.encoder,
        "created": calibration.created,
        "cut": calibration.cut_at(),
        "overlap": calibration.overlap,
        "warnings": list(calibration.warnings),
        "verdict": verdict(calibration),
    }


def show_calibration(calibration: Calibration, terminal: Terminal) -> None:
    """Print the summary, and close with a plain verdict."""
    for line in str(calibration).splitlines()[:-1]:  # the last one says less than the verdict
        indent = len(line) - len(line.lstrip())
        text = Text(terminal_text(line.lstrip()))
        terminal.out.print(Padding(text, (0, 0, 0, indent), expand=False))
    terminal.out.print()
    terminal.out.print(Text.assemble(("In short: ", "bold"), verdict(calibration)))


def verdict(calibration: Calibration) -> str:
    """Say in plain words whether to use a calibration, and how to get a better one."""
    share = "hardly any" if calibration.overlap < 0.005 else f"{calibration.overlap:.0%} of"
    alike = f"{share} unrelated questions score like questions on these texts"
    if not calibration.decides:
        return (
            f"do not rely on levels here: {alike}, so no threshold separates them and levels stay "
            "uncalibrated. Try another --encoder, or give --labelled with 50 questions."
        )
    is_clear, is_small = calibration.overlap <= CLEAR, calibration.status == "few_documents"
    opinion = f"use it: {alike}" if is_clear and not is_small else f"use it with care: {alike}"
    opinion += "." if is_clear else ", and some of them will be read."
    if is_small:
        opinion += " It rests on few texts: calibrate again when there are more."
    if calibration.status == "labels_do_not_separate":
        opinion += " The labels were left out, because they contradict the scores: check them."
    return f"{opinion} {BETTER[calibration.mode]}"


def _check_targets(sources: Mapping[str, Path | None], targets: Mapping[str, Path | None]) -> None:
    """Check that the files can be written and replace nothing else, before the searches."""
    figure = targets["--figure"]
    if figure is not None:
        _check_picture(figure)
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
        _write(path, name, refuse_other_than_file)


def _check_picture(path: Path) -> None:
    if path.suffix.lower() not in PICTURES:
        raise ConfigurationError(f"--figure must end in {', '.join(PICTURES)}, got {path}")
    if find_spec("matplotlib") is None:
        raise MissingDependencyError("--figure", "eval")


def _read_labelled(path: Path) -> list[tuple[str, bool]]:
    from recall_signal.evaluation import load_queries

    return [(query.text, query.present) for query in load_queries(path)]


def _write(path: Path, name: str, write: Callable[[Path], object]) -> None:
    try:
        write(path)
    except OSError as error:
        raise ConfigurationError(f"{name} {path} cannot be written: {error.strerror}") from None
