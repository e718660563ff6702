"""Files: both layouts, and every message with file and line."""

import gzip
import json
from collections import Counter
from collections.abc import Iterable
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest

from recall_signal import ConfigurationError, InvalidInputError
from recall_signal.evaluation import Document, Query, load_corpus, load_queries


def write(path: Path, rows: Iterable[Any]) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    text = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.jsonl.gz"])
def test_corpus(tmp_path: Path, name: str) -> None:
    rows = [
        {"id": "a", "text": "one\u2028line", "title": "kept apart", "group": "g"},
        "\n",
        {"id": "b", "text": ""},
    ]
    expected = [Document("a", "one\u2028line", "g"), Document("b", "")]
    assert load_corpus(write(tmp_path / name, rows)) == expected


def test_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": "a", "text": "x"}\r\n')
    assert load_corpus(str(path)) == [Document("a", "x")]


def test_corpus_of_beir(tmp_path: Path) -> None:
    rows = [
        {"_id": "1", "title": "Kilns", "text": "They fire."},
        {"_id": "2", "title": "", "text": "x"},
    ]
    documents = load_corpus(write(tmp_path / "corpus.jsonl", rows))
    assert documents == [Document("1", "Kilns They fire."), Document("2", "x")]


def test_queries(tmp_path: Path) -> None:
    rows = [
        {
            "id": "1",
            "text": "a",
            "label": "present",
            "kind": "present",
            "split": "dev",
            "relevant": ["d"],
            "group": "g",
        },
        {"id": "2", "text": "b", "label": "absent", "kind": "near_miss", "split": "test"},
        {"id": "3", "text": "c", "relevant": [], "split": "test"},
        {"id": "4", "text": "d", "relevant": ["d"], "split": "test"},
        {"id": "5", "text": "e", "label": "absent", "relevant": None, "split": "dev"},
    ]
    assert load_queries(write(tmp_path / "q.jsonl", rows)) == [
        Query("1", "a", True, "present", "dev", ("d",), "g"),
        Query("2", "b", False, "near_miss", "test"),
        Query("3", "c", False, "absent", "test"),
        Query("4", "d", True, "present", "test", ("d",)),
        Query("5", "e", False, "absent", "dev"),
    ]


def test_queries_of_calibrate(tmp_path: Path) -> None:
    rows = [
        {"query": "a", "label": "present"},
        {"query": "a", "label": True},
        "\n",
        {"query": "b", "label": False},
    ]
    queries = load_queries(write(tmp_path / "q.jsonl", rows))
    assert [(q.id, q.text, q.present, q.kind) for q in queries] == [
        ("line 1", "a", True, "present"),
        ("line 2", "a", True, "present"),
        ("line 4", "b", False, "absent"),
    ]
    assert queries[0].split == queries[1].split


def test_queries_of_the_demo() -> None:
    with as_file(files("recall_signal") / "demo" / "questions.jsonl") as path:
        queries = load_queries(path)
    kinds = Counter(query.kind for query in queries)
    assert kinds == {"present": 32, "near_miss": 32, "off_topic": 32}
    assert queries[0] == Query("q01", queries[0].text, True, "present", queries[0].split, ("m004",))


def test_a_split_is_made_where_there_is_none(tmp_path: Path) -> None:
    rows = [{"id": str(n), "text": "x", "label": "present"} for n in range(200)]
    path = write(tmp_path / "q.jsonl", rows)
    splits = [query.split for query in load_queries(path)]
    assert splits == [query.split for query in load_queries(path)]
    assert 70 < splits.count("dev") < 130


@pytest.mark.parametrize("many", [True, False])
def test_queries_of_beir(tmp_path: Path, many: bool) -> None:
    queries = write(tmp_path / "q.jsonl", [{"_id": c, "text": "x"} for c in "abc"])
    head = "query-id\tcorpus-id\tscore\n"
    first = write(tmp_path / "dev.tsv", [head, "a\td1\t1\n", "\n", "a\td2\t2\r\n", "b\td1\t0\n"])
    second = write(tmp_path / "test.tsv", [head, "c\td1\t1\n"])
    found = load_queries(queries, [first, str(second)] if many else first)
    labels = {query.id: (query.present, query.relevant) for query in found}
    last = (True, ("d1",)) if many else (False, ())
    assert labels == {"a": (True, ("d1", "d2")), "b": (False, ()), "c": last}


GOOD = {"id": "1", "text": "x", "label": "present"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{not json\n", "not JSON"),
        ('{"id": ' + "[" * 100_000 + "]" * 100_000 + "}\n", "not JSON"),
        ("[1]\n", "expected an object, got list"),
        ({**GOOD, "id": 5}, "id must be a text, got int"),
        ({**GOOD, "text": None}, "text is missing"),
        ({**GOOD, "label": "maybe"}, "label must be 'present' or 'absent'"),
        ({**GOOD, "label": 1}, "label must be 'present' or 'absent'"),
        ({"id": "1", "label": True}, "query is missing"),
        ({**GOOD, "text": " "}, "a query must hold some text"),
        ({"id": "1", "text": "x"}, "no label"),
        ({**GOOD, "kind": "off_topic"}, "kind must be 'present' for a query labelled present"),
        ({**GOOD, "label": "absent", "kind": "present"}, "kind must be 'present' for a query"),
        ({**GOOD, "kind": 3}, "kind must be a text"),
        ({**GOOD, "split": "train"}, "split must be 'dev' or 'test'"),
        ({**GOOD, "relevant": "d1"}, "relevant must be a list of document ids"),
        ({**GOOD, "relevant": [1]}, "relevant must be a list of document ids"),
        ({**GOOD, "id": "first"}, "an earlier line has the same id"),
    ],
)
def test_wrong_lines_are_named(tmp_path: Path, row: Any, message: str) -> None:
    path = write(tmp_path / "q.jsonl", [{**GOOD, "id": "first"}, "\n", row])
    with pytest.raises(InvalidInputError, match=rf"q\.jsonl, line 3: {message}"):
        load_queries(path)


@pytest.mark.parametrize("line", ["a\td1\n", "a\td1\tyes\n"])
def test_wrong_judgements_are_named(tmp_path: Path, line: str) -> None:
    queries = write(tmp_path / "q.jsonl", [{"_id": "a", "text": "x"}])
    qrels = write(tmp_path / "test.tsv", ["head\n", line])
    with pytest.raises(InvalidInputError, match=r"test\.tsv, line 2: expected query id"):
        load_queries(queries, [qrels])


def test_empty_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"corpus\.jsonl is empty"):
        load_corpus(write(tmp_path / "corpus.jsonl", []))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("absent.jsonl", None),
        ("bad.jsonl", b"\xff\xfe\x00"),
        ("bad.jsonl.gz", b"not gzip"),
        ("cut.jsonl.gz", gzip.compress(b'{"id": "a", "text": "x"}\n' * 50, mtime=0)[:-20]),
    ],
)
def test_unreadable_files(tmp_path: Path, name: str, content: bytes | None) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=f"{name} cannot be read"):
        load_corpus(path)
