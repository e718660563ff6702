"""``recall-signal demo``: a small team's memory, asked 72 questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from rich.text import Text

from recall_signal.calibration import Calibration
from recall_signal.cli.chat import Server, ServerSelection
from recall_signal.cli.compared import in_short, same_levels, what_changed
from recall_signal.cli.frameworks import EXTRAS, load_framework
from recall_signal.cli.scripted import ScriptedSelector
from recall_signal.cli.selected import side_by_side
from recall_signal.cli.stage import K, Stage
from recall_signal.cli.tables import levels_table, notes_table, results_table, summary_table
from recall_signal.cli.tally import KINDS, Result, Tally, tally
from recall_signal.cli.terminal import ProgressBar, Terminal, command
from recall_signal.encoders import DemoEncoder
from recall_signal.errors import MissingDependencyError
from recall_signal.pool import DEFAULT_POOL_SIZE

__all__ = ["DemoOptions", "demo"]

MAIN, OTHER = EXTRAS

ASKED = (
    "kilowatt hour price",
    "hey, a teacher wants to plan her class firings for next term, how far in advance can she "
    "reserve?",
)
"""What the selector is shown: two questions whose page holds the answer, and more."""

SELECTOR = (
    "a model looks at a page and drops what does not help. It cannot reorder or add anything, "
    "and where its answer is not certain the page stays as it is."
)
SCRIPTED = (
    "The selector, scripted here:",
    "Both answers below were written in advance, no model is asked, and the second one breaks "
    "the rules on purpose.",
)

NO_THRESHOLD = (
    "It found no cut that tells relevant from irrelevant here, so levels stay as they were."
)

NOTES = {
    "right": "stored should be 'read', off_topic 'fallback'. near_miss asks for a fact that is "
    "not stored about a topic that is: scores measure topic, not whether the fact is stored, so "
    "no level is right or wrong there.",
    f"hit@{K}": f"a memory that answers is among the {K} results.",
    "top": "the best cosine of the pool. prominence: how far it stands above the mean of the other "
    "candidates, in units of that mean. Uncalibrated levels rest on both.",
    "levels": "uncalibrated: default cuts, chosen on another encoder and corpus, fitted neither "
    "to this encoder nor to these memories. Calibrated ones are below.",
}

NEXT = {
    "next": 'ask --docs FOLDER "your question"',
    "": "calibrate --docs FOLDER --out FILE",
}


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """The command line of ``recall-signal demo``.

    Attributes:
        framework: The only framework to ask through; None for both that have an extra.
        server: A real selector; None for a scripted one.
        selector_timeout: Seconds that a real selector may take for a page; None for the default.
    """

    framework: str | None = None
    server: Server | None = None
    selector_timeout: float | None = None


def demo(options: DemoOptions, terminal: Terminal) -> None:
    """Ask every question, calibrate, ask again, and let a selector look at two pages.

    Raises:
        RecallSignalError: An option is wrong, there is no such framework, or an extra is missing.
    """
    server = ServerSelection.open(options.server, options.selector_timeout, terminal)
    alone = options.framework
    stage = Stage.load(load_framework(MAIN if alone is None else alone), DemoEncoder(), terminal)
    results = _uncalibrated(stage)
    notes = {**NOTES, "time": _timing(results)}
    if alone is None:
        notes["also"] = _through_other(stage, results)
    terminal.out.print(notes_table(notes))
    terminal.out.print()
    calibration, calibrated = _calibrated(stage, results)
    _selected(stage, results, calibration, server)
    stage.show("In short:", in_short(*map(_tallies, (results, calibrated))))
    terminal.out.print(notes_table({word: f"{command()} {rest}" for word, rest in NEXT.items()}))


def _uncalibrated(stage: Stage) -> list[Result]:
    """The table of all questions, as anybody gets it who wraps a retriever."""
    workbench = stage.workbench()
    stage.show(
        f"{len(stage.memories)} memories of a small team,",
        f"embedded in {stage.bar.seconds:.1f} s with {stage.encoder.name}; "
        f"{len(stage.questions)} questions, each judged over a pool of {DEFAULT_POOL_SIZE} "
        f"with a page of {K}.",
    )
    results = stage.ask_all(workbench, "Asking")
    stage.terminal.out.print(results_table(results, stage.terminal.out.width))
    stage.terminal.out.print()
    stage.show(
        "Hits and misses:", "the same by kind of question.", summary_table(_tallies(results), K)
    )
    return results


def _tallies(results: Sequence[Result]) -> list[Tally]:
    return [tally(results, kind) for kind in KINDS]


def _timing(results: Sequence[Result]) -> str:
    recall = median(result.recall_seconds for result in results) * 1000
    embedding = median(result.embed_seconds for result in results) * 1000
    return (
        f"{recall:.1f} ms per question (median; embedding, search and signal), beside "
        f"{embedding:.1f} ms for one embedding."
    )


def _through_other(stage: Stage, results: Sequence[Result]) -> str:
    """Whether the other framework says the same."""
    title = EXTRAS[OTHER]
    try:
        build = load_framework(OTHER)
    except MissingDependencyError:
        return (
            f"{title} is not installed, so only {EXTRAS[MAIN]} was asked. To ask both:\n"
            f"pip install 'recall-signal[{OTHER}]'"
        )
    others = stage.ask_all(stage.workbench(build), f"Asking {title}")
    return same_levels(title, results, others)


def _calibrated(stage: Stage, before: Sequence[Result]) -> tuple[Calibration, Sequence[Result]]:
    """Calibrate as anybody can who has a retriever, and ask again."""
    workbench = stage.workbench()
    with ProgressBar(stage.terminal.err, "Calibrating") as bar:
        calibration = workbench.calibrate(progress=bar)
        seconds, searches = bar.seconds, bar.done
    after = stage.ask_all(stage.workbench(calibration=calibration), "Asking again")
    changed = what_changed(before, after) if calibration.decides else NO_THRESHOLD
    stage.show(
        "Calibrated:",
        f"retriever.calibrate() learnt this retriever's own scale in {searches} searches and "
        f"{seconds:.1f} s, without labels or any other argument.",
        levels_table(_tallies(before), _tallies(after)),
        Text(changed),
    )
    return calibration, after


def _selected(
    stage: Stage,
    results: Sequence[Result],
    calibration: Calibration,
    server: ServerSelection | None,
) -> None:
    """Two pages that a selector looked at, and its two reports."""
    workbench = stage.workbench(
        calibration=calibration,
        selector=_script(stage) if server is None else server.selector,
        selector_options=None if server is None else server.options,
    )
    pages = {result.question.text: result.answer.hits for result in results}
    columns = [(text, workbench.recall(text), pages[text]) for text in ASKED]
    heading, who = SCRIPTED if server is None else ("The selector:", server.introduction)
    stage.show(heading, f"{SELECTOR} {who}", side_by_side(columns, stage.terminal.out.width))


def _script(stage: Stage) -> ScriptedSelector:
    """Keeps what answers the first question, and has no proper answer to the second."""
    answers = {question.text: question.answers for question in stage.questions}
    texts = {memory.text for memory in stage.memories if memory.id in answers[ASKED[0]]}
    return ScriptedSelector({ASKED[0]: texts})
