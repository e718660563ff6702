"""Saving whole files, and reading them back: a file is checked before anything is made of it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from errno import ENOENT
from math import isfinite
from pathlib import Path
from shutil import copymode
from typing import Any, TypeVar
from uuid import uuid4

from pydantic import TypeAdapter

from recall_signal.errors import CalibrationError

__all__ = ["VERSION", "read", "write"]

VERSION = 1

Saved = TypeVar("Saved")


def write(path: str | Path, values: Mapping[str, Any], *, indent: int | None = None) -> None:
    """Write plain values as JSON; the file is the old one or the new one, never a part of it.

    Raises:
        OSError: The file cannot be written; what was there is left as it was.
            FileNotFoundError with its folder where there is none.
    """
    target = Path(path).resolve()  # what a link points to is replaced, not the link
    if not target.parent.is_dir():
        raise FileNotFoundError(ENOENT, "The folder does not exist", str(target.parent))
    text = json.dumps(values, indent=indent, allow_nan=False) + "\n"
    if target.exists() and not target.is_file():  # a device or a pipe cannot be replaced
        Path(path).write_text(text, "utf-8")
        return
    beside = target.with_name(f".{target.name}.{uuid4().hex[:8]}")
    try:
        with beside.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            copymode(target, beside)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


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
