"""The cosines of a pool on one line, with the cut in force.

Inline SVG in the text's own colour, with places in percent, so that it fits any width. What it
shows is said by shapes (long and short ticks, a diamond, a dashed line) and in words below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from recall_signal._cards._parts import QUIET

__all__ = ["Mark", "strip", "strip_words"]

HEIGHT = 52
_LONG, _SHORT = "14v22", "26v10"
"""Ticks of the page and of all other candidates: first height, then length."""

EDGE = 4.0
"""Room to the left and right, in percent."""

STEPS = 1000
"""Places that are told apart: more candidates than these lie on one another."""

_SVG = (
    f'<svg role="img" aria-label="{{label}}" width="100%" height="{HEIGHT}" '
    'style="display:block;max-width:100%;color:inherit;margin-top:4px">{inside}</svg>'
)
_TICKS = (
    f'<svg width="100%" height="{HEIGHT}" viewBox="0 0 {STEPS} {HEIGHT}" '
    'preserveAspectRatio="none">{inside}</svg>'
)
_PATH = (
    '<path d="{d}" fill="none" stroke="currentColor" stroke-width="{width}" '
    'stroke-opacity="{opacity}" vector-effect="non-scaling-stroke"/>'
)
_AT = '<svg x="{x:.1f}%" y="{y}" overflow="visible">{inside}</svg>'
_DIAMOND = '<path d="M0-6L5 0L0 6L-5 0Z" fill="currentColor"/>'
_CROSS = '<path d="M-3-3L3 3M-3 3L3-3" stroke="currentColor" stroke-width="1.5"/>'
_CUT = (
    '<line x1="{x:.1f}%" x2="{x:.1f}%" y1="13" y2="42" stroke="currentColor" stroke-width="2" '
    'stroke-dasharray="4 3"/>'
)
_TEXT = (
    '<text x="{x:.1f}%" y="{y}" dx="{dx}" text-anchor="{anchor}" font-size="12" '
    'fill="currentColor">{text}</text>'
)


@dataclass(frozen=True, slots=True)
class Mark:
    """One candidate on the strip.

    Attributes:
        cosine: Its cosine.
        place: On the page, left out of it by a selector, or another candidate of the pool.
    """

    cosine: float
    place: Literal["page", "left_out", "other"] = "other"


def strip(marks: Sequence[Mark], cut: float | None) -> str:
    """Return the strip of a pool as a `<div>`, empty without a cosine.

    Args:
        marks: The candidates with a cosine, in any order.
        cut: The top cosine with probability 0.5 for this query, where it is known.
    """
    if not marks:
        return ""
    words = strip_words(marks, cut)
    cosines = [mark.cosine for mark in marks]
    scale = _Scale.of([*cosines, *([] if cut is None else [cut])])
    top = max(cosines)
    inside = [
        _TICKS.format(inside=_ticks(marks, scale)),
        *(_AT.format(x=scale.percent(one), y=20, inside=_CROSS) for one in _left_out(marks)),
        _AT.format(x=scale.percent(top), y=14, inside=_DIAMOND),
        _label(scale.percent(top), HEIGHT - 2, f"top {top:.3f}"),
    ]
    if cut is not None:
        inside.append(_CUT.format(x=scale.percent(cut)))
        inside.append(_label(scale.percent(cut), 10, f"cut {cut:.3f}"))
    picture = _SVG.format(label=words, inside="".join(inside))
    return f'<div>{picture}<div style="{QUIET}">{words}</div></div>'


def strip_words(marks: Sequence[Mark], cut: float | None) -> str:
    """Return what the strip shows, in words."""
    cosines = [mark.cosine for mark in marks]
    number = len(marks)
    span = f"cosines of {number} candidates from {min(cosines):.3f} to {max(cosines):.3f}"
    if number == 1:
        span = f"cosine of one candidate, {cosines[0]:.3f}"
    parts = [f"Pool: {span}"]
    if shown := sum(mark.place == "page" for mark in marks):
        parts.append(f"{shown} on the page (long ticks)")
    if out := len(_left_out(marks)):
        parts.append(f"{out} left out by the selector (crosses)")
    if cut is not None:
        above = sum(cosine >= cut for cosine in cosines)
        parts.append(f"{above} at or above the cut of {cut:.3f} (dashed)")
    return ", ".join(parts) + "."


@dataclass(frozen=True, slots=True)
class _Scale:
    low: float
    width: float

    @classmethod
    def of(cls, values: Sequence[float]) -> _Scale:
        low, high = min(values), max(values)
        if high - low < 0.02:
            middle = (low + high) / 2
            low, high = middle - 0.01, middle + 0.01
        return cls(low, high - low)

    def percent(self, value: float) -> float:
        """Return the place of a cosine, in percent of the width."""
        return EDGE + (100 - 2 * EDGE) * (value - self.low) / self.width


def _left_out(marks: Sequence[Mark]) -> list[float]:
    return [mark.cosine for mark in marks if mark.place == "left_out"]


def _ticks(marks: Sequence[Mark], scale: _Scale) -> str:
    """Return the ticks as two paths, each place once."""
    paths = [_PATH.format(d=f"M0 36h{STEPS}", width=1, opacity=0.5)]
    kinds = ((True, _LONG, 2, 1), (False, _SHORT, 1.5, 0.6))
    for on_page, tick, width, opacity in kinds:
        cosines = (mark.cosine for mark in marks if (mark.place == "page") is on_page)
        places = sorted({round(STEPS * scale.percent(cosine) / 100) for cosine in cosines})
        d = "".join(f"M{place} {tick}" for place in places)
        paths.append(_PATH.format(d=d, width=width, opacity=opacity) if d else "")
    return "".join(paths)


def _label(x: float, y: int, text: str) -> str:
    """Return a text that runs towards the middle, so that it fits on a narrow screen."""
    end = x > 50
    return _TEXT.format(x=x, y=y, dx=-7 if end else 7, anchor="end" if end else "start", text=text)
