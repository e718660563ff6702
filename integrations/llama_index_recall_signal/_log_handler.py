"""`RecallLogHandler`: every retrieval as a row of a log."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from pydantic import PrivateAttr

from llama_index_recall_signal._events import RecallSignalEvent
from recall_signal.logs import LogWriter
from recall_signal.logs._writer import require_log

__all__ = ["RecallLogHandler"]


class RecallLogHandler(BaseEventHandler):
    """Writes a row for every retrieval of a `RecallRetriever`, also for those within an agent.

    Add it to LlamaIndex's instrumentation once::

        get_dispatcher().add_event_handler(RecallLogHandler(log))

    The run's id in the log is that of the event. Searches that learn or check a calibration send
    none, and are left out.

    Args:
        log: The log; close it when the program ends, or use it in a `with` block.

    Raises:
        ConfigurationError: It is none, such as the path of its folder.
    """

    _log: LogWriter = PrivateAttr()

    def __init__(self, log: LogWriter) -> None:
        super().__init__()
        require_log(log)
        self._log = log

    @classmethod
    def class_name(cls) -> str:
        """Return the component's name."""
        return "RecallLogHandler"

    def handle(self, event: BaseEvent, **_: Any) -> None:
        """Queue the row of a `RecallSignalEvent`."""
        if isinstance(event, RecallSignalEvent) and event._outcome:
            self._log.write(event._outcome, UUID(event.id_).bytes)
