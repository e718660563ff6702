"""The cards that a notebook shows: inline styles, escaped text, nothing to run.

A leaf of the package, so that `recall_signal.RecallConfidence` and `recall_signal.Calibration`
can show themselves. No script, no class, no id: a view cannot touch the page around it. Text and
lines take the page's own colour, so that light and dark notebooks both stay readable, no figure
needs its colour to be understood, and the words stay where styles and pictures are stripped (as
GitHub does).
"""

from recall_signal._cards._parts import (
    DASH,
    QUIET,
    WORD_LIMIT,
    Printer,
    cell,
    code,
    figure,
    head,
    short_id,
    table,
)
from recall_signal._cards._signal import signal_card, standing
from recall_signal._cards._strip import Mark, strip
from recall_signal._cards._witnesses import Line, Witnesses, witnesses_card

__all__ = [
    "DASH",
    "QUIET",
    "WORD_LIMIT",
    "Line",
    "Mark",
    "Printer",
    "Witnesses",
    "cell",
    "code",
    "figure",
    "head",
    "short_id",
    "signal_card",
    "standing",
    "strip",
    "table",
    "witnesses_card",
]
