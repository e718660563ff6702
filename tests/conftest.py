"""Fixtures of all tests; in parallel, what belongs together stays on one worker."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]
ONE_WORKER_A_FILE = ("stores", "docs", "notebooks", "benchmarks", "cli", "golden")
"""Folders whose files start a server, load a model or run a program once for all their tests."""

settings.register_profile("check", max_examples=20)  # for `make check`


@pytest.fixture(params=["langchain", "llama_index"])
def framework(request: pytest.FixtureRequest) -> Any:
    """Each integration in turn; see `tests/frameworks.py`, which loads both frameworks."""
    return import_module("tests.frameworks").FRAMEWORKS[request.param]


@pytest.fixture(params=["sync", "async"])
def way(request: pytest.FixtureRequest) -> Any:
    """Synchronously, and asynchronously."""
    return request.param


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.parent.relative_to(ROOT / "tests").parts
        if folder and folder[0] in ONE_WORKER_A_FILE and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(str(item.path.relative_to(ROOT))))
