"""Names that may be written into logs, reports and messages: short, printable, on one line."""

from __future__ import annotations

import re

__all__ = ["MAX_NAME", "is_plain", "plain_name", "without_secrets"]

MAX_NAME = 200
"""Characters of a name; the longest names of models are paths of half as many."""


def is_plain(text: str, limit: int = MAX_NAME) -> bool:
    """Return whether a text is a name: printable, not empty, of at most `limit` characters."""
    return 0 < len(text) <= limit and text.isprintable()


def plain_name(name: str) -> str:
    """Return a name with `?` for what cannot be printed, cut to its first 200 characters.

    Of an address, scheme, host and path are left.
    """
    shown = without_secrets(name)[:MAX_NAME]
    if shown.isprintable():
        return shown
    return "".join(c if c.isprintable() else "?" for c in shown)


_BEHIND_PATH = re.compile(r"(://[^?#]*)[?#].*", re.DOTALL)
_USER = re.compile(r"://[^/]*@")


def without_secrets(name: str) -> str:
    """Return a name whose addresses have no user, query and fragment: each may hold a key."""
    return _USER.sub("://", _BEHIND_PATH.sub(r"\1", name))
