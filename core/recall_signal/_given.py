"""Paths and lists of names as settings give them: refused where they are something else."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from recall_signal.errors import ConfigurationError

__all__ = ["given_column", "given_names", "given_path", "kind_of"]


def given_path(setting: str, given: object) -> Path:
    """Return a setting as a path.

    Raises:
        ConfigurationError: It is no path, or an empty text, which would be the current folder.
    """
    if isinstance(given, str | PathLike) and given != "":
        return Path(given)
    raise ConfigurationError(
        f"{setting} must be a path, got {kind_of(given)}; pass a text or a pathlib.Path, '.' for "
        "the current folder"
    )


def given_names(setting: str, given: object, what: str, remedy: str = "pass [name]") -> list[str]:
    """Return a setting as a list of names.

    Args:
        setting: Its name.
        given: Its value; a text is none, since it would be read letter by letter.
        what: What the names are of, in the plural.
        remedy: End of the message, for what is no text: what to pass.

    Raises:
        ConfigurationError: It is no list, or not everything in it is a text that is not empty.
    """
    if isinstance(given, str):
        kind, remedy = "a text", "pass [name]"
    elif not isinstance(given, Iterable):
        kind = kind_of(given)
    else:
        names = list(given)
        wrong = sorted({kind_of(name) for name in names if not isinstance(name, str) or not name})
        if not wrong:
            return names
        kind = f"one with {', '.join(wrong)}"
    raise ConfigurationError(f"{setting} must be a list of {what}, got {kind}; {remedy}")


def given_column(setting: str, given: object) -> str:
    """Return a setting as the name of a column.

    Raises:
        ConfigurationError: It is no text, or an empty one.
    """
    if isinstance(given, str) and given:
        return given
    raise ConfigurationError(f"{setting} must be the name of a column, got {kind_of(given)}")


def kind_of(given: object) -> str:
    """Return what a value is, for a message; never the value, which may be a secret."""
    if isinstance(given, type):
        return "a class"
    return "an empty text" if isinstance(given, str) and not given else type(given).__name__
