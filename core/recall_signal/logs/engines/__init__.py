"""The scoring of logs on other engines: Ray Data, Spark, DuckDB, and plain SQL for any other."""

from recall_signal.logs.engines._duckdb import register_duckdb
from recall_signal.logs.engines._ray import score_ray
from recall_signal.logs.engines._spark import score_spark
from recall_signal.logs.engines._sql import Dialect, sql_levels

__all__ = ["Dialect", "register_duckdb", "score_ray", "score_spark", "sql_levels"]
