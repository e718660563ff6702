"""Simulate months of traffic and canaries, and count what the monitor finds and when it is wrong.

    python benchmarks/monitoring.py
    python benchmarks/monitoring.py --cases 20 --months 4   # quick

Invented traffic: top cosines N(.62, .10) of answerable queries and N(.42, .09) of others, share .8
of them answerable with a standard deviation of .02 from day to day and .05 less on weekends; every
fifth query repeats one of two hundred. Canaries: the best of the stored texts is Gumbel with a
scale of .03, .3 % new texts a day. The monitor's own functions judge, nothing else.

The constants were chosen on seeds below 1000; what is reported uses 2026 and 4051, chosen before.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from recall_signal import Calibration, Pool, RecallConfidence, SelectionReport, assess
from recall_signal.calibration._fingerprint import FINGERPRINT_TEXTS, fingerprint_of
from recall_signal.logs import CanaryRecord, LogWriter, log_schema, parquet_options
from recall_signal.monitoring import Day, monitor, monitor_fleet
from recall_signal.monitoring._canary_test import judge_canaries
from recall_signal.monitoring._days import MICRO, bin_counts
from recall_signal.monitoring._traffic import DAYS, compare_days

Floats = NDArray[np.float64]

SEEDS = (2026, 4051)
START = date(2026, 1, 5)
"""A Monday."""

PRESENT, ABSENT = (0.62, 0.10), (0.42, 0.09)
SHARE, DAY_SD, WEEKEND = 0.8, 0.02, -0.05
REPEATED, POPULAR = 0.2, 200
GUMBEL, DAILY_GROWTH = 0.03, 0.003
CANARIES, DIMENSIONS = 48, 256
MONTH = 30
"""Days that are judged, behind the 28 of reference."""


@dataclass(frozen=True)
class Change:
    """A change on the first judged day.

    Attributes:
        name: Of the table's row.
        shift: Added to every top cosine.
        absent_shift: Added to those of queries without an answer only.
        share: Share of answerable queries from then on.
    """

    name: str
    shift: float = 0.0
    absent_shift: float = 0.0
    share: float = SHARE


class Traffic:
    """Days of queries of one service.

    Args:
        seed: Of everything that is drawn.
        per_day: Queries a day.
    """

    def __init__(self, seed: int, per_day: int) -> None:
        self.random = np.random.default_rng(seed)
        self.per_day = per_day
        self.is_present = self.random.random(POPULAR) < SHARE
        self.popular = self._tops(self.is_present)
        self.weights = 1.0 / np.arange(1, POPULAR + 1)
        self.weights /= self.weights.sum()

    def _tops(self, present: NDArray[np.bool_]) -> Floats:
        mean = np.where(present, PRESENT[0], ABSENT[0])
        sd = np.where(present, PRESENT[1], ABSENT[1])
        return np.clip(self.random.normal(mean, sd), -1.0, 1.0)

    def day(self, number: int, change: Change | None = None) -> Day:
        """One day, changed or not."""
        change = change or Change("none")
        weekend = WEEKEND if number % 7 >= 5 else 0.0
        share = float(np.clip(change.share + weekend + self.random.normal(0, DAY_SD), 0, 1))
        fresh = self.random.binomial(self.per_day, 1.0 - REPEATED)
        present = self.random.random(fresh) < share
        # Popular questions are asked in the day's mix as well.
        weights = self.weights * np.where(self.is_present, share / SHARE, (1 - share) / (1 - SHARE))
        asked = self.random.choice(POPULAR, self.per_day - fresh, p=weights / weights.sum())
        tops = np.concatenate([self._tops(present), self.popular[asked]])
        present = np.concatenate([present, self.is_present[asked]])
        tops = np.clip(tops + change.shift + np.where(present, 0.0, change.absent_shift), -1, 1)
        probability = 1.0 / (1.0 + np.exp(-(tops - 0.52) / 0.03))  # a calibrated line
        return Day(
            rows=len(tops),
            tops=bin_counts(tops),
            levels={},
            advice={"read": int((probability >= 0.5).sum())},
            probable=len(tops),
            millionths=int(np.rint(probability * MICRO).sum()),
        )

    def days(self, change: Change | None, judged: int) -> dict[str, Day]:
        """The reference, and the judged days behind it."""
        return {
            (START + timedelta(number)).isoformat(): self.day(
                number, change if number >= DAYS else None
            )
            for number in range(DAYS + judged)
        }


def alarms(days: dict[str, Day]) -> list[str]:
    """The dates on which the traffic or its share is said to have changed."""
    return [one.day for one in compare_days(days) if one.traffic_changed or one.share_changed]


def vectors(random: np.random.Generator) -> Floats:
    """The vectors of an encoder for the fixed texts."""
    return random.normal(size=(len(FINGERPRINT_TEXTS), DIMENSIONS))


class Corpus:
    """The top cosines of the canaries over a corpus that grows a little every day.

    The best of n texts is Gumbel with a location of `scale * log(n)`; a text that comes later
    replaces it where it is better. The location cancels out.

    Args:
        seed: Of everything that is drawn.
        fingerprint: Whether an encoder can be reached.
    """

    def __init__(self, seed: int, *, fingerprint: bool = True) -> None:
        self.random = np.random.default_rng(seed)
        self.size = 1.0
        self.best = self._best_of(1.0)
        self.vectors = vectors(self.random) if fingerprint else None

    def _best_of(self, size: float) -> Floats:
        return self.random.gumbel(0.3 + GUMBEL * np.log(size), GUMBEL, CANARIES)

    def grow(self, factor: float) -> None:
        """More texts."""
        self.best = np.maximum(self.best, self._best_of(self.size * (factor - 1.0)))
        self.size *= factor

    def exchange_encoder(self, shift: float, near: float) -> None:
        """Another encoder; `near` 0 gives unrelated vectors, 1 the same ones."""
        self.best = self._best_of(self.size) + shift
        if self.vectors is not None:
            other = vectors(self.random)
            self.vectors = near * self.vectors + np.sqrt(1 - near**2) * other

    def record(self, number: int) -> CanaryRecord:
        """A day's record, with vectors that are noisy by 1e-3."""
        noisy = self.vectors
        if noisy is not None:
            noisy = noisy + self.random.normal(0, 1e-3 * np.sqrt(DIMENSIONS), noisy.shape)
        when = (START + timedelta(number)).isoformat()
        tops = {f"{at:08x}": round(float(top), 6) for at, top in enumerate(self.best)}
        return CanaryRecord(f"{when}T03:00:00+00:00", tops, fingerprint_of(noisy))


def canaries(corpus: Corpus, days: int, event: Any = None) -> Iterator[CanaryRecord]:
    """The records of these days; the event is on the day after the reference."""
    for number in range(days):
        if number:
            corpus.grow(1.0 + DAILY_GROWTH)
        if number == DAYS and event is not None:
            event(corpus)
        yield corpus.record(number)


def found_by_canaries(seed: int, cases: int, kinds: Sequence[str], **made: Any) -> Any:
    """A function of an event: cases in which the first day after it names one of these kinds."""

    def count(event: Any) -> int:
        found = 0
        for case in range(cases):
            records = [*canaries(Corpus(seed * 1000 + case, **made), DAYS + 1, event)]
            *before, last = judge_canaries(records)
            found += last.change in kinds and not any(one.change for one in before)
        return found

    return count


CHANGES = (
    Change("answerable share .8 -> .5", share=0.5),
    Change("answerable share .8 -> .7", share=0.7),
    Change("all tops + .03", shift=0.03),
    Change("all tops + .05", shift=0.05),
    Change("all tops + .10", shift=0.10),
    Change("tops of unanswerable queries + .03", absent_shift=0.03),
    Change("tops of unanswerable queries + .10", absent_shift=0.10),
)


def traffic_table(seed: int, cases: int) -> list[tuple[str, int, int]]:
    """For each change, the cases that are found on its first day at 500 and 5,000 a day."""
    rows = []
    for change in CHANGES:
        found = []
        for per_day in (500, 5000):
            seen = 0
            for case in range(cases):
                days = Traffic(seed * 1000 + case, per_day).days(change, 1)
                seen += len(alarms(days))
            found.append(seen)
        rows.append((change.name, *found))
    return rows


def quiet_months(seed: int, months: int) -> tuple[int, int, int]:
    """Months with an alarm: of the traffic at 500 and at 5,000 a day, and of the canaries."""
    of_traffic = [
        sum(
            bool(alarms(Traffic(seed * 1000 + month, per_day).days(None, MONTH)))
            for month in range(months)
        )
        for per_day in (500, 5000)
    ]
    of_canaries = sum(
        any(one.change for one in judge_canaries([*canaries(Corpus(seed * 1000 + month), MONTH)]))
        for month in range(months)
    )
    return of_traffic[0], of_traffic[1], of_canaries


def canary_table(seed: int, cases: int) -> list[tuple[str, int]]:
    """For each change, the cases that are found by the canaries of its first day."""
    with_encoder = found_by_canaries(seed, cases, ("encoder",))
    without = found_by_canaries(seed, cases, ("encoder_or_corpus",), fingerprint=False)
    grown = found_by_canaries(seed, cases, ("corpus_grown",))
    replaced = found_by_canaries(seed, cases, ("corpus_replaced",))
    return [
        ("encoder exchanged", with_encoder(lambda c: c.exchange_encoder(0.1, 0.0))),
        ("  of cosine .98 to the old one", with_encoder(lambda c: c.exchange_encoder(0.0, 0.98))),
        ("  no encoder in reach, tops + .1", without(lambda c: c.exchange_encoder(0.1, 0.0))),
        ("  no encoder in reach, tops + 0", without(lambda c: c.exchange_encoder(0.0, 0.0))),
        ("corpus twice as large", grown(lambda c: c.grow(2.0))),
        ("corpus tripled", grown(lambda c: c.grow(3.0))),
        ("corpus ten times as large", grown(lambda c: c.grow(10.0))),
        ("corpus replaced", replaced(lambda c: c.exchange_encoder(0.0, 1.0))),
    ]


@dataclass
class Query:
    """The end of a query, as a handler passes it on."""

    confidence: RecallConfidence
    cosines: list[float]
    query: str = "x"
    items: Sequence[Any] = ("a",) * 5
    seconds: float | None = 0.001
    selection: SelectionReport = SelectionReport(applied=False, reason="not_configured")  # noqa: RUF009
    report: Any = None
    settings: Any = None
    encoder: str | None = "demo"
    calibrator: Any = None


def writer_cost(rows: int) -> tuple[float, float, float, float, int]:
    """Microseconds a query, and bytes a row in the open part.

    In a row: processor time of the query's thread, and with all that is done to write the row.
    Then one query every half millisecond, with cold caches and the writer's thread beside it:
    median and 99th percentile by the wall.
    """
    cosines = [0.9, *np.linspace(0.3, 0.6, 49).tolist()]
    confidence = assess(cosines)
    settings = SimpleNamespace(retriever="FAISS")
    query = Query(confidence, cosines, report={"advice": "read"}, settings=settings)
    ids = [uuid4().bytes for _ in range(rows)]
    with tempfile.TemporaryDirectory() as folder, LogWriter(folder, flush_seconds=60) as log:
        own, whole = [], []
        for _ in range(10):
            start, mine = time.process_time(), time.thread_time()
            for run_id in ids[:1000]:
                log.write(query, run_id)
            own.append(time.thread_time() - mine)
            log.flush()
            whole.append(time.process_time() - start)
        size = sum(part.stat().st_size for part in Path(folder).rglob("*.arrows")) // log.written
    with tempfile.TemporaryDirectory() as folder, LogWriter(folder) as log:
        took = []
        for run_id in ids:
            time.sleep(0.0005)
            start = time.perf_counter()
            log.write(query, run_id)
            took.append(time.perf_counter() - start)
    median, late = (np.quantile(took, [0.5, 0.99]) * 1e6).tolist()
    each = 1e6 / len(ids[:1000])
    return min(own) * each, min(whole) * each, median, late, size


def reading_speed(days: int) -> tuple[float, float]:
    """Million rows a second of a first read, and seconds of the next one with a day more."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        traffic = np.random.default_rng(1)
        schema = log_schema()
        for number in range(days + 1):
            if number == days:
                start = time.process_time()
                rows = monitor(folder).series[0].rows
                first = rows / (time.process_time() - start) / 1e6
            when = (START + timedelta(number)).isoformat()
            part = folder / f"day={when}" / "part-1.parquet"
            part.parent.mkdir()
            table = _day_table(when, traffic, schema)
            pq.write_table(table, part, **parquet_options(schema))
        start = time.process_time()
        monitor(folder)
        return first, time.process_time() - start


def _day_table(when: str, random: np.random.Generator, schema: pa.Schema, rows: int = 5000) -> Any:
    """A day of a log: 50 cosines a row, and the names of one retriever."""
    start = np.datetime64(when, "us").astype(np.int64)
    stamps = start + np.sort(random.integers(0, 86_400_000_000, rows))
    cosines = -np.sort(-random.normal(0.45, 0.1, (rows, 50)).clip(-1, 1)).astype(np.float32)
    columns = {
        "ts": pa.array(stamps, schema.field("ts").type),
        "run_id": pa.array([random.bytes(16) for _ in range(rows)], pa.binary(16)),
        "retriever": pa.array(["FAISS"] * rows),
        "encoder": pa.array(["demo"] * rows),
        "level": pa.array(["high"] * rows),
        "advice": pa.array(["read"] * rows),
        "probability": pa.array(random.random(rows), pa.float32()),
        "cosines": pa.ListArray.from_arrays(
            pa.array(np.arange(rows + 1, dtype=np.int32) * 50),
            pa.array(cosines.ravel()),
            type=schema.field("cosines").type,
        ),
    }
    missing = {f.name: pa.nulls(rows, f.type) for f in schema if f.name not in columns}
    return pa.Table.from_arrays([{**columns, **missing}[f.name] for f in schema], schema=schema)


def fleet(tenants: int) -> tuple[float, float, int, int]:
    """Seconds (wall, processor) for a fleet with a month of canaries; stale ones found, made."""
    calibration = Calibration.fit(
        lambda query: Pool([0.8 if "text" in query else 0.2 + len(query) % 20 / 100, 0.1]),
        documents=[f"text {n} of some length" for n in range(40)],
    )
    calibration = replace(calibration, created=f"{START}T00:00:00+00:00", canaries=None)
    with tempfile.TemporaryDirectory() as name:
        for number in range(tenants):
            place = Path(name) / f"tenant-{number:04}"
            place.mkdir()
            calibration.save(place / "calibration.json")
            stale = number % 10 == 0
            event = (lambda c: c.grow(3.0)) if stale else None
            records = canaries(Corpus(number), DAYS + 2, event)
            lines = [
                json.dumps({"v": 1, **asdict(replace(r, created=calibration.created))})
                for r in records
            ]
            (place / "_canaries.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
        start, used = time.perf_counter(), time.process_time()
        found = monitor_fleet(name)
        took, used = time.perf_counter() - start, time.process_time() - used
    made = len(range(0, tenants, 10))
    right = [int(t.name[-4:]) % 10 == 0 for t in found.tenants if t.status == "stale"]
    return took, used, sum(right), made


def report(seed: int, cases: int, months: int) -> list[str]:
    """Print what is found with this seed, and return the bars that are missed."""
    missed = []
    print(f"\nSeed {seed}: found on the first day, of {cases} cases")
    for name, found in canary_table(seed, cases):
        print(f"  {name:40} {found:4}   canaries")
        if name in ("encoder exchanged", "corpus tripled") and found < 0.95 * cases:
            missed.append(f"{name}: {found} of {cases}, seed {seed}")
    print(f"  {'':40} {'500':>4} {'5000':>5} a day, from the tops and levels alone")
    for name, few, many in traffic_table(seed, cases):
        print(f"  {name:40} {few:4} {many:5}")
        if name.endswith("-> .5") and many < 0.95 * cases:
            missed.append(f"{name}: {many} of {cases}, seed {seed}")
    few, many, canary = quiet_months(seed, months)
    print(
        f"  quiet months with an alarm, of {months}: traffic {few} (500 a day) and {many} (5,000), "
        f"canaries {canary}"
    )
    if few or many or canary:
        missed.append(f"alarms in quiet months: {few}, {many}, {canary}, seed {seed}")
    return missed


def costs(rows: int, days: int, tenants: int) -> None:
    """Print what the writer, the reader and a fleet cost; by the wall, and in processor time."""
    if rows:
        own, whole, median, late, size = writer_cost(rows)
        print(
            f"\nWriter, microseconds a query of 50 cosines: {own:.1f} of processor time, "
            f"{whole:.1f} with the thread that writes; one at a time by the wall {median:.0f} "
            f"(99 % below {late:.0f}); {size} bytes a row in the open part"
        )
    if days:
        speed, again = reading_speed(days)
        print(
            f"Reading {days} days of 5,000, processor time: {speed:.2f} M rows/s; the next day "
            f"{again:.2f} s"
        )
    if tenants:
        wall, used, right, made = fleet(tenants)
        print(
            f"Fleet of {tenants:,} with a month of canaries each: {wall:.1f} s by the wall, "
            f"{used:.1f} s of processor time; {right} of {made} tripled corpora found"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description="What the monitor finds, and its false alarms.")
    parser.add_argument("--cases", type=int, default=100, help="simulated cases of each change")
    parser.add_argument("--months", type=int, default=20, help="quiet months for each seed")
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS)
    parser.add_argument("--rows", type=int, default=4000, help="rows for the writer's cost")
    parser.add_argument("--days", type=int, default=100, help="days of the log that is read")
    parser.add_argument("--tenants", type=int, default=1000, help="size of the fleet")
    given = parser.parse_args(arguments)
    missed = [bar for seed in given.seeds for bar in report(seed, given.cases, given.months)]
    costs(given.rows, given.days, given.tenants)
    for bar in missed:
        print(f"missed: {bar}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
