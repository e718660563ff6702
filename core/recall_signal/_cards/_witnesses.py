"""A calibration as a picture of its two witnesses: top cosine, term coverage, and the line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import atan2, degrees

from recall_signal._cards._parts import QUIET, card
from recall_signal._safe_text import html_text

__all__ = ["Line", "Witnesses", "witnesses_card"]

COLOUR = "#2f72b0"
TEXT_LIMIT = 4000
WIDTH, HEIGHT = 380, 262
LEFT, RIGHT, TOP, BOTTOM = 176, 372, 22, 236
"""Edges of the part with the line, in the picture's own units."""
BOXES, BOX = 44, 15
"""Left edge of the boxes, and the width of one."""
STEP = 26

SPACE = 16
"""Room that a name between two lines needs."""

_SVG = (
    f'<svg role="img" aria-label="{{label}}" viewBox="0 0 {WIDTH} {HEIGHT}" width="100%" '
    f'style="display:block;max-width:{WIDTH}px;color:inherit" font-size="13" '
    'fill="currentColor">{inside}</svg>'
)
_CLIP = (
    f'<svg x="{LEFT}" y="{TOP}" width="{RIGHT - LEFT}" height="{BOTTOM - TOP}" '
    f'viewBox="{LEFT} {TOP} {RIGHT - LEFT} {BOTTOM - TOP}">{{inside}}</svg>'
)
_LINE = (
    '<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="currentColor" '
    'stroke-width="{width}"{more}/>'
)
_DOTTED = ' stroke-dasharray="2 4" stroke-opacity="0.8"'
_PALE = ' stroke-opacity="0.5"'


@dataclass(frozen=True, slots=True)
class Line:
    """A line on both witnesses: the top cosine from which something holds.

    Attributes:
        name: The level above it.
        at_none: At term coverage 0.
        at_full: At term coverage 1.
        is_cut: True for probability 0.5, where relevant and irrelevant are equally likely.
    """

    name: str
    at_none: float
    at_full: float
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Witnesses:
    """The picture of a calibration, as plain figures.

    Attributes:
        lines: From the lowest level to the highest; none where levels do not follow it.
        boxes: Letter, name and quartiles of the top cosines of each kind of reference query.
        text: The printed summary.
    """

    lines: Sequence[Line]
    boxes: Sequence[tuple[str, str, tuple[float, float, float]]]
    text: str


def witnesses_card(shown: Witnesses) -> str:
    """Return picture and summary of a calibration as one `<div>`, every text escaped."""
    words = _words(shown)
    values = [value for line in shown.lines for value in (line.at_none, line.at_full)]
    values += [value for _, _, box in shown.boxes for value in box]
    picture = _picture(shown, values, words) if values else ""
    lines = [line.strip() for line in shown.text.splitlines()]
    body = "".join(f"<div>{html_text(line, TEXT_LIMIT)}</div>" for line in lines[1:])
    return card(
        COLOUR,
        f"<div><strong>{html_text(lines[0], TEXT_LIMIT)}</strong></div>",
        picture,
        f'<div style="{QUIET}">{words}</div>',
        f'<div style="{QUIET};margin-top:6px">{body}</div>',
    )


def _words(shown: Witnesses) -> str:
    """Return what the picture shows, in words."""
    parts = [
        f"The cut (bold) is a top cosine of {line.at_none:.2f} at term coverage 0 and of "
        f"{line.at_full:.2f} at 1."
        for line in shown.lines
        if line.is_cut
    ]
    if not parts:
        parts.append("No line: levels do not follow this calibration.")
    boxes = [f"{letter}: {html_text(name, 80)}" for letter, name, _ in shown.boxes]
    if boxes:
        parts.append(f"Boxes: the middle half of {'; '.join(boxes)}.")
    return " ".join(parts)


def _picture(shown: Witnesses, values: Sequence[float], words: str) -> str:
    low, high = max(min(values), -1.0), min(max(values), 1.0)
    room = 0.06 * (high - low) or 0.05
    low, high = low - room, high + room

    def y(cosine: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (cosine - low) / (high - low)

    ticks = (low + room, (low + high) / 2, high - room)
    inside = [
        *(_box(place, box, y) for place, box in enumerate(shown.boxes)),
        _LINE.format(x1=LEFT, y1=BOTTOM, x2=RIGHT, y2=BOTTOM, width=1, more=_PALE),
        _LINE.format(x1=LEFT, y1=TOP, x2=LEFT, y2=BOTTOM, width=1, more=_PALE),
        _text(0, TOP - 8, "top cosine"),
        *(_text(0, y(tick) + 4, f"{tick:z.2f}") for tick in ticks),
        _text(LEFT, BOTTOM + 18, "0"),
        _text(RIGHT, BOTTOM + 18, "1", "end"),
        _text((LEFT + RIGHT) / 2, BOTTOM + 18, "term coverage", "middle"),
        _CLIP.format(inside="".join(_level(line, y) for line in shown.lines)),
        *_names(shown.lines, y),
    ]
    return _SVG.format(label=words, inside="".join(inside))


def _level(line: Line, y: Callable[[float], float]) -> str:
    more = "" if line.is_cut else _DOTTED
    width = 2.5 if line.is_cut else 1.5
    y1, y2 = y(line.at_none), y(line.at_full)
    return _LINE.format(x1=LEFT, y1=y1, x2=RIGHT, y2=y2, width=width, more=more)


def _names(lines: Sequence[Line], y: Callable[[float], float]) -> list[str]:
    """Return the levels' names, along the lines that they begin at, where there is room."""
    found: list[str] = []
    middle, last = (LEFT + RIGHT) / 2, float(BOTTOM)
    for line in lines:
        start, end = y(line.at_none), y(line.at_full)
        at, angle = (start + end) / 2, degrees(atan2(end - start, RIGHT - LEFT))
        turn = f' transform="rotate({angle:.1f} {middle:.0f} {at:.0f})"'
        if not found:
            found.append(_text(middle, at + 15, "none", "middle", turn))
        if TOP < at <= last - (SPACE if len(found) > 1 else 0):
            found.append(_text(middle, at - 5, line.name, "middle", turn))
            last = at
    return found


def _box(
    place: int, box: tuple[str, str, tuple[float, float, float]], y: Callable[[float], float]
) -> str:
    """Return the box of a kind of reference query, and its letter below."""
    letter, _, (low, middle, high) = box
    x = BOXES + STEP * place
    height = max(y(low) - y(high), 1.0)
    return (
        f'<rect x="{x}" y="{y(high):.1f}" width="{BOX}" height="{height:.1f}" '
        'fill="currentColor" fill-opacity="0.25" stroke="currentColor"/>'
        + _LINE.format(x1=x, y1=y(middle), x2=x + BOX, y2=y(middle), width=2, more="")
        + _text(x + BOX / 2, BOTTOM + 18, letter, "middle")
    )


def _text(x: float, y: float, text: str, anchor: str = "start", more: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{more}>{text}</text>'
