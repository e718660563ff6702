"""Requests for what may take long: computations over much data, and calls of a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from recall_signal._steps.driver import Steps

__all__ = ["CallStore", "Compute", "computed", "computed_if"]

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Compute:
    """Request to compute something: in a thread where an event loop would be held meanwhile."""

    name: ClassVar = "compute"

    call: Callable[[], object]


@dataclass(frozen=True, slots=True)
class CallStore:
    """Request to call a function that may wait for the store; the answer is its result."""

    name: ClassVar = "call_store"

    call: Callable[[], object]


def computed(call: Callable[[], Value]) -> Steps[Compute, Value]:
    """Have something computed."""
    value: Value = yield Compute(call)
    return value


def computed_if(call: Callable[[], Value], *, is_large: bool) -> Steps[Compute, Value]:
    """Have something computed where it takes long; a small thing pays no thread."""
    return (yield from computed(call)) if is_large else call()
