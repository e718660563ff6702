"""Files of the stress run: mutated ones, and processes that are killed while they write."""

import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from stress_checks import Row

from recall_signal import Baseline, Calibration, Pool, assess
from recall_signal._auto.state_file import save
from recall_signal.confidence import Level
from recall_signal.errors import CalibrationError, RecallSignalError
from recall_signal.logs import CanaryRecord, append_canaries
from recall_signal.logs._canaries import CANARY_FILE
from recall_signal.monitoring import LogReport, monitor

STRANGE: tuple[Any, ...] = (
    None,
    True,
    "NaN",
    "",
    "\x1b[31mred",
    [],
    {},
    -1,
    0,
    0.0,
    1e308,
    -1e308,
    1e-320,
    10**30,
    float("nan"),
    float("inf"),
    "x" * 5000,
)
"""Values that take the place of others."""

STRIDE = 16
"""Every sixteenth file is a baseline, a state, a day's canaries; the rest are calibrations."""

RANKS: dict[Level, int] = {"none": 0, "low": 1, "moderate": 2, "high": 3}

WORDS = ("harbour", "orchard", "violin", "glacier", "bakery", "lantern", "compass", "meadow")


def fitted() -> Calibration:
    """Fit a calibration over a few texts, through a toy search."""
    rng = Random(7)
    texts = [" ".join(rng.sample(WORDS, 4)) + f" number {n}" for n in range(60)]

    def search(query: str) -> Pool:
        asked = set(query.lower().split())
        found = sorted(texts, key=lambda text: -len(asked & set(text.split())))[:10]
        shares = [len(asked & set(text.split())) / 6 for text in found]
        cosines = [min(0.95, 0.2 + 0.7 * share + 0.05 * rng.random()) for share in shares]
        return Pool(cosines, texts=found, query=query)

    return Calibration.fit(search, documents=texts)


def mutate(tries: int, folder: Path, seed: int = 3) -> Row:
    """Load files of which something was changed."""
    row, rng = Row("mutated files", tries), Random(seed)
    calibration, path = fitted(), folder / "mutated.json"
    calibration.save(folder / "calibration.json")
    Baseline([n / 100 for n in range(60)]).save(folder / "baseline.json")
    log = _log(folder)
    kinds: list[tuple[bytes, Callable[[Path], Any], Callable[[Row, Any], None]]] = [
        ((folder / "calibration.json").read_bytes(), Calibration.load, check_levels),
        ((folder / "baseline.json").read_bytes(), Baseline.load, lambda _row, _loaded: None),
        ((log / "_monitor.json").read_bytes(), lambda path: monitor(log, state=path), check_json),
        ((log / CANARY_FILE).read_bytes(), lambda path: _with_canaries(log, path), check_json),
    ]
    for at in range(tries):
        place = at % STRIDE - STRIDE + len(kinds)
        content, load, check = kinds[max(place, 0)]
        path.write_bytes(_changed(content, rng))
        try:
            loaded = load(path)
        except RecallSignalError:
            continue
        except BaseException as error:
            row.faults["foreign errors"] += 1
            row.note(f"{type(error).__name__} from a file")
            continue
        check(row, loaded)
    return row


def _log(folder: Path) -> Path:
    """A log of two days with its canaries, which was monitored once."""
    log = folder / "log"
    (log / "day=2026-11-01").mkdir(parents=True)
    times = [datetime(2026, 11, 1 + at // 20, tzinfo=UTC) for at in range(40)]
    columns = {"ts": times, "cosines": [[0.5, 0.2]] * 40, "level": ["high"] * 40}
    pq.write_table(pa.table(columns), log / "day=2026-11-01" / "part-1.parquet")
    tops = {f"{at:08x}": at / 50 for at in range(48)}
    append_canaries(log, CanaryRecord("2026-11-01T03:00:00+00:00", tops, encoder="toy"))
    monitor(log)
    return log


def _with_canaries(log: Path, path: Path) -> LogReport:
    shutil.copyfile(path, log / CANARY_FILE)
    return monitor(log)


def check_json(row: Row, report: LogReport) -> None:
    """Count reports that are no JSON, as with a figure that is not finite."""
    try:
        json.dumps(report.to_dict(), allow_nan=False)
    except (TypeError, ValueError):
        row.faults["no JSON"] += 1
        row.note("a monitor's report is no JSON")


def check_levels(row: Row, calibration: Calibration) -> None:
    """Count levels that are NaN, inverted or constant."""
    str(calibration)
    if not calibration.decides:
        return
    for coverage in (None, 0.0, 1.0):
        ranks: list[int] = []
        for top in (-1.0, -0.5, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
            signal_ = assess([top, top / 2], calibration=calibration, term_coverage=coverage)
            if signal_.probability is None or not isfinite(signal_.probability):
                row.faults["senseless levels"] += 1
                row.note("a level without a probability")
                return
            ranks.append(RANKS[signal_.level])
        if ranks != sorted(ranks):
            row.faults["senseless levels"] += 1
            row.note("inverted levels")
        if coverage is None and ranks[0] == ranks[-1]:
            row.faults["senseless levels"] += 1
            row.note("constant levels")


def _changed(content: bytes, rng: Random) -> bytes:
    """Change bytes, or a value, or a key."""
    if rng.random() < 0.4:
        data = bytearray(content)
        for _ in range(rng.choice((1, 1, 2, 8))):
            at = rng.randrange(len(data))
            match rng.randrange(4):
                case 0:
                    data[at] = rng.randrange(256)
                case 1:
                    del data[at : at + rng.choice((1, 10, 500))]
                case 2:
                    data[at:at] = bytes(rng.randrange(256) for _ in range(3))
                case _:
                    del data[at:]
            data = data or bytearray(b"{")
        return bytes(data)
    values = json.loads(content)
    for _ in range(rng.choice((1, 1, 2))):
        _change_value(values, rng)
    return json.dumps(values).encode()


def _change_value(values: Any, rng: Random) -> None:
    """Change something at a random depth."""
    while True:
        keys = list(values) if isinstance(values, dict) else list(range(len(values)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(values[key], dict | list) and values[key] and rng.random() < 0.7:
            values = values[key]
            continue
        match rng.randrange(4):
            case 0:
                del values[key]
            case 1 if isinstance(values[key], int | float):
                values[key] = values[key] * rng.choice((-1, 0, 10, 1e6, 1e-6)) + rng.choice((0, 1))
            case 2 if isinstance(values, dict):
                values["strange"] = rng.choice(STRANGE)
            case _:
                values[key] = rng.choice(STRANGE)
        return


def kill(tries: int, folder: Path, seed: int = 4) -> Row:
    """Kill processes while they save, and read what is there."""
    row, rng = Row("kill -9 while saving", tries), Random(seed)
    calibration = fitted()
    ways: list[tuple[Path, Callable[[Calibration, Path], None]]] = [
        (folder / "saved.json", lambda value, path: value.save(path)),
        (folder / "auto.json", save),
    ]
    for path, write in ways:
        write(calibration, path)
    for at in range(tries):
        path, write = ways[at % 2]
        child = os.fork()
        if not child:
            while True:
                write(calibration, path)
        time.sleep(0.001 + 0.006 * rng.random())
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        try:
            right = Calibration.load(path) == calibration
        except (CalibrationError, OSError):
            right = False
        row.faults["broken files"] += not right
    for path, write in ways:
        write(calibration, path)
    names = {path.name for path, _ in ways}
    left = [entry.name for entry in folder.iterdir() if entry.name not in names]
    left = [name for name in left if "saved.json" in name or "auto.json" in name]
    row.faults["temporary files"] += len(left)
    return row
