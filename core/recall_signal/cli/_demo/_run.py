"""`recall-signal demo`: a small team's memory, calibrated and asked 96 questions."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from statistics import median

from rich.console import Group

from recall_signal.calibration import Calibration
from recall_signal.cli import _options as opt
from recall_signal.cli._backends import EXTRAS, SearchBackend, load_framework
from recall_signal.cli._demo._sentences import same_levels, summary, uncalibrated
from recall_signal.cli._demo._session import K, Session
from recall_signal.cli._demo._stats import QUESTION_KINDS, SECTIONS, Result, tally
from recall_signal.cli._demo._tables import (
    notes_table,
    results_table,
    selection_lines,
    summary_table,
)
from recall_signal.cli._models import DEMO, Selection, load_encoder
from recall_signal.cli._terminal import ProgressBar, command, open_terminal
from recall_signal.errors import MissingDependencyError
from recall_signal.pool import DEFAULT_POOL_SIZE
from recall_signal.selection import Answer, SelectionOptions, SelectionRequest

__all__ = ["ScriptedSelector", "demo"]

MAIN, OTHER = EXTRAS

SELECTED = (
    "harrowmere phone signal",
    "What was the reason the kilns appeared dead on 1 May?",
)
"""Two questions for the selector, whose pages hold the answer and more."""

SELECTOR = (
    "a model looks at a page and drops what does not help. It cannot reorder or add anything, "
    "and where its answer is not certain the page stays as it is."
)
SCRIPTED = (
    "Both answers below were written in advance, no model is called, and the second one breaks "
    "the rules on purpose."
)
SMALL_TALK = "Sure! I would keep the first result, because it answers the question."

HARD = (
    "counted apart (questions that share no word with their memory or are in another language, "
    "near-misses one name or number away, off-topic ones close to the team's words):"
)

NOTES = {
    "right": "stored questions should be 'read', off_topic ones sent away ('fallback'). A "
    "near_miss asks for a fact that is not stored, about a topic that is: scores measure topic, so "
    "no advice is right or wrong there.",
    "on page": f"a memory that answers is among the {K} results; read: of these questions. Where "
    "the answer is not on the page, sending the question away loses nothing.",
    "top": "the best cosine of the pool. prob.: the probability that something relevant was "
    "found, which the level follows.",
}

NO_THRESHOLD = (
    "It found no threshold that separates relevant from irrelevant here, so levels stay "
    "uncalibrated."
)

NEXT = {
    "next": 'ask --docs FOLDER "your question"',
    "": "calibrate --docs FOLDER --out FILE",
}


def demo(
    framework: opt.OnlyFramework = None,
    selector: opt.Selector = None,
    selector_timeout: opt.SelectorTimeout = None,
    encoder: opt.Encoder = DEMO,
    as_json: opt.AsJson = False,
) -> None:
    """Calibrate on a small team's memory, ask it 96 questions and look at the signal."""
    with open_terminal() as terminal:
        selection = Selection.load(selector, selector_timeout, terminal)
        session = Session.load(load_framework(framework or MAIN), load_encoder(encoder), terminal)
        if as_json:
            _print_json(session, selection)
        else:
            _run(session, selection, alone=framework is not None)


def _print_json(session: Session, selection: Selection | None) -> None:
    """Print every question with its signal."""
    backend = session.backend(selection=selection)
    with ProgressBar(session.terminal.err, "Calibrating") as bar:
        calibrated = backend.with_calibration(backend.calibrate(progress=bar))
    for result in session.ask_all(calibrated, "Asking"):
        row = {
            "question": result.question.text,
            "section": result.question.section,
            "kind": result.question.kind,
            "advice": result.page.advice,
            "answer_on_page": result.is_answered,
            "confidence": result.page.confidence.model_dump(mode="json"),
            "selection": result.page.selection.model_dump(mode="json"),
        }
        session.terminal.out.out(json.dumps(row), highlight=False)


def _run(session: Session, selection: Selection | None, *, alone: bool) -> None:
    out, backend = session.terminal.out, session.backend()
    session.show(
        f"{len(session.memories)} memories of a small team,",
        f"embedded in {session.bar.seconds:.1f} s with {session.encoder.name}; "
        f"{len(session.questions)} questions, each judged over a pool of {DEFAULT_POOL_SIZE} "
        f"with a page of {K}.",
    )
    calibration = _calibrate(session, backend)
    results = session.ask_all(backend.with_calibration(calibration), "Asking")
    _summarise(session, results, session.ask_all(backend, "Asking uncalibrated"))
    notes = {**NOTES, "time": _timing(results)}
    if not alone:
        notes["also"] = _through_other(session, calibration, results)
    out.print(notes_table(notes))
    out.print()
    session.show("Every question,", "in the order of the file:", results_table(results, out.width))
    _select(session, results, selection)
    out.print(notes_table({word: f"{command()} {rest}" for word, rest in NEXT.items()}))


def _calibrate(session: Session, backend: SearchBackend) -> Calibration:
    """Calibrate without labels, as any user of a retriever can."""
    with ProgressBar(session.terminal.err, "Calibrating") as bar:
        calibration = backend.calibrate(progress=bar)
    text = (
        f"retriever.calibrate() learned this retriever's own scale in {bar.done} searches and "
        f"{bar.seconds:.1f} s, without labels or any other argument."
    )
    session.show(
        "Calibrated in one line:", text if calibration.decides else f"{text} {NO_THRESHOLD}"
    )
    return calibration


def _summarise(session: Session, results: Sequence[Result], before: Sequence[Result]) -> None:
    session.show("In short:", summary(results, "main"))
    session.show("The hard ones,", f"{HARD} {summary(results, 'hard')}")
    tallies = [tally(results, section, kind) for section in SECTIONS for kind in QUESTION_KINDS]
    session.show("Levels", "by section and kind of question:", summary_table(tallies))
    session.show("Uncalibrated:", uncalibrated(before, results))


def _timing(results: Sequence[Result]) -> str:
    recall = median(result.recall_seconds for result in results) * 1000
    embedding = median(result.embed_seconds for result in results) * 1000
    return (
        f"{recall:.1f} ms per question (median; embedding, search and signal), "
        f"{embedding:.1f} ms of it for the embedding."
    )


def _through_other(session: Session, calibration: Calibration, results: Sequence[Result]) -> str:
    """Compare with the levels of the other framework, if it is installed."""
    title = EXTRAS[OTHER]
    try:
        build = load_framework(OTHER)
    except MissingDependencyError:
        return (
            f"{title} is not installed, so only {EXTRAS[MAIN]} was asked. To ask both:\n"
            f"pip install 'recall-signal[{OTHER}]'"
        )
    backend = session.backend(build).with_calibration(calibration)
    return same_levels(title, results, session.ask_all(backend, f"Asking {title}"))


def _select(session: Session, results: Sequence[Result], selection: Selection | None) -> None:
    """Show two pages that a selector looked at, and its two reports."""
    used = selection or Selection(_script(session), SelectionOptions(), "scripted")
    backend = session.backend(selection=used)
    pages = {result.question.text: result.page.hits for result in results}
    heading = "The selector, scripted here:" if selection is None else "The selector:"
    who = SCRIPTED if selection is None else f"{used.name} is called."
    width = session.terminal.out.width
    session.show(
        heading,
        f"{SELECTOR} {who}",
        *(
            Group(*selection_lines(text, backend.recall(text), pages[text], width))
            for text in SELECTED
        ),
    )


class ScriptedSelector:
    """Keeps the texts of its script, and returns small talk where the script has none.

    Args:
        script: For a question, the texts to keep.
    """

    def __init__(self, script: Mapping[str, Collection[str]]) -> None:
        self._script = script

    def select(self, request: SelectionRequest) -> Answer:
        """Return the labels of the texts to keep, or words that are no valid answer."""
        keep = self._script.get(request.question)
        if keep is None:
            return Answer(SMALL_TALK, "scripted model")
        labels = [
            label
            for label, text in zip(request.labels, request.passages, strict=True)
            if text in keep
        ]
        return Answer(json.dumps({"keep": labels or [request.none_label]}), "scripted model")

    async def aselect(self, request: SelectionRequest) -> Answer:
        """Return `select`."""
        return self.select(request)


def _script(session: Session) -> ScriptedSelector:
    """Keep what answers the first question; have no valid answer to the second."""
    answers = {question.text: question.answers for question in session.questions}
    texts = {memory.text for memory in session.memories if memory.id in answers[SELECTED[0]]}
    return ScriptedSelector({SELECTED[0]: texts})
