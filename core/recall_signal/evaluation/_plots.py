"""The pictures of a report. matplotlib is imported when something is drawn, never its pyplot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from recall_signal._safe_text import plain_text
from recall_signal.errors import MissingDependencyError
from recall_signal.evaluation import _metrics as metrics
from recall_signal.evaluation._data import PRESENT
from recall_signal.evaluation._result import MODES, Evaluation, Method, Metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_auroc", "plot_histograms", "plot_reliability", "plot_risk_coverage"]

OURS, OTHERS, QUIET = "#e07b00", "#4a90c4", "#8c8c8c"
"""As in the pictures of pools: they differ in lightness as well as in hue."""

_LIMIT = 60


def plot_auroc(rows: Sequence[Metrics]) -> Figure:
    """Draw a bar for each method with its bootstrap interval; calibration modes stand out."""
    figure = _new_figure(7.5, 0.9 + 0.28 * len(rows))
    ax = figure.subplots()
    at = np.arange(len(rows))[::-1]
    areas = np.array([row.auroc for row in rows])
    spread = [
        areas - np.array([row.auroc_low for row in rows]),
        np.array([row.auroc_high for row in rows]) - areas,
    ]
    colours = [OURS if row.method in MODES else OTHERS for row in rows]
    # A percentile interval may, if hardly ever, lie to one side of the figure itself.
    ax.barh(at, areas, xerr=np.maximum(spread, 0.0), color=colours, ecolor="#333", capsize=2)
    ax.set_yticks(at, [_name(row.method) for row in rows])
    ax.axvline(0.5, color=QUIET, linewidth=1, linestyle=":")
    ax.set_xlim(0, 1)
    ax.set_xlabel("AUROC (0.5: chance)")
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def plot_histograms(evaluation: Evaluation) -> Figure:
    """Draw the top cosines, present queries above and each kind of absent ones below."""
    figure = _new_figure(7.5, 1.3 + 0.9 * len(evaluation.absent_kinds))
    top = evaluation.methods[0].scores
    usable = top[np.isfinite(top)]
    edges = np.linspace(usable.min(), usable.max() + 1e-6, 41) if len(usable) else [0.0, 1.0]
    kinds = (PRESENT, *evaluation.absent_kinds)
    panels = figure.subplots(len(kinds), 1, sharex=True, squeeze=False)[:, 0]
    for ax, kind in zip(panels, kinds, strict=True):
        values = top[(evaluation.kinds == kind) & np.isfinite(top)]
        ax.hist(values, bins=edges, color=OURS if kind == PRESENT else OTHERS)
        ax.set_yticks([])
        ax.set_ylabel(_name(kind), rotation=0, ha="right", va="center")
        ax.spines[["top", "right", "left"]].set_visible(False)
    panels[-1].set_xlabel("top cosine")
    return figure


def plot_reliability(evaluation: Evaluation) -> Figure:
    """Draw the reliability of each mode's probabilities, both classes weighing the same."""
    figure = _new_figure(5.0, 4.4)
    ax = figure.subplots()
    ax.plot([0, 1], [0, 1], color=QUIET, linewidth=1, linestyle=":")
    present = evaluation.present
    weights = metrics.balanced_weights(present)
    for method, probabilities in _calibrated(evaluation):
        curve = metrics.reliability(probabilities, present, weights=weights)
        ax.plot(curve.predicted, curve.observed, "o-", markersize=4, label=_name(method.name))
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_xlabel("probability given")
    ax.set_ylabel("share of present queries")
    _legend(ax)
    return figure


def plot_risk_coverage(evaluation: Evaluation) -> Figure:
    """Draw the share of wrong decisions among the surest ones, for each mode."""
    figure = _new_figure(6.0, 3.6)
    ax = figure.subplots()
    for method, probabilities in _calibrated(evaluation):
        correct = (probabilities >= 0.5) == evaluation.present
        curve = metrics.risk_coverage(np.abs(probabilities - 0.5), correct)
        ax.plot(curve.coverage, curve.risk, label=_name(method.name))
    ax.set_xlim(0, 1)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("share of queries decided, the surest first")
    ax.set_ylabel("share of them wrong")
    _legend(ax)
    return figure


def _calibrated(evaluation: Evaluation) -> list[tuple[Method, metrics.Floats]]:
    """Return the methods that gave every query a probability."""
    return [
        (method, method.probabilities)
        for method in evaluation.methods
        if method.probabilities is not None and np.isfinite(method.probabilities).all()
    ]


def _new_figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError("A picture of an evaluation", "eval") from None
    return Figure(figsize=(width, height), layout="constrained")


def _legend(ax: Axes) -> None:
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize=8)


def _name(text: str) -> str:
    """Escape dollar signs, between which matplotlib would read mathematics."""
    return plain_text(text, _LIMIT).replace("$", r"\$")
