"""Each engine gives, row for row by id, what `assess` gives, in every column."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from recall_signal import (
    ConfigurationError,
    InvalidInputError,
    MissingDependencyError,
    Thresholds,
    assess,
)
from recall_signal.logs import BatchScorer, LogWriter, score_batch
from recall_signal.logs._score_batch import SCORED
from recall_signal.logs.engines import register_duckdb, score_ray, score_spark, sql_levels
from recall_signal.logs.engines._duckdb import scored_column
from tests.logs.made import Query, write
from tests.logs.scoring import expected, fitted, knife_edges, log_of, rows_of

ROWS = 3000


@pytest.fixture(scope="module")
def log() -> pa.Table:
    return log_of(ROWS)


@pytest.fixture(scope="module")
def file(log: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    pq.write_table(log, path, row_group_size=700)
    return path


@pytest.fixture(scope="module", params=[False, True], ids=["uncalibrated", "calibrated"])
def scorer(request: pytest.FixtureRequest) -> BatchScorer:
    return BatchScorer(fitted() if request.param else None)


@pytest.fixture
def right(log: pa.Table, scorer: BatchScorer) -> list[dict[str, Any]]:
    return expected(log, scorer.calibration)


def by_id(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["id"])


def test_the_batch_itself(log: pa.Table, scorer: BatchScorer, right: Any) -> None:
    assert scorer(log).to_pylist() == right
    (batch,) = log.to_batches()
    scored = score_batch(batch, scorer.calibration)
    assert isinstance(scored, pa.RecordBatch)
    assert scored.to_pylist() == right


def test_ray(ray: Any, log: pa.Table, scorer: BatchScorer, right: Any) -> None:
    read = ray.data.from_arrow([log[:1200], log[1200:]])
    assert by_id(score_ray(read, scorer).take_all()) == right


def test_spark(spark: Any, file: Path, scorer: BatchScorer, right: Any) -> None:
    scored = score_spark(spark.read.parquet(str(file)).repartition(3), scorer)
    assert by_id([row.asDict() for row in scored.collect()]) == right


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log as retrievers write it, with a time, a run and a day in each row."""
    folder = tmp_path_factory.mktemp("written") / "log"
    random = np.random.default_rng(0)
    with LogWriter(folder, max_rows=200, queue_rows=10_000) as log:
        write(log, *(Query(cosines=random.random(n % 20).tolist()) for n in range(700)))
    return folder


def by_run(rows: Iterable[dict[str, Any]]) -> dict[bytes, dict[str, Any]]:
    """Rows by their run, without the time and day, whose types are each engine's own."""
    return {
        bytes(row["run_id"]): {
            name: value for name, value in row.items() if name not in ("run_id", "ts", "day")
        }
        for row in rows
    }


@pytest.mark.parametrize("engine", ["spark", "ray"])
def test_a_log_of_our_own(engine: str, written: Path, request: pytest.FixtureRequest) -> None:
    scorer = BatchScorer(fitted())
    (batch,) = (
        pa.dataset.dataset(written, partitioning="hive").to_table().combine_chunks().to_batches()
    )
    right = by_run(scorer(batch).to_pylist())
    found = request.getfixturevalue(engine)
    if engine == "spark":
        rows = [
            row.asDict() for row in score_spark(found.read.parquet(str(written)), scorer).collect()
        ]
    else:
        rows = score_ray(found.data.read_parquet(str(written)), scorer).take_all()
    assert by_run(rows) == right


def test_duckdb(log: pa.Table, scorer: BatchScorer, right: Any) -> None:
    with duckdb.connect() as connection:
        register_duckdb(connection, scorer)
        connection.register("log", log)
        found = connection.sql(
            "SELECT id, retriever, signal.* FROM (SELECT id, retriever, "
            "recall_signal(cosines, term_coverage) AS signal FROM log) ORDER BY id"
        )
        rows = found.to_arrow_table().to_pylist()
        # The same in this thread, where its lines are counted; DuckDB calls it in one of its own.
        call = scored_column(scorer, log["cosines"], log["term_coverage"])
    assert call.to_pylist() == [{name: row[name] for name in SCORED} for row in rows]
    if scorer.calibration is None:
        right = [{**row, "probability": None} for row in right]
    assert rows == right


OTHER = Thresholds(
    prominence_low=0.05, prominence_moderate=0.05, prominence_high=0.9, cosine_low=-0.25
)


@pytest.mark.parametrize("cuts", [None, OTHER], ids=["default", "other"])
@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_plain_sql(engine: Any, cuts: Any, request: pytest.FixtureRequest) -> None:
    rows = rows_of(1500, seed=3) + knife_edges(900, seed=5)
    table = pa.table(
        {"run id": range(len(rows)), "cosines": pa.array(rows, pa.list_(pa.float64()))}
    )
    query = sql_levels("log", keep=["run id"], thresholds=cuts, dialect=engine)
    if engine == "duckdb":
        with duckdb.connect() as connection:
            connection.register("log", table)
            found = connection.sql(query).to_arrow_table().to_pylist()
    else:
        session = request.getfixturevalue("spark")
        session.createDataFrame(table).createOrReplaceTempView("log")
        found = [row.asDict() for row in session.sql(query).collect()]
    assert len(found) == len(rows)
    for row in found:
        cosines = rows[row["run id"]]
        if cosines is None:
            assert (row["level"], row["reason"]) == ("unknown", "no_scores")
            continue
        signal = assess(cosines, thresholds=cuts)
        for name in ("level", "basis", "reason", "result_count"):
            assert row[name] == getattr(signal, name), (name, cosines)
        if signal.prominence is not None:
            assert row["prominence_unrounded"] == pytest.approx(signal.prominence, abs=6e-4)


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_any_column_may_be_kept_by_plain_sql(engine: Any, request: Any) -> None:
    """Names that stand in the query among them."""
    kept = ["rs_top", "rs_background", "rs_mean", "rs_size", "rs_kept_1", "RS_VALUES", "cosines"]
    table = pa.table({name: [[0.9, 0.1]] if name == "cosines" else [7] for name in kept})
    query = sql_levels("log", keep=[*kept, "rs_top"], dialect=engine)
    if engine == "duckdb":
        with duckdb.connect() as connection:
            connection.register("log", table)
            (row,) = connection.sql(query).to_arrow_table().to_pylist()
    else:
        session = request.getfixturevalue("spark")
        session.createDataFrame(table).createOrReplaceTempView("log")
        (row,) = [row.asDict() for row in session.sql(query).collect()]
    assert {name: row[name] for name in kept} == table.to_pylist()[0]
    assert (row["level"], row["top_unrounded"], row["result_count"]) == ("high", 0.9, 2)


@pytest.mark.parametrize("name", ["level", "REASON", "top_unrounded"])
def test_a_column_that_plain_sql_makes_is_not_kept(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"keep names {name}, which the query makes anew"):
        sql_levels("log", keep=["id", name])


def test_columns_are_quoted_and_another_dialect_is_refused() -> None:
    assert 'CAST("a""b" AS DOUBLE[])' in sql_levels("log", cosines='a"b')
    with pytest.raises(ConfigurationError, match="duckdb, spark"):
        sql_levels("log", dialect="oracle")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dialect": ["duckdb"]}, "duckdb, spark, got list"),
        ({"keep": "id"}, "keep must be a list of names of columns, got a text"),
        ({"keep": None}, "keep must be a list of names of columns, got NoneType"),
        ({"cosines": 5}, "cosines must be the name of a column, got int"),
    ],
)
def test_wrong_settings_of_a_query(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        sql_levels("log", **settings)


def test_a_log_without_cosines_is_refused_before_spark_and_ray_run(spark: Any) -> None:
    frame = spark.createDataFrame([(1, "a")], "id int, name string")
    with pytest.raises(InvalidInputError, match="no column cosines"):
        score_spark(frame)


@pytest.mark.parametrize(
    ("module", "call", "named"),
    [
        ("ray", lambda: score_ray(None), "ray.data."),  # type: ignore[arg-type]
        ("pyspark.sql.pandas.types", lambda: score_spark(None), "pyspark.sql."),  # type: ignore[arg-type]
        ("duckdb", lambda: register_duckdb(None), "recall-signal.logs."),  # type: ignore[arg-type]
    ],
    ids=["ray", "spark", "duckdb"],
)
def test_a_missing_engine_is_named(
    module: str, call: Any, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=named):
        call()
