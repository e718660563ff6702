"""Views: objects that share the state of another one, and differ from it in a few names.

A view is an object of a subclass under the same name. It has no state of its own: whatever it is
assigned while it runs is the original's, so that a counter, a lock or a cache is one, however many
calls run at once. It closes nothing when it goes, and is copied and pickled as the original.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy, deepcopy
from functools import cache
from types import MemberDescriptorType, new_class
from typing import NamedTuple, TypeAlias, TypeVar

__all__ = ["attributes_of", "original_of", "replaced", "seen_by", "shares_state", "view_of"]

Part = TypeVar("Part")
By = TypeVar("By")
Methods: TypeAlias = Callable[[type], Mapping[str, object]]

_STATE = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
"""Attributes that hold an object's state; the last three in pydantic's models."""

_SLOT = "_recall_seen_by"
_NOTHING = object()


class _Layer(NamedTuple):
    """The object that a view is of, and what its methods work with."""

    by: object
    original: object


class _Values(dict[str, tuple[object, object]]):
    """The values that the original's attributes held, and those that a view has instead."""


def shares_state(part: object) -> bool:
    """Return whether an object's state is where a view can share it.

    That of slots is not, nor that of a pydantic model which is given a new `__dict__` with each
    assignment that it validates.
    """
    part_class: type = type(part)
    return _shares_state(part_class)


@cache
def _shares_state(part_class: type) -> bool:
    slots = {
        name
        for line in part_class.__mro__
        for name, value in vars(line).items()
        if type(value) is MemberDescriptorType
    }
    settings = getattr(part_class, "model_config", None)
    is_replaced = isinstance(settings, dict) and settings.get("validate_assignment")
    return part_class.__dictoffset__ != 0 and slots <= {*_STATE, _SLOT} and not is_replaced


def view_of(original: Part, methods: Methods, by: object) -> Part:
    """Return a view of an object.

    Args:
        original: The object; may be a view.
        methods: Makes what the view's class has of its own from the original's class.
        by: What the methods find by `seen_by`.

    Raises:
        TypeError: Its state cannot be shared, or its class allows no subclass.
    """
    if not shares_state(original):
        raise TypeError("a view shares an object's __dict__, and no other state")
    original_class: type = type(original)
    view: Part = object.__new__(_view_class(original_class, methods))
    for name in _STATE:
        if hasattr(original, name):
            object.__setattr__(view, name, getattr(original, name))
    object.__setattr__(view, _SLOT, _Layer(by, original))
    return view


def replaced(original: Part, values: Mapping[str, object]) -> Part:
    """Return a view on which some attributes have another value.

    One that is assigned to meanwhile has the value that was assigned, here as on the original.

    Raises:
        TypeError: As in `view_of`.
    """
    pairs = _Values({name: (_held(original, name), value) for name, value in values.items()})
    return view_of(original, _replacing(frozenset(values)), pairs)


def seen_by(view: object, kind: type[By]) -> By:
    """Return what a view was made with.

    Raises:
        LookupError: It was made with nothing of this kind.
    """
    for layer in _layers(view):
        if isinstance(layer.by, kind):
            return layer.by
    raise LookupError(f"no view made with a {kind.__name__}")


def original_of(part: Part) -> Part:
    """Return the object that a view is of; any other is its own."""
    for layer in _layers(part):
        part = layer.original  # type: ignore[assignment]
    return part


def attributes_of(part: object) -> dict[str, object]:
    """Return an object's own attributes, a pydantic model's private ones among them."""
    held: dict[str, object] = {}
    for own in _own(part):
        held.update(own)  # at once, since other threads may add some
    return held


def _held(part: object, name: str) -> object:
    return next((own[name] for own in _own(part) if name in own), _NOTHING)


def _own(part: object) -> Iterator[dict[str, object]]:
    for name in ("__dict__", "__pydantic_private__"):
        own = getattr(part, name, None)
        if isinstance(own, dict):
            yield own


@cache
def _view_class(original_class: type, methods: Methods) -> type:
    """Make a subclass under the same name, so that traces go on naming the original's class.

    What it has of its own comes last: a metaclass may take it for something else.
    """
    namespace = {
        "__slots__": (_SLOT,),
        "__module__": original_class.__module__,
        "__qualname__": original_class.__qualname__,
        "__class__": property(lambda view: original_of(view).__class__),
    }
    made = new_class(
        original_class.__name__, (original_class,), exec_body=lambda body: body.update(namespace)
    )
    own = {
        "__new__": staticmethod(lambda _, *args, **kwargs: original_class(*args, **kwargs)),
        "__del__": _skip_close,
        "__copy__": lambda view: copy(original_of(view)),
        "__deepcopy__": lambda view, memo: deepcopy(original_of(view), memo),
        "__reduce_ex__": lambda view, _: (original_of, (original_of(view),)),
        **methods(original_class),
    }
    for name, value in own.items():
        setattr(made, name, value)
    return made


def _skip_close(_view: object) -> None:
    """Close nothing when a view goes: the original does that for what it opened."""


def _layers(part: object) -> Iterator[_Layer]:
    while _is_view(part):
        layer: _Layer = getattr(part, _SLOT)
        yield layer
        part = layer.original


def _is_view(part: object) -> bool:
    part_class: type = type(part)
    return _is_view_class(part_class)


@cache
def _is_view_class(part_class: type) -> bool:
    return any(_SLOT in vars(line) for line in part_class.__mro__)


@cache
def _replacing(names: frozenset[str]) -> Methods:
    """Return what makes the attributes of a view that has other values under some names."""
    own = {name: _attribute(name) for name in names}
    return lambda _: {"__setattr__": _assign, "__delattr__": _delete, **own}


def _attribute(name: str) -> property:
    def value(view: object) -> object:
        original = original_of(view)
        held, made = next(
            layer.by[name]
            for layer in _layers(view)
            if isinstance(layer.by, _Values) and name in layer.by
        )
        return made if _held(original, name) is held else getattr(original, name)

    def assign(view: object, value: object) -> None:
        object.__setattr__(original_of(view), name, original_of(value))

    return property(value, assign)


def _assign(view: object, name: str, value: object) -> None:
    setattr(original_of(view), name, original_of(value))


def _delete(view: object, name: str) -> None:
    delattr(original_of(view), name)
