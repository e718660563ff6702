"""When a wrapper stops to ask a store for more than the page, and when it tries again."""

import pytest

from recall_signal._wrapper.refusals import Refusals


class Clock:
    """Stands still until it is set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def refused(times: int, clock: Clock) -> Refusals:
    refusals = Refusals(clock)
    for _ in range(times):
        refusals.add(ValueError())
    return refusals


@pytest.mark.parametrize(
    ("times", "seconds"), [(0, 0), (2, 0), (3, 60), (4, 120), (8, 1920), (9, 3600), (2000, 3600)]
)
def test_pauses_become_longer(times: int, seconds: float) -> None:
    clock = Clock()
    refusals = refused(times, clock)
    assert refusals.pauses is (seconds > 0)
    clock.now = seconds - 1.0
    assert refusals.pauses is (seconds > 0)
    clock.now = seconds
    assert not refusals.pauses


def test_one_that_goes_well_ends_the_row() -> None:
    clock = Clock()
    refusals = refused(3, clock)
    refusals.clear()
    assert not refusals.pauses
    refusals.add(ValueError())
    refusals.add(TypeError())
    assert not refusals.pauses


def test_an_outage_does_not_count() -> None:
    refusals = Refusals(Clock())
    for _ in range(9):
        refusals.add(ConnectionResetError())
    assert not refusals.pauses
