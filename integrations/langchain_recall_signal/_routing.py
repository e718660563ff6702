"""`route_on_recall`: a conditional edge of LangGraph that follows the recall signal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from recall_signal import ConfigurationError
from recall_signal.agents._fallbacks import found_report, require_metadata_key
from recall_signal.report_parsing import KEY, advice_in, get_field, report_in, strongest

__all__ = ["RecallRoute", "find_report", "route_on_recall"]


@dataclass(frozen=True, slots=True)
class RecallRoute:
    """Function from a state to the name of the next node (see `route_on_recall`)."""

    relevant: str
    absent: str
    unknown: str
    metadata_key: str = KEY

    def __post_init__(self) -> None:
        require_metadata_key(self.metadata_key)
        for field in ("relevant", "absent", "unknown"):
            name = getattr(self, field)
            if not isinstance(name, str) or not name:
                raise ConfigurationError(
                    f"route_on_recall: {field} must be the name of a node, got "
                    f"{'an empty text' if name == '' else type(name).__name__}"
                )

    def __call__(self, state: object) -> str:
        """Return the name of the next node; never raises."""
        todo = advice_in(find_report(state, self.metadata_key))
        return {"read": self.relevant, "fallback": self.absent, "undecided": self.unknown}[todo]

    @property
    def path_map(self) -> dict[Any, str]:
        """The three names, for `add_conditional_edges`: with it LangGraph draws the branches."""
        return {name: name for name in (self.relevant, self.absent, self.unknown)}


def route_on_recall(
    *, relevant: str, absent: str, unknown: str, metadata_key: str = KEY
) -> RecallRoute:
    """Make a conditional edge: `graph.add_conditional_edges(node, route, route.path_map)`.

    The signal is looked for under the state's key `recall` (a response, a confidence, or the
    dict of either), then in the artifacts of the last tool messages of this turn, then in the
    metadata of `documents`. Where several tools searched in one step, the best measured level
    counts. An empty list in the place of documents, as an artifact or under `documents`, is an
    empty page: absent. A state may be a dict, an object, or a list of messages.

    Args:
        relevant: Where to go after `high` and `moderate`.
        absent: Where to go after `low`, `none` and an empty page.
        unknown: Where to go after `unknown`, and where there is no signal that can be read.
        metadata_key: That of the `RecallRetriever` whose documents the state holds.

    Raises:
        ConfigurationError: A name is not a text, or empty.
    """
    return RecallRoute(relevant, absent, unknown, metadata_key)


def find_report(state: object, key: str = KEY) -> dict[str, Any] | None:
    """Find the report that a state holds, None where there is none or it cannot be read.

    Searches the key `recall`, then the artifacts of the last tool messages of this turn, then
    the metadata of `documents`. Never raises.

    Args:
        state: A mapping, an object with attributes, or a list of messages.
        key: The metadata key of the wrapper.
    """
    try:
        recall = get_field(state, KEY)
        if recall is not None:
            return report_in(recall)
        messages = state if isinstance(state, list) else get_field(state, "messages")
        return _in_messages(messages, key) or found_report(get_field(state, "documents"), key)
    except Exception:  # a state of any shape takes the branch for unknown
        return None


def _in_messages(messages: object, key: str) -> dict[str, Any] | None:
    """Return the best report of the last step of this turn that searched.

    Tools that are no retriever may have an empty list as well: it is a page where the tool has
    given a report in this turn, or no tool has.
    """
    given: list[tuple[int, Any, dict[str, Any]]] = []
    reporting = set()
    for step, message in _tool_messages(messages):
        name, artifact = get_field(message, "name"), get_field(message, "artifact")
        report = found_report(artifact, key)
        if report is not None:
            given.append((step, name, report))
            reporting |= {name} if artifact != [] else set()
    given = [one for one in given if not reporting or one[1] in reporting]
    return strongest(report for step, _, report in given if step == given[0][0])


def _tool_messages(messages: object) -> Iterator[tuple[int, Any]]:
    """Yield the tool messages of this turn with the number of their step, the last one first."""
    step = 0
    for kind, message in _backwards(messages):
        if kind in ("human", "user"):
            return
        if kind == "tool":
            yield step, message
        else:
            step += 1


def _backwards(messages: object) -> Iterator[tuple[Any, Any]]:
    """Yield type and body of each message, the last one first; of dicts as well."""
    for message in reversed(messages if isinstance(messages, Sequence) else ()):
        kind = get_field(message, "type") or get_field(message, "role")
        data = get_field(message, "data")  # as in `messages_to_dict`
        yield kind, message if data is None else data
