"""The words and colours of levels and selection reasons, for cards, plots and the terminal."""

from __future__ import annotations

from typing import Literal

__all__ = ["LEVEL_ADVICE", "LEVEL_COLOURS", "LEVEL_STYLES", "SELECTION_TEXTS", "Advice"]

Advice = Literal["read", "fallback", "undecided"]
"""Read the page, prefer an external source, or decide without the signal."""

LEVEL_ADVICE: dict[str, Advice] = {
    "high": "read",
    "moderate": "read",
    "low": "fallback",
    "none": "fallback",
    "unknown": "undecided",
}
"""Advice on a page of this level."""

LEVEL_COLOURS: dict[str, str] = {
    "high": "#08519c",
    "moderate": "#2f72b0",
    "low": "#a8540a",
    "none": "#7f3b08",
    "unknown": "#636363",
}
"""For HTML and plots: from blue to orange, which all common kinds of colour blindness
distinguish. Each carries white text at a contrast of at least 4.5 (WCAG 2.1, AA)."""

LEVEL_STYLES: dict[str, str] = {
    "high": "bold green",
    "moderate": "green",
    "low": "yellow",
    "none": "red",
    "unknown": "magenta",
}
"""For the terminal, in rich's terms: its own palette decides on the exact colours."""

SELECTION_TEXTS: dict[str, str] = {
    "not_configured": "no selector is configured",
    "no_results": "there was nothing to select from",
    "too_few_results": "there were too few results to be worth a call",
    "skipped_by_level": "no call is made at this level",
    "timeout": "the selector took too long",
    "llm_error": "the selector failed",
    "invalid_output": "the selector's answer was not valid",
    "selected_none": "the selector kept nothing",
}
"""Why a selection was not applied: reason -> clause of a sentence."""
