"""Calibrating a wrapper through its own search, whatever its framework."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeVar

from recall_signal.calibration.model import Calibration
from recall_signal.errors import ConfigurationError
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


class _Wrapper(Protocol):
    """What its framework alone knows of a wrapper."""

    @property
    def _parts(self) -> WrapperParts: ...

    def recall(self, query: Any, /) -> _Searched: ...

    def arecall(self, query: Any, /) -> Awaitable[_Searched]: ...

    def _with(self, **changed: Any) -> Self:
        """This wrapper with other settings."""
        ...


W = TypeVar("W", bound=_Wrapper)


class SelfCalibrating:
    """What every wrapper around a retriever can do with a calibration.

    Nothing is abstract here: LlamaIndex writes a span for each call of what once was.
    """

    def calibrate(self: _Wrapper, **given: Any) -> Calibration:
        """Learn the scale of this retriever through its own search, in at most 180 searches.

        One more for each past or labelled query.

        With ``use_rerank`` each search is reranked too, so that the reranker's own scale is
        learnt beside that of the cosines.

        Args:
            **given: As in :meth:`recall_signal.Calibration.fit`; all of it is optional.

        Raises:
            CalibrationError: The store is empty, the retriever gives no cosines, or there are
                too few labels for a bound.
        """
        bare = _bare(self)
        return Calibration.fit(lambda query: bare.recall(query).pool, **_named(self, given))

    async def acalibrate(self: _Wrapper, **given: Any) -> Calibration:
        """:meth:`calibrate`, asynchronously."""
        bare = _bare(self)

        async def search(query: str) -> Pool:
            return (await bare.arecall(query)).pool

        return await Calibration.afit(search, **_named(self, given))

    def with_calibration(self: W, calibration: Calibration | None) -> W:
        """This retriever with that calibration.

        Raises:
            CalibrationError: It was fitted with another encoder.
            ConfigurationError: It is something else, such as the path of a saved one.
        """
        if not isinstance(calibration, Calibration | None):
            raise ConfigurationError(
                f"with_calibration takes a Calibration or None, got {type(calibration).__name__}; "
                "read a saved one with Calibration.load(path)"
            )
        return self._with(calibration=calibration)


def _bare(wrapper: W) -> W:
    """A wrapper as a calibration has to see it: the search and what scores it."""
    bare = wrapper._with(calibration=None, baseline=None, selector=None, annotate="none")
    bare._parts.settings = replace(bare._parts.settings, keep_texts=True)
    return bare


def _named(wrapper: _Wrapper, given: dict[str, Any]) -> dict[str, Any]:
    used = wrapper._parts.settings.reranking
    scale = {} if used is None else {"rerank_scale": used.options.scale}
    return {"encoder": wrapper._parts.encoder, **scale, **given}
