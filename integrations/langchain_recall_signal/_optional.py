"""Names whose packages are not needed for anything else, loaded when they are first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from recall_signal import MissingDependencyError

__all__ = ["LAZY", "load"]

LAZY = {
    "CorrectiveState": "_graph",
    "RecallMiddleware": "_middleware",
    "RecallState": "_middleware",
    "corrective_graph": "_graph",
}
"""Name -> the module here that has it."""

EXTRA = "langchain"
"""The extra that brings langchain and langgraph, each new enough."""


def load(name: str) -> Any:
    """Return the object of that name.

    Raises:
        MissingDependencyError: langchain or langgraph is not installed, or too old.
    """
    try:
        return getattr(import_module(f"langchain_recall_signal.{LAZY[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("langchain", "langgraph"):
            raise
        raise MissingDependencyError(name, EXTRA) from error
