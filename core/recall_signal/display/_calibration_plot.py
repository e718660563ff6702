"""A calibration as a picture: where each kind of query falls, and where the levels begin.

Figures only: a calibration holds no text of any query or document.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from recall_signal._display_words import LEVEL_COLOURS
from recall_signal._statistics import quantile
from recall_signal.assess import assess
from recall_signal.calibration import Calibration
from recall_signal.display._pool_plot import (
    POOL_COLOUR,
    QUIET_COLOUR,
    SMALL,
    TOP_COLOUR,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["calibration_figure", "plot_calibration"]

KIND_NAMES = {
    "probes": "general questions\n(not stored)",
    "pseudo_query": "pieces of texts,\nown text left out",
    "past": "past queries",
    "answerable": "labelled queries,\nsomething is stored",
    "self_retrieval": "pieces of texts\n(stored)",
}
"""Kinds of query from the least to the best match -> label in the picture."""

MARGIN, STEPS = 0.12, 400
"""Room next to the outermost box as a share of the width, and number of cosines tried."""

NARROW, LINE = 0.12, 10
"""Names of levels take turns on two lines, so many points apart, where a band is narrower than
this share of the width."""


def plot_calibration(calibration: Calibration, *, ax: Axes | None = None) -> Axes:
    """Draw where the top cosines of each kind of query fall, with the cut and the levels.

    A box is the middle half of a kind and its line the median, as the calibration keeps them.
    Where it found no threshold there are no levels and no cut to draw, and the title says so.

    Args:
        calibration: A `recall_signal.Calibration`.
        ax: Axes to draw into; by default those of a new figure.

    Returns:
        The axes; `ax.figure` is the picture.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    boxes = _boxes(calibration)
    if ax is None:
        ax = _figure_for(boxes).subplots()
    cut = calibration.cut_at()
    values = [
        calibration.scale.cut if cut is None else cut,
        *(value for box in boxes.values() for value in box),
    ]
    room = MARGIN * (max(values) - min(values)) or MARGIN
    low, high = max(min(values) - room, -1.0), min(max(values) + room, 1.0)
    ax.set_xlim(low, high)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xlabel("top cosine of a query (box: the middle half; line: the median)")
    _draw_boxes(ax, boxes)
    if calibration.decides:
        _draw_levels(ax, calibration, low, high)
    else:
        title = "no threshold separates these: levels stay uncalibrated"
        ax.set_title(title, loc="left", fontsize="medium")
    if cut is not None:
        _draw_cut(ax, cut)
    return ax


def calibration_figure(calibration: Calibration) -> Figure:
    """Return `plot_calibration` in a figure of its own, to save.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    figure = _figure_for(_boxes(calibration))
    plot_calibration(calibration, ax=figure.subplots())
    return figure


Box = tuple[float, float, float]


def _figure_for(boxes: dict[str, Box]) -> Figure:
    return new_figure(6.4, 1.3 + 0.5 * len(boxes), "A picture of a calibration")


def _boxes(calibration: Calibration) -> dict[str, Box]:
    """Return the quartiles of each kind, in the order of `KINDS`."""
    found: dict[str, Box] = dict(calibration.quartiles)
    if tops := calibration.answerable:
        low, middle, high = (quantile(tops, share) for share in (0.25, 0.5, 0.75))
        found["answerable"] = (low, middle, high)
    return {kind: found[kind] for kind in KIND_NAMES if kind in found}


def _draw_boxes(ax: Axes, boxes: dict[str, Box]) -> None:
    for place, (low, middle, high) in enumerate(boxes.values()):
        ax.barh(place, high - low, left=low, height=0.5, color=POOL_COLOUR, alpha=0.75)
        ax.plot([middle, middle], [place - 0.25, place + 0.25], color="black", linewidth=1.6)
    ax.set_yticks(range(len(boxes)), [KIND_NAMES[kind] for kind in boxes])
    ax.set_ylim(-0.9, len(boxes) - 0.4)
    ax.tick_params(axis="y", length=0)


def _draw_cut(ax: Axes, cut: float) -> None:
    ax.axvline(cut, color=TOP_COLOUR, linewidth=1.6)
    ax.annotate(
        f"cut {cut:.2f}",
        (cut, 0.0),
        xycoords=("data", "axes fraction"),
        xytext=(4, 3),
        textcoords="offset points",
        fontweight="bold",
    )


def _draw_levels(ax: Axes, calibration: Calibration, low: float, high: float) -> None:
    """Draw a band for each level, found by assessing top cosines with the calibration itself."""
    tops = [low + (high - low) * step / STEPS for step in range(STEPS + 1)]
    levels = [assess([top], calibration=calibration).level for top in tops]
    begins = [at for at in range(STEPS) if not at or levels[at] != levels[at - 1]]
    bands = list(pairwise([*begins, STEPS]))
    lift = LINE if min(after - at for at, after in bands) < NARROW * STEPS else 0
    for number, (at, after) in enumerate(bands):
        level, start, end = levels[at], tops[at], tops[after]
        ax.axvspan(start, end, color=LEVEL_COLOURS[level], alpha=0.12, linewidth=0)
        ax.annotate(
            level,
            ((start + end) / 2, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 2 + lift * (number % 2)),
            textcoords="offset points",
            ha="center",
            color=QUIET_COLOUR,
            fontsize=SMALL,
        )
