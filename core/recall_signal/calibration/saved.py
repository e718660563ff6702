"""Reading back what was saved: a file is checked before anything is made of it."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

from recall_signal.errors import CalibrationError

__all__ = ["VERSION", "read"]

VERSION = 1

Saved = TypeVar("Saved")


def read(path: str | Path, kind: type[Saved], name: str) -> Saved:
    """The value that a JSON file of this version holds.

    Args:
        path: The file.
        kind: A dataclass whose fields are the file's keys, beside the version ``v``.
        name: What messages call it.

    Raises:
        CalibrationError: The file is not one, or of another version.
        OSError: The file cannot be read.
    """
    try:
        # 1e999, NaN and Infinity are no JSON, but Python reads them.
        values = json.loads(Path(path).read_bytes(), parse_float=_finite, parse_constant=_finite)
        version = values.pop("v")
        if version == VERSION:
            return TypeAdapter(kind).validate_python(values)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise CalibrationError(
            f"{Path(path).name} is not a saved {name} ({type(error).__name__}); make one with "
            f"{name.capitalize()}.save"
        ) from None
    raise CalibrationError(
        f"{Path(path).name} holds a {name} of another version than {VERSION}, which is the one "
        "that this release knows: make it anew"
    )


def _finite(literal: str) -> float:
    value = float(literal)
    if not isfinite(value):
        raise ValueError("a number that is not finite")
    return value
