"""Test classes out of tables: one conformance suite for each row."""

from collections.abc import Mapping
from typing import Any

__all__ = ["conformance"]


def conformance(base: type, cases: Mapping[str, Mapping[str, Any]]) -> dict[str, type]:
    """One test class for each case: its name, and the attributes of `base` that it changes."""
    return {
        f"Test{name}": type(f"Test{name}", (base,), {**attributes, "__module__": base.__module__})
        for name, attributes in cases.items()
    }
