"""Cuts text files into passages that know the line they start at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from recall_signal.cli.folder import TextFile, has_words
from recall_signal.cli.frameworks import Passage
from recall_signal.errors import MissingDependencyError

__all__ = ["cut"]

CHUNK_SIZE = 600
"""Characters: about a paragraph, so that one vector stands for one thought."""

CHUNK_OVERLAP = 80
"""Characters: a sentence that is cut in two is whole in one of the passages."""

_MARKDOWN = (".md", ".markdown")


def cut(files: Sequence[TextFile]) -> list[Passage]:
    """The passages of these files, in order, with ``path:line`` as their source.

    Raises:
        MissingDependencyError: The text splitters are not installed.
    """
    try:
        from langchain_text_splitters import Language, RecursiveCharacterTextSplitter
    except ImportError:
        raise MissingDependencyError("recall-signal ask", "demo") from None
    settings: dict[str, Any] = {
        "chunk_size": CHUNK_SIZE,
        "chunk_overlap": CHUNK_OVERLAP,
        "add_start_index": True,
    }
    text = RecursiveCharacterTextSplitter(**settings)
    markdown = RecursiveCharacterTextSplitter.from_language(Language.MARKDOWN, **settings)
    passages: list[Passage] = []
    for file in files:
        is_markdown = file.path.suffix.lower() in _MARKDOWN
        passages += _passages(file, markdown if is_markdown else text)
    return passages


def _passages(file: TextFile, splitter: Any) -> Iterator[Passage]:
    at, line = 0, 1
    chunks = (c for c in splitter.create_documents([file.text]) if has_words(c.page_content))
    for number, chunk in enumerate(chunks, start=1):
        start = max(at, chunk.metadata["start_index"])  # -1 where the splitter lost the place
        line += file.text.count("\n", at, start)
        at = start
        yield Passage(
            id=f"{file.path}#{number}", text=chunk.page_content, source=f"{file.path}:{line}"
        )
