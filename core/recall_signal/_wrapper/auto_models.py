"""Find a language model, or an arm, inside a retriever, by a bounded walk through its parts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import TypeVar

__all__ = ["find_instance", "holds_instance"]

Found = TypeVar("Found")

_MOST, _DEEPEST = 300, 5
"""Objects looked at, and attributes followed from the retriever on."""

_PLAIN = (str, bytes, int, float, complex, type(None), type)


def holds_instance(root: object, kinds: tuple[type, ...]) -> bool:
    """Return True where an object of these kinds can be reached through attributes and collections.

    Args:
        root: A retriever.
        kinds: Base classes of a framework's language models.
    """
    return find_instance(root, kinds) is not None


def find_instance(root: object, kinds: type[Found] | tuple[type[Found], ...]) -> Found | None:
    """Return the first object of these kinds that is reached, the nearest first."""
    waiting: deque[tuple[object, int]] = deque([(root, 0)])
    seen: set[int] = set()
    while waiting and len(seen) < _MOST:
        item, depth = waiting.popleft()
        if isinstance(item, kinds):
            return item
        if id(item) in seen or isinstance(item, _PLAIN) or depth > _DEEPEST:
            continue
        seen.add(id(item))
        waiting.extend((part, depth + 1) for part in _parts(item))
    return None


def _parts(item: object) -> Iterable[object]:
    if isinstance(item, Mapping):
        return list(item.values())
    if isinstance(item, list | tuple | set | frozenset):
        return list(item)
    own = getattr(item, "__dict__", None)
    private = getattr(item, "__pydantic_private__", None)
    return [
        *(own.values() if isinstance(own, dict) else ()),
        *(private.values() if isinstance(private, dict) else ()),
    ]
