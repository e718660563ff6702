"""Fallback tools that an agent may call only after a weak recall, whatever its framework."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from recall_signal._given import given_names, kind_of
from recall_signal.advice import advice_on_page
from recall_signal.agents._json import json_safe
from recall_signal.agents._tool import FAILED, FAILED_SELECTION
from recall_signal.confidence import RecallConfidence
from recall_signal.errors import ConfigurationError
from recall_signal.report_parsing import KEY, NO_SIGNAL, advice_in, report_in
from recall_signal.reports import report_dict

__all__ = [
    "FallbackPolicy",
    "OnUnknown",
    "fallback_policy",
    "found_report",
    "require_metadata_key",
    "tool_report",
]

OnUnknown = Literal["hide", "offer"]

REFUSED = (
    "{name} is not available now: it is offered after a search of the stored results that likely "
    "found nothing relevant, or could not be measured, at most {limit} times a turn."
)


@dataclass(frozen=True, slots=True)
class FallbackPolicy:
    """Rule for offering fallback tools.

    Attributes:
        retriever_tools: Names of tools that give a signal.
        fallback_tools: Names of tools to offer when nothing relevant was found.
        on_unknown: `"offer"` offers them after an `unknown` level as well, `"hide"` does not.
        max_fallbacks: Most calls of fallback tools in one turn, at least 1.
        metadata_key: Where the results of a retriever tool carry their reports.
    """

    retriever_tools: frozenset[str]
    fallback_tools: frozenset[str]
    on_unknown: OnUnknown
    max_fallbacks: int
    metadata_key: str

    def require(self, given: Iterable[str], remedy: str) -> None:
        """Refuse an agent that lacks one of the named tools.

        Args:
            given: Names of the agent's tools.
            remedy: End of the message: what to change.

        Raises:
            ConfigurationError: A tool is missing.
        """
        names = set(given)
        if missing := (self.retriever_tools | self.fallback_tools) - names:
            raise ConfigurationError(
                f"the agent does not have the tools {sorted(missing)}, it has {sorted(names)}. "
                f"{remedy}"
            )

    def remaining_calls(self, report: Mapping[str, Any] | None, used: int) -> int:
        """Return the calls of fallback tools that are allowed now, 0 or less for none.

        Args:
            report: The reports of this turn's last search, None before the first one.
            used: Such calls in this turn so far.
        """
        if report is None:
            return 0
        todo = advice_in(report)
        is_open = todo == "fallback" or (todo == "undecided" and self.on_unknown == "offer")
        return self.max_fallbacks - used if is_open else 0

    def refusal(self, name: str) -> str:
        """Return the answer to a call of a tool that is not offered, for the model."""
        return REFUSED.format(name=name, limit=self.max_fallbacks)


def fallback_policy(
    retriever_tools: Iterable[str],
    fallback_tools: Iterable[str],
    on_unknown: OnUnknown,
    max_fallbacks: int,
    metadata_key: str = KEY,
) -> FallbackPolicy:
    """Make a policy from an agent's settings.

    Raises:
        ConfigurationError: A setting is wrong, or a tool is named as both.
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
    require_metadata_key(metadata_key)
    return FallbackPolicy(searching, falling_back, on_unknown, max_fallbacks, metadata_key)


def require_metadata_key(key: object) -> None:
    """Refuse a metadata key that no wrapper can have.

    Raises:
        ConfigurationError: It is empty, or no text.
    """
    if not isinstance(key, str) or not key:
        raise ConfigurationError(
            "metadata_key must be the key of the RecallRetriever inside the tools, got "
            f"{kind_of(key)}"
        )


def tool_report(results: Iterable[object], failed: bool, key: str = KEY) -> dict[str, Any]:
    """Return the reports that the results of a retriever tool carry, as plain JSON.

    Args:
        results: Artifacts or outputs, in any shape that `report_in` reads; the first report counts.
        failed: True where the tool ended with an error, so that there is nothing to read.
        key: The metadata key of the wrapper inside the tool.
    """
    given = list(results)
    found = next(filter(None, (_report_in(result, key) for result in given)), None)
    if found is None:
        is_empty = failed or any(map(_is_empty_page, given))
        found = _unreported(FAILED if failed else NO_SIGNAL, shown=0 if is_empty else 1)
    plain: dict[str, Any] = json_safe(found)
    return plain


def found_report(result: object, key: str = KEY) -> dict[str, Any] | None:
    """Return the reports that a result or a page carries; None where it carries none.

    An empty page has nothing to carry them: its advice is `fallback`.

    Args:
        result: As in `tool_report`.
        key: The metadata key of the wrapper.
    """
    found = _report_in(result, key)
    return _unreported(NO_SIGNAL, shown=0) if found is None and _is_empty_page(result) else found


def _is_empty_page(result: object) -> bool:
    return isinstance(result, list) and not result


def _unreported(confidence: RecallConfidence, shown: int) -> dict[str, Any]:
    """Return the reports of a page that carries none."""
    todo = advice_on_page(confidence, FAILED_SELECTION, shown)
    return report_dict(confidence, FAILED_SELECTION, None, advice=todo)


def _report_in(result: object, key: str) -> dict[str, Any] | None:
    """Read a page under its wrapper's key alone; the artifact of our own tools has `recall`."""
    found = report_in(result, key)
    return report_in(result) if found is None and not isinstance(result, list) else found


def _names(field: str, given: Iterable[str]) -> frozenset[str]:
    remedy = "pass each tool's .name"
    names = given_names(field, given, "tool names", remedy)
    if not names:
        raise ConfigurationError(
            f"{field} must be a list of tool names, got an empty one; {remedy}"
        )
    return frozenset(names)
