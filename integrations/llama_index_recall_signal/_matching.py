"""Match the items that a composite retriever returned with the hits of its arms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from llama_index.core.schema import BaseNode, IndexNode, NodeWithScore

from recall_signal._fork_safe import cached_value

__all__ = ["Matcher"]


class Matcher:
    """Finds the hit that an item is, or the best one that it stands for.

    An item is a hit where it is the same object, has the same id and text, or the same hash:
    composites copy, and merge by hash. A parent stands for its children, and the target of an
    `IndexNode` for that.

    Args:
        hits: Hits with a cosine.
        cosines: One for each.
        target_of: Returns the node that an `index_id` leads to.
        parent_of: Returns the parent of a node that is no hit itself, by id.
    """

    def __init__(
        self,
        hits: Sequence[NodeWithScore],
        cosines: Sequence[float],
        target_of: Callable[[str], BaseNode | None],
        parent_of: Callable[[str], str | None],
    ) -> None:
        self._hits, self._cosines = hits, cosines
        self._target_of, self._parent_of = target_of, cache(parent_of)
        self._objects: dict[int, int] = {}
        self._ids: dict[str, int] = {}
        for place, hit in enumerate(hits):
            self._objects.setdefault(id(hit), place)
            self._objects.setdefault(id(hit.node), place)
            self._ids.setdefault(hit.node_id, place)

    def place_of(self, item: NodeWithScore) -> int | None:
        """Return the place of an item's hit, None where it has none."""
        place = self._objects.get(id(item), self._objects.get(id(item.node)))
        if place is not None:
            return place
        place = self._ids.get(item.node_id)
        if place is not None and _content(self._hits[place]) == _content(item):
            return place
        place = self._hashes.get(item.node.hash)
        return self._best(self._represented(item)) if place is None else place

    @cached_value
    def _hashes(self) -> dict[str, int]:
        hashes: dict[str, int] = {}
        for place, hit in enumerate(self._hits):
            hashes.setdefault(hit.node.hash, place)
        return hashes

    def _represented(self, item: NodeWithScore) -> list[int]:
        return self._by_target.get(item.node_id, []) + self._descendants(item.node)

    @cached_value
    def _by_target(self) -> dict[str, list[int]]:
        """The places of `IndexNode` hits by the id of the node that they lead to."""
        places: dict[str, list[int]] = {}
        for place, hit in enumerate(self._hits):
            node = hit.node
            if isinstance(node, IndexNode):
                target = node.obj or self._target_of(node.index_id)
                led_to = target.node_id if isinstance(target, BaseNode) else node.index_id
                places.setdefault(led_to, []).append(place)
        return places

    def _descendants(self, node: BaseNode) -> list[int]:
        children = {child.node_id for child in node.child_nodes or ()}
        if not children:
            return []
        return [
            place
            for place, ancestors in enumerate(self._lines)
            if not children.isdisjoint(ancestors)
        ]

    @cached_value
    def _lines(self) -> list[set[str]]:
        """The ids of each hit and of the nodes above it."""
        return [set(self._line(hit.node)) for hit in self._hits]

    def _line(self, node: BaseNode) -> Iterable[str]:
        yield node.node_id
        parent = node.parent_node
        above = None if parent is None else parent.node_id
        for _ in range(_MOST_LEVELS):
            if above is None:
                return
            yield above
            above = self._parent_of(above)

    def _best(self, places: Sequence[int]) -> int | None:
        return max(places, key=self._cosines.__getitem__, default=None)


_MOST_LEVELS = 16
"""Levels above a hit, where the parents of a damaged store go round in a circle."""


def _content(item: NodeWithScore) -> str:
    return item.node.get_content()
