"""Collect the responses of the retrievals inside a call, and pass options to them.

`retrieve` can return nodes only, and a query engine a response only. A caller that needs the
reports as well opens a list for the time of its call. The list belongs to that call's context:
concurrent tasks and threads have their own. The options of a call take the same way inwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar, Token
from typing import Any

from llama_index_recall_signal._response import RecallResponse
from recall_signal._wrapper.call_arguments import Accepted, check_arguments
from recall_signal._wrapper.call_options import CallOptions

__all__ = ["NO_OPTIONS", "call_options", "collect_responses", "parse_options", "publish"]

_open: ContextVar[list[RecallResponse] | None] = ContextVar("recall_signal_open", default=None)


NO_OPTIONS = CallOptions()

_options: ContextVar[CallOptions] = ContextVar("recall_signal_options", default=NO_OPTIONS)


class collect_responses:
    """Collect the responses that are published inside the block, and nowhere outside it."""

    __slots__ = ("_token",)

    def __enter__(self) -> list[RecallResponse]:
        responses: list[RecallResponse] = []
        self._token: Token[list[RecallResponse] | None] = _open.set(responses)
        return responses

    def __exit__(self, *_: object) -> None:
        _open.reset(self._token)


def publish(responses: Sequence[RecallResponse]) -> None:
    """Add responses to the list of the nearest caller that collects them."""
    collected = _open.get()
    if collected is not None:
        collected.extend(responses)


def parse_options(options: dict[str, Any]) -> CallOptions | None:
    """Return the options of a call; None where it has none, so that those around it hold.

    Raises:
        ConfigurationError: An option is wrong, or there is none of that name.
    """
    if not options:
        return None
    check_arguments(options.keys() - CallOptions.__dataclass_fields__.keys(), Accepted())
    return CallOptions(**options)


class call_options:
    """Set the options of the retrievals inside the block, and return those set around it.

    Args:
        options: None leaves those around.
    """

    __slots__ = ("_options", "_token")

    def __init__(self, options: CallOptions | None) -> None:
        self._options = options

    def __enter__(self) -> CallOptions:
        around, options = _options.get(), self._options
        self._token: Token[CallOptions] = _options.set(around if options is None else options)
        return around

    def __exit__(self, *_: object) -> None:
        _options.reset(self._token)
