"""The signal as a custom event of a LangChain run."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langchain_core.callbacks import (
    BaseCallbackManager,
    adispatch_custom_event,
    dispatch_custom_event,
)

__all__ = ["EVENT_NAME", "asend", "send"]

log = logging.getLogger(__name__)

EVENT_NAME = "recall_signal"
"""The custom event that carries the reports of every retrieval."""


def send(report: dict[str, Any], callbacks: BaseCallbackManager) -> None:
    """Send the event.

    Args:
        report: The reports as plain JSON values.
        callbacks: Those of a run inside the one that the event is about.
    """
    with _survived():
        dispatch_custom_event(EVENT_NAME, report, config={"callbacks": callbacks})


async def asend(report: dict[str, Any], callbacks: BaseCallbackManager) -> None:
    """:func:`send`, asynchronously."""
    with _survived():
        await adispatch_custom_event(EVENT_NAME, report, config={"callbacks": callbacks})


@contextmanager
def _survived() -> Iterator[None]:
    """An event must not cost the page."""
    try:
        yield
    except Exception as error:
        log.warning("the event %s was not sent: %s", EVENT_NAME, type(error).__name__)
