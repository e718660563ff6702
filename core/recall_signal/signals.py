"""The recall signal read back out of metadata, messages and responses.

What stands there may have been written by another release, have come back from a checkpoint, or
be somebody else's: fields that are not known are left alone, and nothing here raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from recall_signal.advice import Advice, advice
from recall_signal.confidence import LEVELS, Level, RecallConfidence, unknown
from recall_signal.reports import Reports

__all__ = [
    "KEY",
    "UNREAD",
    "advice_in",
    "confidence_in",
    "level_in",
    "part_of",
    "report_in",
    "strongest",
]

KEY = "recall"
"""Where a state, a tool's artifact and, by default, metadata hold the reports."""

UNREAD: RecallConfidence = unknown("no_signal", 0)
"""What stands for the signal where none can be read."""

Holder = TypeVar("Holder")


def report_in(value: Any) -> dict[str, Any] | None:
    """The report in a value, as ``{"confidence": {"level": ...}, ...}``, or None.

    Looked for under the key ``recall``, in the metadata under that key, and then in the value
    itself; of a list, the first item that has one counts. Only its level was checked.

    Args:
        value: A response, a confidence, an entry of metadata, the artifact of a tool, something
            with metadata, or a list of these; each also as the dict that a checkpoint makes of it.
    """
    try:
        items = value if isinstance(value, list | tuple) else (value,)
        return next(filter(None, map(_of_item, items)), None)
    except Exception:  # not one of ours, whatever it is
        return None


def confidence_in(value: Any) -> RecallConfidence | None:
    """The signal in a value of :func:`report_in`, None where there is none.

    A field that is not known is ignored; one that is missing, or is of a wrong type, is empty.
    """
    report = report_in(value)
    if report is None:
        return None
    given = report["confidence"]
    fields = {name: given[name] for name in RecallConfidence.model_fields if name in given}
    try:
        return RecallConfidence(**{**_EMPTY, **fields})
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False, include_input=False)
        wrong = {each["loc"][0] for each in errors}
        sound = {name: fields[name] for name in fields if name not in wrong}
        return RecallConfidence(**{**_EMPTY, **sound})


def level_in(value: Any) -> Level:
    """The level in a value of :func:`report_in`, ``unknown`` where there is none."""
    return (confidence_in(value) or UNREAD).level


def advice_in(value: Any) -> Advice:
    """What to do after the signal in a value of :func:`report_in`; ``undecided`` without one."""
    return advice(confidence_in(value) or UNREAD)


def strongest(values: Iterable[Holder]) -> Holder | None:
    """The value with the best level, measured ones first; None where there are no values.

    Args:
        values: Those of :func:`report_in`. Of equally good ones the first is given.
    """
    return min(values, key=lambda value: LEVELS.index(level_in(value)), default=None)


def part_of(value: Any, name: str) -> Any:
    """What a mapping has under a key, or anything else as an attribute; None without it.

    Raises:
        Exception: Whatever the value's own class raises.
    """
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


_EMPTY = {"result_count": 0, "rationale": ""}


def _of_item(item: Any) -> dict[str, Any] | None:
    holders = (part_of(item, KEY), part_of(part_of(item, "metadata"), KEY), item)
    return next(filter(None, map(_of_holder, holders)), None)


def _of_holder(holder: Any) -> dict[str, Any] | None:
    """The report that a value is, or whose confidence it is."""
    if isinstance(holder, Reports):
        return holder.to_dict()
    confidence = part_of(holder, "confidence")
    rest = {} if confidence is None or not isinstance(holder, Mapping) else holder
    fields = _fields(holder if confidence is None else confidence)
    level = fields.get("level")
    if not isinstance(level, str) or level not in LEVELS:
        return None
    fields["level"] = LEVELS[LEVELS.index(level)]  # a member of an enum is a text as well
    return {**rest, "confidence": fields}


def _fields(confidence: Any) -> dict[str, Any]:
    if isinstance(confidence, RecallConfidence):
        return {**vars(confidence)}
    # Other objects have levels of their own, such as the structured answer of a query engine.
    return dict(confidence) if isinstance(confidence, Mapping) else {}
