"""A corpus and labelled queries from files: plain JSON lines, or BEIR's layout."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeVar

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

PRESENT, ABSENT = "present", "absent"
"""Labels, and the kinds of queries that name none."""


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
    """One query, and whether the corpus holds something relevant to it.

    Attributes:
        id: Different for every query.
        text: What is embedded.
        present: Whether something relevant is stored.
        kind: ``present``, or in which way nothing is (``off_topic``, ``near_miss``, any name).
        split: Calibrations are fitted on ``dev`` and reported on ``test``.
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
    """The documents of a JSON lines file, plain or gzipped (``.gz``).

    Each line is an object with ``id`` and ``text``, and ``group`` where searches are to stay
    within groups. BEIR's ``_id`` instead of ``id`` is understood; its ``title`` is then put
    before the text, as BEIR does (Thakur et al., 2021).

    Raises:
        ConfigurationError: The file cannot be read.
        InvalidInputError: A line is wrong; the message has its number.
    """
    rows = read_json_lines(path)
    return _distinct(path, ((where, parse_document(row, where)) for where, row in rows))


def load_queries(path: str | Path, qrels: Iterable[str | Path] = ()) -> list[Query]:
    """The queries of a JSON lines file, plain or gzipped (``.gz``).

    Each line is an object with ``id`` (or ``_id``) and ``text``. Whether something relevant is
    stored is said by ``label`` (``present`` or ``absent``), else by ``relevant`` (ids of the
    relevant documents, possibly none), else by ``qrels``. ``kind``, ``split`` (``dev`` or
    ``test``) and ``group`` are optional; without a split, one is made from a hash of the id.

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


def parse_document(row: Mapping[str, Any], where: str) -> Document:
    """A document from the object on one line.

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
    row: Mapping[str, Any], where: str, judged: Mapping[str, tuple[str, ...]] | None = None
) -> Query:
    """A query from the object on one line.

    Args:
        row: The object.
        where: File and line, for the message of an error.
        judged: Relevant document ids by query id; a query without any is a negative.

    Raises:
        InvalidInputError: Something is missing, contradictory or of another type.
    """
    id_ = _id(row, where)
    relevant = tuple(_ids(row, where)) or (judged or {}).get(id_, ())
    present = _present(row, relevant, judged is not None, where)
    kind = _name(row, "kind", where) or (PRESENT if present else ABSENT)
    if (kind == PRESENT) is not present:
        raise InvalidInputError(
            f"{where}: kind must be {PRESENT!r} for a query labelled {PRESENT}, and for no other"
        )
    split = row.get("split") or _hashed_split(id_)
    if split not in ("dev", "test"):
        raise InvalidInputError(f"{where}: split must be 'dev' or 'test'")
    group = _name(row, "group", where)
    return Query(id_, _text(row, "text", where), present, kind, split, relevant, group)


def read_json_lines(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each object of a JSON lines file, after where it stands: file name and line number.

    Raises:
        ConfigurationError: The file cannot be read.
        InvalidInputError: A line is not a JSON object; the message has its number.
    """
    for where, line in _lines(path):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            raise InvalidInputError(f"{where}: not JSON; each line must be one object") from None
        if not isinstance(row, dict):
            raise InvalidInputError(f"{where}: expected an object, got {type(row).__name__}")
        yield where, row


def _lines(path: str | Path) -> Iterator[tuple[str, str]]:
    path = Path(path)
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8-sig", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                yield f"{path.name}, line {number}", line
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or type(error).__name__
        raise ConfigurationError(
            f"{path} cannot be read ({what}); give a UTF-8 file of JSON lines, plain or .gz"
        ) from None


def _read_qrels(paths: Iterable[str | Path]) -> dict[str, tuple[str, ...]] | None:
    """Relevant document ids by query id; None where there are no files."""
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


def _present(row: Mapping[str, Any], relevant: tuple[str, ...], judged: bool, where: str) -> bool:
    label = row.get("label")
    if label is None:
        if not judged and "relevant" not in row:
            raise InvalidInputError(
                f"{where}: nothing says whether something relevant is stored; add label "
                f"('{PRESENT}' or '{ABSENT}') or relevant (a list of ids), or give the qrels"
            )
        return bool(relevant)
    if label not in (PRESENT, ABSENT):
        raise InvalidInputError(f"{where}: label must be {PRESENT!r} or {ABSENT!r}")
    return bool(label == PRESENT)


def _id(row: Mapping[str, Any], where: str) -> str:
    return _text(row, "_id" if "_id" in row else "id", where)


def _ids(row: Mapping[str, Any], where: str) -> list[str]:
    ids = row.get("relevant") or []
    if isinstance(ids, list) and all(isinstance(id_, str) for id_ in ids):
        return ids
    raise InvalidInputError(f"{where}: relevant must be a list of document ids (texts)")


def _text(row: Mapping[str, Any], key: str, where: str) -> str:
    text = row.get(key)
    if isinstance(text, str):
        return text
    given = "is missing" if text is None else f"must be a text, got {type(text).__name__}"
    raise InvalidInputError(f"{where}: {key} {given}")


def _name(row: Mapping[str, Any], key: str, where: str) -> str | None:
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
