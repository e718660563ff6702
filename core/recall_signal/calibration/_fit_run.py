"""A fit carried out: its searches through a function, synchronous or not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from recall_signal._steps.compute import Compute
from recall_signal._steps.driver import drive, drive_async
from recall_signal._steps.timeouts import Workers
from recall_signal.calibration._canaries import Canaries, recorded
from recall_signal.calibration._estimate import Estimate
from recall_signal.calibration._fit import Search, fit_flow
from recall_signal.calibration._fit_input import FitInput
from recall_signal.calibration._observation import SearchResult

__all__ = ["run_fit", "run_fit_async"]


def run_fit(
    given: FitInput, search: Callable[[Search], SearchResult]
) -> tuple[Estimate, Canaries | None]:
    """Return the estimate of a fit, and the canaries that it saw.

    Args:
        given: The arguments of the fit.
        search: Returns the pool or the cosines of a search.
    """

    def perform(request: Search | Compute) -> object:
        return request.call() if isinstance(request, Compute) else search(request)

    return drive(recorded(fit_flow(given), Search), perform)


async def run_fit_async(
    given: FitInput, search: Callable[[Search], Awaitable[SearchResult]]
) -> tuple[Estimate, Canaries | None]:
    """`run_fit` with an asynchronous search; a thread computes, so that no loop is held."""
    workers = Workers()

    def perform(request: Search | Compute) -> Awaitable[Any]:
        if isinstance(request, Compute):
            return workers.run(request.call)
        return search(request)

    return await drive_async(recorded(fit_flow(given), Search), perform)
