"""What a retrieval tool gives to the program: plain JSON, also for an empty or failed retrieval."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from enum import Enum
from math import isfinite
from pathlib import PurePath
from typing import Any
from uuid import UUID

from recall_signal.agents.wording import (
    FAILED,
    FAILED_SELECTION,
    encodable,
    failure_header,
    tool_content,
    tool_header,
)
from recall_signal.errors import ConfigurationError
from recall_signal.reports import Reports, report_dict

__all__ = [
    "ToolItem",
    "check_tool_name",
    "json_safe",
    "tool_answer",
    "tool_artifact",
    "tool_failure",
]

ToolItem = tuple[str | None, str, Mapping[str, Any]]
"""Id, text and metadata of one result."""

DEEPEST = 16
"""Levels of nested metadata that are kept; what lies deeper becomes None."""

MOST_VALUES = 10_000
"""Values of one document's metadata that are kept, those that hold others included. A vector of
4,096 numbers fits twice; a list that holds itself three times would have 3 to the 16th."""

CUT = "[cut: too many values]"
"""Stands where the rest was left out."""

TOOL_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")
"""What function-calling APIs take."""

LARGEST_INTEGER = 2**63
"""A checkpoint holds integers of 64 bits; larger ones become text."""


@dataclass(slots=True)
class _Budget:
    """Values that one result of :func:`json_safe` may still have; below 0 something was cut."""

    left: int = MOST_VALUES


def check_tool_name(name: str) -> None:
    """Refuse a name that no model could be told.

    Raises:
        ConfigurationError: It is not one to 64 letters, digits, ``_`` or ``-``.
    """
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        raise ConfigurationError(
            "a tool's name must be 1 to 64 of the characters a-z, A-Z, 0-9, _ and -, which is "
            f"what function-calling APIs take; got {name!r}"
        )


def tool_answer(items: Iterable[ToolItem], reports: Reports) -> tuple[str, dict[str, Any]]:
    """Content for the model and artifact for the program, of a retrieval that went through.

    Args:
        items: The page, in order.
        reports: The response that both reports are taken from.
    """
    page = list(items)
    header = tool_header(reports.confidence, reports.selection, len(page))
    content = tool_content(header, (text for _, text, _ in page))
    return content, tool_artifact(page, reports.to_dict())


def tool_failure(error: BaseException) -> tuple[str, dict[str, Any]]:
    """The same, of a retrieval that raised. Of the error only the class is named."""
    name = type(error).__name__
    report = report_dict(FAILED, FAILED_SELECTION, None)
    return failure_header(name), tool_artifact([], report, error=name)


def tool_artifact(
    items: Iterable[ToolItem], report: Mapping[str, Any], error: str | None = None
) -> dict[str, Any]:
    """The artifact: ``{"v": 1, "documents": [...], "recall": {...}, "error": None}``.

    Args:
        items: The page, in order; each becomes ``{"id", "page_content", "metadata"}``.
        report: Both reports, as in :func:`recall_signal.reports.report_dict`.
        error: Class name of what the retriever raised.
    """
    documents = [
        {"id": id_, "page_content": encodable(text), "metadata": json_safe(metadata)}
        for id_, text, metadata in items
    ]
    return {"v": 1, "documents": documents, "recall": json_safe(report), "error": error}


def json_safe(value: Any) -> Any:
    """The value as plain JSON that any checkpoint can hold.

    Texts, finite numbers, booleans, None, lists and dicts stay what they are. Numbers of numpy,
    members of enums, dates, paths and the like become the JSON value they stand for, keys become
    texts, and whatever has no such value becomes None. At most :data:`MOST_VALUES` values are
    kept, and then :data:`CUT`.

    Args:
        value: Anything, such as the metadata of a document.
    """
    return _plain(value, 0, _Budget())


def _plain(value: Any, depth: int, budget: _Budget) -> Any:
    budget.left -= 1
    if budget.left < 0:
        return CUT
    if value is None or isinstance(value, bool):
        return value
    for kind, convert in _SCALARS:
        if isinstance(value, kind):
            return convert(value)
    if depth >= DEEPEST:
        return None
    try:
        return _nested(value, depth + 1, budget)
    except Exception:  # somebody's own class, whose content cannot be had
        return None


def _nested(value: Any, depth: int, budget: _Budget) -> Any:
    if isinstance(value, Enum):
        return _plain(value.value, depth, budget)
    if isinstance(value, Mapping):
        pairs: dict[str, Any] = {}
        for key, item in value.items():
            name = _key(key, budget)
            pairs[name] = _plain(item, depth, budget)
            if budget.left < 0:
                break
        return pairs
    if isinstance(value, list | tuple | set | frozenset):
        items: list[Any] = []
        for item in value:
            items.append(_plain(item, depth, budget))
            if budget.left < 0:
                break
        return items
    return _plain(value.tolist(), depth, budget)  # numpy's numbers and arrays


def _key(key: Any, budget: _Budget) -> str:
    plain = _plain(key, 0, budget)
    return plain if isinstance(plain, str) else str(plain)


def _integer(number: int) -> int | str:
    plain = int(number)
    return plain if -LARGEST_INTEGER <= plain < LARGEST_INTEGER else hex(plain)


_SCALARS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...] = (
    (str, encodable),
    (int, _integer),
    (float, lambda number: float(number) if isfinite(number) else None),
    ((date, time), lambda moment: moment.isoformat()),
    ((Decimal, PurePath, UUID), str),
)
