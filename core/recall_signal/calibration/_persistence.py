"""Read saved values back strictly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter

from recall_signal._files import NotRegularError, read_bounded, write_whole
from recall_signal._text import unique_keys
from recall_signal.errors import CalibrationError, RecallSignalError

__all__ = ["read", "write"]

Saved = TypeVar("Saved")

MAX_BYTES = 20_000_000
"""Most bytes of a file that is read; a calibration from 10,000 labelled queries has 300 KB."""


def write(path: str | Path, values: Mapping[str, object], *, indent: int | None = None) -> None:
    """Write plain values as JSON, as `write_whole` does."""
    write_whole(path, json.dumps(values, indent=indent, allow_nan=False) + "\n")


def read(
    path: str | Path,
    kind: type[Saved],
    name: str,
    version: int,
    *,
    limit: int = MAX_BYTES,
    refused: type[RecallSignalError] = CalibrationError,
    remedy: str | None = None,
) -> Saved:
    """Read the value that a JSON file holds, strictly.

    Text, booleans, NaN and infinities are no numbers here, and no key may be unknown.

    Args:
        path: The file.
        kind: A dataclass whose fields are the file's keys, beside the version `v`.
        name: Name of the kind in messages.
        version: The version that this release reads.
        limit: Most bytes that are read.
        refused: The error.
        remedy: How to get a right file; None where the class of that name saves one.

    Raises:
        RecallSignalError: The file does not hold such a value, or one of another version.
        OSError: The file cannot be read.
    """
    file, remedy = Path(path).name, remedy or f"make one with {name.capitalize()}.save"
    try:
        content = read_bounded(path, limit)
        if content is None:
            raise ValueError("longer than any saved value")
        # 1e999, NaN, Infinity and a key that comes twice are no JSON, but Python reads them.
        values = json.loads(
            str(content, "utf-8"),
            object_pairs_hook=unique_keys,
            parse_float=_finite,
            parse_constant=_finite,
        )
        found = values.pop("v")
        if found == version and type(found) is int:
            # Strict validation takes lists for tuples from JSON only.
            adapter = _adapter(kind)  # type: ignore[arg-type]  # a class is hashable
            value: Saved = adapter.validate_json(json.dumps(values), strict=True)
            return value
    except NotRegularError:  # reading a pipe or a device may never end
        raise refused(
            f"{file} is no regular file, so it cannot be a saved {name}; {remedy}"
        ) from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise refused(f"{file} is not a saved {name} ({type(error).__name__}); {remedy}") from None
    raise refused(
        f"{file} holds a {name} of another version than {version}, the one that this "
        "release reads: make a new one"
    )


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    """Built once for each kind: it takes longer than to read a file."""
    return TypeAdapter(kind)


def _finite(literal: str) -> float:
    value = float(literal)
    if not isfinite(value):
        raise ValueError("a number that is not finite")
    return value
