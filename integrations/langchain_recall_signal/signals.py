"""Finding the recall signal in whatever an agent's state holds it in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from recall_signal.signals import KEY, part_of, report_in, strongest

__all__ = ["find_report"]


def find_report(state: Any) -> dict[str, Any] | None:
    """The report that a state holds, None where there is none or it cannot be read.

    Looked for under the key ``recall``; without such a value in the artifacts of the tool
    messages that came last in this turn, and then in the metadata of ``documents``.

    Args:
        state: A mapping, an object with attributes, or a list of messages. Never raises.
    """
    try:
        recall = part_of(state, KEY)
        if recall is not None:
            return report_in(recall)
        messages = state if isinstance(state, list) else part_of(state, "messages")
        return _in_messages(messages) or report_in(part_of(state, "documents"))
    except Exception:  # a state of any shape has a declared branch
        return None


def _in_messages(messages: Any) -> dict[str, Any] | None:
    """The best report of the last step of this turn that searched."""
    found: list[dict[str, Any]] = []
    for kind, message in _backwards(messages):
        if kind in ("human", "user"):
            break
        if kind == "tool":
            report = report_in(part_of(message, "artifact"))
            found += [] if report is None else [report]
        elif found:
            break
    return strongest(found)


def _backwards(messages: Any) -> Iterator[tuple[Any, Any]]:
    """Type and body of each message, the last one first; of dicts as well."""
    for message in reversed(messages if isinstance(messages, Sequence) else ()):
        kind = part_of(message, "type") or part_of(message, "role")
        data = part_of(message, "data")  # as in ``messages_to_dict``
        yield kind, message if data is None else data
