"""The signal as a custom event of a LangChain run."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from langchain_core.callbacks import (
    BaseCallbackManager,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.documents import Document

from recall_signal._flow.values import Outcome
from recall_signal._steps.failures import contained, original
from recall_signal._steps.timeouts import CallLimits

__all__ = ["EVENT_NAME", "SignalData", "asend", "send"]

log = logging.getLogger(__name__)

EVENT_NAME = "recall_signal"
"""The custom event that carries the reports of every retrieval."""


SENDING = 2.0
"""Seconds that the handlers of an asynchronous call have for one event."""


class SignalData(dict[str, object]):
    """The event's data: the reports as plain JSON values, as any handler sees them.

    The end of the query rides along for the handler that writes logs, and for nobody else: it is
    no key, and a copy or a pickle of the data leaves it out.
    """

    __slots__ = ("outcome",)

    def __init__(self, outcome: Outcome[Document]) -> None:
        super().__init__(outcome.report)
        self.outcome = outcome

    def __reduce__(self) -> tuple[type[dict[str, object]], tuple[dict[str, object]]]:
        return dict, (dict(self),)


def send(report: Mapping[str, object], callbacks: BaseCallbackManager) -> None:
    """Send the event.

    Args:
        report: The reports as plain JSON values.
        callbacks: Those of a run inside the one that the event is about.
    """
    try:
        contained(
            lambda: dispatch_custom_event(EVENT_NAME, report, config={"callbacks": callbacks})
        )
    except Exception as error:
        _log(error)


async def asend(
    report: Mapping[str, object], callbacks: BaseCallbackManager, limits: CallLimits
) -> None:
    """`send`, asynchronously, in a task of its own and for `SENDING` at most.

    LangChain would wait for ever for a synchronous handler that raises `StopIteration`.
    """
    sending = adispatch_custom_event(EVENT_NAME, report, config={"callbacks": callbacks})
    try:
        await limits.await_within(SENDING, sending)
    except Exception as error:
        _log(error)


def _log(error: Exception) -> None:
    log.warning("the event %s was not sent: %s", EVENT_NAME, type(original(error)).__name__)
