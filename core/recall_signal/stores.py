"""Reading stores: what every adapter has in common, whatever its framework."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from inspect import getattr_static
from operator import le
from typing import Any, Generic, TypeVar

from recall_signal.embedding import cosines_of
from recall_signal.errors import ConfigurationError, InvalidResultError
from recall_signal.reports import CosineSource
from recall_signal.scores import ScoreKind, to_cosines
from recall_signal.thresholds import RANGE_TOLERANCE

__all__ = [
    "AdapterRegistry",
    "Reading",
    "checked",
    "checked_items",
    "read_scores",
    "read_vectors",
]

Adapter = TypeVar("Adapter")
Found = TypeVar("Found")

_PLAIN = {float, type(None)}

_A_RANKING, _A_RISE = 4, 1e-3
"""Hits, and a rise from the first to the last, from which an order is no accident."""


@dataclass(slots=True)
class Reading:
    """The cosines behind some hits, or the reason why there are none.

    Attributes:
        cosines: One per hit.
        source: Where they came from.
        reason: Why there are none.
        scores: Keyword scores, one per hit, to be judged in their place.
        for_unit_vectors: Whether all this holds for vectors of length 1 only, so that the
            wrapper has to look at the store's.
    """

    cosines: Sequence[float | None] | None
    source: CosineSource | None = None
    reason: str | None = None
    scores: Sequence[float | None] | None = None
    for_unit_vectors: bool = False

    @property
    def is_enough(self) -> bool:
        """Whether nothing else has to be looked at: of an empty page nothing can be learnt."""
        if self.for_unit_vectors:
            return self.cosines is not None and not len(self.cosines)
        return self.cosines is not None or self.scores is not None


def read_scores(
    scores: Sequence[float | None], kind: ScoreKind, source: CosineSource, *, ranked: bool = False
) -> Reading:
    """The cosines by the formula of a score kind alone; keyword scores are handed on.

    Args:
        scores: As the store gave them.
        kind: What they are.
        source: Who says so.
        ranked: Whether they come from one plain search, best first. Cosines that rise all the
            way down such a list show that the kind is the other way round.
    """
    if kind is ScoreKind.BM25:
        numbers = [None if score is None else float(score) for score in scores]
        return Reading(None, scores=numbers)
    cosines, reason = to_cosines(scores, kind)
    unchecked = kind.needs_unit_norm and source == "store"  # who declares a kind knows the norms
    if cosines is None:
        return Reading(None, reason=reason, for_unit_vectors=unchecked)
    known = [cosine for cosine in cosines if cosine is not None]
    if known and max(max(known), -min(known)) > RANGE_TOLERANCE:
        return Reading(None, reason="score_out_of_range", for_unit_vectors=unchecked)
    if ranked and _rises(known):
        return Reading(None, reason="score_inverted", for_unit_vectors=unchecked)
    reading = _reading(cosines, source)
    reading.for_unit_vectors = unchecked
    return reading


def read_vectors(query_vector: Any, vectors: Sequence[Any | None]) -> Reading:
    """The cosines from the candidates' own vectors, None for a candidate without one.

    Raises:
        VectorMismatch: The dimensions differ.
    """
    known = iter(cosines_of(query_vector, [vector for vector in vectors if vector is not None]))
    return _reading([None if vector is None else next(known) for vector in vectors], "vectors")


def checked(reading: Any, count: int) -> Reading:
    """What an adapter read, once it is sure that it fits the hits.

    Raises:
        ValueError: It is not a :class:`Reading` with one number or None for each hit.
    """
    if not isinstance(reading, Reading):
        raise ValueError("an adapter must return a Reading")
    for values in (reading.cosines, reading.scores):
        if values is not None and len(values) != count:
            raise ValueError("an adapter must read one value for each hit")
    if reading.cosines is not None and not set(map(type, reading.cosines)) <= _PLAIN:
        plain = [None if cosine is None else float(cosine) for cosine in reading.cosines]
        return replace(reading, cosines=plain)
    return reading


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


def _reading(cosines: Sequence[float | None], source: CosineSource) -> Reading:
    if cosines and all(cosine is None for cosine in cosines):
        return Reading(None, reason="no_scores")
    return Reading(cosines, source)


def _rises(cosines: Sequence[float]) -> bool:
    """Whether no hit is worse than the one before it, and the last better than the first."""
    if len(cosines) < _A_RANKING or cosines[-1] - cosines[0] < _A_RISE:
        return False
    return all(map(le, cosines, cosines[1:]))


class AdapterRegistry(Generic[Adapter]):
    """Which adapter reads which store, by dotted class name along the store's class hierarchy.

    Nothing of a store's package is imported: a name is only compared, and the adapter's module
    is loaded when its store turns up.

    Args:
        adapter_class: What every adapter is an instance of.
        searches: The store's methods whose result an adapter reads.
        known: Store class as ``package.module.Class`` -> adapter as ``package.module:Class``.
    """

    def __init__(
        self, adapter_class: type[Adapter], searches: Sequence[str], known: Mapping[str, str]
    ) -> None:
        self._adapter_class = adapter_class
        self._searches = tuple(searches)
        self._adapters: dict[str, str | Adapter] = dict(known)

    def register(self, store_class: str, adapter: str | Adapter) -> None:
        """Teach the wrapper a store of yours.

        Args:
            store_class: The store's class as ``package.module.Class``.
            adapter: An adapter, or where to find its class, as ``package.module:Class``.

        Raises:
            ConfigurationError: One of the two has another form.
        """
        if not isinstance(store_class, str) or "." not in store_class:
            raise ConfigurationError(
                f"store_class must be a dotted class name like 'package.module.Class', "
                f"got {_shown(store_class)}"
            )
        if not isinstance(adapter, self._adapter_class) and ":" not in str(adapter):
            raise ConfigurationError(
                f"adapter must be a {self._adapter_class.__name__} or a text like "
                f"'package.module:Class', got {type(adapter).__name__}"
            )
        self._adapters[store_class] = adapter

    def find(self, store: Any) -> Adapter | None:
        """The adapter of a store, or None.

        A subclass is read like the store it comes from, unless it has a search of its own: what
        that returns is no longer known.
        """
        store_class = type(store)
        for known in store_class.__mro__:
            name = f"{known.__module__}.{known.__qualname__}"
            entry = self._adapters.get(name)
            if entry is None:
                continue
            if any(_of(store_class, method) is not _of(known, method) for method in self._searches):
                return None
            if isinstance(entry, str):
                module, _, attribute = entry.partition(":")
                make: Callable[[], Adapter] = getattr(import_module(module), attribute)
                entry = self._adapters[name] = make()
            return entry
        return None


def _shown(value: object) -> str:
    """A text as it was given; of anything else, which may hold a secret, only the type."""
    return repr(value) if isinstance(value, str) else type(value).__name__


def _of(owner: type, name: str) -> Any:
    """A method as its class holds it: decorated ones are a new object at every access."""
    return getattr_static(owner, name, None)
