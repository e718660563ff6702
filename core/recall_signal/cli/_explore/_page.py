"""The page of one tab. Every text is shown by a label, or escaped by the card that shows it."""

from __future__ import annotations

from asyncio import to_thread
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from io import BytesIO

from nicegui import ui

from recall_signal.calibration import Calibration
from recall_signal.cli._backends import SearchResult
from recall_signal.cli._explore._exploration import CLOSEST_PRIOR, Exploration, LevelSource, View
from recall_signal.display._calibration_plot import calibration_figure
from recall_signal.errors import RecallSignalError

__all__ = ["Labels", "build"]

SOURCES: dict[LevelSource, str] = {
    "texts": "calibrated on these texts",
    "marks": "calibrated on your marks",
    "default": "default thresholds",
}

LONGEST_QUESTION = 2000
"""Characters."""

_STYLE = """
body { font-family: system-ui, sans-serif; }
.body--dark { --q-primary: #8ab8f0 !important; }
.body--dark .bg-primary { --q-primary: #1f5fa8 !important; }
.recall-page { max-width: 76rem; margin: 0 auto; width: 100%; }
.recall-page .pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 0.85rem; }
.recall-page img { max-width: 100%; background: #fff; }
"""
BLUE = "#1f5fa8"


@dataclass(frozen=True, slots=True)
class Labels:
    """The words about the corpus that the page shows.

    Attributes:
        corpus: How many texts there are.
        about: What the levels rest on at the start.
        pool_sizes: Numbers of passages to choose from, ascending.
        pool_size: The one at the start.
        can_rerank: Whether there is a reranker.
    """

    corpus: str
    about: str
    pool_sizes: list[int]
    pool_size: int
    can_rerank: bool


def build(exploration: Exploration, labels: Labels) -> None:
    """Build the page of a tab."""
    ui.colors(primary=BLUE)
    ui.add_css(_STYLE)
    with ui.column().classes("recall-page gap-4 p-2"):
        ui.label("Ask your texts").classes("text-2xl").props("role=heading aria-level=1")
        ui.label(f"{labels.corpus}. {labels.about}").classes("text-sm")
        tab = _Tab(exploration, labels)
        tab.settings()
        tab.questions()
        tab.marks()


class _Tab:
    """The state of a tab: its settings and its questions."""

    def __init__(self, exploration: Exploration, labels: Labels) -> None:
        self.exploration = exploration
        self.labels = labels
        self.view = View(levels=exploration.sources[0], pool_size=labels.pool_size)
        self.panels: list[_Panel] = []

    def settings(self) -> None:
        """Build the controls that hold for every question of the tab."""
        with ui.row().classes("items-end gap-6 w-full"):
            self._levels = ui.select(
                self._choices(),
                value=self.view.levels,
                label="Levels",
                on_change=lambda e: self._change(replace(self.view, levels=e.value)),
            ).classes("w-64")
            with ui.column().classes("gap-0 w-56"):
                self._prior_label = ui.label(_prior_text(self.view.prior)).classes("text-sm")
                ui.slider(
                    min=CLOSEST_PRIOR, max=1 - CLOSEST_PRIOR, step=0.05, value=self.view.prior
                ).props('aria-label="Expected share of questions whose answer is stored"').on(
                    "change",  # when it is let go, not at each step
                    lambda e: self._change(replace(self.view, prior=float(e.args))),
                )
            ui.select(
                self.labels.pool_sizes,
                value=self.view.pool_size,
                label="Passages looked at",
                on_change=lambda e: self._change(replace(self.view, pool_size=e.value)),
            ).classes("w-44")
            if self.labels.can_rerank:
                ui.switch(
                    "Reranker",
                    on_change=lambda e: self._change(replace(self.view, use_rerank=e.value)),
                )
            ui.switch("Compare two questions", on_change=lambda e: self._compare(e.value))

    def questions(self) -> None:
        """Build the questions, the second one hidden."""
        with ui.row().classes("w-full gap-4"):
            for place in range(2):
                self.panels.append(_Panel(self, "Question" if not place else "Second question"))
        self.panels[1].show(False)

    def marks(self) -> None:
        """Build the marks and the calibration that is fitted on them."""
        marks = ui.expansion("Your marks", value=True).classes("w-full")
        with marks.props('header-class="text-lg"'):
            ui.label(
                "Mark questions by whether their answer is stored here. Five of each kind are "
                "enough for a fit to look at, fifty questions for one to rely on."
            ).classes("text-sm")
            self._marked = ui.column().classes("gap-0 w-full")
            with ui.row().classes("items-center"):
                self._fit = ui.button("Fit on these marks", on_click=self._fit_marks)
                self._export = ui.button("Download as JSONL", on_click=self._download)
                for button in (self._fit, self._export):
                    button.props("no-caps")
                self._needs = ui.label().props("role=status aria-live=polite")
            self._fitted = ui.column().classes("w-full")
        self.refresh_marks()

    def refresh_marks(self) -> None:
        """Show the marks of all tabs."""
        marks = self.exploration.marks
        self._marked.clear()
        with self._marked:
            for question, present in marks.items():
                with ui.row().classes("items-center gap-2 no-wrap"):
                    ui.button(icon="close", on_click=self._remover(question)).props(
                        'flat dense aria-label="Remove this mark"'
                    )
                    ui.label("stored:" if present else "not stored:").classes("font-bold")
                    ui.label(question).classes("break-all")
        missing = self.exploration.missing_marks()
        self._needs.set_text(missing.capitalize() + "." if missing and marks else "")
        self._fit.set_enabled(missing is None)
        self._export.set_enabled(bool(marks))

    def _remover(self, question: str) -> Callable[[], None]:
        def remove() -> None:
            self.exploration.unmark(question)
            self.refresh_marks()

        return remove

    def _choices(self) -> dict[str, str]:
        return {source: SOURCES[source] for source in self.exploration.sources}

    async def _change(self, view: View) -> None:
        self.view = view
        self._prior_label.set_text(_prior_text(view.prior))
        for panel in self.panels:
            await panel.ask_again()

    def _compare(self, wanted: bool) -> None:
        self.panels[1].show(wanted)

    async def _fit_marks(self) -> None:
        self._fit.disable()
        self._needs.set_text("Fitting ...")
        try:
            calibration = await to_thread(self.exploration.fit_marks)
        except RecallSignalError as error:
            self.refresh_marks()
            self._needs.set_text(str(error))
            return
        self.refresh_marks()
        self._needs.set_text("Fitted.")
        self._show_fit(calibration)
        self._levels.set_options(self._choices(), value="marks")

    def _show_fit(self, calibration: Calibration) -> None:
        self._fitted.clear()
        with self._fitted:
            ui.label(str(calibration)).classes("pre")
            ui.html(_picture(calibration), sanitize=False).classes("w-full")

    def _download(self) -> None:
        ui.download.content(self.exploration.labels().encode(), "labels.jsonl", "application/jsonl")


class _Panel:
    """One question and its answer."""

    def __init__(self, tab: _Tab, name: str) -> None:
        self._tab = tab
        self._asked = ""
        self._turn = 0
        with ui.column().classes("gap-2").style("flex: 1 1 20rem; min-width: 0") as self._place:
            with ui.row().classes("w-full items-center no-wrap"):
                self._input = (
                    ui.input(name)
                    .classes("grow")
                    .props(f"maxlength={LONGEST_QUESTION}")
                    .on("keydown.enter", self._ask)
                )
                ui.button("Ask", on_click=self._ask).props("no-caps")
            self._status = ui.label().props("role=status aria-live=polite")
            self._card = ui.html("", sanitize=False).classes("w-full")
            with ui.row().classes("items-center gap-2") as self._row:
                self._row.set_visibility(False)
                ui.label("Is the answer stored here?")
                for text, present in (("Yes", True), ("No", False)):
                    ui.button(text, on_click=self._marker(present)).props("no-caps outline")

    def show(self, wanted: bool) -> None:
        """Show or hide the panel."""
        self._place.set_visibility(wanted)

    async def ask_again(self) -> None:
        """Answer the last question under the tab's settings."""
        if self._asked:
            await self._answer(self._asked)

    async def _ask(self) -> None:
        question = str(self._input.value or "").strip()
        if not question:
            self._status.set_text("Type a question first.")
            return
        await self._answer(question)

    async def _answer(self, question: str) -> None:
        """Answer a question; of two that overlap the later one is shown."""
        self._turn += 1
        turn = self._turn
        self._status.set_text("Searching ...")
        try:
            result = await to_thread(self._tab.exploration.ask, question, self._tab.view)
        except Exception as error:  # the page says so, and goes on
            why = str(error) if isinstance(error, RecallSignalError) else type(error).__name__
            self._status.set_text(f"The search failed: {why}")
            return
        if turn == self._turn:
            self._show(question, result)

    def _show(self, question: str, result: SearchResult) -> None:
        self._asked = question
        self._status.set_text(f"{result.confidence.level}: {result.advice}")
        self._card.set_content(result.card())
        self._row.set_visibility(True)

    def _marker(self, present: bool) -> Callable[[], None]:
        def mark() -> None:
            self._tab.exploration.mark(self._asked, present)
            self._tab.refresh_marks()
            self._status.set_text(f"Marked as {'stored' if present else 'not stored'}.")

        return mark


def _prior_text(prior: float) -> str:
    return f"Expected share of questions whose answer is stored: {prior:.0%}"


def _picture(calibration: Calibration) -> str:
    """Return the picture of a calibration as an image."""
    drawn = BytesIO()
    calibration_figure(calibration).savefig(drawn, format="png", dpi=110)
    data = b64encode(drawn.getvalue()).decode()
    words = "The top cosines of each kind of question, and the cut between them"
    return f'<img alt="{words}" src="data:image/png;base64,{data}">'
