"""Find a language model, or an arm, inside a retriever, by a bounded walk through its parts.

For a model also code is read, see `recall_signal._wrapper.code_parts`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import TypeAlias, TypeVar

import numpy as np

from recall_signal._wrapper.code_parts import parts_of_code
from recall_signal._wrapper.views import attributes_of

__all__ = ["find_instance", "holds_instance"]

log = logging.getLogger(__name__)

Instance = TypeVar("Instance")
IsData: TypeAlias = Callable[[type], bool]

_MOST, _DEEPEST = 10_000, 5
"""Objects entered, and attributes followed from the retriever on."""

_LONGEST = 64
"""Entries of a collection in which further collections may be anything but rows of data."""

_NUMBERS = (int, float, complex, np.ndarray, np.generic)
_DATA: tuple[type, ...] = (str, bytes, type(None), ModuleType, logging.Logger, *_NUMBERS)
_PLAIN: tuple[type, ...] = (type, *_DATA)
_ROWS: tuple[type, ...] = (Mapping, list, tuple, set, frozenset)
_MORE = object()


def holds_instance(root: object, kinds: tuple[type, ...], is_data: IsData) -> bool:
    """Return True where an object of these kinds can be reached, or code that names their class.

    The way leads through attributes, collections and what the user's code names. Where there is
    too much to look through, one is taken to be there.

    Args:
        root: A retriever.
        kinds: Base classes, such as a framework's language models.
        is_data: Returns whether a class is a framework's documents, which are not entered.
    """
    for item in _reachable(root, is_data, parts_of_code):
        if item is _MORE:
            log.warning(
                "a %s has too many parts to look through: it may hold a %s",
                type(root).__name__,
                kinds[0].__name__,
            )
            return True
        if _is_one(item, kinds):
            return True
    return False


def _is_one(item: object, kinds: tuple[type, ...]) -> bool:
    try:
        return isinstance(item, kinds) or (isinstance(item, type) and issubclass(item, kinds))
    except Exception:  # what stands for something that is not there, such as a web request
        return False


def find_instance(root: object, kind: type[Instance], is_data: IsData) -> Instance | None:
    """Return the first object of a kind that is held, the nearest first."""
    reached = _reachable(root, is_data, lambda _: [])
    return next((item for item in reached if isinstance(item, kind)), None)


def _reachable(
    root: object, is_data: IsData, code: Callable[[object], list[object]]
) -> Iterator[object]:
    """Yield an object and its parts, the nearest first; at last `_MORE` where there are others.

    Args:
        root: The object.
        is_data: As in `holds_instance`.
        code: Returns what an object's code leads to; a class only where that names it.
    """
    waiting: deque[tuple[object, int]] = deque([(root, 0)])
    entered: dict[int, object] = {}
    while waiting:
        item, depth = waiting.popleft()
        yield item
        if id(item) in entered or depth > _DEEPEST:
            continue
        try:
            parts, named = _parts(item, is_data), code(item)
        except Exception:  # as in `_is_one`
            parts, named = [], []
        parts += [part for part in named if not _is_skipped(_class_of(part), _DATA, is_data)]
        if not parts:
            continue
        if len(entered) == _MOST:
            yield _MORE
            return
        entered[id(item)] = item
        waiting.extend((part, depth + 1) for part in parts)


def _parts(item: object, is_data: IsData) -> list[object]:
    """Return what an object holds, without data: that of a corpus would hide everything else."""
    if isinstance(item, Mapping):
        values = [*item.values()]
    elif isinstance(item, list | tuple | set | frozenset):
        values = [*item]
    else:
        values = [*attributes_of(item).values()]
    skipped = _PLAIN + _ROWS if isinstance(item, _ROWS) and len(values) > _LONGEST else _PLAIN
    return [value for value in values if not _is_skipped(_class_of(value), skipped, is_data)]


def _class_of(value: object) -> type:
    return type(value)


@cache
def _is_skipped(part_class: type, skipped: tuple[type, ...], is_data: IsData) -> bool:
    return issubclass(part_class, skipped) or is_data(part_class)
