"""The errors of recall-signal, one small tree.

    RecallSignalError
    |-- CalibrationError        a calibration cannot be made, read or used: the message says why
    |-- ConfigurationError      a setting is wrong: change the call that names it
    |-- InvalidInputError       scores, vectors or pools of a wrong type or shape
    |-- InvalidResultError      the wrapped retriever returned something that is not a page
    `-- MissingDependencyError  an optional package is absent: the message has the pip line

A message says what was given, what was expected and what to change. It never contains query
text, document text or secrets; of a value that may hold one, only the type is named.
"""

from __future__ import annotations

from functools import partial
from shlex import quote
from typing import Any

__all__ = [
    "CalibrationError",
    "ConfigurationError",
    "InvalidInputError",
    "InvalidResultError",
    "MissingDependencyError",
    "RecallSignalError",
]


class RecallSignalError(Exception):
    """Base of every error that recall-signal itself raises."""


class CalibrationError(RecallSignalError, ValueError):
    """A calibration cannot be fitted, loaded, or used with this encoder."""


class ConfigurationError(RecallSignalError, ValueError):
    """A setting is wrong. Raised where the setting is given, not at query time."""


class InvalidInputError(RecallSignalError, TypeError):
    """Data handed to a function of the core has the wrong type or shape."""


class InvalidResultError(RecallSignalError, TypeError):
    """The wrapped retriever did not return a list of the framework's own documents."""


class MissingDependencyError(RecallSignalError, ImportError):
    """An optional package is not installed, or too old.

    Args:
        what: The feature that needs it.
        extra: The extra of `recall-signal` that brings it.
        package: The package where no extra does, with its version: `"langgraph>=1.0"`.
    """

    def __init__(self, what: str, extra: str | None = None, *, package: str | None = None) -> None:
        self.what, self.extra, self.package = what, extra, package
        if package is None:
            needs, wanted = "packages that are not installed", f"recall-signal[{extra}]"
        else:
            needs, wanted = f"{package}, which is not installed", package
        it = "them" if package is None else "it"
        super().__init__(f"{what} needs {needs}. Install {it} with: pip install {quote(wanted)}")

    def __reduce__(self) -> tuple[Any, ...]:
        make = partial(type(self), package=self.package)
        return make, (self.what, self.extra), vars(self)
