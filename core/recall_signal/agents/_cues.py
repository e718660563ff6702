"""Ids and dates of results in one line, by which a model can cite them and see what is stale."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any

import numpy as np

from recall_signal._safe_text import plain_text
from recall_signal._text import encodable

__all__ = ["cues_line"]

DATE_KEYS = (
    "updated_at", "updated", "last_updated", "last_modified", "last_modified_date", "modified_at",
    "modified", "lastmod", "moddate", "mtime", "created_at", "created", "creation_date",
    "creationdate", "published_at", "published", "publish_date", "publication_date", "date",
    "timestamp",
)  # fmt: skip
"""Keys under which loaders and stores keep a date, the latest change first. Compared in lower
case."""

MAX_DATES = 2
"""A change and a creation say all about staleness."""

MAX_KEYS = 1_000
"""Keys of a document's metadata among which its dates are looked for."""

MAX_ID = 64
"""Characters of an id that are shown: a UUID has 36, a SHA-256 64."""

LONGEST_DATE = 40
"""Characters of a text that is read as a date; ISO 8601 with microseconds and zone has 32."""

EPOCH_SECONDS = (1e8, 1e10)
"""Numbers that are read as seconds since 1970: 1973 to 2286. Larger ones are milliseconds."""

_ISO = re.compile(r"[0-9]{4}-?[0-9]{2}.*")
_YEAR = re.compile(r"[0-9]{4}(-[0-9]{2})?")
_PDF = re.compile(r"D:([0-9]{8})([0-9]{4,6})?(Z|[+-][0-9]{2}'?[0-9]{2})?[0-9']*")
"""A date in the metadata of a PDF (ISO 32000-1, 7.9.4), such as `D:20260304050607+02'00'`."""


def cues_line(items: Iterable[tuple[str | None, Mapping[str, Any]]]) -> str | None:
    """Return one quoted line with the number, id and dates of each result that has any.

    Ids are JSON strings and bounded; dates are read and written again as ISO 8601, so that no
    stored value stands there as it is. None where no result has an id or a date.

    Args:
        items: Id and metadata of each result, in the order of the page.
    """
    cues = []
    for number, (id_, metadata) in enumerate(items, start=1):
        parts = [] if id_ is None else [_quoted_id(id_)]
        parts += [f"{key} {moment}" for key, moment in _dates(metadata)]
        if parts:
            cues.append(f"[{number}] {', '.join(parts)}")
    return f"> {'; '.join(cues)}" if cues else None


def _quoted_id(id_: str) -> str:
    return json.dumps(plain_text(encodable(id_[: 4 * MAX_ID]), MAX_ID), ensure_ascii=False)


def _dates(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    first = islice(metadata.items(), MAX_KEYS)
    by_name = {name.lower(): value for name, value in first if type(name) is str}
    given = ((key, _moment(by_name[key])) for key in DATE_KEYS if key in by_name)
    return [(key, moment) for key, moment in given if moment is not None][:MAX_DATES]


def _moment(value: object) -> str | None:
    """Return a date or a moment as ISO 8601 to the second, None where it is neither."""
    if isinstance(value, str) and _YEAR.fullmatch(value):
        return value
    try:
        read = _read(value)
    except (ValueError, TypeError, OverflowError, OSError):
        return None
    if isinstance(read, datetime):
        return read.isoformat(timespec="seconds")
    return None if read is None else read.isoformat()


def _read(value: object) -> date | None:
    if isinstance(value, np.generic):
        value = _plain(value)
    if isinstance(value, date):
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, str):
        text = _without_pdf(value.strip()) if len(value) <= LONGEST_DATE else ""
        if len(text) <= len("2026-01-02"):
            return date.fromisoformat(text)
        return datetime.fromisoformat(text) if _ISO.match(text) else parsedate_to_datetime(text)
    low, high = EPOCH_SECONDS
    seconds = value if value < high else value / 1000
    return datetime.fromtimestamp(seconds, UTC) if low <= seconds < high else None


def _plain(value: np.generic) -> object:
    """Return a NumPy scalar as Python's own; a moment finer than theirs is cut to microseconds."""
    plain: object = value.item()
    is_fine = isinstance(value, np.datetime64) and isinstance(plain, int)
    return value.astype("datetime64[us]").item() if is_fine else plain


def _without_pdf(text: str) -> str:
    """Return a date of a PDF as ISO 8601, and any other text as it is."""
    found = _PDF.fullmatch(text)
    if found is None:
        return text
    day, time, zone = found.groups(default="")
    return f"{day}T{time}{zone.replace(chr(39), '')}" if time else day
