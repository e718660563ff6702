"""Queries on their two witnesses, with the line of a calibration. No text of any query is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import atan, degrees
from typing import TYPE_CHECKING, NamedTuple, Protocol

from recall_signal._display_words import LEVEL_ADVICE, LEVEL_COLOURS
from recall_signal._safe_text import plain_text
from recall_signal.calibration import Calibration
from recall_signal.calibration._card import level_lines
from recall_signal.confidence import RecallConfidence
from recall_signal.display._pool_plot import (
    POOL_COLOUR,
    QUIET_COLOUR,
    SMALL,
    TOP_COLOUR,
    new_figure,
)
from recall_signal.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_witnesses"]

LOOKS = (("o", POOL_COLOUR), ("^", TOP_COLOUR), ("s", QUIET_COLOUR), ("D", "#2a9d6f"))
"""Mark and colour of each kind in turn; colours differ in lightness as well as in hue."""

BEYOND = 0.06
"""Where queries without a term coverage stand, to the left of 0."""

LABEL_LIMIT = 40


class HasConfidence(Protocol):
    """A response, as far as it matters here."""

    @property
    def confidence(self) -> RecallConfidence: ...


class _Point(NamedTuple):
    x: float
    y: float
    is_read: bool


def plot_witnesses(
    responses: Iterable[HasConfidence],
    kinds: Sequence[str] | None = None,
    *,
    calibration: Calibration | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw queries by term coverage and top cosine, with the line between read and fallback.

    A filled mark has a level to be read (high, moderate), a hollow one has not. Queries without a
    term coverage stand left of 0; those without a cosine are left out.

    Args:
        responses: What `recall` returned for each query.
        kinds: One word for each response, such as `stored`; each kind has its own mark.
        calibration: The one in use; draws the cut, and where the levels low and high begin.
        ax: Axes to draw into; by default those of a new figure.

    Returns:
        The axes; `ax.figure` is the picture.

    Raises:
        InvalidInputError: Not one kind for each response.
        MissingDependencyError: matplotlib is not installed.
    """
    found = [response.confidence for response in responses]
    if kinds is not None and len(kinds) != len(found):
        raise InvalidInputError(
            f"expected one kind for each response, got {len(kinds)} kinds and {len(found)} "
            "responses"
        )
    names = ["queries"] * len(found) if kinds is None else list(kinds)
    if ax is None:
        ax = new_figure(6.0, 4.2, "A picture of the two witnesses").subplots()
    for number, name in enumerate(dict.fromkeys(names)):
        points = [
            _point(one)
            for one, kind in zip(found, names, strict=True)
            if kind == name and one.top_score is not None and one.basis != "separation"
        ]
        _draw_points(ax, points, plain_text(name, LABEL_LIMIT), LOOKS[number % len(LOOKS)])
    if calibration is not None:
        _draw_lines(ax, calibration)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xlim(-2 * BEYOND, 1.03)
    ax.set_xlabel("term coverage (share of the question's words)")
    ax.set_ylabel("top cosine")
    return ax


def _point(found: RecallConfidence) -> _Point:
    coverage = -BEYOND if found.term_coverage is None else found.term_coverage
    top = 0.0 if found.top_score is None else found.top_score
    return _Point(coverage, top, LEVEL_ADVICE[found.level] == "read")


def _draw_points(ax: Axes, points: Sequence[_Point], name: str, look: tuple[str, str]) -> None:
    marker, colour = look
    for is_read in (True, False):
        some = [point for point in points if point.is_read is is_read]
        ax.plot(
            [point.x for point in some],
            [point.y for point in some],
            marker,
            color=colour,
            markerfacecolor=colour if is_read else "none",
            label=name if is_read else None,
        )


def _draw_lines(ax: Axes, calibration: Calibration) -> None:
    for line in level_lines(calibration):
        ends = (line.at_none, line.at_full)
        if line.is_cut:
            ax.plot((0, 1), ends, color=QUIET_COLOUR, linewidth=2.2, label="cut", zorder=1)
        else:
            ax.plot((0, 1), ends, color=QUIET_COLOUR, linewidth=1, linestyle=":", zorder=1)
        ax.text(
            0.99,
            line.at_full + 0.01 * (line.at_none - line.at_full),
            f"{line.name} above",
            rotation=degrees(atan(line.at_full - line.at_none)),
            rotation_mode="anchor",
            transform_rotates_text=True,
            ha="right",
            va="bottom",
            fontsize=SMALL,
            color=LEVEL_COLOURS.get(line.name, QUIET_COLOUR),
        )
