"""What a wrapped retriever returns, of either framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from recall_signal.errors import InvalidResultError

__all__ = ["checked_items", "id_in"]

Found = TypeVar("Found")

_SEQUENCES = (list, tuple)  # a union would be made at every call


def checked_items(returned: Any, item_class: type[Found]) -> list[Found]:
    """What a wrapped retriever returned, once it is sure that it is a page.

    Raises:
        InvalidResultError: It is something other than a list of the framework's own items.
    """
    if isinstance(returned, _SEQUENCES):
        if set(map(type, returned)) <= {item_class}:
            return list(returned)
        if all(isinstance(item, item_class) for item in returned):
            return list(returned)
        stranger = next(item for item in returned if not isinstance(item, item_class))
        given = f"a list with {type(stranger).__name__}"
    else:
        given = type(returned).__name__
    name = item_class.__name__
    raise InvalidResultError(
        f"the wrapped retriever must return a list of {name}, got {given}; "
        f"end what is wrapped with a step that returns {name}s"
    )


def id_in(metadata: Mapping[str, Any], key: str | None, own: str | None) -> str | None:
    """An item's id: what its metadata has under ``key``, else the framework's own."""
    value = metadata.get(key) if key else None
    try:
        return own if value is None else str(value)
    except Exception:  # an id that cannot be written down is none
        return own
