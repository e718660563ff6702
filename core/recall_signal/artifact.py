"""What a retrieval tool gives to the program: plain JSON, also for an empty or failed retrieval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date, time
from decimal import Decimal
from enum import Enum
from math import isfinite
from pathlib import PurePath
from typing import Any
from uuid import UUID

from recall_signal.reports import Reports, report_dict
from recall_signal.wording import (
    FAILED,
    FAILED_SELECTION,
    encodable,
    failure_header,
    tool_content,
    tool_header,
)

__all__ = ["ToolItem", "json_safe", "tool_answer", "tool_artifact", "tool_failure"]

ToolItem = tuple[str | None, str, Mapping[str, Any]]
"""Id, text and metadata of one result."""

DEEPEST = 16
"""Levels of nested metadata that are kept; what lies deeper becomes None."""

LARGEST_INTEGER = 2**63
"""A checkpoint holds integers of 64 bits; larger ones become text."""


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


def json_safe(value: Any, depth: int = 0) -> Any:
    """The value as plain JSON that any checkpoint can hold.

    Texts, finite numbers, booleans, None, lists and dicts stay what they are. Numbers of numpy,
    members of enums, dates, paths and the like become the JSON value they stand for, keys become
    texts, and whatever has no such value becomes None.

    Args:
        value: Anything, such as the metadata of a document.
        depth: Levels above it.
    """
    if value is None or isinstance(value, bool):
        return value
    for kind, convert in _SCALARS:
        if isinstance(value, kind):
            return convert(value)
    if depth >= DEEPEST:
        return None
    try:
        return _nested(value, depth + 1)
    except Exception:  # somebody's own class, whose content cannot be had
        return None


def _nested(value: Any, depth: int) -> Any:
    if isinstance(value, Enum):
        return json_safe(value.value, depth)
    if isinstance(value, Mapping):
        return {_key(key): json_safe(item, depth) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [json_safe(item, depth) for item in value]
    return json_safe(value.tolist(), depth)  # numpy's numbers and arrays


def _key(key: Any) -> str:
    plain = json_safe(key)
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
