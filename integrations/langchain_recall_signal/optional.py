"""Names whose packages are not needed for anything else, loaded when they are first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from recall_signal import MissingDependencyError

__all__ = ["LAZY", "load"]

LAZY = {
    "CorrectiveState": ("graph", "langgraph"),
    "RecallMiddleware": ("middleware", "langchain"),
    "RecallState": ("middleware", "langchain"),
    "corrective_graph": ("graph", "langgraph"),
}
"""Name -> the module here that has it, and the package which that module needs."""


def load(name: str) -> Any:
    """The object of that name.

    Raises:
        MissingDependencyError: Its package is not installed, or too old.
    """
    module, package = LAZY[name]
    try:
        return getattr(import_module(f"langchain_recall_signal.{module}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("langchain", "langgraph"):
            raise
        raise MissingDependencyError(name, package=f"{package}>=1.0") from error
