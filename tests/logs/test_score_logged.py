"""Scoring what a LogWriter wrote, and refusing in one sentence what nobody can score."""

from __future__ import annotations

import gzip
import json
import traceback
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recall_signal import (
    Baseline,
    ConfigurationError,
    InvalidInputError,
    Pool,
    RecallConfidence,
    assess,
)
from recall_signal.calibration._baseline import CalibrationWithBaseline
from recall_signal.confidence import unknown
from recall_signal.logs import BatchScorer, LogWriter, append_canaries, score, score_batch
from recall_signal.logs import _text_files as text_files_module
from recall_signal.monitoring import monitor
from tests.logs.made import Query, record, write
from tests.logs.scoring import fitted


@dataclass
class Unmeasured(Query):
    """A query whose level nothing in its cosines explains."""

    reason: str = "empty_query"

    @property
    def confidence(self) -> RecallConfidence:
        return unknown(self.reason, len(self.cosines))


def test_a_log_without_a_part_is_refused_as_a_monitor_does(tmp_path: Path) -> None:
    with LogWriter(tmp_path / "log") as log:
        write(log, Query())
        log.flush()
        said = r"^log holds no part of a log yet; .* LogWriter\.rotate\(\) or close\(\)$"
        with pytest.raises(InvalidInputError, match=said):
            monitor(tmp_path / "log")
        with pytest.raises(InvalidInputError, match=said):
            score(tmp_path / "log", tmp_path / "out")
    assert score(tmp_path / "log", tmp_path / "out").rows == 1


def test_a_missing_calibration_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"cal\.json"):
        score(tmp_path, tmp_path / "out", calibration=tmp_path / "cal.json")


def scored_rows(path: Path) -> list[dict[str, Any]]:
    files = [path] if path.is_file() else sorted(path.rglob("part-*.parquet"))
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


@pytest.mark.parametrize("calibrated", [False, True])
def test_a_writers_folder_is_scored(calibrated: bool, tmp_path: Path) -> None:
    """With canaries beside the parts, null cosines, and levels that no cosine explains."""
    with LogWriter(tmp_path / "log") as log:
        write(
            log,
            Query(),
            Query((None, None)),
            Query(()),
            Unmeasured(),
            Unmeasured((), reason="retrieval_failed"),
            Unmeasured(reason="of_an_adapter"),
        )
    append_canaries(tmp_path / "log", record(0))
    scored = score(tmp_path / "log", tmp_path / "out", calibration=fitted() if calibrated else None)
    rows = scored_rows(scored.path)
    assert [(row["reason"], row["result_count"]) for row in rows] == [
        (None, 3),
        ("no_scores", 2),
        (None, 0),
        ("empty_query", 3),
        ("retrieval_failed", 0),
        ("of_an_adapter", 3),
    ]
    assert [row["level"] for row in rows[1:]] == ["unknown", "none", *["unknown"] * 3]
    assert rows[0]["top_score"] == 0.9
    figures = ("top_score", "prominence", "relative_margin", "basis", "probability")
    assert {row.get(name) for row in rows[3:] for name in figures} == {None}
    assert not scored.names_calibration


@dataclass
class ByKeywords(Query):
    """A query that keyword scores decide, which no log holds."""

    scores: tuple[float, ...] = ()

    @property
    def confidence(self) -> RecallConfidence:
        found = assess([None] * len(self.scores), scores=self.scores)
        return found.model_copy(update={"term_coverage": 0.333})


KEYWORDS = (
    ((9.0, 1.0, 1.1, 0.9), "high"),
    ((1.2, 1.0, 0.5), "moderate"),
    ((1.2, 1.2, 1.15, 0.9), "low"),
    ((1.0, 1.0, 1.0), "none"),
)


@pytest.mark.parametrize("calibrated", [False, True])
def test_levels_by_keyword_scores_stay(calibrated: bool, tmp_path: Path) -> None:
    with LogWriter(tmp_path / "log") as log:
        queries = [ByKeywords([None] * len(scores), scores=scores) for scores, _ in KEYWORDS]
        write(log, *queries, Query())
    fit = fitted() if calibrated else None
    scored = score(tmp_path / "log", tmp_path / "out", calibration=fit)
    *found, other = scored_rows(scored.path)
    assert [(row["level"], row["result_count"]) for row in found] == [
        (level, len(scores)) for scores, level in KEYWORDS
    ]
    rest = {(row["basis"], row["reason"], row["term_coverage"]) for row in found}
    assert rest == {("separation", None, 0.333)}
    assert {row.get(name) for row in found for name in ("top_score", "probability")} == {None}
    assert other["basis"] == ("calibration" if calibrated else "prominence")


def test_what_was_logged_stays_only_where_no_cosine_shows_it() -> None:
    """And not where scores are there, or where a cosine had decided."""
    table = pa.table(
        {
            "cosines": [None, [0.9, 0.1], [], None, None, None],
            "level": ["high", "low", "low", "low", "unknown", "splendid"],
            "basis": [*["separation"] * 3, "stream", None, "separation"],
            "top_score": pa.array([8.2, 8.2, None, 0.5, None, 1.0], pa.float32()),
            "relative_margin": ["a"] * 6,
        }
    )
    rows = score_batch(table).to_pylist()
    assert [row["level"] for row in rows] == ["high", "high", "none", *["unknown"] * 3]
    assert [row["top_score"] for row in rows] == [8.2, 0.9, *[None] * 4]
    assert [row["reason"] for row in rows] == [None] * 3 + ["no_scores"] * 3
    with_scores = table.append_column("scores", pa.array([[3.0, 3.0], *[None] * 5]))
    assert score_batch(with_scores)["level"].to_pylist()[0] == "none"


def test_a_logged_figure_that_is_not_finite_is_null() -> None:
    nan, inf = float("nan"), float("inf")
    figures = {"top_score": inf, "prominence": nan, "probability": -inf, "term_coverage": nan}
    row = {"cosines": [0.9, 0.1], "level": "unknown", "reason": "empty_query", **figures}
    other = row | dict.fromkeys(figures, 0.5)
    made = score_batch(pa.Table.from_pylist([row, other]), fitted()).to_pylist()
    assert [made[0][name] for name in figures] == [None] * 4
    assert [made[1][name] for name in figures] == [0.5] * 4


@dataclass
class Judged(Query):
    """A query that a calibration judged by its words, too."""

    text: str = "the griffin"

    @property
    def confidence(self) -> RecallConfidence:
        texts = [self.text, *["x"] * (len(self.cosines) - 1)]
        return assess(Pool(self.cosines, texts=texts, query=self.query), calibration=fitted())


SPANISH = "\u00bfcu\u00e1ndo se abre el griffin?"

WITNESSES = [
    ("what is the griffin", "the kiln", True),  # the corpus' own language: missing words count
    (SPANISH, "the kiln", False),  # another one: they do not
    (SPANISH, "the griffin", False),  # but found ones help
    ("griffin", "the kiln", False),  # cannot be told, and nothing found
    ("griffin", "the griffin", True),
    ("what is it", "the kiln", None),  # nothing informative
]


@pytest.mark.parametrize("followed", [False, True])
@pytest.mark.parametrize(("query", "text", "counts"), WITNESSES)
def test_a_log_is_judged_again_as_it_was(
    query: str, text: str, counts: bool | None, followed: bool, tmp_path: Path
) -> None:
    """Words that could only help can only help again."""
    fit = fitted()
    judge = CalibrationWithBaseline(fit, Baseline()) if followed else fit
    tops = (0.3, 0.45, 0.5, 0.55, 0.7)
    with LogWriter(tmp_path / "log") as log:
        write(log, *(Judged([top, 0.1], query, calibrator=judge, text=text) for top in tops))
    before = scored_rows(tmp_path / "log")
    after = scored_rows(score(tmp_path / "log", tmp_path / "out", calibration=fit).path)
    assert {row["words_count"] for row in before} == {counts}
    for name in ("level", "basis", "words_count"):
        assert [row[name] for row in after] == [row[name] for row in before]
    for name in ("probability", "term_coverage"):
        assert [row[name] for row in after] == pytest.approx([row[name] for row in before])


def test_without_a_question_nothing_says_whether_words_count(tmp_path: Path) -> None:
    query = Judged([0.5, 0.1], calibrator=fitted())
    query.query = None  # type: ignore[assignment]
    with LogWriter(tmp_path / "log") as log:
        write(log, query)
    assert scored_rows(tmp_path / "log")[0]["words_count"] is None


def test_whether_words_count_is_a_truth_value() -> None:
    """Missing words count unless they are said not to; so it is without a calibration."""
    table = pa.table({"cosines": [[0.55, 0.1]] * 4, "term_coverage": [0.0, 0.0, 1.0, None]})
    plain = score_batch(table, fitted()).to_pylist()
    for given in (["false"] * 4, [None] * 4, [True] * 4, [1] * 4):
        with_column = table.append_column("words_count", pa.array(given))
        made = score_batch(with_column, fitted())
        assert made.drop_columns(["words_count"]).to_pylist() == plain
    marked = table.append_column("words_count", pa.array([None, False, False, False]))
    numbers = table.append_column("words_count", pa.array([None, 0, 0, 0]))
    assert score_batch(numbers, fitted())["level"] == score_batch(marked, fitted())["level"]
    assert score_batch(marked)["level"].to_pylist() == score_batch(table)["level"].to_pylist()
    for batch in (marked, marked.combine_chunks().to_batches()[0]):
        for encoded in (True, False):
            made = BatchScorer(fitted(), encoded=encoded)(batch)
            assert made.schema == BatchScorer(fitted(), encoded=encoded).schema(batch.schema)
            found = made.column("probability").to_pylist()
            assert found[0] == plain[0]["probability"] < found[1] == found[3]
            assert found[2] == plain[2]["probability"]
            assert made.column("level").to_pylist() == ["low", "moderate", "high", "moderate"]
            assert made.column("term_coverage").to_pylist() == [0.0, 0.0, 1.0, None]
    without = score_batch(marked.drop_columns(["term_coverage"]), fitted())
    assert "term_coverage" not in without.column_names


def logged(**columns: Any) -> pa.Table:
    given = {"cosines": [[0.9, 0.1], [0.9, 0.1]], "level": ["unknown", "high"]}
    return pa.table(given | {"reason": ["empty_query", None]} | columns)


@pytest.mark.parametrize("encoded", [True, False])
@pytest.mark.parametrize(
    ("table", "levels"),
    [
        (logged(), ["unknown", "high"]),
        (logged().combine_chunks().to_batches()[0], ["unknown", "high"]),
        (logged(level=pa.array(["unknown", "high"]).dictionary_encode()), ["unknown", "high"]),
        (logged(reason=pa.array(["empty_query", None], pa.large_string())), ["unknown", "high"]),
        (logged(level=pa.array(["unknown", "high"], pa.string_view())), ["unknown", "high"]),
        (logged(reason=pa.nulls(2)), ["high", "high"]),
        (logged(reason=["no_scores", "empty_query"]), ["high", "high"]),
        (logged(level=[1, 2]), ["high", "high"]),
    ],
    ids=["table", "batch", "dictionary", "large", "view", "no reason", "measured again", "numbers"],
)
def test_a_logged_unknown_stays(table: Any, levels: list[str], encoded: bool) -> None:
    scorer = BatchScorer(encoded=encoded)
    made = scorer(table)
    assert made.column("level").to_pylist() == levels
    assert made.schema == scorer.schema(table.schema)


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float64(), 2)]
)
@pytest.mark.parametrize("counts", [[7, -1], [7.0, None], [None, None]])
def test_each_batch_has_the_promised_schema(kind: pa.DataType, counts: list[Any]) -> None:
    table = pa.table({"cosines": pa.array([None, [0.9, 0.1]], kind), "candidates": counts})
    for rows in (table, table[:1], table[1:], table[:0]):
        assert score_batch(rows).schema == BatchScorer().schema(table.schema)
    assert score_batch(table)["result_count"].to_pylist() == [counts[0] or 0, 2]


def test_counts_that_are_none_are_refused() -> None:
    nothing = pa.array([None], pa.list_(pa.float64()))
    for counts in (["x"], [True], [0.5]):
        with pytest.raises(InvalidInputError, match="candidates must hold whole numbers"):
            score_batch(pa.table({"cosines": nothing, "candidates": counts}))


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    lists = pa.array([[0.9, 0.1]])
    pq.write_table(pa.table([lists, lists], names=["cosines"] * 2), tmp_path / "log.parquet")
    with pytest.raises(InvalidInputError, match="more than one column cosines"):
        score(tmp_path / "log.parquet", tmp_path / "out")


LINES = {
    "deep": ("[" * 12_000 + "]" * 12_000, "cannot be read as JSON lines at line 2"),
    "texts": ('["0.5", "0.2"]', "cosines hold texts or truth values"),
    "mixed": ('[0.5, "0.2"]', "cosines hold texts or truth values"),
    "truth": ("[true]", "cosines hold texts or truth values"),
    "number": ('[{"a": 1}], "cosines": 5', "cannot be read as JSON lines"),
}


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("first", ["null", "[0.9]", "[null]"])
def test_lists_of_something_else_are_refused(name: str, first: str, tmp_path: Path) -> None:
    value, words = LINES[name]
    text = f'{{"cosines": {first}}}\n{{"cosines": {value}}}\n'
    (tmp_path / "log.jsonl").write_text(text)
    with pytest.raises(InvalidInputError, match=words):
        score(tmp_path / "log.jsonl", tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (['{"id": 1, "ID": "secret", "cosines": [0.8]}'], "id and ID"),
        (['{"Topic": "secret", "cosines": [0.8]}', '{"topic": "y", "cosines": [0.8]}'], "topic"),
        (['{"Cosines": [9.9], "cosines": [0.8]}'], "Cosines and cosines"),
        (['{"a": 1, "a_1": 2, "A": "secret", "cosines": [0.8]}'], "a_1 and A"),
    ],
)
@pytest.mark.parametrize("files", [1, 2])
def test_keys_that_differ_in_case_alone_are_refused(
    lines: list[str], words: str, files: int, tmp_path: Path
) -> None:
    """DuckDB calls the second one `ID_1`, and finds nothing under that name."""
    (tmp_path / "log").mkdir()
    for number in range(files):
        text = "".join(f"{line}\n" for line in lines[number::files])
        (tmp_path / "log" / f"[{number}].jsonl").write_text(text or '{"cosines": []}\n')
    with pytest.raises(InvalidInputError, match=f"{words}.* differ in case alone") as caught:
        score(tmp_path / "log", tmp_path / "out.parquet")
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("value", [2, None])
def test_a_key_may_be_another_one_with_a_number(value: int | None, tmp_path: Path) -> None:
    rows = [{"id": 1, "cosines": [0.8]}, {"ID_1": value, "id": 3, "cosines": [0.8]}]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    score(tmp_path / "log.jsonl", tmp_path / "out.parquet")
    found = [(row["id"], row["ID_1"]) for row in scored_rows(tmp_path / "out.parquet")]
    assert found == [(1, None), (3, value)]


def test_columns_of_nulls_only_are_read(tmp_path: Path) -> None:
    row = {"cosines": None, "candidates": None, "level": None, "reason": None, "calibration": None}
    (tmp_path / "log.jsonl").write_text(json.dumps(row) + "\n")
    scored = score(tmp_path / "log.jsonl", tmp_path / "out.parquet")
    assert scored.levels == {"unknown": 1}
    assert not scored.names_calibration


@pytest.mark.parametrize("name", ["log.parquet", "log.jsonl"])
@pytest.mark.parametrize("named", ["c1", None])
def test_a_log_names_the_calibration_of_its_levels(
    name: str, named: str | None, tmp_path: Path
) -> None:
    rows = [{"cosines": [0.9], "calibration": None}, {"cosines": [0.9], "calibration": named}]
    if name.endswith("jsonl"):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / name, row_group_size=1)
    assert score(tmp_path / name, tmp_path / "out").names_calibration is (named is not None)


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.PARQUET"])
def test_a_file_of_another_format_is_refused(name: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"cosines": [[0.9, 0.1]]}), tmp_path / "log.parquet")
    with pytest.raises(ConfigurationError, match=r"a file is written as Parquet"):
        score(tmp_path / "log.parquet", tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]
    assert score(tmp_path / "log.parquet", tmp_path / "out-2026.03").path.is_dir()


def test_a_column_that_not_every_file_has_is_null_there(tmp_path: Path) -> None:
    """Lists of nulls in one file, none in the other."""
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "a.jsonl").write_text('{"cosines": [null]}\n')
    (tmp_path / "log" / "b.jsonl").write_text('{"id": 1}\n')
    assert score(tmp_path / "log", tmp_path / "out").levels == {"unknown": 2}


def lines(path: Path, *tops: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"cosines": [top, 0.1, 0.1]}) + "\n" for top in tops))


def tops(path: Path, out: Path) -> list[float]:
    rows = scored_rows(score(path, out).path)
    assert set(rows[0]) == set(scored_columns())
    return [row["top_score"] for row in rows]


def scored_columns() -> list[str]:
    names = ("level", "top_score", "prominence", "relative_margin", "result_count")
    return [*names, "basis", "reason"]


MANY = 21_000
"""More rows than DuckDB looks at before it settles the types of columns."""

HEADER, ROW = "q,id,cosines\n", 'hello,7,"[0.8, 0.1]"\n'
LINE = '{"q": "hello", "id": 1, "cosines": [0.8, 0.1]}\n'
LATE = {
    "type.csv": (HEADER + ROW * MANY + 'secret interrupted,x,"[0.8]"\n', MANY + 2),
    "short.csv": (HEADER + ROW * MANY + "secret\n", MANY + 2),
    "two lines a row.csv": (HEADER + f'"a\n"{ROW[5:]}' * MANY + 'secret,x,"[1]"\n', 2 * MANY + 2),
    "decimal.csv": (HEADER + ROW * MANY + 'secret,2.5,"[1]"\n' + ROW, MANY + 2),
    "hexadecimal.csv": (HEADER + f"\n{ROW}" * MANY + 'secret,0x1F,"[1]"\n', 2 * MANY + 2),
    "zeros.csv.gz": (HEADER + ROW * MANY + 'secret,007,"[1]"\n', MANY + 2),
    "huge.csv": (HEADER + f"{'y' * 150_000}{ROW[5:]}" + ROW * MANY + "secret,7,x\n", MANY + 3),
    "type.jsonl": (f"{LINE}\n" * MANY + '{"q": "secret", "id": "x", "cosines": []}', 2 * MANY + 1),
    "decimal.jsonl": (LINE * MANY + LINE.replace("1,", "0.4,"), MANY + 1),
    "text.jsonl": (LINE * MANY + LINE.replace("1,", '"1",'), MANY + 1),
    "cut.jsonl": (f"{LINE}\n" * MANY + '{"q": "secret", "id"', 2 * MANY + 1),
    "cut.jsonl.gz": (LINE * MANY + '{"q": "secret", "id"', MANY + 1),
}


def write_text(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", LATE)
def test_a_late_value_that_is_wrong_is_told_by_its_line_alone(name: str, tmp_path: Path) -> None:
    """DuckDB's own message has the whole line, and comes by way of Arrow."""
    text, line = LATE[name]
    with pytest.raises(InvalidInputError, match=rf"^{name} cannot be .* at line {line}: ") as told:
        score(write_text(tmp_path / name, text), tmp_path / "out")
    shown = "".join(traceback.format_exception(told.value))
    assert "secret" not in shown
    assert "hello" not in shown


ODD = {
    "short.csv": ('id,q,cosines\n1,a,"[0.8]"\n\n2,secret\n', 4),
    "semicolon.csv": ('id;q;Cosines\n1;a;"[0.8]"\n2;secret\n', 3),
    "open.csv": ('id,cosines\n1,"[0.9, 0.2]"\n2,"[0.9]\n', 3),
    "amid.csv": ('id,cosines\n1,"[0.9,0.2]\n2,"[0.9]"\n', 2),
    "long.csv": ("id,cosines\n1,[0.9, 0.2]\n", 2),
    "half.jsonl": ('{"id": 1, "q": "secret\\ud800", "cosines": [0.9]}\n', 1),
}


@pytest.mark.parametrize("name", ODD)
def test_a_row_that_is_not_like_the_header_is_told_by_its_line(name: str, tmp_path: Path) -> None:
    """DuckDB takes such a file for one of a single column."""
    text, line = ODD[name]
    with pytest.raises(InvalidInputError, match=rf"^{name} cannot be .* at line {line}: ") as told:
        score(write_text(tmp_path / name, text), tmp_path / "out")
    assert "secret" not in str(told.value)


def test_a_file_that_is_read_no_further_has_no_line(tmp_path: Path) -> None:
    """Because it is cut in the midst of what is compressed, or a value is longer than any."""
    held = gzip.compress("".join(f'{{"cosines": [0.{n}]}}\n' for n in range(9000)).encode())
    (tmp_path / "cut.jsonl.gz").write_bytes(held[:-2000])
    with pytest.raises(InvalidInputError, match=r"^cut\.jsonl\.gz cannot be read as JSON lines: "):
        score(tmp_path / "cut.jsonl.gz", tmp_path / "out")
    path = write_text(tmp_path / "long.csv", f"id,cosines\n{'y' * 150_000},[0.9, 0.2]\n")
    with pytest.raises(InvalidInputError, match=r"^long\.csv has no column cosines"):
        score(path, tmp_path / "out")


@pytest.mark.parametrize(("name", "good"), [("jsonl", LINE), ("csv", HEADER + ROW)])
def test_the_file_of_a_folder_that_is_wrong_is_named(name: str, good: str, tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    write_text(tmp_path / "log" / f"a.{name}", good)
    write_text(tmp_path / "log" / f"b.{name}", good + good.replace("[0.8", "[x"))
    with pytest.raises(InvalidInputError, match=rf"^b\.{name} cannot be read as .* at line"):
        score(tmp_path / "log", tmp_path / "out")


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_names_that_look_like_patterns_are_names(ending: str, tmp_path: Path) -> None:
    """DuckDB would read other files by them, twice or in their place."""
    for folder, top in (("x*y", 0.9), ("xzy", 0.8)):
        for name, more in (("log[1]", 0.01), ("log1", 0.02), ("log?", 0.03), ("b*", 0.04)):
            path = tmp_path / "log" / folder / f"{name}.{ending}"
            lines(path, top + more)
            if ending == "csv":
                path.write_text(f'cosines\n"[{top + more}, 0.1, 0.1]"\n')
    found = tops(tmp_path / "log", tmp_path / "out.parquet")
    assert sorted(found) == [0.81, 0.82, 0.83, 0.84, 0.91, 0.92, 0.93, 0.94]
    one = tmp_path / "log" / "x*y" / f"log[1].{ending}"
    assert tops(one, tmp_path / "one.parquet") == [0.91]


def test_folders_are_no_columns(tmp_path: Path) -> None:
    lines(tmp_path / "env=prod" / "cosines=3" / "a.jsonl", 0.5)
    for log in (tmp_path / "env=prod", tmp_path / "env=prod" / "cosines=3" / "a.jsonl"):
        assert tops(log, tmp_path / f"{log.name}.parquet") == [0.5]


def test_ctrl_c_while_texts_are_read_is_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB turns it into an error of its own."""
    lines(tmp_path / "a.jsonl", 0.5)
    for text, raised in (("Query interrupted", KeyboardInterrupt), ("panic", RuntimeError)):

        def fail(*_: object, text: str = text) -> bool:
            raise RuntimeError(text)

        monkeypatch.setattr(text_files_module, "_has_row", fail)
        with pytest.raises(raised):
            score(tmp_path / "a.jsonl", tmp_path / "out.parquet")


@pytest.mark.parametrize("name", ["log.parquet", "log.jsonl"])
@pytest.mark.parametrize(
    ("encoders", "others"),
    [(["one", "two", None], ("two",)), ([None], ()), (["one"], ()), ([1, 2], ())],
)
def test_a_log_of_another_encoder_than_the_calibrations(
    name: str, encoders: list[Any], others: tuple[str, ...], tmp_path: Path
) -> None:
    rows = [{"cosines": [0.9], "encoder": encoder} for encoder in encoders]
    if name.endswith("jsonl"):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / name, row_group_size=1)
    of_one = replace(fitted(), encoder="one")
    assert score(tmp_path / name, tmp_path / "a", calibration=of_one).other_encoders == others
    unnamed = replace(of_one, encoder=None)
    assert score(tmp_path / name, tmp_path / "b", calibration=unnamed).other_encoders == ()
    assert score(tmp_path / name, tmp_path / "c").other_encoders == ()
