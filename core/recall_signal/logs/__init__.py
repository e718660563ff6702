"""Logs: one row of figures for each query, as files that any engine reads."""

from recall_signal.logs._canaries import CanaryRecord, append_canaries, read_canaries
from recall_signal.logs._options import LogOptions
from recall_signal.logs._schema import COLUMNS, LOG_VERSION, Column, log_schema, parquet_options
from recall_signal.logs._score import Scored, score
from recall_signal.logs._score_batch import BatchScorer, score_batch
from recall_signal.logs._spool import recover
from recall_signal.logs._writer import LogWriter

__all__ = [
    "COLUMNS",
    "LOG_VERSION",
    "BatchScorer",
    "CanaryRecord",
    "Column",
    "LogOptions",
    "LogWriter",
    "Scored",
    "append_canaries",
    "log_schema",
    "parquet_options",
    "read_canaries",
    "recover",
    "score",
    "score_batch",
]
