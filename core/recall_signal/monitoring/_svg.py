"""Small pictures as inline SVG: lines with a band, stacked bars. No text of a query gets here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recall_signal._safe_text import html_text

__all__ = ["Line", "line_picture", "share_picture"]

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 760, 190, 46, 24, 8
LABELS = 8
"""Dates below a picture at most."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a picture.

    Attributes:
        name: In the legend.
        values: One for each day; None leaves a gap.
        colour: Of the line.
        low: Lower edge of its band, where it has one.
        high: Upper edge of its band.
    """

    name: str
    values: Sequence[float | None]
    colour: str
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()


def line_picture(days: Sequence[str], lines: Sequence[Line], marks: Mapping[str, str]) -> str:
    """Draw lines over days.

    Args:
        days: ISO dates, in order.
        lines: At least one.
        marks: Dates with a vertical line, and its words.
    """
    numbers = [
        value
        for line in lines
        for column in (line.values, line.low, line.high)
        for value in column
        if value is not None
    ]
    if not numbers:
        return ""
    low, high = min(numbers), max(numbers)
    room = max(0.02, 0.05 * (high - low))
    frame = _Frame(len(days), low - room, high + room)
    parts = [frame.axis(days), *_marks(frame, days, marks)]
    for line in lines:
        if line.low:
            parts.append(_band(frame, line))
        parts += _strokes(frame, line)
    return _svg(parts) + _legend([(line.name, line.colour) for line in lines])


def share_picture(
    days: Sequence[str], shares: Mapping[str, Sequence[float]], colours: Mapping[str, str]
) -> str:
    """Draw the shares of each day as a stacked bar.

    Args:
        days: ISO dates, in order.
        shares: For each name, its share of each day; they add up to 1.
        colours: By name.
    """
    frame = _Frame(len(days), 0.0, 1.0)
    width = (WIDTH - LEFT) / max(1, len(days))
    parts = [frame.axis(days)]
    for at, day in enumerate(days):
        base = 0.0
        for name, column in shares.items():
            if column[at] > 0.0:
                top = frame.y(base + column[at])
                parts.append(
                    f'<rect x="{LEFT + at * width:.1f}" y="{top:.1f}" width="{width * 0.9:.1f}" '
                    f'height="{frame.y(base) - top:.1f}" fill="{colours[name]}">'
                    f"<title>{day}: {html_text(name, 40)} {column[at]:.0%}</title></rect>"
                )
            base += column[at]
    return _svg(parts) + _legend([(name, colours[name]) for name in shares])


@dataclass(frozen=True, slots=True)
class _Frame:
    count: int
    low: float
    high: float

    def x(self, at: int) -> float:
        return LEFT + (at + 0.5) * (WIDTH - LEFT) / max(1, self.count)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return TOP + (1.0 - share) * (HEIGHT - TOP - BOTTOM)

    def axis(self, days: Sequence[str]) -> str:
        """Three horizontal lines with their values, and some dates."""
        parts = []
        for value in (self.low, (self.low + self.high) / 2, self.high):
            y = self.y(value)
            parts.append(
                f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
                f'<text x="{LEFT - 4}" y="{y + 4:.1f}" text-anchor="end">{value:.2f}</text>'
            )
        step = -(-len(days) // LABELS) or 1
        parts += [
            f'<text x="{self.x(at):.1f}" y="{HEIGHT - 6}" text-anchor="middle">{day[5:]}</text>'
            for at, day in enumerate(days)
            if at % step == 0
        ]
        return "".join(parts)


def _marks(frame: _Frame, days: Sequence[str], marks: Mapping[str, str]) -> list[str]:
    return [
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#b2182b" '
        f'stroke-dasharray="4 3"><title>{html_text(marks[day], 300)}</title></line>'
        for at, day in enumerate(days)
        if day in marks
        for x in [frame.x(at) - 0.5 * (WIDTH - LEFT) / max(1, frame.count)]
    ]


def _band(frame: _Frame, line: Line) -> str:
    """Return the range of a line, over the days that have one."""
    edges = [
        (at, low, high)
        for at, (low, high) in enumerate(zip(line.low, line.high, strict=True))
        if low is not None and high is not None
    ]
    there = [f"{frame.x(at):.1f},{frame.y(high):.1f}" for at, _, high in edges]
    back = [f"{frame.x(at):.1f},{frame.y(low):.1f}" for at, low, _ in reversed(edges)]
    points = " ".join([*there, *back])
    return f'<polygon points="{points}" fill="{line.colour}" opacity=".15"/>'


def _strokes(frame: _Frame, line: Line) -> list[str]:
    """Return the line and its points."""
    known = [(at, value) for at, value in enumerate(line.values) if value is not None]
    points = " ".join(f"{frame.x(at):.1f},{frame.y(value):.1f}" for at, value in known)
    dots = "".join(
        f'<circle cx="{frame.x(at):.1f}" cy="{frame.y(value):.1f}" r="1.8" '
        f'fill="{line.colour}"><title>{html_text(line.name, 40)} {value:.3f}</title></circle>'
        for at, value in known
    )
    return [
        f'<polyline points="{points}" fill="none" stroke="{line.colour}" stroke-width="1.5"/>',
        dots,
    ]


def _svg(parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-size="11" '
        f'font-family="system-ui,sans-serif">{"".join(parts)}</svg>'
    )


def _legend(names: Sequence[tuple[str, str]]) -> str:
    items = "".join(
        f'<span><i style="background:{colour}"></i>{html_text(name, 60)}</span>'
        for name, colour in names
    )
    return f'<p class="legend">{items}</p>'
