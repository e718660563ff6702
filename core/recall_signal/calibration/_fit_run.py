"""A fit carried out: its searches through a port, synchronous or not."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from recall_signal._steps.compute import Compute
from recall_signal._steps.driver import drive, drive_async
from recall_signal._steps.timeouts import Workers
from recall_signal.calibration._canaries import Canaries, recorded
from recall_signal.calibration._estimate import Estimate
from recall_signal.calibration._fit import Search, fit_flow
from recall_signal.calibration._fit_input import FitInput
from recall_signal.calibration._port import RetrieverPort

__all__ = ["run_fit", "run_fit_async"]


def run_fit(given: FitInput, port: RetrieverPort) -> tuple[Estimate, Canaries | None]:
    """Return the estimate of a fit, and the canaries that it saw.

    Args:
        given: The arguments of the fit.
        port: The retriever.
    """

    def perform(request: Search | Compute) -> object:
        if isinstance(request, Compute):
            return request.call()
        return port.search(request.query, request.ahead)

    return drive(recorded(fit_flow(given), Search), perform)


async def run_fit_async(given: FitInput, port: RetrieverPort) -> tuple[Estimate, Canaries | None]:
    """`run_fit` with asynchronous searches; a thread computes, so that no loop is held."""
    workers = Workers()

    def perform(request: Search | Compute) -> Awaitable[Any]:
        if isinstance(request, Compute):
            return workers.run(request.call)
        return port.asearch(request.query, request.ahead)

    return await drive_async(recorded(fit_flow(given), Search), perform)
