"""The servers of the store suite: started once, when the first test asks for them."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.stores.services import postgres, redis_server

SERVERS = ("postgres_url", "redis_url", "milvus_uri")


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the marks in its own hook
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep together what shares a server, a store filled by its class, or a module's database.

    For `-n 2 --dist loadgroup`: each group runs in one worker, so a server starts once.
    """
    if not config.pluginmanager.hasplugin("xdist"):
        return
    here = Path(__file__).parent
    for item in items:
        if here not in item.path.parents:
            continue
        used = getattr(item, "fixturenames", ())
        server = next((name for name in SERVERS if name in used), None)
        if server is None and "milvus" in item.path.stem:  # a database of the module's own
            server = "milvus_uri"
        owner = getattr(item, "cls", None)
        name = f"{item.path.parent.name}.{item.path.stem}"
        group = server or f"{name}.{owner.__name__ if owner else ''}"
        item.add_marker(pytest.mark.xdist_group(f"stores.{group}"))


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """`postgresql://` address of a PostgreSQL with the `vector` extension."""
    with tempfile.TemporaryDirectory() as folder, postgres(Path(folder)) as url:
        yield url


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """`redis://` address of a Redis with its search module."""
    with tempfile.TemporaryDirectory() as folder, redis_server(Path(folder)) as url:
        yield url


@pytest.fixture(scope="module")
def milvus_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The file of a Milvus Lite, which starts with its first client.

    One for each module: it closes connections that lie idle behind other tests.
    """

    def sleep(seconds: float) -> None:
        time.sleep(min(seconds, 0.02))  # half a second for each index, where a moment is enough

    with pytest.MonkeyPatch.context() as patch:
        impatient = SimpleNamespace(time=time.time, sleep=sleep)
        patch.setattr("pymilvus.client.grpc_handler.time", impatient)
        yield str(tmp_path_factory.mktemp("milvus") / "lite.db")
