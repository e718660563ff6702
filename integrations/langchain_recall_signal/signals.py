"""Finding the recall signal in whatever an agent's state holds it in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel

from recall_signal import Advice, RecallConfidence, advice
from recall_signal.confidence import LEVELS, Level, Match
from recall_signal.reports import Reports

__all__ = ["advice_of", "better", "confidence_of", "find_report", "level_of", "report_in"]

KEY = "recall"


def advice_of(report: Mapping[str, Any] | None) -> Advice:
    """What to do after this report; without one, nothing is known."""
    return advice(confidence_of(report))


def confidence_of(report: Mapping[str, Any] | None) -> RecallConfidence:
    """The level and the match of a report, of which there may be nothing else, as a signal."""
    match = None if report is None else report["confidence"].get("match")
    known = match if isinstance(match, str) and match in get_args(Match) else None
    return RecallConfidence(level=level_of(report), result_count=0, rationale="", match=known)


def level_of(report: Mapping[str, Any] | None) -> Level:
    """The level of a report from this module; ``unknown`` without one."""
    if report is None:
        return "unknown"
    level: Level = report["confidence"]["level"]
    return level


def better(one: dict[str, Any] | None, other: dict[str, Any]) -> dict[str, Any]:
    """The report with the better level, measured ones first; the first of two equal ones."""
    if one is None:
        return other
    return min(one, other, key=lambda report: LEVELS.index(level_of(report)))


def find_report(state: Any) -> dict[str, Any] | None:
    """The report that a state holds, None where there is none or it cannot be read.

    Looked for under the key ``recall``; without such a value in the artifacts of the tool
    messages that came last in this turn, and then in the metadata of ``documents``.

    Args:
        state: A mapping, an object with attributes, or a list of messages. Never raises.
    """
    try:
        recall = _get(state, KEY)
        if recall is not None:
            return report_in(recall)
        messages = state if isinstance(state, list) else _get(state, "messages")
        return _in_messages(messages) or report_in(_get(state, "documents"))
    except Exception:  # a state of any shape has a declared branch
        return None


def report_in(value: Any) -> dict[str, Any] | None:
    """The report in a value, as ``{"confidence": {"level": ...}, ...}``, or None.

    Args:
        value: A response, a confidence, an entry of metadata, the artifact of a tool, a
            document or a list of documents; each also as the dict that a checkpoint makes of it.
            Never raises.
    """
    try:
        return _read(value)
    except Exception:  # not one of ours, whatever it is
        return None


def _read(value: Any) -> dict[str, Any] | None:
    if isinstance(value, Reports):
        return value.to_dict()
    if isinstance(value, list | tuple):
        return next(filter(None, map(_read, value)), None)
    confidence = _get(value, "confidence")
    if confidence is not None:
        fields = _fields(confidence)
        rest = value if isinstance(value, Mapping) else {}
        return {**rest, "confidence": fields} if fields.get("level") in LEVELS else None
    if _get(value, "level") is not None:
        return _read({"confidence": value})
    inner = _get(value, KEY)
    if inner is None:
        inner = _get(_get(value, "metadata"), KEY)
    return None if inner is None else _read(inner)


def _in_messages(messages: Any) -> dict[str, Any] | None:
    """The best report of the last step of this turn that searched."""
    best: dict[str, Any] | None = None
    for kind, message in _backwards(messages):
        if kind in ("human", "user"):
            break
        if kind == "tool":
            report = report_in(_get(message, "artifact"))
            best = better(best, report) if report else best
        elif best is not None:
            break
    return best


def _backwards(messages: Any) -> Iterator[tuple[Any, Any]]:
    """Type and body of each message, the last one first; of dicts as well."""
    for message in reversed(messages if isinstance(messages, Sequence) else ()):
        kind = _get(message, "type") or _get(message, "role")
        data = _get(message, "data")  # as in ``messages_to_dict``
        yield kind, message if data is None else data


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _fields(confidence: Any) -> dict[str, Any]:
    if isinstance(confidence, BaseModel):
        return confidence.model_dump(mode="json")
    return dict(confidence) if isinstance(confidence, Mapping) else dict(vars(confidence))
