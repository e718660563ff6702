"""Passages: their size, their ids, and the line they say they start at."""

from pathlib import Path

import pytest

from recall_signal.cli.chunks import CHUNK_SIZE, cut
from recall_signal.cli.folder import TextFile


def line_of(source: str) -> int:
    return int(source.rpartition(":")[2])


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.markdown", "a.rst"])
def test_every_passage_starts_at_its_line(name: str) -> None:
    lines = [f"Line {number} says something of its own." for number in range(1, 400)]
    for at in range(0, 399, 7):
        lines[at] = ""
    lines[210] = "## Heading"
    passages = cut([TextFile(Path(name), "\n".join(lines))])
    assert len(passages) > 10
    for passage in passages:
        assert len(passage.text) <= CHUNK_SIZE
        assert passage.text.startswith(lines[line_of(passage.source) - 1])
        assert passage.source.startswith(f"{name}:")
    assert len({passage.id for passage in passages}) == len(passages)


def test_markdown_is_cut_at_headings() -> None:
    section = "A paragraph of words. " * 20
    text = f"# One\n\n{section}\n\n# Two\n\n{section}"
    assert [p.text[:5] for p in cut([TextFile(Path("a.MD"), text)])] == ["# One", "# Two"]


def test_a_passage_has_a_letter_or_a_digit() -> None:
    code = "```\n" + "x = 1  # and so on\n" * 33 + "```"
    text = f"# Kilns\n\n{code}\n\n---\n\n{code}\n"
    passages = cut([TextFile(Path("a.md"), text)])
    assert len(passages) > 1
    assert all(any(map(str.isalnum, passage.text)) for passage in passages)
    assert [passage.id for passage in passages] == [f"a.md#{n + 1}" for n in range(len(passages))]
    for passage in passages:
        line = text.splitlines()[line_of(passage.source) - 1]
        assert line.startswith(passage.text.splitlines()[0])


def test_a_huge_line_is_cut_too() -> None:
    passages = cut([TextFile(Path("a.txt"), "x" * 100_000), TextFile(Path("b.txt"), "short")])
    assert max(len(passage.text) for passage in passages) <= CHUNK_SIZE
    assert {line_of(passage.source) for passage in passages} == {1}
    assert passages[-1].id == "b.txt#1"


def test_a_lost_place_keeps_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from langchain_core.documents import Document
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    places = [2, -1, 4]
    monkeypatch.setattr(
        RecursiveCharacterTextSplitter,
        "create_documents",
        lambda self, texts: [
            Document(page_content="x", metadata={"start_index": at}) for at in places
        ],
    )
    passages = cut([TextFile(Path("a.txt"), "a\nb\nc\n")])
    assert [line_of(passage.source) for passage in passages] == [2, 2, 3]
