"""Plain JSON of anything that a document's metadata may hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from enum import Enum
from math import isfinite
from pathlib import PurePath
from typing import Any
from uuid import UUID

from recall_signal._text import encodable

__all__ = ["json_safe"]

MAX_DEPTH = 16
"""Levels of nested metadata that are kept; deeper values become None."""

MAX_VALUES = 10_000
"""Values of one document's metadata that are kept, containers included. A vector of 4,096 numbers
fits twice; a list that holds itself three times would have 3 to the 16th."""

TRUNCATED = "[cut: too many values]"
"""Marks the place of the values that were left out."""

LARGEST_INTEGER = 2**63
"""A checkpoint holds integers of 64 bits; larger ones become text."""


@dataclass(slots=True)
class _ValueBudget:
    """Values that one result of `json_safe` may still have; below 0 some were left out."""

    left: int = MAX_VALUES


def json_safe(value: object) -> Any:
    """Convert a value to plain JSON that any checkpoint can hold.

    Texts, finite numbers, booleans, None, lists and dicts stay as they are. Numbers of numpy,
    members of enums, dates, paths and the like become the JSON value they stand for, keys become
    texts, and anything without such a value becomes None. At most `MAX_VALUES` values are
    kept, followed by `TRUNCATED`.

    Args:
        value: Anything, such as the metadata of a document.
    """
    return _plain(value, 0, _ValueBudget())


def _plain(value: object, depth: int, budget: _ValueBudget) -> Any:
    budget.left -= 1
    if budget.left < 0:
        return TRUNCATED
    if value is None or isinstance(value, bool):
        return value
    for kind, convert in _SCALARS:
        if isinstance(value, kind):
            return convert(value)
    if depth >= MAX_DEPTH:
        return None
    try:
        return _nested(value, depth + 1, budget)
    except Exception:  # somebody's own class, whose content cannot be read
        return None


def _nested(value: Any, depth: int, budget: _ValueBudget) -> Any:
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


def _key(key: object, budget: _ValueBudget) -> str:
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
