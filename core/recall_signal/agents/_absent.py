"""Answers where likely nothing relevant was found: the model's, a refusal, or somebody else's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable, iscoroutine, iscoroutinefunction
from typing import Any, Literal, TypeAlias

from recall_signal._steps.failures import contained_in_thread
from recall_signal.errors import ConfigurationError, InvalidResultError

__all__ = ["REFUSAL", "Elsewhere", "OnAbsent", "answer_elsewhere"]

OnAbsent: TypeAlias = Literal["answer", "refuse"] | Callable[[str, Any], str | Awaitable[str]]
"""`"answer"`, `"refuse"`, or a function from question and response to an answer."""

REFUSAL = "Not answered: likely nothing relevant is stored. Prefer an external source."


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The answer that takes the place of the model's.

    Attributes:
        function: From question and response to the answer, or to an awaitable of it.
    """

    function: Callable[[str, Any], Any]

    def call(self, question: str, response: object) -> object:
        """Return the answer.

        Raises:
            ConfigurationError: The function is asynchronous.
            InvalidResultError: It ended as an iterator does, without an answer.
        """
        answer = self._ask(question, response)
        if isawaitable(answer):
            if iscoroutine(answer):
                answer.close()
            raise ConfigurationError(
                "on_absent is asynchronous and the call is not: use the asynchronous call, or a "
                "function that returns the answer"
            )
        return answer

    async def acall(self, question: str, response: object) -> object:
        """Return the answer; a function that is not asynchronous runs in a thread."""
        if iscoroutinefunction(self.function):
            return await self.function(question, response)
        answer = await asyncio.to_thread(contained_in_thread, self._ask, question, response)
        return await answer if isawaitable(answer) else answer

    def _ask(self, question: str, response: object) -> Any:
        """Call the function; no stream passes a `StopIteration` on, nor does a thread."""
        try:
            return self.function(question, response)
        except StopIteration as error:
            raise InvalidResultError(
                "on_absent raised StopIteration and gave no answer: return a text (of an "
                "iterator, next(texts, default))"
            ) from error


def _refused(refusal: str, _question: str, _response: object) -> str:
    """Answer with a refusal; of a module, so that an engine can be pickled."""
    return refusal


def answer_elsewhere(on_absent: OnAbsent, refusal: str) -> Elsewhere | None:
    """Return what answers after a `fallback` advice; None where the model does.

    Args:
        on_absent: The setting.
        refusal: Text of a refusal.

    Raises:
        ConfigurationError: One of them is wrong.
    """
    if not isinstance(refusal, str) or not refusal.strip():
        given = "an empty text" if isinstance(refusal, str) else type(refusal).__name__
        raise ConfigurationError(f"refusal must be a text, got {given}")
    if on_absent == "answer":
        return None
    if on_absent == "refuse":
        return Elsewhere(partial(_refused, refusal))
    if callable(on_absent) and not isinstance(on_absent, type):
        return Elsewhere(on_absent)
    given = repr(on_absent) if isinstance(on_absent, str) else type(on_absent).__name__
    raise ConfigurationError(
        "on_absent must be 'answer', 'refuse', or a function from question and response to an "
        f"answer, got {given}; of a chain, pass: lambda question, response: chain.invoke(question)"
    )
