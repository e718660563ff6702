"""Which adapter reads which store, whatever the framework."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from inspect import getattr_static
from typing import Any, Generic, TypeVar

from recall_signal.errors import ConfigurationError

__all__ = ["AdapterRegistry"]

Adapter = TypeVar("Adapter")


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
