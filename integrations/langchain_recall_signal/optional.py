"""Names whose packages are not needed for anything else, loaded when they are first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from recall_signal import MissingDependencyError

__all__ = ["LAZY", "MissingPackageError", "load"]

LAZY = {
    "CorrectiveState": ("graph", "langgraph"),
    "RecallMiddleware": ("middleware", "langchain"),
    "RecallState": ("middleware", "langchain"),
    "corrective_graph": ("graph", "langgraph"),
}
"""Name -> the module here that has it, and the package which that module needs."""


class MissingPackageError(MissingDependencyError):
    """A package that no extra brings is not installed, or too old.

    Args:
        what: The name that needs it.
        package: The package.
    """

    def __init__(self, what: str, package: str) -> None:
        self.extra, self.package = "langchain", package
        super(MissingDependencyError, self).__init__(  # its own message names an extra only
            f"{what} needs {package} 1.0 or newer. Install it with: pip install '{package}>=1.0'"
        )


def load(name: str) -> Any:
    """The object of that name.

    Raises:
        MissingPackageError: Its package is not installed.
    """
    module, package = LAZY[name]
    try:
        return getattr(import_module(f"langchain_recall_signal.{module}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("langchain", "langgraph"):
            raise
        raise MissingPackageError(name, package) from error
