"""A corpus and labelled queries from JSON lines: our own, the packaged demo's, or BEIR's layout."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal, TypeVar

from recall_signal.errors import ConfigurationError, InvalidInputError

__all__ = [
    "PRESENT",
    "Document",
    "Query",
    "Split",
    "load_corpus",
    "load_queries",
    "parse_document",
    "parse_query",
    "read_json_lines",
]

Split = Literal["dev", "test"]

MAX_LINE = 20_000_000
"""Characters of a line: a longer one is no text to embed, and may have no end."""

PRESENT, ABSENT = "present", "absent"
"""Labels, and the kinds of queries that name none."""

STORED = "stored"
"""The demo's name for the kind `present`."""

_LABELS: dict[str | bool, bool] = {PRESENT: True, ABSENT: False, True: True, False: False}


@dataclass(frozen=True, slots=True)
class Document:
    """One stored text.

    Attributes:
        id: Different for every document.
        text: What is embedded.
        group: Queries of a group are searched within it only (a tenant, a conversation).
    """

    id: str
    text: str
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """One query, labelled by whether the corpus holds something relevant to it.

    Attributes:
        id: Different for every query.
        text: What is embedded.
        present: True if something relevant is stored.
        kind: `present`, or a name for absent queries (`off_topic`, `near_miss`, any).
        split: Calibrations are fitted on `dev` and reported on `test`.
        relevant: Ids of relevant documents, where they are known.
        group: The group of documents that is searched; None for all of them.
    """

    id: str
    text: str
    present: bool
    kind: str
    split: Split
    relevant: tuple[str, ...] = ()
    group: str | None = None


def load_corpus(path: str | Path) -> list[Document]:
    """Return the documents of a JSON lines file, plain or gzipped (`.gz`).

    Each line is an object with `id` and `text`, and `group` where searches are to stay
    within groups. BEIR's `_id` instead of `id` is understood; its `title` is then put
    before the text, as BEIR does (Thakur et al., 2021).

    Raises:
        ConfigurationError: The file cannot be read.
        InvalidInputError: A line is wrong; the message has its number.
    """
    rows = read_json_lines(path)
    return _distinct(path, ((where, parse_document(row, where)) for where, row in rows))


def load_queries(path: str | Path, qrels: str | Path | Iterable[str | Path] = ()) -> list[Query]:
    """Return the queries of a JSON lines file, plain or gzipped (`.gz`).

    Each line is an object with `text` (or `query`) and, where known, `id` (or `_id`).
    `label` is `present` or `absent` (or true or false) for whether something relevant is
    stored; without it, `relevant` (or `answers`) decides: ids of the relevant documents,
    possibly none; else `qrels`. `kind`, `split` (`dev` or `test`) and `group` are
    optional; without a split, one is made from a hash of the id, or of the text.

    Args:
        path: The queries.
        qrels: BEIR's judgements: tab-separated query id, document id and score, with a header.
            A query without a score above 0 in any of these files is a negative, so give all
            files that judge these queries.

    Raises:
        ConfigurationError: A file cannot be read.
        InvalidInputError: A line is wrong; the message has its number.
    """
    judged = _read_qrels(qrels)
    rows = read_json_lines(path)
    return _distinct(path, ((where, parse_query(row, where, judged)) for where, row in rows))


def parse_document(row: Mapping[str, object], where: str) -> Document:
    """Return the document of one line.

    Args:
        row: The object.
        where: File and line, for the message of an error.

    Raises:
        InvalidInputError: Something is missing or of another type.
    """
    text = _text(row, "text", where)
    if "_id" in row and (title := row.get("title")):
        text = f"{title} {text}".strip()
    return Document(_id(row, where), text, _name(row, "group", where))


def parse_query(
    row: Mapping[str, object], where: str, judged: Mapping[str, tuple[str, ...]] | None = None
) -> Query:
    """Return the query of one line.

    Args:
        row: The object.
        where: File and line, for the message of an error.
        judged: Relevant document ids by query id; a query without any is a negative.

    Raises:
        InvalidInputError: Something is missing, contradictory or of another type.
    """
    text = _text(row, "text" if "text" in row else "query", where)
    if not text.strip():
        raise InvalidInputError(f"{where}: a query must hold some text, got an empty one")
    id_ = _id(row, where) if row.keys() & {"id", "_id"} else where.rpartition(", ")[2]
    relevant = tuple(_ids(row, where)) or (judged or {}).get(id_, ())
    present = _present(row, relevant, judged is not None, where)
    kind = _kind(row, present, where)
    split = row.get("split") or _hashed_split(id_ if row.keys() & {"id", "_id"} else text)
    if split not in ("dev", "test"):
        raise InvalidInputError(f"{where}: split must be 'dev' or 'test'")
    return Query(id_, text, present, kind, split, relevant, _name(row, "group", where))


def read_json_lines(path: str | Path) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield each object of a JSON lines file, preceded by its file name and line number.

    Raises:
        ConfigurationError: The file cannot be read.
        InvalidInputError: A line is not a JSON object; the message has its number.
    """
    for where, line in _lines(path):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):  # or nested deeper than it can be read
            raise InvalidInputError(f"{where}: not JSON; each line must be one object") from None
        if not isinstance(row, dict):
            raise InvalidInputError(f"{where}: expected an object, got {type(row).__name__}")
        yield where, row


def _lines(path: str | Path) -> Iterator[tuple[str, str]]:
    path = Path(path)
    if path.exists() and not path.is_file():
        raise ConfigurationError(
            f"{path} is no regular file; give a UTF-8 file of JSON lines, plain or .gz"
        )
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8-sig", newline="\n") as file:
            lines = iter(lambda: file.readline(MAX_LINE + 1), "")
            for number, line in enumerate(lines, start=1):
                if len(line) > MAX_LINE:
                    raise InvalidInputError(
                        f"{path.name}, line {number}: longer than {MAX_LINE:,} characters"
                    )
                yield f"{path.name}, line {number}", line
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or type(error).__name__
        raise ConfigurationError(
            f"{path} cannot be read ({what}); give a UTF-8 file of JSON lines, plain or .gz"
        ) from None


def _read_qrels(paths: str | Path | Iterable[str | Path]) -> dict[str, tuple[str, ...]] | None:
    """Return relevant document ids by query id; None without files."""
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    relevant: dict[str, list[str]] = {}
    for path in paths:
        for number, (where, line) in enumerate(_lines(path)):
            if number == 0 or not line.strip():
                continue  # the header
            fields = line.rstrip("\r\n").split("\t")
            try:
                query, document, score = fields[0], fields[1], float(fields[2])
            except (IndexError, ValueError):
                raise InvalidInputError(
                    f"{where}: expected query id, document id and score, separated by tabs"
                ) from None
            if score > 0:
                relevant.setdefault(query, []).append(document)
    return {query: tuple(ids) for query, ids in relevant.items()} if paths else None


def _present(
    row: Mapping[str, object], relevant: tuple[str, ...], judged: bool, where: str
) -> bool:
    label = row.get("label")
    if label is None:
        if not judged and not row.keys() & {"relevant", "answers"}:
            raise InvalidInputError(
                f"{where}: no label; add label ('{PRESENT}' or '{ABSENT}') or relevant (a list of "
                "ids of relevant documents), or give the qrels"
            )
        return bool(relevant)
    if not isinstance(label, str | bool) or label not in _LABELS:
        raise InvalidInputError(
            f"{where}: label must be '{PRESENT}' or '{ABSENT}', or true or false"
        )
    return _LABELS[label]


def _kind(row: Mapping[str, object], present: bool, where: str) -> str:
    kind = _name(row, "kind", where) or (PRESENT if present else ABSENT)
    if (kind in (PRESENT, STORED)) is not present:
        raise InvalidInputError(
            f"{where}: kind must be {PRESENT!r} for a query labelled {PRESENT}, and for no other"
        )
    return PRESENT if present else kind


def _id(row: Mapping[str, object], where: str) -> str:
    return _text(row, "_id" if "_id" in row else "id", where)


def _ids(row: Mapping[str, object], where: str) -> list[str]:
    ids = row.get("relevant") or row.get("answers") or []
    if isinstance(ids, list) and all(isinstance(id_, str) for id_ in ids):
        return ids
    raise InvalidInputError(f"{where}: relevant must be a list of document ids (texts)")


def _text(row: Mapping[str, object], key: str, where: str) -> str:
    text = row.get(key)
    if isinstance(text, str):
        return text
    given = "is missing" if text is None else f"must be a text, got {type(text).__name__}"
    raise InvalidInputError(f"{where}: {key} {given}")


def _name(row: Mapping[str, object], key: str, where: str) -> str | None:
    return None if row.get(key) is None else _text(row, key, where)


def _hashed_split(id_: str) -> Split:
    return "test" if sha256(id_.encode("utf-8", "surrogatepass")).digest()[0] % 2 else "dev"


Item = TypeVar("Item", Document, Query)


def _distinct(path: str | Path, items: Iterable[tuple[str, Item]]) -> list[Item]:
    found: dict[str, Item] = {}
    for where, item in items:
        if item.id in found:
            raise InvalidInputError(f"{where}: an earlier line has the same id")
        found[item.id] = item
    if not found:
        raise InvalidInputError(f"{Path(path).name} is empty; expected one JSON object a line")
    return list(found.values())
