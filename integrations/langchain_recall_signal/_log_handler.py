"""`RecallLogHandler`: every retrieval as a row of a log."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from langchain_recall_signal._events import EVENT_NAME, SignalData
from recall_signal._wrapper.learning import is_learning
from recall_signal.logs import LogWriter
from recall_signal.logs._writer import require_log

__all__ = ["RecallLogHandler"]


class RecallLogHandler(BaseCallbackHandler):
    """Writes a row for every retrieval of a `RecallRetriever`, also for those within an agent.

    Pass it to any call as `config={"callbacks": [RecallLogHandler(log)]}`; one instance serves
    any number of concurrent calls. The run's id in the log is that of the retriever's run, as a
    tracer has it.

    Args:
        log: The log; close it when the program ends, or use it in a `with` block.

    Raises:
        ConfigurationError: It is none, such as the path of its folder.
    """

    run_inline = True  # a row is queued in microseconds; a thread would take longer

    def __init__(self, log: LogWriter) -> None:
        super().__init__()
        require_log(log)
        self._write = log.write

    def on_custom_event(self, name: str, data: Any, *, run_id: UUID, **_: Any) -> None:
        """Queue the row of an event of a `RecallRetriever`."""
        if name == EVENT_NAME and isinstance(data, SignalData) and not is_learning():
            self._write(data.outcome, run_id.bytes)
