"""A calibration as a card for a notebook: the line on two witnesses, and what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from recall_signal._cards import Line, Witnesses, witnesses_card
from recall_signal._statistics import quantile

__all__ = ["KIND_NAMES", "Drawn", "boxes_of", "calibration_card", "level_lines"]

KIND_NAMES = {
    "probes": "general questions (not stored)",
    "pseudo_query": "pieces of texts, own text left out",
    "past": "past queries",
    "answerable": "labelled queries, something is stored",
    "self_retrieval": "pieces of texts (stored)",
}
"""Kinds of query from the least to the best match -> what they are."""

QUARTILES = (0.25, 0.5, 0.75)

Box = tuple[float, float, float]


class Drawn(Protocol):
    """The part of a calibration that its pictures show."""

    @property
    def cuts(self) -> tuple[float, float, float]: ...
    @property
    def quartiles(self) -> tuple[tuple[str, Box], ...]: ...
    @property
    def answerable(self) -> tuple[float, ...]: ...

    def cut_at(
        self, term_coverage: float | None = None, probability: float = 0.5
    ) -> float | None: ...


def calibration_card(calibration: Drawn) -> str:
    """Return a calibration as one `<div>`, every text escaped."""
    boxes = boxes_of(calibration)
    lettered = [(chr(ord("A") + at), KIND_NAMES[kind], box) for at, (kind, box) in enumerate(boxes)]
    return witnesses_card(Witnesses(level_lines(calibration), lettered, str(calibration)))


def boxes_of(calibration: Drawn) -> list[tuple[str, Box]]:
    """Return the quartiles of the top cosines of each kind, in the order of `KINDS`."""
    found = dict(calibration.quartiles)
    if tops := calibration.answerable:
        low, middle, high = (quantile(tops, share) for share in QUARTILES)
        found["answerable"] = (low, middle, high)
    return [(kind, found[kind]) for kind in KIND_NAMES if kind in found]


def level_lines(calibration: Drawn) -> Sequence[Line]:
    """Return the lines where the levels begin, and the cut, from low to high."""
    names = dict(zip(("low", "moderate", "high"), calibration.cuts, strict=True))
    if 0.5 not in names.values():
        names["probability 0.5"] = 0.5
    lines = []
    for name, share in sorted(names.items(), key=lambda item: item[1]):
        at_none, at_full = calibration.cut_at(0.0, share), calibration.cut_at(1.0, share)
        if at_none is not None and at_full is not None:
            lines.append(Line(name, at_none, at_full, is_cut=share == 0.5))
    return lines
