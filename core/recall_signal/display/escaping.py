"""Foreign text made fit to show: short, on one line, with nothing hidden in it."""

from __future__ import annotations

import re
from html import escape
from typing import Any
from unicodedata import category

__all__ = ["html_text", "plain_text"]

_SPACES = re.compile(r"[ \t\r\n]+")

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories that show as nothing or change how their neighbours are shown: control
characters, direction overrides and other format characters, lone surrogates, separators."""

_JOINERS = "\u200c\u200d"
"""Format characters that are part of ordinary writing: Persian words, joined emoji."""


def plain_text(value: Any, limit: int) -> str:
    """The beginning of a text on one line, with hidden characters spelled out.

    Args:
        value: What to show; anything but a text is shown as its ``str``.
        limit: Characters to show. The work is bounded by it, however long the text.
    """
    text = str(value)
    line = _SPACES.sub(" ", text[: 2 * limit]).strip(" ")
    shown = "".join(map(_visible, line[:limit]))
    whole = len(line) <= limit and len(text) <= 2 * limit
    return shown if whole else f"{shown.rstrip(' ')}…"


def html_text(value: Any, limit: int) -> str:
    """:func:`plain_text`, escaped for HTML text and quoted attributes."""
    return escape(plain_text(value, limit), quote=True)


def _visible(character: str) -> str:
    if category(character) not in _HIDDEN or character in _JOINERS:
        return character
    return f"[U+{ord(character):04X}]"
