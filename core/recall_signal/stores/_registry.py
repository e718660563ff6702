"""The adapter of each store, whatever the framework."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from importlib import import_module
from inspect import getattr_static, isroutine
from typing import Generic, TypeVar

from recall_signal.errors import ConfigurationError

__all__ = ["AdapterRegistry"]

log = logging.getLogger(__name__)

Adapter = TypeVar("Adapter")


class AdapterRegistry(Generic[Adapter]):
    """Finds adapters by dotted class name along the store's class hierarchy.

    Nothing of a store's package is imported: names are compared, and an adapter's module is
    loaded when its store turns up.

    Args:
        adapter_class: The class of all adapters; an instance of it reads no scores.
        searches: The store's methods whose result an adapter reads.
        known: Store class as `package.module.Class` -> adapter as `package.module:Class`.
        check: Raises a `ConfigurationError` for an adapter with wrong settings.
        pure: Private methods of a search that leave out no hit, whoever overrides them.
    """

    def __init__(
        self,
        adapter_class: type[Adapter],
        searches: Sequence[str],
        known: Mapping[str, str],
        check: Callable[[Adapter], object] = type,
        pure: Collection[str] = (),
    ) -> None:
        self._adapter_class = adapter_class
        self._searches = tuple(searches)
        self._adapters: dict[str, str | Adapter] = dict(known)
        self._check = check
        self._pure = frozenset(pure)

    def register(self, store_class: str, adapter: str | Adapter) -> None:
        """Register the adapter of a store class.

        Args:
            store_class: The store's class as `package.module.Class`.
            adapter: An adapter, or the place of its class as `package.module:Class`.

        Raises:
            ConfigurationError: One of the two has another form, or the adapter wrong settings.
        """
        if not isinstance(store_class, str) or "." not in store_class:
            raise ConfigurationError(
                f"store_class must be a dotted class name like 'package.module.Class', "
                f"got {_shown(store_class)}"
            )
        if not isinstance(adapter, str):
            self._checked(adapter)
        elif ":" not in adapter:
            raise self._wrong(adapter)
        self._adapters[store_class] = adapter

    def find(self, store: object) -> Adapter | None:
        """Return the adapter of a store, or None.

        A subclass is read like its parent, unless it overrides a search: the meaning of that
        result is unknown. An adapter that cannot be loaded is logged, and no scores are read.
        """
        store_class = type(store)
        known = self._known_class(store_class)
        if known is None or self._overrides(store_class, known):
            return None
        name = _dotted(known)
        entry = self._adapters[name]
        if isinstance(entry, str):
            entry = self._adapters[name] = self._load(entry)
        return entry

    def is_altered(self, store: object) -> bool:
        """Return whether a store's class may filter inside of the search that it inherits.

        It overrides a method of the known store that a search may call: one with a search in its
        name, or a private one. A wider search than the page's then lets other hits through.
        """
        line = type(store).__mro__
        known = self._known_class(type(store))
        if known is None or known is line[0]:
            return False
        own = set[str]().union(*map(vars, line[: line.index(known)])) - self._pure
        return any(callable(getattr(known, name, None)) for name in filter(_serves, own))

    def search_methods(self, store: object) -> frozenset[str]:
        """Return the searches of a store, and the methods of its class that they may call.

        A store that has one of these itself, and not by its class, searches in its own way.
        """
        store_class: type = type(store)
        return _methods(store_class, self._searches, self._pure)

    def _known_class(self, store_class: type) -> type | None:
        """Return the nearest class of a store's hierarchy that has an adapter."""
        return next((line for line in store_class.__mro__ if _dotted(line) in self._adapters), None)

    def _overrides(self, store_class: type, known: type) -> bool:
        return any(_of(store_class, name) is not _of(known, name) for name in self._searches)

    def _load(self, place: str) -> Adapter:
        module, _, attribute = place.partition(":")
        try:
            return self._checked(getattr(import_module(module), attribute)())
        except Exception as error:
            log.warning("loading the store adapter %s failed: %s", place, type(error).__name__)
            return self._adapter_class()

    def _checked(self, adapter: object) -> Adapter:
        if not isinstance(adapter, self._adapter_class):
            raise self._wrong(adapter)
        self._check(adapter)
        return adapter

    def _wrong(self, adapter: object) -> ConfigurationError:
        return ConfigurationError(
            f"adapter must be a {self._adapter_class.__name__} or a text like "
            f"'package.module:Class', got {type(adapter).__name__}"
        )


def _dotted(store_class: type) -> str:
    return f"{store_class.__module__}.{store_class.__qualname__}"


def _serves(name: str) -> bool:
    """Return whether a search may call a method of this name."""
    return "search" in name or (name.startswith("_") and not name.startswith("__"))


@cache
def _methods(store_class: type, searches: tuple[str, ...], pure: frozenset[str]) -> frozenset[str]:
    """Return the methods of a class that a search may call, and the searches."""
    names = {name for name in dir(store_class) if name in searches or _serves(name)} - pure
    return frozenset(name for name in names if isroutine(_of(store_class, name)))


def _shown(value: object) -> str:
    """Return a text as it was given; of anything else, which may hold a secret, the type."""
    return repr(value) if isinstance(value, str) else type(value).__name__


def _of(owner: type, name: str) -> object:
    """Return a method as its class holds it: decorated ones are new objects at every access."""
    return getattr_static(owner, name, None)
