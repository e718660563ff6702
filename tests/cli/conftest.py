"""A folder of documents, and surroundings that are the same everywhere."""

import json
from collections.abc import Iterator
from math import inf
from pathlib import Path

import pytest

from tests.cli.fakes import TOPICS, WordEncoder
from tests.openai_server import OpenAIServer, serving


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The documents that are embedded, which every command now does with `WordEncoder`."""
    texts: list[str] = []
    monkeypatch.setattr(WordEncoder, "embedded", texts, raising=False)
    for module in ("_models",):
        monkeypatch.setattr(f"recall_signal.cli.{module}.DemoEncoder", WordEncoder)
    return texts


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """80 columns, no key, proxy or line of progress, and a cache folder that is nobody's."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user-cache"))
    proxies = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
    colours = ("NO_COLOR", "FORCE_COLOR", "PY_COLORS", "CLICOLOR_FORCE")
    for name in (*colours, *proxies, "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setattr("recall_signal.cli._terminal.LINE_SECONDS", inf)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """A server that LangChain's OpenAI client finds by its environment variables."""
    with serving() as started:
        monkeypatch.setenv("OPENAI_BASE_URL", started.url)
        yield started


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Two texts in a folder, one of them in a folder below."""
    folder = tmp_path / "docs"
    (folder / "more").mkdir(parents=True)
    (folder / "kilns.md").write_text("# Kilns\n\nThe big kiln fires on Monday.\n")
    (folder / "more" / "hours.txt").write_text("We open at nine and close at six.\n")
    return folder


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A file of sixty texts."""
    rows = [
        {"id": f"{topic}{n}", "text": text.format(n=n * 7)}
        for topic, text in TOPICS.items()
        for n in range(20)
    ]
    path = tmp_path / "texts.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path
