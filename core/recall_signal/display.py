"""Small HTML views and figures for notebooks. Every text is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["confidence_html", "response_html"]


def confidence_html(confidence: Any) -> str:
    """A signal as a small card."""
    return f"<div>{confidence.level}</div>"


def response_html(confidence: Any, selection: Any, rows: Sequence[Any]) -> str:
    """A signal, the selection and the page under it."""
    return f"{confidence_html(confidence)}{selection}{len(rows)}"
