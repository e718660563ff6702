"""A folder of documents, and surroundings that are the same everywhere."""

from pathlib import Path

import pytest
from cli_fakes import WordEncoder


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The documents that ``ask`` embeds, which it now does with ``WordEncoder``."""
    texts: list[str] = []
    monkeypatch.setattr(WordEncoder, "embedded", texts, raising=False)
    monkeypatch.setattr("recall_signal.cli.ask.DemoEncoder", WordEncoder)
    return texts


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """80 columns, and a cache folder that is nobody's."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user-cache"))
    for name in ("NO_COLOR", "FORCE_COLOR", "PY_COLORS", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Two texts in a folder, one of them in a folder below."""
    folder = tmp_path / "docs"
    (folder / "more").mkdir(parents=True)
    (folder / "kilns.md").write_text("# Kilns\n\nThe big kiln fires on Monday.\n")
    (folder / "more" / "hours.txt").write_text("We open at nine and close at six.\n")
    return folder
