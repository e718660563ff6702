"""Names that may be written into logs, reports and messages: short, printable, on one line."""

from __future__ import annotations

__all__ = ["MAX_NAME", "is_plain", "plain_name"]

MAX_NAME = 200
"""Characters of a name; the longest names of models are paths of half as many."""


def is_plain(text: str, limit: int = MAX_NAME) -> bool:
    """Return whether a text is a name: printable, not empty, of at most `limit` characters."""
    return 0 < len(text) <= limit and text.isprintable()


def plain_name(name: str) -> str:
    """Return a name with `?` for what cannot be printed, cut to its first 200 characters."""
    shown = name[:MAX_NAME]
    if shown.isprintable():
        return shown
    return "".join(c if c.isprintable() else "?" for c in shown)
