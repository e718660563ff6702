"""Scoring folders: parts of different releases, and columns that are names of folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recall_signal import InvalidInputError
from recall_signal.logs import LogWriter, score
from tests.logs.made import Query, write


def rows(path: Path) -> list[dict[str, Any]]:
    files = [path] if path.is_file() else sorted(path.rglob("part-*.parquet"))
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def folder_of(tmp_path: Path, **parts: pa.Table) -> Path:
    """A log with a file for each table."""
    folder = tmp_path / "log"
    for name, table in parts.items():
        path = folder / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)
    return folder


COSINES = pa.array([[0.9, 0.1]], pa.list_(pa.float32()))


@pytest.mark.parametrize("out", ["out", "out.parquet"])
def test_parts_with_a_later_column_are_scored_with_those_before(out: str, tmp_path: Path) -> None:
    for texts in (False, True):
        with LogWriter(tmp_path / "log", texts=texts) as log:
            write(log, Query())
    scored = score(tmp_path / "log", tmp_path / out)
    assert scored.levels == {"high": 2}
    made = rows(scored.path)
    assert {row["query"] for row in made} == {None, "When does the bakery open?"}
    assert [*made[0]] == [*made[1]]


def test_order_nulls_and_names_within_lists_may_differ(tmp_path: Path) -> None:
    strict = pa.list_(pa.field("element", pa.float32(), nullable=False))
    fields = [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("cosines", strict, nullable=False),
    ]
    first = pa.table([pa.array([1]), COSINES.cast(strict)], schema=pa.schema(fields))
    second = pa.table({"cosines": COSINES, "note": pa.nulls(1), "id": [2]})
    third = pa.table({"note": ["x"], "cosines": pa.nulls(1)})
    folder = folder_of(tmp_path, a=first, b=second, c=third)
    score(folder, tmp_path / "out.parquet", keep=["note", "id", "cosines"])
    made = [(row["id"], row["note"], row["level"]) for row in rows(tmp_path / "out.parquet")]
    assert made == [(1, None, "high"), (2, None, "high"), (None, "x", "unknown")]


def test_columns_of_two_types_are_refused(tmp_path: Path) -> None:
    tables = {name: pa.table({"cosines": COSINES, "id": [name]}) for name in "ab"}
    folder = folder_of(tmp_path, **tables, c=pa.table({"cosines": COSINES, "id": [3]}))
    words = r"^c\.parquet: the column id is int64 here and string in the files before; bring "
    with pytest.raises(InvalidInputError, match=words):
        score(folder, tmp_path / "out")


def test_each_file_has_to_have_cosines(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, a=pa.table({"cosines": COSINES}), b=pa.table({"id": [1]}))
    with pytest.raises(InvalidInputError, match=r"^b\.parquet: the log has no column cosines"):
        score(folder, tmp_path / "out")


def test_a_value_that_is_refused_names_its_file(tmp_path: Path) -> None:
    tables = {
        name: pa.table({"cosines": COSINES, "term_coverage": [share]})
        for name, share in (("a", 0.5), ("b", 1.2))
    }
    with pytest.raises(InvalidInputError, match=r"^b\.parquet: term_coverage must lie"):
        score(folder_of(tmp_path, **tables), tmp_path / "out")


def test_csv_files_may_differ_in_columns(tmp_path: Path) -> None:
    """With keyword scores, which decide where there is no cosine."""
    folder = tmp_path / "log"
    folder.mkdir()
    (folder / "a.csv").write_text('id,cosines,scores\n1,,"[3.0, 1.0, 1.0]"\n')
    (folder / "b.csv").write_text('cosines,id\n"[0.9, 0.1]",2\n')
    (folder / "c.csv").write_text('Cosines,ID\n"[0.3, 0.2]",3\n')  # names are SQL's
    for keep in (["id"], []):
        score(folder, tmp_path / "out.parquet", keep=keep)
        made = rows(tmp_path / "out.parquet")
        assert [row["basis"] for row in made] == ["separation", "prominence", "prominence"]
        assert not keep or [row["id"] for row in made] == [1, 2, 3]
    (folder / "c.csv").write_text("cosine,id\n[0.3],3\n")
    with pytest.raises(InvalidInputError, match=r"^c\.csv has no column cosines"):
        score(folder, tmp_path / "out.parquet")
    (folder / "c.csv").unlink()
    (folder / "a.csv").write_text('id,cosines,scores\n1,,"[3.0, secret]"\n')
    with pytest.raises(InvalidInputError, match=r"^a\.csv cannot be read as CSV") as caught:
        score(folder, tmp_path / "out.parquet")
    assert "secret" not in str(caught.value)


def partitioned(folder: Path, ending: str) -> Path:
    """A log with two partitions, one of which is null in one place and missing in another."""
    places = {
        1: "tenant=a%2Fb/level=x/day=2026-01-01",
        2: "tenant=__HIVE_DEFAULT_PARTITION__/day=",
        3: "plain",
    }
    for number, place in places.items():
        path = folder / place / f"part.{ending}"
        path.parent.mkdir(parents=True)
        if ending == "parquet":
            pq.write_table(pa.table({"id": [number], "cosines": COSINES}), path)
        else:
            path.write_text(f'{{"id": {number}, "cosines": [0.9, 0.1]}}\n')
    return folder


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_partitions_are_columns_of_a_result_in_one_file(ending: str, tmp_path: Path) -> None:
    log = partitioned(tmp_path / "log", ending)
    right = {1: ("a/b", "2026-01-01"), 2: (None, ""), 3: (None, None)}
    score(log, tmp_path / "out.parquet")
    made = rows(tmp_path / "out.parquet")
    assert {row["id"]: (row["tenant"], row["day"]) for row in made} == right
    assert {row["level"] for row in made} == {"high"}
    score(log, tmp_path / "out.parquet", keep=["tenant"])
    assert {"id", "tenant", "day"} & {*rows(tmp_path / "out.parquet")[0]} == {"tenant"}


def test_partitions_stay_the_names_of_folders(tmp_path: Path) -> None:
    log = partitioned(tmp_path / "log", "parquet")
    score(log, tmp_path / "out")
    assert not {"tenant", "day"} & {*rows(tmp_path / "out")[0]}
    assert (tmp_path / "out" / "tenant=a%2Fb" / "level=x" / "day=2026-01-01").is_dir()


def test_a_column_goes_before_a_partition_of_its_name(tmp_path: Path) -> None:
    path = tmp_path / "log" / "id=7" / "a.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1], "cosines": COSINES}), path)
    score(tmp_path / "log", tmp_path / "out.parquet")
    assert [row["id"] for row in rows(tmp_path / "out.parquet")] == [1]


@pytest.mark.parametrize("name", ["candidates", "scores", "words_count", "term_coverage"])
def test_a_partition_is_no_input_of_scoring(tmp_path: Path, name: str) -> None:
    part = tmp_path / "log" / f"{name}=50" / "part.parquet"
    part.parent.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1], "cosines": [[0.9, 0.1]]}), part)
    scored = score(tmp_path / "log", tmp_path / "out.parquet")
    assert scored.levels == {"high": 1}
