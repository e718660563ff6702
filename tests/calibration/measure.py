"""Prints what calibrations cost, as JSON; a program of its own, so that nothing traces it."""

import json
import sys
from itertools import count
from random import Random
from statistics import median
from time import process_time
from timeit import timeit
from typing import Any

from recall_signal import Baseline, Calibration, assess
from tests.calibration.toys import MANY_LABELLED, MODES, PAST, Toy, fit


def ratio(calibration: Calibration | Baseline, size: int) -> float:
    """The calibrated signal's time in units of the uncalibrated one's, on a pool of this size."""
    random = Random(0)
    pool = [random.random() for _ in range(size)]

    def seconds(**given: Any) -> float:
        return timeit(lambda: assess(pool, **given), number=300, timer=process_time)

    # in turns, and the middle of the ratios: a machine that changes its speed moves neither
    return median(seconds(calibration=calibration) / seconds() for _ in range(15))


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
    assert calibration.venn_abers is not None
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
    json.dump({"ratios": ratios, "fit": round(fit_seconds(), 3)}, sys.stdout)


if __name__ == "__main__":
    main()
