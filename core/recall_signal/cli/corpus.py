"""Passages behind a retriever, with their vectors kept on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recall_signal.cli.chunks import cut
from recall_signal.cli.folder import read_folder
from recall_signal.cli.frameworks import Build, Passage, Workbench
from recall_signal.cli.terminal import EmbeddingBar, Terminal
from recall_signal.encoders import Encoder
from recall_signal.errors import ConfigurationError, MissingDependencyError
from recall_signal.pool import DEFAULT_POOL_SIZE
from recall_signal.vector_cache import CachedEncoder

__all__ = ["Corpus", "count", "user_cache"]

BAR_DELAY = 2.0


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is searched.

    Attributes:
        passages: At least one.
        described: How many there are, in words.
    """

    passages: Sequence[Passage]
    described: str

    @classmethod
    def from_folder(cls, path: Path, terminal: Terminal) -> Corpus:
        """The text files of a folder, cut into passages; a note says what was left out.

        Raises:
            ConfigurationError: There is nothing to read.
        """
        folder = read_folder(path)
        if skipped := folder.describe_skipped():
            terminal.note(f"Skipped: {skipped}")
        passages = cut(folder.files)
        return cls(
            passages, f"{count(len(folder.files), 'file')}, {count(len(passages), 'passage')}"
        )

    def open(
        self,
        build: Build,
        encoder: Encoder,
        cache: Path | None,
        terminal: Terminal,
        *,
        k: int = 1,
        pool_size: int = DEFAULT_POOL_SIZE,
        **given: Any,
    ) -> Workbench:
        """The passages behind the retriever of some framework; a note says what it took.

        Args:
            build: The framework.
            encoder: Embeds passages and questions.
            cache: Folder of the vectors; None for the user's cache folder.
            terminal: For progress and notes.
            k: Page size.
            pool_size: Candidates looked at.
            **given: Selector and calibration.

        Raises:
            ConfigurationError: The cache is a file.
        """
        if cache is not None and cache.is_file():
            raise ConfigurationError(f"--cache {cache} is a file; give a folder")
        path = (cache or user_cache()) / "vectors.sqlite"
        with EmbeddingBar(terminal.err, BAR_DELAY) as bar:
            cached = CachedEncoder(encoder, path, progress=bar)
            workbench = build(self.passages, cached, k, pool_size, **given)
        embedded = (
            f"{bar.done} of them new, embedded in {bar.seconds:.1f} s, kept in {path}"
            if bar.done
            else "all vectors from the cache"
        )
        terminal.note(f"{self.described}; {embedded}")
        return workbench


def user_cache() -> Path:
    """Where vectors are kept by default.

    Raises:
        MissingDependencyError: platformdirs is not installed.
    """
    try:
        from platformdirs import user_cache_path
    except ImportError:
        raise MissingDependencyError("recall-signal without --cache", "demo") from None
    return user_cache_path("recall-signal", appauthor=False)


def count(number: int, what: str) -> str:
    """So many of something, in words."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
