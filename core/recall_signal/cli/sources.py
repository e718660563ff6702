"""The files of ``recall-signal calibrate``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recall_signal.cli.corpus import Corpus, count
from recall_signal.cli.frameworks import Passage
from recall_signal.cli.terminal import Terminal
from recall_signal.errors import ConfigurationError, InvalidInputError

__all__ = ["read_corpus", "read_labelled", "read_past"]

LABELS: dict[Any, bool] = {"present": True, "absent": False, True: True, False: False}


def read_corpus(docs: Path | None, jsonl: Path | None, terminal: Terminal) -> Corpus:
    """The texts of a folder, or of a file with one JSON object a line.

    Raises:
        ConfigurationError: Neither or both are given, or there is nothing to read.
        InvalidInputError: A line is wrong; the message has its number.
    """
    if docs is not None and jsonl is None:
        return Corpus.from_folder(docs, terminal)
    if jsonl is None or docs is not None:
        raise ConfigurationError("give the texts either as --docs FOLDER or as --jsonl FILE")
    from recall_signal.evaluation import load_corpus

    rows = load_corpus(jsonl)
    passages = [Passage(row.id, row.text, row.id) for row in rows if row.text.strip()]
    if not passages:
        raise ConfigurationError(f"--jsonl {jsonl} has no line with some text")
    if len(passages) < len(rows):
        terminal.note(f"Skipped: {count(len(rows) - len(passages), 'empty text')}")
    return Corpus(passages, count(len(passages), "text"))


def read_past(path: Path) -> list[str]:
    """Past queries, one a line; empty lines are passed over.

    Raises:
        ConfigurationError: The file cannot be read, or holds none.
    """
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except OSError as error:
        raise ConfigurationError(f"--past {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"--past {path} is not UTF-8 text") from None
    queries = [line.strip() for line in lines if line.strip()]
    if not queries:
        raise ConfigurationError(f"--past {path} is empty; expected one query a line")
    return queries


def read_labelled(path: Path) -> list[tuple[str, bool]]:
    """Queries, and whether something relevant is stored, one JSON object a line.

    A query stands under ``query`` (or ``text``, as in the files of ``recall-signal evaluate``);
    its label is ``present`` or ``absent``, or true or false.

    Raises:
        ConfigurationError: The file cannot be read, or holds none.
        InvalidInputError: A line is wrong; the message has its number.
    """
    from recall_signal.evaluation.data import read_json_lines

    labelled = [_labelled(row, where) for where, row in read_json_lines(path)]
    if not labelled:
        raise ConfigurationError(f"--labelled {path} is empty; expected one JSON object a line")
    return labelled


def _labelled(row: Mapping[str, Any], where: str) -> tuple[str, bool]:
    query, label = row.get("query", row.get("text")), row.get("label")
    if not isinstance(query, str) or not query.strip():
        raise InvalidInputError(f"{where}: query must be a text that is not empty")
    if not isinstance(label, str | bool) or label not in LABELS:
        raise InvalidInputError(f"{where}: label must be 'present' or 'absent', or true or false")
    return query, LABELS[label]
