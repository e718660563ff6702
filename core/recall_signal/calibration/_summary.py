"""A calibration as a person prints it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from recall_signal.calibration._estimate import FEWEST_PSEUDO, Mode, Status
from recall_signal.calibration._file_checks import Texts
from recall_signal.calibration._scale import Scale

__all__ = ["Summarised", "summary_of"]

_CLOSING: dict[Status, str] = {
    "ok": "In short: use it; what is stored scores above unrelated questions.",
    "few_documents": "In short: use it with care, and fit again when more texts are stored.",
    "labels_do_not_separate": "In short: use it, and check the labels; they contradict the scores.",
    "no_valid_threshold": "In short: unrelated questions score like stored texts, so levels stay "
    "uncalibrated.",
}
"""The last line."""

_REAL_QUERIES: dict[Mode, list[str]] = {
    "null": [],
    "null+past": ["past queries"],
    "labelled": ["labelled queries"],
}


class Summarised(Texts, Protocol):
    """The part of a calibration that is printed."""

    @property
    def mode(self) -> Mode: ...
    @property
    def status(self) -> Status: ...
    @property
    def scale(self) -> Scale: ...
    @property
    def overlap(self) -> float: ...
    @property
    def corpus_size(self) -> int | None: ...
    @property
    def estimated_size(self) -> int | None: ...
    @property
    def reranker(self) -> object: ...
    @property
    def reads_words(self) -> bool: ...

    def cut_at(self, term_coverage: float | None = None) -> float | None: ...


def summary_of(calibration: Summarised) -> str:
    """Return what it is, what it was learned from, its cuts, and one plain sentence at the end."""
    cut = calibration.cut_at()
    shown = "no cut in force" if cut is None else f"cut {cut:.3f}"
    lines = [
        f"Calibration ({calibration.mode}): {calibration.status}",
        f"  encoder {calibration.encoder or 'not named'}, {_size(calibration)}, "
        f"{calibration.created}",
        f"  learned from {_sources(calibration.mode, calibration.counts)}",
        "  with " + ", ".join(_count(count, kind) for kind, count in calibration.counts),
        f"  {shown}, unit {calibration.scale.unit:.3f}, overlap {calibration.overlap:.0%}",
    ]
    if calibration.reads_words:
        none, full = (_figure(calibration.cut_at(coverage)) for coverage in (0.0, 1.0))
        lines.append(f"  with words: cut {none} at term coverage 0, {full} at 1")
    if calibration.reranker is not None:
        lines.append(f"  {calibration.reranker}")
    lines += [
        f"  {kind:<14} quartiles {low:.3f} {middle:.3f} {high:.3f}"
        for kind, (low, middle, high) in calibration.quartiles
    ]
    lines += [f"  note: {warning}" for warning in calibration.warnings]
    return "\n".join([*lines, _CLOSING[calibration.status]])


def _figure(cut: float | None) -> str:
    return "none" if cut is None else f"{cut:.3f}"


def _size(calibration: Summarised) -> str:
    if calibration.corpus_size:
        return _count(calibration.corpus_size, "documents")
    if calibration.estimated_size:
        return f"about {_count(calibration.estimated_size, 'documents')}"
    return "unknown number of documents"


def _sources(mode: Mode, counts: Sequence[tuple[str, int]]) -> str:
    """Return the kinds that decided, in words; kinds with too few are not named."""
    enough = dict(counts).get("pseudo-queries", 0) >= FEWEST_PSEUDO
    kinds = ["general questions", *(["pieces of stored texts"] if enough else [])]
    kinds += _REAL_QUERIES[mode]
    most, last = ", ".join(kinds[:-1]), kinds[-1]
    labels = "" if mode == "labelled" else ", no labels"
    return f"{most} and {last}{labels}" if most else f"{last}{labels}"


def _count(number: int, kinds: str) -> str:
    """Return a number with its kind, which is given in the plural."""
    kind = kinds.removesuffix("s").replace("querie", "query") if number == 1 else kinds
    return f"{number} {kind}"
