"""Collect the responses of the retrievals inside a call, and pass options to them.

`retrieve` can return nodes only, and a query engine a response only. A caller that needs the
reports as well opens a list for the time of its call. The list belongs to that call's context:
concurrent tasks and threads have their own. The options of a call take the same way inwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any

from llama_index_recall_signal._response import RecallResponse
from recall_signal._wrapper.call_arguments import Accepted, check_arguments
from recall_signal._wrapper.call_options import CallOptions

__all__ = [
    "NO_OPTIONS",
    "Options",
    "call_options",
    "collect_responses",
    "is_collecting",
    "parse_options",
    "publish",
]

_open: ContextVar[list[RecallResponse] | None] = ContextVar("recall_signal_open", default=None)


@dataclass(frozen=True, slots=True)
class Options(CallOptions):
    """The options of a call, and what it has for the wrapped retriever beside them.

    Attributes:
        arguments: By the names in the signature of that retriever's own method.
    """

    arguments: Mapping[str, object] = field(default_factory=dict)


NO_OPTIONS = Options()

_NAMES = CallOptions.__dataclass_fields__.keys()

_options: ContextVar[Options] = ContextVar("recall_signal_options", default=NO_OPTIONS)


class collect_responses:
    """Collect the responses that are published inside the block, and nowhere outside it."""

    __slots__ = ("_token",)

    def __enter__(self) -> list[RecallResponse]:
        responses: list[RecallResponse] = []
        self._token: Token[list[RecallResponse] | None] = _open.set(responses)
        return responses

    def __exit__(self, *_: object) -> None:
        _open.reset(self._token)


def is_collecting() -> bool:
    """Return whether a caller collects the responses of what runs now."""
    return _open.get() is not None


def publish(responses: Sequence[RecallResponse]) -> None:
    """Add responses to the list of the nearest caller that collects them."""
    collected = _open.get()
    if collected is not None:
        collected.extend(responses)


def parse_options(
    options: dict[str, Any], search: Callable[..., object] | None = None
) -> Options | None:
    """Return the options of a call; None where it has none, so that those around it hold.

    Args:
        options: What was given beside the question.
        search: The method that takes what is none of ours; None where nothing does.

    Raises:
        ConfigurationError: An option is wrong, or there is none of that name.
    """
    if not options:
        return None
    arguments = {name: value for name, value in options.items() if name not in _NAMES}
    if arguments:
        check_arguments(arguments.keys(), Accepted() if search is None else _accepted(search))
    own = {name: value for name, value in options.items() if name in _NAMES}
    return Options(**own, arguments=arguments)


def _accepted(search: Callable[..., object]) -> Accepted:
    """Return what a bound method takes by name beside the question, its first parameter."""
    parameters = [*signature(search).parameters.values()]
    named = [one.name for one in parameters[1:] if one.kind in _BY_NAME]
    is_open = any(one.kind is Parameter.VAR_KEYWORD for one in parameters)
    return Accepted(frozenset(named), is_open)


_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


class call_options:
    """Set the options of the retrievals inside the block, and return those set around it.

    Args:
        options: None leaves those around.
    """

    __slots__ = ("_options", "_token")

    def __init__(self, options: Options | None) -> None:
        self._options = options

    def __enter__(self) -> Options:
        around, options = _options.get(), self._options
        self._token: Token[Options] = _options.set(around if options is None else options)
        return around

    def __exit__(self, *_: object) -> None:
        _options.reset(self._token)
