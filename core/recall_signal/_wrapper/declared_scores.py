"""Scores that a retriever leaves in the metadata of its items, under a declared key."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from recall_signal.scores import as_number

__all__ = ["scores_under"]

log = logging.getLogger(__name__)


def scores_under(key: str, metadata: Iterable[Mapping[str, object] | None]) -> list[float | None]:
    """Return the number under a key of each item's metadata.

    Args:
        key: The declared key.
        metadata: One mapping per item, in rank order; None is empty.

    Returns:
        One built-in float per item; None where the key is missing or holds no finite number. Text
        and booleans are no numbers; a warning names their type.
    """
    strangers: set[str] = set()
    scores = [_number(item, key, strangers) for item in metadata]
    if strangers:
        log.warning(
            "score_key: the metadata holds %s where a number was declared; such items count as "
            "unscored",
            ", ".join(sorted(strangers)),
        )
    return scores


def _number(item: Mapping[str, object] | None, key: str, strangers: set[str]) -> float | None:
    try:
        value = None if item is None else item.get(key)
    except Exception:  # a mapping of somebody's own
        strangers.add(type(item).__name__)
        return None
    try:
        return as_number(value)
    except Exception:  # text, or an object whose conversion fails
        strangers.add(type(value).__name__)
        return None
