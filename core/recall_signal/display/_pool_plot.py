"""The cosines of a pool as a picture. Figures only: no text of any document is drawn.

matplotlib is imported when something is drawn, and never its global `pyplot`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from math import dist, isfinite, sqrt
from textwrap import fill
from typing import TYPE_CHECKING, TypeAlias

from recall_signal._numbers import Numbers
from recall_signal._safe_text import plain_text
from recall_signal.assess import assess
from recall_signal.errors import InvalidInputError, MissingDependencyError
from recall_signal.pool import Pool
from recall_signal.thresholds import Thresholds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_pool", "plot_pools"]

Cosines: TypeAlias = "Pool | Numbers"

TOP_COLOUR = "#e07b00"
POOL_COLOUR = "#4a90c4"
QUIET_COLOUR = "#8c8c8c"
"""Middle tones, visible on white and on black, that differ in lightness as well as in hue."""

LABEL_LIMIT = 120
LABEL_WIDTH = 34
SMALL = 8
"""Size of notes inside the picture, in points."""


def plot_pool(
    pool: Cosines, *, thresholds: Thresholds | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the cosines of a pool in rank order.

    The best one is marked; its stem stands on the mean of all others (the background), drawn
    with a band of one population standard deviation. The axis starts from zero, because
    prominence is the stem's length as a share of the background's height above zero.

    In a notebook, after `%matplotlib inline`, end a cell with `plot_pool(pool).figure`.

    Args:
        pool: A `recall_signal.Pool`, or one cosine (or None) per candidate. None, NaN
            and inf leave a gap and are counted in a note.
        thresholds: Also draw, for these cuts, how high the best one must reach for each level
            over this background. A level that no cosine can reach has no line.
        ax: Axes to draw into; by default those of a new figure.

    Returns:
        The axes; `ax.figure` is the picture.

    Raises:
        InvalidInputError: It is no pool.
        MissingDependencyError: matplotlib is not installed.
    """
    if ax is None:
        ax = new_figure(6.4, 3.4, "A picture of a pool").subplots()
        _draw(ax, pool, thresholds)
        _keep_unit_range([ax])
    else:
        _draw(ax, pool, thresholds)
    ax.set_ylabel("cosine with the query (-1 to 1)")
    return ax


def plot_pools(
    pools: Sequence[Cosines], labels: Sequence[str], *, thresholds: Thresholds | None = None
) -> Figure:
    """Draw several pools side by side over one shared axis, to compare questions.

    Args:
        pools: At least one pool, each as in `plot_pool`.
        labels: What to write over each pool.
        thresholds: As in `plot_pool`.

    Returns:
        The picture, with one axes for each pool.

    Raises:
        InvalidInputError: No pools, or not one label for each.
        MissingDependencyError: matplotlib is not installed.
    """
    if not len(pools) or len(pools) != len(labels):
        raise InvalidInputError(
            f"expected at least one pool and one label for each, got {len(pools)} pools and "
            f"{len(labels)} labels"
        )
    figure = new_figure(3.3 * len(pools) + 0.5, 3.5, "A picture of a pool")
    panels = figure.subplots(1, len(pools), sharey=True, squeeze=False)[0]
    for ax, pool, label in zip(panels, pools, labels, strict=True):
        _draw(ax, pool, thresholds)
        title = fill(plain_text(label, LABEL_LIMIT), LABEL_WIDTH)
        ax.set_title(title, loc="left", fontsize="medium", parse_math=False)
    _keep_unit_range(panels)
    panels[0].set_ylabel("cosine with the query (-1 to 1)")
    return figure


def new_figure(width: float, height: float, what: str) -> Figure:
    """Return an empty figure, in inches; `what` names it where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError(what, "eval") from None
    return Figure(figsize=(width, height), layout="constrained")


def _keep_unit_range(panels: Sequence[Axes]) -> None:
    """Scale to [0, 1] where no panel holds a cosine."""
    if not any(ax.lines for ax in panels):
        panels[0].set_ylim(0, 1)


def _cosines(pool: Cosines) -> Numbers:
    """Return the cosines of a pool.

    Raises:
        InvalidInputError: It is no pool, and cannot be one.
    """
    if isinstance(pool, Pool):
        return pool.cosines
    if isinstance(pool, Sized) and isinstance(pool, Iterable):
        return pool
    hint = "; pass response.pool" if hasattr(pool, "pool") else ""
    raise InvalidInputError(
        f"pool must be a Pool or the cosines of one, got {type(pool).__name__}{hint}"
    )


def _draw(ax: Axes, pool: Cosines, thresholds: Thresholds | None) -> None:
    from matplotlib.ticker import FixedLocator, MaxNLocator

    values = _cosines(pool)
    scored = [(rank, float(v)) for rank, v in enumerate(values) if v is not None and isfinite(v)]
    count = len(values)
    ax.spines[["top", "right"]].set_visible(False)
    whole = MaxNLocator(integer=True) if count > 1 else FixedLocator(range(count))
    ax.xaxis.set_major_locator(whole)
    ax.set_xlim(-0.5 - 0.03 * count, max(count, 1) - 0.5 + 0.03 * count)
    unscored = count - len(scored)
    note = f"\n{unscored} of {count} candidates without a cosine" if unscored else ""
    ax.set_xlabel(f"rank (0 = first){note}")
    if scored:
        _draw_cosines(ax, scored, count)
        _draw_levels(ax, [cosine for _, cosine in scored], thresholds)
    else:
        text = "no cosines" if count else "no candidates"
        ax.text(
            0.5, 0.5, text, color=QUIET_COLOUR, ha="center", va="center", transform=ax.transAxes
        )


def _draw_cosines(ax: Axes, scored: list[tuple[int, float]], count: int) -> None:
    ax.axhline(0, color=QUIET_COLOUR, linewidth=0.8)
    ax.margins(y=0.12)
    best = max(scored, key=lambda entry: entry[1])
    rest = [entry for entry in scored if entry is not best]
    rank, top = best
    if rest:
        others = [cosine for _, cosine in rest]
        mean = sum(others) / len(others)
        std = dist(others, [mean] * len(others)) / sqrt(len(others))
        ax.axhspan(mean - std, mean + std, color=QUIET_COLOUR, alpha=0.18, linewidth=0)
        ax.axhline(mean, color=QUIET_COLOUR, linewidth=1.2)
        ax.annotate(
            f"mean background {mean:.2f} ± {std:.2f}",
            (0.02, mean - std),
            xycoords=("axes fraction", "data"),
            xytext=(0, -3),
            textcoords="offset points",
            va="top",
            fontsize=SMALL,
        )
        size = 5 if count <= 60 else 3
        ax.plot(*zip(*rest, strict=True), "o", color=POOL_COLOUR, markersize=size)
        ax.vlines(rank, mean, top, color=TOP_COLOUR, linewidth=1.6)
    ax.plot([rank], [top], "D", color=TOP_COLOUR, markersize=7)
    on_left = rank <= count / 2
    ax.annotate(
        f"top {top:.2f}",
        (rank, top),
        xytext=(7 if on_left else -7, 3),
        textcoords="offset points",
        ha="left" if on_left else "right",
        va="bottom",
        fontweight="bold",
    )


def _draw_levels(ax: Axes, cosines: list[float], thresholds: Thresholds | None) -> None:
    for level, cosine in _needed(cosines, thresholds) if thresholds else []:
        ax.axhline(cosine, color=QUIET_COLOUR, linewidth=1, linestyle=":")
        ax.annotate(
            f"{level} from {cosine:.2f}",
            (0.99, cosine),
            xycoords=("axes fraction", "data"),
            xytext=(0, 2),
            textcoords="offset points",
            ha="right",
            fontsize=SMALL,
        )


def _needed(cosines: list[float], thresholds: Thresholds) -> list[tuple[str, float]]:
    """Return the lowest top cosine for each level over this background.

    Found by bisection on `recall_signal.assess` itself, so that a line cannot disagree
    with the rules. Only the mean of the background counts there, so one value stands in for it.
    """
    order = ("unknown", "none", "low", "moderate", "high")
    others = sorted(cosines)[:-1]
    rest = [sum(others) / len(others)] if others else []

    def reached(top: float) -> int:
        return order.index(assess([top, *rest], thresholds=thresholds).level)

    lowest, found = max(rest, default=-1.0), []
    for position in (2, 3, 4):
        low, high = lowest, 1.0
        if not reached(low) < position <= reached(high):
            continue
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if reached(middle) >= position else (middle, high)
        if reached(high) == position:  # not skipped, as low is under a near-duplicate floor
            found.append((order[position], high))
    return found
