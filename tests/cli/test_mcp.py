"""`recall-signal mcp`: what it refuses, and the retriever that is not there yet."""

import asyncio
import io
import logging
import sys
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from recall_signal import ConfigurationError
from recall_signal.cli import _mcp as command
from recall_signal.cli._mcp import StillLoading, _describe, _Loading, _own_logs
from tests.cli.fakes import invoke

pytestmark = pytest.mark.usefixtures("embedded")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-k", 9, "--max-k", 8), "--max-k must be at least -k (9), got 8"),
        (("-k", 0), "-k must be at least 1, got 0"),
        (("--http", 70000), "the port must be 0 to 65535, got 70000"),
        (("--framework", "other"), "--framework must be one of langchain"),
    ],
)
def test_wrong_options(docs: Path, options: tuple[object, ...], message: str) -> None:
    result = invoke("mcp", "--docs", docs, *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"Error: {message}")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    result = invoke("mcp", "--docs", tmp_path / "none")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "does not exist" in result.stderr


def test_without_the_extra(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "recall_signal.mcp._sdk", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)
    result = invoke("mcp", "--docs", docs)
    assert result.exit_code == 2
    assert "pip install 'recall-signal[mcp]'" in result.stderr


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How the server would have been served; each time its retriever is waited for."""
    ways: list[str] = []

    def stdio(server: Any, output: Any) -> None:
        ways.append("stdio")

    def http(server: Any, listening: Any) -> None:
        ways.append(f"http {listening.getsockname()[0]}")

    monkeypatch.setattr(command, "run_stdio", stdio)
    monkeypatch.setattr(command, "run_http", http)

    class Waiting(_Loading):
        def start(self) -> None:
            super().start()
            self._loaded.exception(60)

    monkeypatch.setattr(command, "_Loading", Waiting)
    return ways


def test_both_transports(docs: Path, served: list[str]) -> None:
    over_pipes = invoke("mcp", "--docs", docs, "--description", "Notes.")
    over_http = invoke("mcp", "--docs", docs, "--http", 0)
    assert served == ["stdio", "http 127.0.0.1"]
    for result in (over_pipes, over_http):
        assert (result.exit_code, result.stdout) == (0, "")
        assert "2 files, 2 passages" in result.stderr
        assert "Levels follow the calibration of these texts" in " ".join(result.stderr.split())
    assert "Serving http://127.0.0.1:" in over_http.stderr
    assert "/mcp; Ctrl-C ends it" in over_http.stderr


def test_texts_that_cannot_be_embedded_are_said(
    docs: Path, served: list[str], tmp_path: Path
) -> None:
    (tmp_path / "vectors.sqlite").write_text("no database, but long enough to be looked at " * 50)
    result = invoke("mcp", "--docs", docs, "--cache", tmp_path)
    assert served == ["stdio"]
    assert f"Error: the vector cache {tmp_path}/vectors.sqlite is damaged" in result.stderr


class Echo:
    async def arecall(self, query: str, /, **options: Any) -> Any:
        return query, options


async def test_a_call_waits_for_the_retriever(monkeypatch: pytest.MonkeyPatch) -> None:
    go = asyncio.Event()
    loop = asyncio.get_running_loop()

    def load() -> Any:
        asyncio.run_coroutine_threadsafe(go.wait(), loop).result(60)
        return Echo()

    loading = _Loading(load)
    loading.start()
    monkeypatch.setattr(command, "PATIENCE", 0.01)
    with pytest.raises(StillLoading):
        await loading.arecall("early")
    given_up = asyncio.create_task(loading.arecall("given up"))
    await asyncio.sleep(0)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    monkeypatch.setattr(command, "PATIENCE", 60)
    waiting: asyncio.Task[Any] = asyncio.create_task(loading.arecall("later", k=3))
    go.set()
    assert await waiting == ("later", {"k": 3})


async def test_a_retriever_that_cannot_be_made_fails_every_call() -> None:
    def load() -> Any:
        raise ConfigurationError("no key")

    loading = _Loading(load)
    loading.start()
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="no key"):
            await loading.arecall("q")


def test_the_description_names_the_folder(tmp_path: Path) -> None:
    assert _describe(tmp_path / "notes") == "Look up texts of the folder 'notes'."
    assert "\x1b" not in _describe(tmp_path / ("a\x1b[2Jb" * 90))
    assert len(_describe(tmp_path / ("long" * 90))) < 120
    assert _describe(Path("/")) == "Look up stored texts."


def test_only_our_own_logs_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    with _own_logs():
        logging.getLogger("recall_signal.mcp").warning("ours")
        logging.getLogger("mcp.server").warning("theirs")
    assert shown.getvalue() == "ours\n"
    assert not logging.getLogger("recall_signal").handlers


def test_what_a_loading_thread_prints_after_the_server_is_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go = Event()

    def load() -> Any:
        go.wait()
        return object()

    before = io.StringIO()
    monkeypatch.setattr(sys, "stdout", before)
    with _Loading(load):
        pass
    assert sys.stdout is sys.stderr
    monkeypatch.setattr(sys, "stdout", before)
    go.set()
    loaded = _Loading(load)
    with loaded:
        loaded._loaded.result(10)
    assert sys.stdout is before
