"""`recall-signal mcp` as its clients run it: a process, over pipes and over HTTP."""

import asyncio
import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.clients import ROOT, command, environment, over_http, process

pytestmark = pytest.mark.xdist_group("tests/mcp/test_command.py")

WORDS = ("--encoder", "tests.mcp.words:Words")
KILN = "The big kiln fires on Monday."


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pottery")
    (folder / "kilns.md").write_text(f"# Kilns\n\n{KILN}\n")
    (folder / "hours.txt").write_text("We open at nine and close at six.\n")
    return folder


@pytest.fixture(scope="module")
def options(docs: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[object, ...]:
    return ("--docs", docs, "--cache", tmp_path_factory.mktemp("cache"), *WORDS)


@pytest.fixture(scope="module")
def served(options: tuple[object, ...]) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """An address, and the process behind it."""
    started = subprocess.Popen(
        command(*options, "--http", 0, "--framework", "llama-index"),
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with started:
        assert started.stderr is not None
        for line in started.stderr:
            if line.startswith("Serving "):
                break
        yield line.split()[1].rstrip(";"), started
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=30)
        assert started.returncode == 0, err
        assert out == ""
        assert "Traceback" not in err


async def test_over_standard_input_and_output(options: tuple[object, ...], tmp_path: Path) -> None:
    path = tmp_path / "errors.txt"
    with path.open("w") as errors:
        async with process(*options, "-k", 1, "--max-k", 2, errors=errors) as session:
            (tool,) = await session.tools()
            found = await session.call(query=KILN)
            wrong = await session.call(query=KILN, k=3)
    assert tool["description"].startswith("Look up texts of the folder 'pottery0'.")
    assert tool["inputSchema"]["properties"]["k"]["maximum"] == 2
    (result,) = found.page["results"]
    assert KILN in result["text"]
    assert result["metadata"]["source"].endswith("kilns.md:1")
    assert found.page["recall"]["calibration"]["status"] in ("ready", "no_valid_threshold")
    assert wrong.is_error
    said = path.read_text()
    for line in ("a stray line", "another one, past Python", "a question was embedded"):
        assert line in said
    assert "2 files, 2 passages" in said
    assert "Levels" in said


def test_ctrl_c_ends_it_without_a_word(options: tuple[object, ...]) -> None:
    with subprocess.Popen(
        command(*options),
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as started:
        assert started.stdin is not None
        assert started.stdout is not None
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "n", "version": "1"},
        }
        call = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        started.stdin.write(json.dumps(call) + "\n")
        started.stdin.flush()
        answer = json.loads(started.stdout.readline())
        assert answer["result"]["serverInfo"]["name"] == "recall-signal"
        started.send_signal(signal.SIGINT)
        assert started.wait(timeout=10) == -signal.SIGINT
        assert started.stdout.read() == ""
        assert started.stderr is not None
        assert "Traceback" not in started.stderr.read()


async def test_over_http(served: tuple[str, Any]) -> None:
    url, _ = served
    assert url.startswith("http://127.0.0.1:")
    async with over_http(url) as one, over_http(url) as other:
        replies = await asyncio.gather(one.call(query=KILN, k=1), other.call(query=KILN))
        wrong = await one.call(question=KILN)
    assert [len(reply.page["results"]) for reply in replies] == [1, 2]
    assert wrong.is_error


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://127.0.0.1:{port}"}, 200),
        ({"Host": "localhost:{port}", "Origin": "http://localhost:{port}"}, 200),
        ({"Host": "rebound.example:{port}"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Origin": "http://rebound.example:{port}"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_foreign_names_are_refused(
    served: tuple[str, Any], headers: dict[str, str], status: int
) -> None:
    port = int(served[0].split(":")[2].partition("/")[0])
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(
            "POST",
            "/mcp",
            json.dumps(call),
            {
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
                **{name: value.format(port=port) for name, value in headers.items()},
            },
        )
        answer = connection.getresponse()
        text = answer.read().decode()
    finally:
        connection.close()
    assert answer.status == status
    assert ("inputSchema" in text) == (status == 200)


def test_the_sdk_is_loaded_by_nobody_else() -> None:
    code = "import sys, recall_signal.mcp; sys.exit('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=environment()).returncode == 0
