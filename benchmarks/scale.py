"""Measure what scoring costs at scale, in one table with the bars it has to stay under.

Ratios come from one run: what is compared takes turns, and each figure is the best of its rounds,
since a shared machine only ever adds time. Times of kernels are processor time of one thread;
those of files and engines are the clock on the wall beside processor time, as each row says.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy's, read when it is imported

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time, sleep, thread_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich import box
from rich.console import Console
from rich.table import Table

from recall_signal import Calibration, assess, assess_many
from recall_signal.logs import BatchScorer, parquet_options, score

POOL = 50
LAYOUT = "list<float32> x 50, BYTE_STREAM_SPLIT, zstd, row groups of 100,000"
GROUP = 100_000


@dataclass(frozen=True)
class Effort:
    """Amount of what is measured."""

    sizes: Sequence[int] = (10_000, 100_000, 1_000_000)
    seconds: float = 4.0
    equal: int = 200_000
    rows: int = 1_000_000
    kills: int = 50
    memory: int = 1_000_000


QUICK = Effort((2_000,), 0.01, 2_000, 20_000, 2, 20_000)
FULL = Effort((10_000, 100_000, 1_000_000, 10_000_000), 10.0, 10_000_000, 100_000_000, 50)


@dataclass(frozen=True)
class Row:
    """One line of the table; `bar` is the highest ratio allowed, negative for the lowest."""

    what: str
    takes: str
    against: str = ""
    ratio: float | None = None
    bar: float | None = None
    clock: str = "thread"

    @property
    def verdict(self) -> str:
        """Return pass or miss, or nothing where there is no bar."""
        if self.bar is None or self.ratio is None:
            return ""
        good = self.ratio <= self.bar if self.bar > 0 else self.ratio >= -self.bar
        return "pass" if good else "miss"


def main() -> int:
    """Measure and print; 1 where a bar was missed and `--check` asks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="exit with 1 where a bar is missed")
    parser.add_argument("--quick", action="store_true", help="every row, no figure to rely on")
    parser.add_argument("--full", action="store_true", help="10^7 rows, and files of 10^8 (hours)")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    options = parser.parse_args()
    effort = QUICK if options.quick else FULL if options.full else Effort()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            for row in SECTIONS[name](effort, Path(folder)):
                Console(stderr=True).print(f"{row.what}: {row.takes} {row.verdict}")
                rows.append(row)
    print_table(rows)
    return int(options.check and any(row.verdict == "miss" for row in rows))


def print_table(rows: Sequence[Row]) -> None:
    """Print one line a row."""
    table = Table(box=box.SIMPLE)
    for name in ("what", "takes", "against", "ratio", "bar", "clock", ""):
        table.add_column(name, overflow="fold")
    for row in rows:
        bar = "" if row.bar is None else f"<= {row.bar}" if row.bar > 0 else f">= {-row.bar}"
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        table.add_row(row.what, row.takes, row.against, ratio, bar, row.clock, row.verdict)
    Console(width=150).print(table)


def race(contestants: dict[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """Return the best processor time of each; they take turns until the time is over."""
    best = dict.fromkeys(contestants, float("inf"))
    end = perf_counter() + seconds * len(contestants)
    for round_ in range(1000):
        for name, call in contestants.items():
            start = thread_time()
            call()
            best[name] = min(best[name], thread_time() - start)
        if round_ >= 1 and perf_counter() > end:
            break
    return best


def fitted() -> Calibration:
    """Return a calibration on both witnesses, fitted on a made-up retriever."""
    words = ("baker", "ferry", "orchid", "lantern", "granite", "violin", "harbour", "meadow")
    random_ = random.Random(0)
    texts = [" ".join(random_.choices(words, k=8)) + f" number{n}" for n in range(60)]

    def search(query: str) -> Any:
        from recall_signal import Pool

        shared = [len(set(query.split()) & set(text.split())) for text in texts]
        drawn = [min(0.99, 0.3 + 0.08 * n + random_.gauss(0, 0.04)) for n in shared]
        order = sorted(range(len(texts)), key=lambda at: -drawn[at])[:20]
        found = [texts[at] for at in order]
        return Pool([drawn[at] for at in order], ids=found, texts=found, query=query)

    return Calibration.fit(search, documents=[(text, text) for text in texts])


def measure_kernel(effort: Effort, _folder: Path) -> Iterator[Row]:
    """`assess_many` beside one pass of max and mean over the same table."""
    rng, fit = np.random.default_rng(0), fitted()
    for size in effort.sizes:
        dense = rng.normal(0.35, 0.1, (size, POOL)).clip(-1, 1)
        gaps = np.where(rng.random(dense.shape) < 0.1, np.nan, dense)
        short, coverage = np.round(dense, 4), rng.random(size)
        cached = size <= 10_000
        cases: dict[str, tuple[Any, dict[str, Any], float]] = {
            "dense": (dense, {}, 1.0),
            "float32": (dense.astype(np.float32), {}, 1.0),
            "one in ten missing": (gaps, {}, 1.0),
            "four decimals": (short, {}, 1.5),
            "with words": (dense, {"calibration": fit, "term_coverage": coverage}, 1.5),
            "missing, with words": (gaps, {"calibration": fit, "term_coverage": coverage}, 1.5),
        }
        for name, (table, given, bar) in cases.items():
            took = race(
                {
                    "many": lambda table=table, given=given: assess_many(table, **given),
                    "pass": lambda table=table: (table.max(axis=1), table.mean(axis=1)),
                },
                effort.seconds / len(cases),
            )
            yield Row(
                f"assess_many, {size:,} x {POOL}, {name}",
                f"{size / took['many'] / 1e6:.2f} M rows/s",
                f"max and mean, {took['pass'] / size * 1e9:.0f} ns a row",
                took["many"] / took["pass"],
                3.0 if cached else bar,
            )


MEMORY = """
import sys
from pathlib import Path
import numpy as np
from recall_signal import assess_many
rows, width, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
table = np.full((rows, width), 0.5, dtype=kind)
table[:, 0] = np.linspace(0.5, 0.9, rows)
assess_many(table[:20_000])
def peak():  # of this program alone; getrusage would begin with the parent's
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
before = peak()
made = assess_many(table)
print((peak() - before) * 1024 / table.nbytes)
"""


def measure_memory(effort: Effort, _folder: Path) -> Iterator[Row]:
    """Peak of a fresh process beside its input."""
    for width in (50, 10, 5):
        for kind in ("float64", "float32", "float16"):
            command = [sys.executable, "-c", MEMORY, str(effort.memory), str(width), kind]
            done = subprocess.run(command, capture_output=True, check=True, text=True)
            yield Row(
                f"memory beside the input, {width} candidates, {kind}",
                f"{effort.memory:,} rows",
                "input",
                float(done.stdout),
                0.3 if width == POOL else None,
                clock="",
            )


def measure_equality(effort: Effort, _folder: Path) -> Iterator[Row]:
    """Rows of many kinds, each compared with `assess` in every column."""
    rng, block, differ = np.random.default_rng(1), 20_000, 0
    for start in range(0, effort.equal, block):
        table = rng.normal(0.4, 0.2, (min(block, effort.equal - start), 8)).clip(-1, 1)
        table[::2] = np.round(table[::2], 2)
        table[1::4] = np.round(table[1::4], 4)
        table[5::7] = np.where(rng.random(table[5::7].shape) < 0.3, np.nan, table[5::7])
        table[11::100] = np.nan
        table[12::100, 1:] = np.nan
        table[13::100, 3] = 1.2
        rows = assess_many(table).to_arrow().to_pylist()
        for row, cosines in zip(rows, table.tolist(), strict=True):
            signal = assess(cosines)
            differ += any(getattr(signal, name) != value for name, value in row.items())
    yield Row(f"rows that differ from assess, of {effort.equal:,}", str(differ), clock="")


def write_log(path: Path, rows: int) -> Path:
    """Write a log of so many rows; larger ones repeat their first million by links."""
    path.mkdir()
    step = min(rows, 1_000_000)
    rng, first = np.random.default_rng(2), path / "part-0.parquet"
    kind = pa.list_(pa.field("element", pa.float32()))
    schema = pa.schema([("id", pa.int64()), pa.field("cosines", kind)])
    with pq.ParquetWriter(first, schema, **parquet_options(schema)) as writer:
        for start in range(0, step, GROUP):
            size = min(GROUP, step - start)
            values = rng.normal(0.35, 0.1, size * POOL).clip(-1, 1).astype(np.float32)
            offsets = pa.array(np.arange(size + 1, dtype=np.int32) * POOL)
            lists = pa.ListArray.from_arrays(offsets, pa.array(values)).cast(kind)
            ids = pa.array(np.arange(start, start + size))
            writer.write_table(pa.table([ids, lists], schema=schema), row_group_size=GROUP)
    for number in range(1, rows // step):
        (path / f"part-{number}.parquet").hardlink_to(first)
    return path


def naive_loop(log: Path, out: Path) -> None:
    """Score as one would without the library: pyarrow's batches and a few lines of numpy."""
    with pq.ParquetFile(log / "part-0.parquet") as file:
        writer = None
        for batch in file.iter_batches(use_threads=False):
            values = batch["cosines"].flatten().to_numpy().reshape(-1, POOL).astype(np.float64)
            top = values.max(axis=1)
            others = np.sort(values, axis=1)[:, :-1]
            mean, spread = others.mean(axis=1), others.std(axis=1)
            prominence = (top - mean) / mean
            high, moderate = (prominence >= 0.4) & (top >= 0.5), (prominence >= 0.25) & (top >= 0.3)
            level = np.select(
                [high, moderate, prominence >= 0.12], ["high", "moderate", "low"], "none"
            )
            table = pa.table(
                {
                    "id": batch["id"],
                    "level": level,
                    "top_score": np.round(top, 3),
                    "prominence": np.round(prominence, 3),
                    "relative_margin": np.round((top - mean) / spread, 3),
                }
            )
            writer = writer or pq.ParquetWriter(out, table.schema, compression="zstd")
            writer.write_table(table)
        assert writer is not None
        writer.close()


def measure_files(effort: Effort, folder: Path) -> Iterator[Row]:
    """`score` from Parquet to Parquet."""
    rows = effort.rows
    log, small = write_log(folder / "log", rows), write_log(folder / "one", min(rows, 1_000_000))
    least = {"score": float("inf"), "naive": float("inf")}
    for number in range(3):
        for name in least:
            start = process_time()
            if name == "score":
                score(small, folder / f"score-{number}")
            else:
                naive_loop(small, folder / "naive.parquet")
            least[name] = min(least[name], process_time() - start)
    size = min(rows, 1_000_000)
    yield Row(
        f"score, Parquet to Parquet ({LAYOUT})",
        f"{size / least['score'] / 1e6:.2f} M rows/s",
        f"a loop by hand, {size / least['naive'] / 1e6:.2f} M rows/s",
        least["naive"] / least["score"],
        clock="process",
    )
    walls, peaks = {}, {}
    for jobs in (1, 2):
        start = perf_counter()
        peaks[jobs] = scored_alone(log, folder / f"jobs-{jobs}", jobs)
        walls[jobs] = perf_counter() - start
    same = all(
        path.read_bytes() == (folder / "jobs-2" / path.name).read_bytes()
        for path in (folder / "jobs-1").iterdir()
    )
    yield Row(
        f"score, two processes, {rows:,} rows, {'equal bytes' if same else 'OTHER BYTES'}",
        f"{rows / walls[2] / 1e6:.2f} M rows/s",
        f"one, {rows / walls[1] / 1e6:.2f} M rows/s",
        walls[1] / walls[2],
        -1.7 if rows >= 10_000_000 else None,  # a million take no longer than the two to start
        clock="wall",
    )
    yield Row(
        f"resident at most, {rows:,} rows", f"{peaks[1]:.2f} GB", "1 GB", peaks[1], 1.0, clock=""
    )


ALONE = """
import sys, re
from recall_signal.logs import score
if __name__ == "__main__":
    score(sys.argv[1], sys.argv[2], jobs=int(sys.argv[3]))
    print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


def scored_alone(log: Path, out: Path, jobs: int) -> float:
    """Score in a process of its own, start included; return the memory it held at most, in GB."""
    program = out.with_suffix(".py")
    program.write_text(ALONE, "utf-8")
    command = [sys.executable, str(program), str(log), str(out), str(jobs)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return int(done.stdout) * 1024 / 1e9


PROGRAM = "import sys; from recall_signal.logs import score; score(*sys.argv[1:3])"


def measure_kills(effort: Effort, folder: Path) -> Iterator[Row]:
    """Kill `score` at random moments; each next run goes on."""
    log = write_log(folder / "killed", min(effort.rows, 1_000_000))
    whole = score(log, folder / "whole.parquet").path.read_bytes()
    out, random_ = folder / "out.parquet", random.Random(3)
    command = [sys.executable, "-c", PROGRAM, str(log), str(out)]
    start = perf_counter()
    subprocess.run(command, check=True)
    usual, kills, finished, wrong = perf_counter() - start, 0, 1, 0
    out.unlink()
    while kills < effort.kills:
        with subprocess.Popen(command) as process:
            sleep(random_.uniform(0.2, 1.0) * usual)
            process.send_signal(signal.SIGKILL)
        kills += process.returncode == -signal.SIGKILL
        if out.exists():
            wrong += out.read_bytes() != whole
            finished += 1
            out.unlink()
    subprocess.run(command, check=True)
    wrong += out.read_bytes() != whole
    yield Row(f"outputs that differ after {kills} kills", f"{wrong} of {finished}", clock="")


def measure_spark(effort: Effort, folder: Path) -> Iterator[Row]:
    """`score_spark` from Parquet to Parquet on two cores."""
    from pyspark.sql import SparkSession

    from recall_signal.logs.engines import score_spark

    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    log = write_log(folder / "spark-log", min(effort.rows, 1_000_000))
    rows = pq.read_metadata(log / "part-0.parquet").num_rows
    start = perf_counter()
    builder = SparkSession.builder.master("local[2]")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.files.maxPartitionBytes": "16m",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    began = perf_counter() - start
    walls = []
    for number in range(3):
        start = perf_counter()
        scored = score_spark(session.read.parquet(str(log)))
        scored.write.mode("overwrite").parquet(str(folder / f"spark-{number}"))
        walls.append(perf_counter() - start)
    equal = by_id(folder / "spark-2").equals(by_id_local(log))
    session.stop()
    yield engine_row("Spark", rows, walls, began, equal)


def measure_ray(effort: Effort, folder: Path) -> Iterator[Row]:
    """`score_ray` from Parquet to Parquet on two cores."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    import ray
    from ray.data import DataContext

    from recall_signal.logs.engines import score_ray

    log = write_log(folder / "ray-log", min(effort.rows, 1_000_000))
    rows = pq.read_metadata(log / "part-0.parquet").num_rows
    start = perf_counter()
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=500 * 2**20,
        logging_level="ERROR",
        log_to_driver=False,
        _node_ip_address="127.0.0.1",
    )
    began = perf_counter() - start
    DataContext.get_current().enable_progress_bars = False
    walls = []
    for number in range(3):
        start = perf_counter()
        score_ray(ray.data.read_parquet(str(log))).write_parquet(str(folder / f"ray-{number}"))
        walls.append(perf_counter() - start)
    equal = by_id(folder / "ray-2").equals(by_id_local(log))
    ray.shutdown()
    yield engine_row("Ray", rows, walls, began, equal)


def engine_row(name: str, rows: int, walls: Sequence[float], began: float, equal: bool) -> Row:
    """Return the line of an engine."""
    best = rows / min(walls) / 1e6
    return Row(
        f"{name}, Parquet to Parquet, {rows:,} rows, {'equal' if equal else 'NOT EQUAL'} by id",
        f"{best:.2f} M rows/s, first {rows / walls[0] / 1e6:.2f}",
        f"start {began:.1f} s",
        clock="wall",
    )


def by_id(folder: Path) -> pa.Table:
    """Return an engine's result in the order of ids, in plain types."""
    table = pq.read_table(folder).sort_by("id")
    return plain(table)


def by_id_local(log: Path) -> pa.Table:
    """Return the result of this process."""
    return plain(BatchScorer()(pq.read_table(log / "part-0.parquet")).sort_by("id"))


def plain(table: pa.Table) -> pa.Table:
    """Return a table with strings for dictionaries, and one integer type."""
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_dictionary(column.type) or pa.types.is_string(column.type):
            column = column.cast(pa.string())
        elif pa.types.is_integer(column.type):
            column = column.cast(pa.int64())
        columns[name] = column.combine_chunks()
    return pa.table(columns)


SECTIONS: dict[str, Callable[[Effort, Path], Iterator[Row]]] = {
    "kernel": measure_kernel,
    "memory": measure_memory,
    "equality": measure_equality,
    "files": measure_files,
    "kills": measure_kills,
    "ray": measure_ray,
    "spark": measure_spark,
}

if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=FutureWarning)  # the engines' own, of pandas
    sys.exit(main())
