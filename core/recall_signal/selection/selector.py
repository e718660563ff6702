"""Who can be asked: anything that answers a request with labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from recall_signal.selection.request import SelectionRequest

__all__ = ["Answer", "Selector", "SelectorError"]


class SelectorError(Exception):
    """A selector could not answer. Stays inside: the page comes back with ``llm_error``."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said.

    Attributes:
        content: ``{"keep": [labels]}``, as a mapping or as JSON text.
        model: The model's name, as it names itself.
    """

    content: str | Mapping[str, Any] | None
    model: str


@runtime_checkable
class Selector(Protocol):
    """Anything with these two methods can select.

    An exception becomes ``llm_error`` (a ``TimeoutError``: ``timeout``); the page survives it.
    """

    def select(self, request: SelectionRequest) -> Answer:
        """Ask synchronously."""
        ...

    async def aselect(self, request: SelectionRequest) -> Answer:
        """Ask asynchronously."""
        ...
