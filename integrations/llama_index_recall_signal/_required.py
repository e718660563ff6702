"""The framework that this package needs, looked for before anything else is imported."""

from __future__ import annotations

from importlib import import_module

from recall_signal.errors import MissingDependencyError

__all__ = ["FRAMEWORK"]

FRAMEWORK = ("llama_index", "llama_index.core")
"""The modules whose absence means that LlamaIndex is not installed."""

try:
    import_module(FRAMEWORK[-1])
except ModuleNotFoundError as error:
    if error.name not in FRAMEWORK:
        raise
    raise MissingDependencyError("llama_index_recall_signal", "llama-index") from error
