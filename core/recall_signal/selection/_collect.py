"""Collect the selections that are made inside a call, by a step that can hand on items only.

A compressor or postprocessor that empties a page has no item left to carry its report. Its caller
opens a list for the time of the call. The list belongs to that call's context: concurrent tasks
and threads have their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar

from recall_signal.reports import SelectionReport

__all__ = ["collect_selections", "publish_selection"]

_open: ContextVar[tuple[list[SelectionReport], list[Sequence[object]]] | None] = ContextVar(
    "recall_selections", default=None
)


class collect_selections:
    """Collect the selections that are published inside the block, and nowhere outside it.

    Args:
        pages: A list to which the page that each selection left is added as well.
    """

    __slots__ = ("_pages", "_token")

    def __init__(self, pages: list[Sequence[object]] | None = None) -> None:
        self._pages = pages

    def __enter__(self) -> list[SelectionReport]:
        collected: list[SelectionReport] = []
        self._token = _open.set((collected, [] if self._pages is None else self._pages))
        return collected

    def __exit__(self, *_: object) -> None:
        try:
            _open.reset(self._token)
        except ValueError:  # an abandoned generator may be closed in another context
            return


def publish_selection(report: SelectionReport, page: Sequence[object] = ()) -> None:
    """Add a report to the list of the nearest caller that collects them.

    Args:
        report: The report.
        page: The items that are left.
    """
    collected = _open.get()
    if collected is not None:
        reports, pages = collected
        pages.append(page)
        reports.append(report)
