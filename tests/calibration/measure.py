"""Prints what calibrations cost, as JSON; a program of its own, so that nothing traces it."""

import json
import sys
from dataclasses import replace
from itertools import count
from random import Random
from time import process_time
from timeit import repeat

import numpy as np
from calibration_toys import MANY_LABELLED, MODES, PAST, Toy, fit

from recall_signal import Baseline, Calibration, Pool, assess
from recall_signal.calibration.hub import Bank, HubCorrection


def ratio(calibration: Calibration | Baseline, size: int) -> float:
    """The calibrated signal's time in units of the uncalibrated one's, on a pool of this size."""
    random = Random(0)
    pool = [random.random() for _ in range(size)]
    rounds = 7
    plain = min(repeat(lambda: assess(pool), number=300, repeat=rounds))
    return (
        min(repeat(lambda: assess(pool, calibration=calibration), number=300, repeat=rounds))
        / plain
    )


def hub_microseconds() -> float:
    """What a hub correction adds to a signal on 50 candidates of 384 dimensions."""
    rng = np.random.default_rng(0)
    pool = Pool(rng.random(50).tolist(), vectors=rng.random((50, 384), dtype=np.float32))
    plain = fit(Toy())
    bank = Bank.of(rng.random((60, 384)))
    corrected = replace(plain, hub=HubCorrection(bank, plain.scale, plain.line))

    def best(calibration: Calibration) -> float:
        def once() -> None:
            assess(pool, calibration=calibration)

        return min(repeat(once, number=300, repeat=7, timer=process_time)) / 300

    return (best(corrected) - best(plain)) * 1e6


def fit_seconds() -> float:
    """Of a large fit, its searches hardly cost anything."""
    documents = [(n, f"document {n} of a large corpus " * 20) for n in range(100_000)]
    labelled = [(f"{n}", n % 3 > 0) for n in range(2000)]
    tops = {query: Random(query).gauss(0.4 + 0.2 * label, 0.1) for query, label in labelled}
    numbers = count()
    started = process_time()
    calibration = Calibration.fit(
        lambda query: [tops.get(query, next(numbers) % 40 / 100), 0.1],
        documents=documents,
        past_queries=PAST,
        labelled=labelled,
        max_false_none=0.05,
    )
    assert calibration.free_form is not None
    return process_time() - started


def main() -> None:
    random = Random(0)
    calibrations: dict[str, Calibration | Baseline] = {
        **{mode: fit(Toy(), **given) for mode, given in MODES.items()},
        "bound": fit(Toy(), labelled=MANY_LABELLED, max_false_none=0.1),
        "stream": Baseline(random.random() for _ in range(500)),
    }
    ratios = {
        f"{name}, pool of {size}": round(ratio(calibration, size), 2)
        for name, calibration in calibrations.items()
        for size in (5, 50)
    }
    figures = {"ratios": ratios, "fit": round(fit_seconds(), 3), "hub": round(hub_microseconds())}
    json.dump(figures, sys.stdout)


if __name__ == "__main__":
    main()
