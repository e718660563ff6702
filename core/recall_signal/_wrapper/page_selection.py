"""The selector over a bare list of items, for pipelines that hand on documents or nodes only."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import Field

from recall_signal._flow.values import Item
from recall_signal._report_schema import RecallReport
from recall_signal._steps.compute import Compute, computed
from recall_signal._steps.driver import Steps, contained_steps, drive, drive_async
from recall_signal._steps.failures import original
from recall_signal._steps.timeouts import CallLimits, Workers
from recall_signal._wrapper.checked_settings import CheckedSettings
from recall_signal._wrapper.model_calls import Model
from recall_signal.advice import advice_on_page
from recall_signal.confidence import Level, unknown
from recall_signal.report_parsing import parse_entry
from recall_signal.reports import (
    NOT_CONFIGURED,
    SelectionReport,
    metadata_entry,
    report_dict,
    rounded,
)
from recall_signal.selection import (
    Answer,
    Select,
    SelectionOptions,
    publish_selection,
    select_page,
)

__all__ = ["PageSelection", "PageSelectionSettings", "Selected", "select", "select_async"]

log = logging.getLogger(__name__)

Context = TypeVar("Context")


class PageSelectionSettings(CheckedSettings):
    """The settings of a selector that works on a bare list of documents or nodes."""

    selector: object = Field(exclude=True, repr=False)
    """Model, or any `Selector`."""

    options: SelectionOptions = Field(default_factory=SelectionOptions)
    """Its options; `skip_levels` goes by the first item's entry, by `unknown` without one."""


@dataclass(frozen=True, slots=True)
class Selected(Generic[Item]):
    """The result of a selection.

    Attributes:
        items: Those that stay, in their order.
        entries: What each of them is to carry under the metadata key.
        report: The reports of the page, as plain JSON values.
    """

    items: list[Item]
    entries: list[dict[str, object]]
    report: dict[str, object]


@dataclass(frozen=True, slots=True)
class PageSelection(Generic[Item]):
    """Selection from a bare list, by the way a framework's items are read.

    Attributes:
        metadata_key: Where an item carries the reports.
        metadata_of: Returns an item's metadata.
        text_of: Returns its text as a language model sees it.
        id_of: Returns its id, None where it has none.
    """

    metadata_key: str
    metadata_of: Callable[[Item], Mapping[str, object] | None]
    text_of: Callable[[Item], str]
    id_of: Callable[[Item], str | None]

    def flow(
        self, query: str, items: Sequence[Item], options: SelectionOptions
    ) -> Steps[Select | Compute, Selected[Item]]:
        """Request which items stay; a whole entry that one carries is completed, not lost.

        The first item speaks for the page. Where an item carries no whole entry, nothing of it is
        kept, and nothing was measured.
        """
        nothing = RecallReport(
            confidence=unknown("no_signal", len(items)),
            selection=NOT_CONFIGURED,
            advice="undecided",
        )
        found = [(self.metadata_of(item) or {}).get(self.metadata_key) for item in items]
        carried = [parse_entry(entry) or nothing for entry in found]
        first = next(iter(carried), nothing)
        kept, selection = yield from self._select(query, items, first.confidence.level, options)
        left = [items[position] for position in kept]
        publish_selection(selection, left)
        entries = []
        for rank, position in enumerate(kept):
            earlier = carried[position]
            report = _selected(earlier, selection, len(kept))
            entries.append(metadata_entry(report, rank, earlier.cosine))
            if "rerank_score" in earlier.model_fields_set:
                entries[-1]["rerank_score"] = rounded(earlier.rerank_score)
        return Selected(left, entries, _selected(first, selection, len(kept)))

    def _select(
        self,
        query: str,
        items: Sequence[Item],
        level: Level,
        options: SelectionOptions,
    ) -> Steps[Select | Compute, tuple[Sequence[int], SelectionReport]]:
        def read() -> tuple[list[str], list[str | None]]:
            return [*map(self.text_of, items)], [*map(self.id_of, items)]

        try:
            texts, ids = yield from contained_steps(computed(read))
        except Exception as error:
            log.warning("reading the page's texts failed: %s", type(original(error)).__name__)
            return range(len(items)), SelectionReport(applied=False, reason="llm_error")
        return (yield from select_page(query, texts, ids, level, options))


def _selected(earlier: RecallReport, selection: SelectionReport, shown: int) -> dict[str, Any]:
    """Return the reports of a page after one more selection."""
    named = earlier.calibration
    return report_dict(
        earlier.confidence,
        selection,
        earlier.cosine_source,
        earlier.rerank,
        advice=advice_on_page(earlier.confidence, selection, shown),
        calibration=None if named is None else named.model_dump(),
    )


def select(
    steps: Steps[Select | Compute, Selected[Item]],
    model: Model[Select, Context, Answer],
    limits: CallLimits,
    context: Context,
) -> Selected[Item]:
    """Carry out a selection; no failure of it is raised."""

    def perform(request: Select | Compute) -> object:
        if isinstance(request, Compute):
            return request.call()
        return model.within(limits, request.timeout, request, context)

    return drive(steps, perform, lambda _: True)


async def select_async(
    steps: Steps[Select | Compute, Selected[Item]],
    model: Model[Select, Context, Answer],
    limits: CallLimits,
    context: Context,
    workers: Workers,
) -> Selected[Item]:
    """`select`, asynchronously."""

    async def perform(request: Select | Compute) -> object:
        if isinstance(request, Compute):
            return await workers.run(request.call)
        return await model.within_async(limits, request.timeout, request, context)

    return await drive_async(steps, perform, lambda _: True)
