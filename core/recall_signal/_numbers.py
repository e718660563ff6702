"""Decide what counts as a number, in data and in settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, SupportsFloat, SupportsIndex, TypeAlias, cast

from recall_signal.errors import ConfigurationError, InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Numbers",
    "as_whole",
    "finite_column",
    "finite_or_none",
    "finite_values",
    "require_between",
    "require_number",
    "require_share",
]

Numbers: TypeAlias = "Sequence[SupportsFloat | None] | NDArray[Any]"
"""A data column as it is accepted: built-in numbers, numpy's, or an array of one dimension."""


def finite_or_none(value: object, expected: str) -> float | None:
    """Return a value of a data column as a built-in float.

    Args:
        value: Anything that `float()` takes, except text and truth values. None, NaN, infinities
            and numbers that no float can hold count as missing.
        expected: Beginning of the error message, such as "a score must be a number or None".

    Returns:
        A finite float, or None where the value is missing.

    Raises:
        InvalidInputError: It is not a number. The message names its type, never its content.
    """
    if value is None:
        return None
    try:
        # float() would accept "0.9", and a truth value as 1.0.
        if not isinstance(value, str | bytes | bytearray | bool) and not _is_truth(value):
            number = float(cast("SupportsFloat | SupportsIndex", value))
            return number if isfinite(number) else None
    except OverflowError:
        return None
    except (TypeError, ValueError):
        pass
    raise InvalidInputError(f"{expected}, got {type(value).__name__}")


def _is_truth(value: object) -> bool:
    """Return whether a value is numpy's bool, of any size."""
    return getattr(getattr(value, "dtype", None), "kind", None) == "b"


def finite_column(values: Iterable[object], expected: str) -> list[float | None]:
    """Return a data column with `finite_or_none` applied to each value."""
    column: list[Any] = list(values)
    if _is_plain(column, expected):
        return column
    return [finite_or_none(value, expected) for value in column]


def finite_values(values: list[Any], expected: str) -> list[float]:
    """Return the values of a data column that are not missing; the list itself if none is."""
    if _is_plain(values, expected):
        return values
    numbers = (finite_or_none(value, expected) for value in values)
    return [number for number in numbers if number is not None]


def _is_plain(column: list[Any], expected: str) -> bool:
    """Return True for finite floats alone: the ordinary case, at a tenth of the cost.

    Raises:
        InvalidInputError: It holds a truth value, which `sum` would take for a number.
    """
    kinds = set(map(type, column))
    if bool in kinds:
        raise InvalidInputError(f"{expected}, got bool")
    if not kinds <= _PLAIN:  # numpy's scalars would warn of a sum that is not finite
        return False
    try:
        total: float = sum(column)
        return type(total) is float and isfinite(total)  # whole numbers alone make no float
    except OverflowError:
        return False


_PLAIN = {float, int}


def as_whole(value: object) -> Any:
    """Return a whole number of any library as a built-in one; anything else as it is."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    return value


def require_number(name: str, value: object) -> float:
    """Return a setting as a finite built-in float.

    Raises:
        ConfigurationError: It is not a real number, or not finite; booleans are refused.
    """
    number = _as_real(value)
    if number is None:
        raise ConfigurationError(f"{name} must be a finite number, got {type(value).__name__}")
    if not isfinite(number):
        raise ConfigurationError(f"{name} must be a finite number, got {value!r:.40}")
    return number


def require_between(name: str, value: object, least: float, most: float = inf) -> float:
    """Return a setting that must lie between two numbers, both included, as a built-in float.

    Raises:
        ConfigurationError: It does not, or is not a finite number.
    """
    number = require_number(name, value)
    if least <= number <= most:
        return number
    allowed = f"at least {least:g}" if most == inf else f"from {least:g} to {most:g}"
    raise ConfigurationError(f"{name} must be a number {allowed}, got {number:g}")


def _as_real(value: object) -> float | None:
    """Return a real number as a float, which may be infinite; None for booleans and the rest."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def require_share(name: str, value: object, least: float = 0.0) -> float:
    """Return a setting that must lie strictly between `least` and 1, as a built-in float.

    Raises:
        ConfigurationError: It does not, or is not a number.
    """
    share = _as_real(value)
    if share is not None and least < share < 1.0:
        return share
    above = f" and above {least:f}" if least else ""
    given = repr(value) if isinstance(value, Real) else type(value).__name__
    raise ConfigurationError(
        f"{name} must be a share between 0 and 1, both excluded{above}, such as 0.05; "
        f"got {given:.40}"
    )
