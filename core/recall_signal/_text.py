"""Text that any encoder, checkpoint or JSON reader can hold, and what of it can be seen."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["encodable", "is_blank", "unique_keys", "visible_line"]

_HIDDEN = (
    # Control and format characters, surrogates, private use, and planes without any character:
    # they stand here for speed, since `isprintable` refuses them too.
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\uf8ff\U00040000-\U0010ffff"
    # Invisible ones that it accepts: fillers, an empty cell and note head, and variation selectors,
    # 256 of which can spell any bytes behind one letter.
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159"
)
_INVISIBLE = re.compile(f"[{_HIDDEN}]+")
_MAYBE_VISIBLE = re.compile(rf"[^\s{_HIDDEN}]")
_SPACES = re.compile(r"\s+")

_CHUNK = 4_096
"""Characters that are read at a time, at least."""

_WINDOW = 65_536
"""Invisible characters that are passed over at a time: a search lets no other thread run."""

_HUGE = 200_000
"""Characters of a question from which looking at each could hold an event loop for 50 ms."""


def encodable(text: str) -> str:
    """Replace lone surrogates by `?`: neither UTF-8 nor JSON can carry them."""
    return text.encode("utf-8", "replace").decode()


def visible_line(text: str, limit: int) -> str:
    """Return the first visible characters of a text, on one line.

    What is invisible is passed over, wherever it stands; no more is read than that needs.

    Args:
        text: Any text.
        limit: Characters to return, at most.
    """
    parts: list[str] = []
    count, step, at = 0, max(2 * limit, _CHUNK), 0
    while count < limit and at < len(text):
        found = _MAYBE_VISIBLE.search(text, at, at + _WINDOW)
        start = found.start() if found else min(at + _WINDOW, len(text))
        if start > at and not _INVISIBLE.fullmatch(text, at, start):
            parts.append(" ")
        at = start
        if found:
            at += step
            chunk = _INVISIBLE.sub("", text[start:at])
            if not chunk.isprintable():
                chunk = "".join(filter(str.isprintable, _SPACES.sub(" ", chunk)))
            parts.append(chunk)
            count += len(chunk) - chunk.count(" ")
    return " ".join("".join(parts).split())[:limit]


def is_blank(text: str) -> bool:
    """Return whether nothing of a text can be seen; of a huge one, whether it is only spaces."""
    if text[:1].isascii() and text[:1].isalnum():  # as most texts begin
        return False
    if len(text) > _HUGE:
        return not text.strip()
    return not any(found[0].isprintable() for found in _MAYBE_VISIBLE.finditer(text))


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make the object of these pairs, as `object_pairs_hook` of `json.loads`.

    Raises:
        ValueError: A key comes twice; Python would keep the last one in silence.
    """
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a key that comes twice")
    return values
