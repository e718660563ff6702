"""Foreign text made safe to show, in HTML and on a terminal.

Characters that show as nothing or change how their neighbours are shown are spelled out in HTML,
where a reader looks at a few short texts, and dropped on the terminal, which shows whole passages.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import PurePath
from unicodedata import category

__all__ = ["html_text", "plain_text", "shown", "spelled_out", "terminal_text"]

_SPACES = re.compile(r"[ \t\r\n]+")
_ESCAPE_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories: control characters, direction overrides and other format characters, lone
surrogates, line and paragraph separators."""

_JOINERS = "\u200c\u200d"
"""Format characters that are part of ordinary writing: Persian words, joined emoji."""

_STAND_INS = {"Cf": "", "Cs": "?"}
"""On the terminal; every other hidden character becomes a space."""


def plain_text(value: object, limit: int) -> str:
    """Return the beginning of a text on one line, with hidden characters spelled out.

    Args:
        value: The text; anything else is shown as its `str`.
        limit: Characters to show. The work is bounded by it, however long the text.
    """
    text = str(value)
    line = _SPACES.sub(" ", text[: 2 * limit]).strip(" ")
    shown = spelled_out(line[:limit])
    whole = len(line) <= limit and len(text) <= 2 * limit
    return shown if whole else f"{shown.rstrip(' ')}…"


def spelled_out(text: str) -> str:
    """Return a text with each hidden character spelled out, as in `[U+202E]`."""
    return "".join(
        f"[U+{ord(character):04X}]" if _is_hidden(character) else character for character in text
    )


def html_text(value: object, limit: int) -> str:
    """Return `plain_text`, escaped for HTML text and quoted attributes."""
    return escape(plain_text(value, limit), quote=True)


def terminal_text(text: str) -> str:
    """Return the text without anything that a terminal would obey rather than show.

    Colour sequences and format characters are removed, other control characters become spaces,
    lone surrogates become question marks. Rich's own markup is harmless as long as texts are
    printed as `rich.text.Text`.
    """
    text = _ESCAPE_SEQUENCE.sub("", text)
    if text.isprintable():
        return text
    return "".join(
        _STAND_INS.get(category(character), " ") if _is_hidden(character) else character
        for character in text
    )


def _is_hidden(character: str) -> bool:
    return category(character) in _HIDDEN and character not in _JOINERS


def shown(path: PurePath) -> str:
    """Return the name of a file as a terminal may show it."""
    return terminal_text(path.name)
