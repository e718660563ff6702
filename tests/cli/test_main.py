"""The command as it is started: the script, the version, and what is missing."""

import io
import os
import subprocess
import sys
from importlib import import_module
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

from recall_signal.cli import _app, _entry, main
from tests.cli.fakes import invoke

BLOCKED = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Block())
from recall_signal.cli import main
assert not {{"typer", "rich", "numpy", "langchain_core"}} & set(sys.modules)
main()
"""


def start(*arguments: str, blocked: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    code = BLOCKED.format(names=blocked)
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "COLUMNS": "80"},
    )


def test_the_script_is_main() -> None:
    (script,) = (e for e in entry_points(group="console_scripts") if e.name == "recall-signal")
    assert script.load() is main
    assert import_module("recall_signal.cli.__main__").main is main


def test_version() -> None:
    result = invoke("--version")
    assert result.exit_code == 0
    assert result.stdout == f"recall-signal {version('recall-signal')}\n"


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("demo", "--framework --selector --selector-timeout"),
        ("ask", "--docs --framework -k --pool-size --calibration --json --cache"),
        ("ask", "--encoder --no-calibration --selector --selector-timeout"),
        ("calibrate", "--docs --jsonl --out --past --labelled --figure --framework"),
        ("calibrate", "--encoder --cache"),
        ("evaluate", "--corpus --queries --qrels --encoder --pool --html --json"),
    ],
)
def test_help(command: str, options: str) -> None:
    assert command in invoke().output
    result = invoke(command, "--help")
    assert result.exit_code == 0
    for option in options.split():
        assert option in result.stdout


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_the_extra(package: str) -> None:
    """F5: an error names the extra."""
    done = start("demo", blocked=(package,))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "The command recall-signal needs packages that are not installed. "
        "Install them with: pip install 'recall-signal[demo]'\n"
    )


def test_without_the_framework(tmp_path: Path) -> None:
    done = start("ask", "--docs", str(tmp_path), "q", blocked=("langchain_core",))
    assert done.returncode == 2
    assert "pip install 'recall-signal[langchain]'" in done.stderr


@pytest.fixture
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")


@pytest.mark.usefixtures("restored")
def test_main_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(sys, "argv", ["recall-signal", "--version"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert out.errors == "replace"
    assert os.environ["OPENBLAS_NUM_THREADS"] == "2"


@pytest.mark.usefixtures("restored")
def test_main_without_typer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "recall_signal.cli._app")
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "pip install 'recall-signal[demo]'" in capsys.readouterr().err


@pytest.mark.usefixtures("restored")
def test_a_broken_installation_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "recall_signal.cli._app")
    monkeypatch.setitem(sys.modules, "recall_signal.cli._ask", None)
    with pytest.raises(ImportError, match=r"recall_signal\.cli\._ask"):
        main()


@pytest.mark.usefixtures("restored")
def test_an_interruption_while_it_loads_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "recall_signal.cli._app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "recall_signal.cli._app")
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130


@pytest.mark.parametrize(("code", "right"), [(None, 0), (3, 3), ("a message", 1)])
def test_a_thread_that_does_not_end_is_left_at_once(
    monkeypatch: pytest.MonkeyPatch, code: object, right: int
) -> None:
    """Texts that are still being loaded: an ordinary exit might abort the process."""

    class Left(BaseException):
        pass

    def leave(code: int) -> None:
        raise Left(code)

    def app() -> None:
        raise SystemExit(code)

    monkeypatch.setattr(_app, "app", app)
    with pytest.raises(SystemExit):
        main()
    monkeypatch.setattr(_entry, "come_to_rest", lambda: False)
    monkeypatch.setattr(os, "_exit", leave)
    with pytest.raises(Left) as left:
        main()
    assert left.value.args == (right,)
