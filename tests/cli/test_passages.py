"""Passages: their size, their ids, and the line they say they start at."""

from pathlib import Path

import pytest

from recall_signal.cli._file_kinds import Extracted
from recall_signal.cli._folder import CHUNK_SIZE, TextFile
from recall_signal.cli._folder import split_into_passages as split


def file(name: str, text: str) -> TextFile:
    return TextFile(Path(name), Extracted(text))


def line_of(source: str) -> int:
    return int(source.rpartition(":")[2])


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.markdown", "a.rst"])
def test_every_passage_starts_at_its_line(name: str) -> None:
    lines = [f"Line {number} says something of its own." for number in range(1, 400)]
    for at in range(0, 399, 7):
        lines[at] = ""
    lines[210] = "## Heading"
    passages = split([file(name, "\n".join(lines))])
    assert len(passages) > 10
    for passage in passages:
        assert len(passage.text) <= CHUNK_SIZE
        assert passage.text.startswith(lines[line_of(passage.source) - 1])
        assert passage.source.startswith(f"{name}:")
    assert len({passage.id for passage in passages}) == len(passages)


def test_markdown_is_split_at_headings() -> None:
    section = "A paragraph of words. " * 20
    text = f"# One\n\n{section}\n\n# Two\n\n{section}"
    assert [p.text[:5] for p in split([file("a.MD", text)])] == ["# One", "# Two"]


def test_a_heading_before_a_long_paragraph_is_on_its_passage() -> None:
    paragraph = "A sentence of five words. " * 40
    text = f"# One\n\n## Two\n\n{paragraph}\n\n## Three\n\n{paragraph}\n\n## Four\n"
    passages = split([file("a.md", text)])
    assert passages[0].text.startswith("# One\n\n## Two\n\nA sentence")
    assert line_of(passages[0].source) == 1
    assert [p.text for p in passages if not p.text.startswith(("A", "#"))] == []
    assert any(p.text.startswith("## Three\n\nA") for p in passages)
    assert passages[-1].text.endswith("## Four")
    assert [p.id for p in passages] == [f"a.md#{n + 1}" for n in range(len(passages))]


def test_headings_alone_do_not_pile_up() -> None:
    passages = split([file("a.md", "# A heading without any text below it\n\n" * 5000)])
    assert max(len(passage.text) for passage in passages) <= 2 * CHUNK_SIZE + 2


def test_lines_that_begin_with_a_hash_are_headings_in_markdown_only() -> None:
    text = "# One\n\n" + "x" * 700
    assert split([file("a.txt", text)])[0].text == "# One"
    assert split([file("a.md", text)])[0].text.startswith("# One\n\nx")


def test_a_passage_has_a_letter_or_a_digit() -> None:
    code = "```\n" + "x = 1  # and so on\n" * 33 + "```"
    text = f"# Kilns\n\n{code}\n\n---\n\n{code}\n"
    passages = split([file("a.md", text)])
    assert len(passages) > 1
    assert all(any(map(str.isalnum, passage.text)) for passage in passages)
    assert [passage.id for passage in passages] == [f"a.md#{n + 1}" for n in range(len(passages))]
    for passage in passages:
        line = text.splitlines()[line_of(passage.source) - 1]
        assert line.startswith(passage.text.splitlines()[0])


def test_a_huge_line_is_split_too() -> None:
    passages = split([file("a.txt", "x" * 100_000), file("b.txt", "short")])
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
    passages = split([file("a.txt", "a\nb\nc\n")])
    assert [line_of(passage.source) for passage in passages] == [2, 2, 3]
