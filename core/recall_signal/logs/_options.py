"""The settings of a log."""

from __future__ import annotations

from pydantic import Field

from recall_signal._pydantic import FrozenOptions

__all__ = ["LogOptions"]


class LogOptions(FrozenOptions):
    """Settings of a log; each has a default that suits a service of one machine.

    Raises:
        ConfigurationError: A setting is unknown or out of range.
    """

    retriever: str | None = Field(default=None, min_length=1, max_length=200)
    """Name in the column `retriever`; None takes the class that was searched."""

    sample: float = Field(default=1.0, gt=0.0, le=1.0, strict=True)
    """Share of the queries that is written. It is decided by a hash of the run's id: the same
    queries in every process, on every machine, and in any other log that samples so."""

    texts: bool = Field(default=False, strict=True)
    """Write the question as well, in the column `query`."""

    max_rows: int = Field(default=100_000, ge=1, strict=True)
    """Rows from which a part is closed."""

    max_bytes: int = Field(default=64 * 2**20, ge=1, strict=True)
    """Bytes of the open part, not compressed, from which it is closed: what closing it takes of
    memory, about twice."""

    max_age: float = Field(default=3600.0, gt=0.0, allow_inf_nan=False, strict=True)
    """Seconds from a part's first row until it is closed. The end of a UTC day closes it too."""

    flush_seconds: float = Field(default=1.0, gt=0.0, le=60.0, strict=True)
    """Seconds between two writes to the open part: what a killed process may lose."""

    queue_rows: int = Field(default=10_000, ge=1, strict=True)
    """Rows that wait for the next write at most, about 600 bytes each; further ones are dropped
    and counted."""
