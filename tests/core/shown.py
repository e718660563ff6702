"""A response made by hand, as the views see one."""

from types import SimpleNamespace
from typing import Any

from recall_signal import Pool, assess
from recall_signal.advice import advise
from recall_signal.display import PageRow
from recall_signal.reports import NOT_CONFIGURED

ROWS = [PageRow(0, "m1", "first text", 0.9), PageRow(1, None, "second text", 0.4)]


def hand_made(**given: Any) -> Any:
    """A response of two results out of three candidates, with other attributes where given."""
    rows = given.pop("rows", ROWS)
    cosines = given.pop("cosines", [0.9, 0.4, 0.4])
    shown = SimpleNamespace(
        confidence=assess([0.9, 0.4, 0.4]),
        selection=NOT_CONFIGURED,
        rerank=None,
        pool=Pool(cosines),
        rows=rows,
        cut=None,
        shown=sum(row.rank is not None for row in rows),
    )
    vars(shown).update(given)
    page = advise(shown.confidence, shown.selection, shown.shown)
    shown.advice, shown.advice_text = page.advice, page.text
    return shown
