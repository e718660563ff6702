"""Canaries in a log: bundled probes asked once a day, by which a change is dated later.

They are the first 48 probes that a fit with the default seed asks, so that their first twelve are
those that every calibration remembers. One line of JSON a day, in `_canaries.jsonl` beside the
parts, a name that readers of folders pass over: a monitor of a thousand logs reads these files and
no others.

With 48, a corpus that has tripled since is found on the first day in 97 of 100 simulated cases and
with 24 in 93; an exchanged encoder in 99 with either (docs/monitoring.md).
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from recall_signal._files import open_regular, read_bounded
from recall_signal.calibration._canaries import sighting
from recall_signal.calibration._fingerprint import FINGERPRINT_TEXTS, Fingerprint, fingerprint_of
from recall_signal.calibration._probes import choose_probes
from recall_signal.calibration._requests import EmbedTexts, RequestSteps, Search
from recall_signal.errors import InvalidInputError

__all__ = [
    "CANARY_FILE",
    "DAILY",
    "CanaryRecord",
    "CanarySteps",
    "append_canaries",
    "canary_flow",
    "read_canaries",
    "read_canary_ends",
]

CANARY_FILE = "_canaries.jsonl"

DAILY = 48
"""Canaries of a day."""

MOST_FAILED = 12
"""Searches that may fail before the rest is given up: the retriever is down."""

MODE = 0o664
"""Of a new file; the umask takes from it. Whoever reads the log reads it."""

MAX_BYTES = 50_000_000
"""Most bytes of a file that is read; a day has 2 KB."""


def _moment(text: str) -> str:
    if datetime.fromisoformat(text).utcoffset() != timedelta(0):
        raise ValueError("not in UTC")
    return text


Moment = Annotated[str, Field(min_length=19, max_length=32), AfterValidator(_moment)]
"""UTC, ISO 8601."""


def _plausible(found: Fingerprint | None) -> Fingerprint | None:
    """Projections of unit vectors are in [-1, 1], so that distances are finite."""
    if found is not None and (
        found.dimensions < 1 or any(abs(p) > 1.01 for p in found.projections)
    ):
        raise ValueError("no projections of unit vectors")
    return found


Top = Annotated[float, Field(ge=-1.001, le=1.001)]
"""A cosine, with room for rounding."""


@dataclass(frozen=True, slots=True)
class CanaryRecord:
    """The canaries of one day, in figures.

    Attributes:
        ts: When, UTC, ISO 8601.
        tops: Top cosine by the canary, which is named by 8 hex digits of a hash of its query.
        fingerprint: Of the encoder, where one could be reached.
        retriever: Name of the retriever, where it was given.
        encoder: Name of its encoder, where it is known.
        created: Of the calibration in use; None without one, or where a plain function was
            asked, which cannot tell.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    ts: Moment
    tops: dict[Annotated[str, Field(pattern="^[0-9a-f]{8}$")], Top]
    fingerprint: Annotated[Fingerprint | None, AfterValidator(_plausible)] = None
    retriever: str | None = None
    encoder: str | None = None
    created: str | None = None

    @property
    def day(self) -> str:
        """The UTC day, as in `2026-03-04`."""
        return self.ts[:10]

    def under(self, created: str | None) -> str | None:
        """Return `created` of the calibration that these canaries were asked under.

        Its own where it has one. Else the given one, that of the calibration in use now, for what
        was asked since; None before it.
        """
        if self.created is None and created is not None and self.ts >= created:
            return created
        return self.created


CanarySteps: TypeAlias = RequestSteps[CanaryRecord]


def canary_flow(*, retriever: str | None, encoder: str | None, created: str | None) -> CanarySteps:
    """Return the steps of asking them all; a search that fails is left out."""
    tops: dict[str, float] = {}
    failed = 0
    for probe in choose_probes(DAILY, 0):
        try:
            seen = sighting(probe.text, (yield Search(probe.text)))
        except Exception:
            failed += 1
            if failed > MOST_FAILED:
                break
            continue
        if seen is not None:
            tops[f"{seen.query:08x}"] = round(seen.top, 6)
    fingerprint = None
    with suppress(Exception):  # an encoder that fails is one that cannot be reached
        fingerprint = fingerprint_of((yield EmbedTexts(FINGERPRINT_TEXTS)))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return CanaryRecord(now, tops, fingerprint, retriever, encoder, created)


def append_canaries(folder: str | Path, record: CanaryRecord) -> None:
    """Append a day's canaries to a log, on the disk when this returns.

    One write, so that processes may share the file; a line that a crash has cut stays by itself.

    Raises:
        OSError: The file cannot be written, or is a link or no regular file.
    """
    path = Path(folder) / CANARY_FILE
    text = json.dumps({"v": 1, **asdict(record)}, allow_nan=False, separators=(",", ":"))
    file = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, MODE)
    try:
        size = os.fstat(file).st_size
        torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
        os.write(file, (b"\n" if torn else b"") + text.encode() + b"\n")
        os.fsync(file)
    finally:
        os.close(file)


def read_canaries(folder: str | Path) -> list[CanaryRecord]:
    """Return the canaries of a log in order of time; lines that cannot be read are passed over.

    Raises:
        InvalidInputError: The file is a link, no regular file, cannot be read or is too long.
    """
    records = filter(None, map(_record, _lines(folder)))
    return sorted(records, key=lambda record: record.ts)


def read_canary_ends(folder: str | Path, created: str | None = None) -> list[CanaryRecord]:
    """Return the last canaries of a log, behind the first ones with the same calibration.

    These two say whether anything changed; most logs need no more.

    Args:
        folder: Of the log.
        created: Of the calibration in use, for canaries that do not name theirs.

    Raises:
        InvalidInputError: As `read_canaries`, or there are lines and none of them can be read.
    """
    lines = _lines(folder)
    last = next(filter(None, map(_record, reversed(lines))), None)
    if last is None:
        if lines:
            raise InvalidInputError(
                f"the log's {CANARY_FILE} holds no line that can be read; remove it"
            )
        return []
    used = last.under(created)
    names = {b"null", json.dumps(used).encode()}  # most lines need not be parsed
    alike = filter(None, (_record(line) for line in lines if any(name in line for name in names)))
    first = next((record for record in alike if record.under(created) == used), last)
    return [first] if first == last else [first, last]


def _lines(folder: str | Path) -> list[bytes]:
    try:
        content = read_bounded(Path(folder) / CANARY_FILE, MAX_BYTES, follow=False)
    except FileNotFoundError:
        return []
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise InvalidInputError(
            f"the log's {CANARY_FILE} cannot be read ({why}); remove it"
        ) from None
    if content is None:
        raise InvalidInputError(
            f"the log's {CANARY_FILE} is larger than {MAX_BYTES // 1_000_000} MB; remove it"
        )
    return content.splitlines()


@dataclass(frozen=True, slots=True)
class _Line(CanaryRecord):
    """A record as it is written."""

    v: Annotated[int, Field(ge=1, le=1)] = field(kw_only=True)  # True equals the literal 1


def _record(line: bytes) -> CanaryRecord | None:
    try:
        found = _LINE.validate_json(line)
    except ValidationError:
        return None
    return CanaryRecord(**{name: getattr(found, name) for name in CanaryRecord.__slots__})


_LINE = TypeAdapter(_Line)
