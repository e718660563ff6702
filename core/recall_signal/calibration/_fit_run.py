"""A fit carried out: its searches through a port, synchronous or not."""

from __future__ import annotations

from collections.abc import Awaitable

from recall_signal._steps.compute import Compute
from recall_signal._steps.driver import drive, drive_async
from recall_signal._steps.timeouts import Workers
from recall_signal.calibration._canaries import Canaries, recorded
from recall_signal.calibration._estimate import Estimate
from recall_signal.calibration._fit import fit_flow
from recall_signal.calibration._fit_input import FitInput
from recall_signal.calibration._port import RetrieverPort
from recall_signal.calibration._requests import Search, direct, direct_async

__all__ = ["run_fit", "run_fit_async"]


def run_fit(given: FitInput, port: RetrieverPort) -> tuple[Estimate, Canaries | None]:
    """Return the estimate of a fit, and the canaries that it saw.

    Args:
        given: The arguments of the fit.
        port: The retriever.
    """
    carry_out = direct(port)

    def perform(request: Search | Compute) -> object:
        return request.call() if isinstance(request, Compute) else carry_out(request)

    return drive(recorded(fit_flow(given)), perform)


async def run_fit_async(given: FitInput, port: RetrieverPort) -> tuple[Estimate, Canaries | None]:
    """`run_fit` with asynchronous searches; a thread computes, so that no loop is held."""
    workers, carry_out = Workers(), direct_async(port)

    def perform(request: Search | Compute) -> Awaitable[object]:
        return workers.run(request.call) if isinstance(request, Compute) else carry_out(request)

    return await drive_async(recorded(fit_flow(given)), perform)
