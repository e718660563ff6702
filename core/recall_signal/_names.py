"""Names that may be written into logs, reports and messages: short, printable, on one line."""

from __future__ import annotations

import re

__all__ = ["MAX_NAME", "is_plain", "plain_name", "served_name", "without_secrets"]

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


_DEPLOYMENTS = ("azure_deployment", "deployment")
"""Attributes that name what serves a model, which may be another one than the model says."""


def served_name(model: str, encoder: object) -> str:
    """Return a model's name, with its deployment where that was given and has another name."""
    fields = getattr(type(encoder), "model_fields", {})
    for attribute in _DEPLOYMENTS:
        deployment = getattr(encoder, attribute, None)
        unset = getattr(fields.get(attribute), "default", None)
        if isinstance(deployment, str) and deployment not in ("", model, unset):
            return f"{model} ({deployment})"
    return model
