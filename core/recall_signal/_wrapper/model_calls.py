"""Calls of a wrapper's models, selector or reranker; `_steps/timeouts.py` enforces their time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Generic, NoReturn, TypeVar

from recall_signal._steps.blocking import HOLDS, Watched
from recall_signal._steps.timeouts import CallLimits
from recall_signal.errors import ConfigurationError

__all__ = ["Model", "missing_model"]

log = logging.getLogger(__name__)

Given = TypeVar("Given")
Answered = TypeVar("Answered")
Context = TypeVar("Context")


@dataclass(slots=True, eq=False)
class Model(Generic[Given, Context, Answered]):
    """Model behind one interface, whatever its framework.

    Attributes:
        call: Takes a request and the framework's context (its callbacks) and returns the answer.
        acall: The same with async code of its own; None where it has none, and runs in a thread.
        alone: True where the code of `acall` shows that it blocks (see `holds_loop`): it then runs
            in a thread, on an event loop of its own.
        has_blocked: Whether `acall` was seen to hold the event loop; from then on `call` runs in a
            thread instead.
    """

    call: Callable[[Given, Context], Answered]
    acall: Callable[[Given, Context], Coroutine[object, object, Answered]] | None = None
    alone: bool = False
    has_blocked: bool = False

    def within(
        self, limits: CallLimits, timeout: float | None, given: Given, context: Context
    ) -> Answered:
        """Return the answer, or raise `TimeoutError` after `timeout` seconds."""
        return limits.call_within(timeout, lambda: self.call(given, context))

    async def within_async(
        self, limits: CallLimits, timeout: float | None, given: Given, context: Context
    ) -> Answered:
        """`within`, asynchronously; no model holds the event loop past its time twice."""
        acall = self.acall
        if acall is None or self.has_blocked:
            return await limits.thread_within(timeout, partial(self.call, given, context))
        if self.alone:
            on_its_own = partial(_run_alone, acall, given, context)
            return await limits.thread_within(timeout, on_its_own)
        watched = Watched(partial(acall, given, context))
        try:
            answered: Answered = await limits.await_within(timeout, watched.run())
        finally:
            if watched.longest > min(HOLDS, inf if timeout is None else timeout):
                self.has_blocked = True
                log.warning(
                    "an asynchronous model held the event loop for %.1f s; its synchronous code "
                    "runs in a thread from now on",
                    watched.longest,
                )
        return answered


def _run_alone(
    acall: Callable[[Given, Context], Coroutine[object, object, Answered]],
    given: Given,
    context: Context,
) -> Answered:
    return asyncio.run(acall(given, context))


def missing_model(name: str) -> Model[Given, Context, Answered]:
    """Stand in for a model that a wrapper does not have and its flow never asks."""

    def call(_given: object, _context: object) -> NoReturn:
        raise ConfigurationError(f"this wrapper has no {name}; pass {name}=")

    return Model(call)
