"""Samples of the bundled probes keep the shares of languages and styles."""

from collections import Counter

import pytest

from recall_signal.calibration import bundled_probes
from recall_signal.calibration._probes import choose_probes


@pytest.mark.parametrize("count", [60, 120])
@pytest.mark.parametrize("seed", range(5))
def test_shares_are_kept(count: int, seed: int) -> None:
    every, some = bundled_probes(), choose_probes(count, seed)
    assert len(set(some)) == len(some) == count
    for of in (lambda probe: probe.lang, lambda probe: probe.style):
        shares, sample = Counter(map(of, every)), Counter(map(of, some))
        for key, value in shares.items():
            assert sample[key] == pytest.approx(value * count / len(every), abs=5)


def test_the_seed_decides() -> None:
    assert choose_probes(60, 3) == choose_probes(60, 3)
    assert choose_probes(60, 3) != choose_probes(60, 4)


def test_no_more_than_there_are() -> None:
    among = bundled_probes()[:7]
    assert sorted(p.text for p in choose_probes(60, 0, among)) == sorted(p.text for p in among)
