"""Every Python example of the README and the docs that shows its output is run and compared."""

import io
import itertools
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def examples() -> list[pytest.param]:
    """Each python block that a text block follows."""
    found = []
    for page in PAGES:
        blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
        for (language, code), (after, output) in itertools.pairwise(blocks):
            if language == "python" and after == "text":
                found.append(pytest.param(code, output, id=page.name))
    return found


@pytest.mark.parametrize(("code", "output"), examples())
def test_an_example_prints_what_its_page_says(code: str, output: str) -> None:
    said = io.StringIO()
    with redirect_stdout(said):
        exec(compile(code, "<example>", "exec"), {})
    assert said.getvalue() == output


def test_there_are_examples() -> None:
    assert any(param.id == "README.md" for param in examples())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_python_block_is_python(page: Path) -> None:
    for language, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            compile(code, str(page), "exec")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([\w./-]+\.md)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).is_file(), target


def test_the_readme_is_short() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 90
