"""Every notebook runs from a clean kernel, in silence, and shows what is stored with it."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode

from tests.core.test_display import OWN_ATTRIBUTES, OWN_TAGS
from tests.notebooks.execute import FOLDER, KERNEL, WIDGET, execute

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

REFRESH = "the notebook is stale: run python tests/notebooks/execute.py, then look at it"

NUMBER = re.compile(r"\b[0-9a-f]{12}\b|-?\d+(\.\d+)?(e[-+]?\d+)?")
"""A figure, or the id of a calibration, which is another one in every run."""

NOT_PORTABLE = {
    "an absolute path": re.compile(r"(?<![\w.<:/])/(home|root|Users|tmp|var|usr|opt|work|mnt)/"),
    "a Windows path": re.compile(r"\b[A-Za-z]:\\\\?\w"),
    "a traceback": re.compile(r"Traceback \(most recent call last\)"),
    "a memory address": re.compile(r"\b0x[0-9a-f]{6,}\b"),
}

TAGS = OWN_TAGS
ATTRIBUTES = {f"@{name}" for name in OWN_ATTRIBUTES | {"align"}}
"""All that our own tables and cards are made of; what a foreign text brings along is not in it."""


class Markup(HTMLParser):
    """Every tag and every attribute of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {tag, *(f"@{name}" for name, _ in attrs)}


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(notebook: NotebookNode) -> list[list[dict[str, Any]]]:
    """What each code cell shows: pictures by their kind, texts without their figures.

    The last digits of a cosine may differ from one processor to the next.
    """
    return [[_shown(output) for output in cell.outputs] for cell in code_cells(notebook)]


def _shown(output: NotebookNode) -> dict[str, Any]:
    contents = output.get("data", {"text": output.get("text")})
    return {
        kind: NUMBER.sub("#", content) if isinstance(content, str) else None
        for kind, content in contents.items()
        if not kind.startswith("image/")
    } | {kind: None for kind in contents if kind.startswith("image/")}


def texts(notebook: NotebookNode) -> list[str]:
    """All sources and all outputs but the pictures, whose bytes may look like anything."""
    found = [cell.source for cell in notebook.cells]
    for cell in code_cells(notebook):
        for output in cell.outputs:
            data = output.get("data", {})
            found += [str(v) for kind, v in data.items() if not kind.startswith("image/")]
            found += [str(output[key]) for key in ("text", "traceback") if key in output]
    return found


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def stored(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def test_there_are_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "01_first_look",
        "02_agent_web_fallback",
        "03_llama_index",
        "04_your_data",
        "05_selector_and_reranker",
    ]


def test_it_is_short(stored: NotebookNode) -> None:
    assert len(stored.cells) < 25


def test_foreign_text_is_no_markup(stored: NotebookNode) -> None:
    outputs = [output for cell in code_cells(stored) for output in cell.outputs]
    html = "".join(output.get("data", {}).get("text/html", "") for output in outputs)
    assert "<" in html
    assert Markup(html).found <= TAGS | ATTRIBUTES


def test_a_hostile_page_is_among_what_the_agents_read() -> None:
    """Otherwise the test above would say little."""
    notebook = nbformat.read(FOLDER / "02_agent_web_fallback.ipynb", as_version=4)
    assert any("&lt;img src=x onerror=" in text for text in texts(notebook))
    assert Markup("<b><img src=x onerror=alert(1)>").found == {"b", "img", "@src", "@onerror"}


def test_it_runs_in_silence_and_shows_what_is_stored(path: Path, stored: NotebookNode) -> None:
    fresh = execute(path)
    outputs = [output for cell in code_cells(fresh) for output in cell.outputs]
    assert [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"] == []
    assert shown(fresh) == shown(stored), REFRESH


def test_a_slider_is_kept_as_its_picture(path: Path, stored: NotebookNode) -> None:
    """A view without its kernel would be an error where a reader looks for a picture."""
    outputs = [output for cell in code_cells(stored) for output in cell.outputs]
    assert not [output for output in outputs if WIDGET in output.get("data", {})]
    sliders = [cell for cell in code_cells(stored) if "_repr_mimebundle_" in cell.source]
    assert len(sliders) == (path.stem == "04_your_data")
    assert all("image/png" in cell.outputs[-1].data for cell in sliders)


def test_outputs_are_stored(stored: NotebookNode) -> None:
    cells = code_cells(stored)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1)), REFRESH
    assert any(cell.outputs for cell in cells), REFRESH


def test_nothing_of_the_machine_is_stored(stored: NotebookNode) -> None:
    for text in texts(stored):
        found = {name for name, pattern in NOT_PORTABLE.items() if pattern.search(text)}
        assert not found, text


def test_metadata_is_minimal(stored: NotebookNode) -> None:
    assert stored.metadata == {"kernelspec": KERNEL}
    assert [cell.id for cell in stored.cells if cell.metadata] == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("see /home/someone/x.py", "an absolute path"),
        ('File "/tmp/ipykernel_1/2.py"', "an absolute path"),
        ("C:\\Users\\someone", "a Windows path"),
        ("Traceback (most recent call last)", "a traceback"),
        ("<object at 0x7f0011223344>", "a memory address"),
        ("half of it is </td></tr> and https://example.org/some/x", None),
    ],
)
def test_what_counts_as_not_portable(text: str, name: str | None) -> None:
    found = [known for known, pattern in NOT_PORTABLE.items() if pattern.search(text)]
    assert found == ([name] if name else [])
