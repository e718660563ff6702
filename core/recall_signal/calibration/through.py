"""Calibrating a wrapper through its own search, whatever its framework."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from recall_signal.calibration.model import Calibration
from recall_signal.flow import FlowSettings
from recall_signal.pool import Pool

__all__ = ["SelfCalibrating", "WrapperParts"]


class _Searched(Protocol):
    """A response, as far as it matters here."""

    @property
    def pool(self) -> Pool: ...


@dataclass(slots=True, kw_only=True)
class WrapperParts:
    """What a wrapper works out from its settings once, and shares among its calls.

    Attributes:
        settings: What the flow has to know.
        encoder: The name of what embeds its queries, None where that is not known.
    """

    settings: FlowSettings[Any]
    encoder: str | None


class SelfCalibrating(ABC):
    """What every wrapper around a retriever can do with a calibration."""

    _parts: WrapperParts

    @abstractmethod
    def recall(self, query: Any, /) -> _Searched:
        """One search, with its pool."""

    @abstractmethod
    def arecall(self, query: Any, /) -> Awaitable[_Searched]:
        """:meth:`recall`, asynchronously."""

    @abstractmethod
    def _with(self, **changed: Any) -> Self:
        """This wrapper with other settings."""

    def calibrate(self, **given: Any) -> Calibration:
        """Learn the scale of this retriever through its own search, in about 180 searches.

        With ``use_rerank`` each search is reranked too, so that the reranker's own scale is
        learnt beside that of the cosines.

        Args:
            **given: As in :meth:`recall_signal.Calibration.fit`; all of it is optional.

        Raises:
            CalibrationError: The retriever gives no cosines, or too few labels for a bound.
        """
        bare = self._bare()
        return Calibration.fit(lambda query: bare.recall(query).pool, **self._named(given))

    async def acalibrate(self, **given: Any) -> Calibration:
        """:meth:`calibrate`, asynchronously."""
        bare = self._bare()

        async def search(query: str) -> Pool:
            return (await bare.arecall(query)).pool

        return await Calibration.afit(search, **self._named(given))

    def with_calibration(self, calibration: Calibration | None) -> Self:
        """This retriever with that calibration.

        Raises:
            CalibrationError: It was fitted with another encoder.
        """
        return self._with(calibration=calibration)

    def _bare(self) -> Self:
        """This retriever as a calibration has to see it: the search and what scores it."""
        bare = self._with(calibration=None, baseline=None, selector=None, annotate="none")
        bare._parts.settings = replace(bare._parts.settings, keep_texts=True)
        return bare

    def _named(self, given: dict[str, Any]) -> dict[str, Any]:
        used = self._parts.settings.reranking
        scale = {} if used is None else {"rerank_scale": used.options.scale}
        return {"encoder": self._parts.encoder, **scale, **given}
