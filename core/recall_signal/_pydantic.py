"""Pydantic helpers: trusted construction, frozen options, and one format for their errors.

Reports are made several times in every query, where validation, `model_construct` (6 times the
cost of `construct_trusted`) and `model_copy` would cost more than the rest. This is the one
place that knows how pydantic keeps a model: in the four attributes that `copy` and `pickle` of
one are built on.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from inspect import isclass
from types import MappingProxyType
from typing import Any, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from recall_signal._names import meant_name, shown_choice
from recall_signal.errors import ConfigurationError

__all__ = [
    "FrozenOptions",
    "construct_trusted",
    "copy_with",
    "format_validation_error",
    "private_value",
]

Model = TypeVar("Model", bound=BaseModel)

_slots = vars(BaseModel)  # a frozen model has no other way, and `object.__setattr__` takes longer
_set_values, _set_fields_set, _set_extra, _set_private = (
    _slots[name].__set__
    for name in (
        "__dict__",
        "__pydantic_fields_set__",
        "__pydantic_extra__",
        "__pydantic_private__",
    )
)


def construct_trusted(model: type[Model], values: dict[str, object], fields_set: set[str]) -> Model:
    """Make the instance that a model without private attributes makes of valid values.

    Args:
        model: The class.
        values: Every field, in the order of the class. Kept, not copied.
        fields_set: The fields that count as set. Kept, not copied.
    """
    made: Model = object.__new__(model)
    _set_values(made, values)
    _set_fields_set(made, fields_set)
    _set_extra(made, None)
    _set_private(made, None)
    return made


def private_value(model: BaseModel, name: str) -> Any:
    """Return a private attribute, None where it is not set: at a tenth of the cost of its name."""
    values = model.__pydantic_private__
    return None if values is None else values.get(name)


def copy_with(model: Model, update: Mapping[str, object]) -> Model:
    """Copy a model with other values of some fields: `model_copy` at half its cost.

    Args:
        model: Left alone.
        update: The fields, with values that have to be valid.
    """
    holds_more = model.__pydantic_extra__ is not None or model.__pydantic_private__ is not None
    if holds_more or _copies_in_its_own_way(type(model)):
        return model.model_copy(update=update)
    fields_set = {*model.__pydantic_fields_set__, *update}
    return construct_trusted(type(model), {**vars(model), **update}, fields_set)


@cache
def _copies_in_its_own_way(model: type[BaseModel]) -> bool:
    ways = ("__new__", "__copy__", "model_copy")
    return any(getattr(model, way) is not getattr(BaseModel, way) for way in ways)


_NO_FIELDS: Mapping[str, FieldInfo] = MappingProxyType({})


class FrozenOptions(BaseModel):
    """Base of option objects: frozen values that are validated where they are made.

    Raises:
        ConfigurationError: A setting is unknown or out of range; the message names it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    def __init__(self, **settings: object) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            message = format_validation_error(error, type(self).model_fields)
            raise ConfigurationError(f"{type(self).__name__}: {message}") from None

    def replace(self, **changes: object) -> Self:
        """Return a validated copy with other values of some settings."""
        return type(self)(**{**dict(self), **changes})


def format_validation_error(
    error: ValidationError, known: Mapping[str, FieldInfo] = _NO_FIELDS
) -> str:
    """Name each wrong setting; of the values only numbers are shown, others may hold a secret.

    Args:
        error: Of a model.
        known: Its settings, for names that are misspelt, or those of the options in one of them.
    """
    messages = []
    for item in error.errors(include_url=False):
        own, given = item.get("ctx", {}).get("error"), item["input"]
        parts = item["loc"] if item["type"] == "unexpected_keyword_argument" else item["loc"][:1]
        name = ".".join(map(str, parts)) or "settings"
        if own:
            messages.append(str(own))
        elif item["type"] == "extra_forbidden":
            messages.append(f"{name}: there is no such setting{_hint(name, known)}")
        elif item["type"] == "missing":
            messages.append(f"{name} is required")
        else:
            # A number in the place of a text may be any part of what somebody asked.
            is_number = isinstance(given, int | float) and item["type"] != "string_type"
            is_choice = item["type"] == "literal_error"
            shown = shown_choice(given) if is_number or is_choice else type(given).__name__
            messages.append(f"{name}: {item['msg'][0].lower()}{item['msg'][1:]}, got {shown}")
    return "; ".join(dict.fromkeys(messages))


def _hint(name: str, known: Mapping[str, FieldInfo]) -> str:
    """Return the end of a message on an unknown setting: the one that was meant, if any."""
    for setting, field in known.items():
        for options in (field.annotation, *get_args(field.annotation)):
            is_group = isclass(options) and issubclass(options, FrozenOptions)
            if is_group and name in options.model_fields:
                return f"; pass {setting}={options.__name__}({name}=...)"
    meant = meant_name(name, known)
    return "" if meant is None else f"; did you mean {meant}?"
