"""The items of a wrapped retriever: the checked page, ids, and whether its end is certain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import gt, lt
from typing import TypeVar

from recall_signal.errors import InvalidResultError

__all__ = ["has_settled_page", "item_id", "validate_page"]

Found = TypeVar("Found")

_SEQUENCES = (list, tuple)  # a union would be made at every call


def validate_page(returned: object, item_class: type[Found]) -> list[Found]:
    """Return what a wrapped retriever returned as a list, if it is a page.

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


def item_id(metadata: Mapping[str, object] | None, key: str | None, own: str | None) -> str | None:
    """Return an item's id: what its metadata has under `key`, else the framework's own."""
    value = metadata.get(key) if key and metadata is not None else None
    try:
        return own if value is None else str(value)
    except Exception:  # an id that cannot be written down is none
        return own


def has_settled_page(scores: Sequence[float | None], size: int | None) -> bool:
    """Return whether the first `size` hits are surely those of a search for only that many.

    Many stores keep and order equal scores differently for every size. Where any two neighbours up
    to the end of the page are not in strict order, the retriever has to return a page of its own.

    Args:
        scores: As the store gave them, in its order; None or NaN is in no order.
        size: The size of the page; None where everything is on it.
    """
    if size is None or len(scores) <= size:
        return True
    known = [score for score in scores[: size + 1] if score is not None]
    if len(known) <= size:
        return False
    return all(map(gt, known, known[1:])) or all(map(lt, known, known[1:]))
