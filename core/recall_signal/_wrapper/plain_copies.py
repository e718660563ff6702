"""The items that are handed over to be copied without their reports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from recall_signal.errors import InvalidInputError

__all__ = ["require_items"]

Item = TypeVar("Item")


def require_items(given: Iterable[Item], kinds: tuple[type, ...], noun: str) -> list[Item]:
    """Return the items as a list, if every one of them is of the framework's own kinds.

    Args:
        given: Any iterable, but not a single item, which may be iterable itself.
        kinds: The classes of the framework.
        noun: Their name in a message: `documents`.

    Raises:
        InvalidInputError: It is a single item, no iterable, or holds something else.
    """
    if isinstance(given, kinds) or not isinstance(given, Iterable):
        single = " alone; put it into a list" if isinstance(given, kinds) else ""
        single = f"; pass response.{noun}" if hasattr(given, noun) else single
        raise InvalidInputError(
            f"without_report needs a list of {noun}, got {type(given).__name__}{single}"
        )
    items = list(given)
    for item in items:
        if not isinstance(item, kinds):
            raise InvalidInputError(
                f"without_report needs a list of {noun}, got {type(given).__name__} with "
                f"{type(item).__name__}; pass what a wrapper returned, such as response.{noun}"
            )
    return items
