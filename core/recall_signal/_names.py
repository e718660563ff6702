"""Names: those that may be written into logs, reports and messages, and those that were meant."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches

__all__ = [
    "FRAMEWORK_NAMES",
    "MAX_NAME",
    "is_plain",
    "meant_name",
    "plain_name",
    "shown_choice",
    "without_secrets",
]

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


_PAGE_SIZE = re.compile(r"(top)?k+")
"""Names of a page size, too short for difflib, without their underscores: `kk`, `top_k`."""

FRAMEWORK_NAMES = {
    "similarity_top_k": "k",
    "embeddings": "embed_model",
    "embedding": "embed_model",
    "embed_model": "embeddings",
}
"""A framework's name of something -> ours there; its own retrievers may take it under theirs."""

_CHOICE = re.compile("[A-Za-z_]{1,40}")


def shown_choice(given: object) -> str:
    """Return what was given for one of a few names, for a message; its type if it may be a secret.

    A text of letters alone was meant for one of the names.
    """
    is_number = isinstance(given, float) or (isinstance(given, int) and given.bit_length() <= 64)
    is_name = isinstance(given, str) and _CHOICE.fullmatch(given)
    return repr(given) if is_number or is_name or given is None else type(given).__name__


def meant_name(given: str, known: Collection[str], likeness: float = 0.6) -> str | None:
    """Return the known name that an unknown one was meant for, None where there is none.

    Args:
        given: As it was written.
        known: The names there are.
        likeness: Similarity (difflib) from which two names count as the same one, 0 to 1.
    """
    lowered = given.lower()
    if FRAMEWORK_NAMES.get(lowered) in known:
        return FRAMEWORK_NAMES[lowered]
    if "k" in known and _PAGE_SIZE.fullmatch(lowered.replace("_", "")):
        return "k"
    return next(iter(get_close_matches(lowered, known, n=1, cutoff=likeness)), None)
