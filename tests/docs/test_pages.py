"""Every Python block of the README and the docs runs, and prints what its page says."""

import io
import re
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from llama_index.core import Settings
from llama_index.core.instrumentation import get_dispatcher
from sybil import Document, Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser

from tests.docs.pages import PAGES, ROOT, SETUP

run = PythonEvaluator()


def run_block(example: Example) -> None:
    printed = io.StringIO()
    with redirect_stdout(printed):
        run(example)
    example.namespace["_printed"] = printed.getvalue()


def compare_block(example: Example) -> None:
    assert example.namespace["_printed"] == str(example.parsed)


SYBIL = Sybil([CodeBlockParser("python", run_block), CodeBlockParser("text", compare_block)])
WITH_BLOCKS = [page for page in PAGES if "```python" in page.read_text("utf-8")]


def parse(page: Path) -> Document:
    return SYBIL.parse(page)


@pytest.fixture
def _a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take back what a page sets for the whole process."""
    root = get_dispatcher()
    handlers = list(root.span_handlers), list(root.event_handlers)
    monkeypatch.setattr(Settings, "_llm", None)
    monkeypatch.chdir(tmp_path)
    yield
    root.span_handlers, root.event_handlers = handlers


@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")  # of LlamaIndex
@pytest.mark.usefixtures("_a_process_of_its_own")
@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda page: page.name)
def test_a_page_runs(page: Path) -> None:
    document = parse(page)
    document.namespace.update(SETUP.get(page.name, dict)())
    for example in document.examples():
        example.evaluate()


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda page: page.name)
def test_no_block_is_left_out(page: Path) -> None:
    """A fence that is indented or has attributes would be passed over in silence."""
    fences = re.findall(r"^ *(?:```+|~~~+) *\{?\.?(?:python|text)\b", page.read_text("utf-8"), re.M)
    assert len(list(parse(page).examples())) == len(fences)


def test_a_wrong_output_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\n```text\n2\n```\n", encoding="utf-8")
    block, output = parse(page).examples()
    block.evaluate()
    with pytest.raises(AssertionError):
        output.evaluate()


def test_every_setup_belongs_to_a_page_with_blocks() -> None:
    assert set(SETUP) <= {page.name for page in WITH_BLOCKS}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """A notebook's page is made of the notebook when the site is built."""
    for target in re.findall(r"\]\(([\w./-]+\.md)\)", page.read_text(encoding="utf-8")):
        notebook = (ROOT / target).with_suffix(".ipynb")
        assert (page.parent / target).is_file() or notebook.is_file(), target


def test_the_readme_stands_on_its_own() -> None:
    """F7: it is short, and without links that lead nowhere on the page of a package index."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 90
    links = re.findall(r"\]\(([^)]+)\)", text)
    local = [link for link in links if not link.startswith("https://")]
    assert local == ["docs/img/two-witnesses.png"]
    assert (ROOT / local[0]).is_file()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    hook = project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    (rule,) = hook["substitutions"]
    indexed = re.sub(rule["pattern"], rule["replacement"], text)
    assert "](docs/" not in indexed
    assert len(indexed.splitlines()) == len(text.splitlines()) - 2


def test_pictures_are_small_and_described() -> None:
    for page in PAGES:
        for words, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text("utf-8")):
            assert len(words) > 40, target
            assert (page.parent / target).stat().st_size < 150_000, target
