"""`recall-signal score`: the result, its summary and its errors."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.fakes import invoke
from tests.logs.scoring import expected, fitted, log_of


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.parquet"
    pq.write_table(log_of(400), path, row_group_size=100)
    return path


def test_a_log_is_scored_and_summed_up(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    result = invoke("score", log, "-o", out)
    assert result.exit_code == 0, result.output
    right = expected(log_of(400))
    assert pq.ParquetFile(out).read().to_pylist() == right
    strong = sum(row["level"] == "high" for row in right)
    assert any(line.split()[:2] == ["high", str(strong)] for line in result.stdout.splitlines())
    assert "400 queries scored" in result.stdout
    assert str(out) in result.stderr


def test_the_summary_as_json(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    said = json.loads(invoke("score", log, "-o", out, "--json").stdout)
    assert (said["path"], said["queries"]) == (str(out), 400)
    assert sum(said["levels"].values()) == 400


def test_a_calibration_and_columns_are_taken(log: Path, tmp_path: Path) -> None:
    fitted().save(tmp_path / "fit.json")
    out = tmp_path / "out.parquet"
    fit = tmp_path / "fit.json"
    result = invoke("score", log, "-o", out, "--calibration", fit, "--keep", "id")
    assert result.exit_code == 0, result.output
    rows = pq.ParquetFile(out).read().to_pylist()
    right = expected(log_of(400), fitted())
    assert [{**row, "retriever": None} for row in rows] == [
        {**row, "retriever": None} for row in right
    ]


def test_a_log_of_calibrated_levels_is_noted(log: Path, tmp_path: Path) -> None:
    table = pq.ParquetFile(log).read()
    pq.write_table(table.append_column("calibration", [["c1"] * len(table)]), log)
    fitted().save(tmp_path / "fit.json")
    result = invoke("score", log, "-o", tmp_path / "out")
    assert "Give the calibration with --calibration FILE" in " ".join(result.stderr.split())
    result = invoke("score", log, "-o", tmp_path / "two", "--calibration", tmp_path / "fit.json")
    assert "give it with" not in result.stderr


def test_a_log_of_another_encoder_is_noted(log: Path, tmp_path: Path) -> None:
    table = pq.ParquetFile(log).read()
    pq.write_table(table.append_column("encoder", [["one", "two"] * (len(table) // 2)]), log)
    replace(fitted(), encoder="one").save(tmp_path / "fit.json")
    result = invoke("score", log, "-o", tmp_path / "out", "--calibration", tmp_path / "fit.json")
    assert "with the encoder one; the log has queries of two" in " ".join(result.stderr.split())


def test_a_file_that_is_no_parquet_is_refused(log: Path, tmp_path: Path) -> None:
    result = invoke("score", log, "-o", tmp_path / "out.csv")
    assert result.exit_code == 2
    assert "a file is written as Parquet" in result.stderr
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--cosines", "similarity"], "no column similarity"),
        (["--calibration", "absent.json"], "absent.json: No such file"),
        (["--keep", "text"], "no column text"),
    ],
)
def test_errors_are_one_line(options: list[str], words: str, log: Path, tmp_path: Path) -> None:
    result = invoke("score", log, "-o", tmp_path / "out", *options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_bad_value_far_down_is_told_by_its_line_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("q,id,cosines\n" + 'hello,7,"[0.8, 0.1]"\n' * 21_000 + 'secret,x,"[0.8]"\n')
    result = invoke("score", path, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert "log.csv cannot be read as CSV at line 21002" in " ".join(result.stderr.split())
    assert "secret" not in result.output
