"""Fallback tools that an agent is offered only after a weak recall, whatever its framework."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, get_args

from recall_signal.advice import advice
from recall_signal.agents.wording import FAILED_SELECTION
from recall_signal.confidence import RecallConfidence
from recall_signal.errors import ConfigurationError
from recall_signal.reports import report_dict
from recall_signal.signals import UNREAD

__all__ = ["OnUnknown", "check_settings", "refusal", "room", "unread_report"]

OnUnknown = Literal["hide", "offer"]

REFUSED = (
    "{name} is not available now: it is offered after a search of the stored results that found "
    "likely nothing relevant, at most {limit} times a turn."
)


def check_settings(
    retriever_tools: Iterable[str],
    fallback_tools: Iterable[str],
    on_unknown: str,
    max_fallbacks: int,
) -> tuple[frozenset[str], frozenset[str]]:
    """Refuse settings that cannot be meant; both lists of names as sets.

    Args:
        retriever_tools: Names of tools that give a signal.
        fallback_tools: Names of tools to offer when nothing relevant was found.
        on_unknown: Whether an ``unknown`` level offers them as well.
        max_fallbacks: Most calls of fallback tools in one turn, at least 1.

    Raises:
        ConfigurationError: One is wrong, or a tool is named as both.
    """
    searching = _names("retriever_tools", retriever_tools)
    falling_back = _names("fallback_tools", fallback_tools)
    if both := searching & falling_back:
        raise ConfigurationError(
            f"a tool is either a retriever or a fallback, got {sorted(both)} as both"
        )
    if on_unknown not in get_args(OnUnknown):
        raise ConfigurationError(f"on_unknown must be 'hide' or 'offer', got {on_unknown!r}")
    if type(max_fallbacks) is not int or max_fallbacks < 1:
        raise ConfigurationError(f"max_fallbacks must be 1 or more, got {max_fallbacks!r}")
    return searching, falling_back


def room(
    confidence: RecallConfidence | None, used: int, *, on_unknown: OnUnknown, max_fallbacks: int
) -> int:
    """Calls of fallback tools that are allowed now, 0 or less for none.

    Args:
        confidence: The signal of this turn's last search, None before the first one.
        used: Such calls in this turn so far.
        on_unknown: As in :func:`check_settings`, like the next one.
        max_fallbacks: Most of them in one turn.
    """
    if confidence is None:
        return 0
    todo = advice(confidence)
    is_open = todo == "fallback" or (todo == "undecided" and on_unknown == "offer")
    return max_fallbacks - used if is_open else 0


def refusal(name: str, max_fallbacks: int) -> str:
    """The answer to a call of a tool that is not offered, for the model."""
    return REFUSED.format(name=name, limit=max_fallbacks)


def unread_report() -> dict[str, Any]:
    """Both reports where a retriever tool gave nothing that a signal can be read of."""
    return report_dict(UNREAD, FAILED_SELECTION, None)


def _names(what: str, given: Iterable[str]) -> frozenset[str]:
    names = [] if isinstance(given, str) else list(given)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ConfigurationError(f"{what} must be a list of tool names, and not an empty one")
    return frozenset(names)
