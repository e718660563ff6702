"""Reads the text files of a folder, and remembers what was left out and why."""

from __future__ import annotations

import os
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from recall_signal.errors import ConfigurationError

__all__ = ["Folder", "TextFile", "has_words", "read_folder"]

SUFFIXES = (".txt", ".md", ".markdown", ".rst")

MAX_BYTES = 10_000_000
"""A larger file is a dump or a log: it would take minutes to embed and drown everything else."""

OTHER_KIND = "of another kind"
HIDDEN = "hidden"
NAMED = 3
"""So many paths are named for each reason; whole kinds are only counted."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file and its text, with every line ending made a plain newline."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class Folder:
    """What a folder holds.

    Attributes:
        files: The readable files, sorted within each folder.
        skipped: Reason -> paths that were left out.
    """

    files: list[TextFile] = field(default_factory=list)
    skipped: defaultdict[str, list[Path]] = field(default_factory=lambda: defaultdict(list))

    def describe_skipped(self) -> str:
        """One line on what was left out, empty where nothing was."""
        return "; ".join(_describe(reason, paths) for reason, paths in self.skipped.items())


def read_folder(path: Path) -> Folder:
    """All texts under a folder; hidden and linked folders are left out.

    Args:
        path: The folder.

    Raises:
        ConfigurationError: It is missing, is no folder, cannot be read, or holds no text.
    """
    try:
        exists, is_folder = path.exists(), path.is_dir()
    except OSError as error:
        raise ConfigurationError(f"--docs {path} cannot be read: {error.strerror}") from None
    if not exists:
        raise ConfigurationError(f"--docs {path} does not exist")
    if not is_folder:
        raise ConfigurationError(f"--docs {path} is not a folder; give the folder that holds it")
    folder = Folder()
    for file in _walk(path, folder):
        try:
            folder.files.append(TextFile(file, _read(file)))
        except _LeftOut as reason:
            folder.skipped[str(reason)].append(file)
    if not folder.files:
        kinds = f"expected files with text that end in {', '.join(SUFFIXES)}"
        found = folder.describe_skipped() or "it is empty"
        raise ConfigurationError(f"--docs {path} has nothing to read: {kinds}; found: {found}")
    return folder


def has_words(text: str) -> bool:
    """Whether a text has a letter or a digit: a rule or the fence of a code block says nothing."""
    return any(map(str.isalnum, text))


def _walk(top: Path, folder: Folder) -> Iterator[Path]:
    """Every visible file, in sorted order."""

    def unreadable(error: OSError) -> None:
        if error.filename == str(top):
            raise ConfigurationError(f"--docs {top} cannot be read: {error.strerror}")
        folder.skipped["not readable"].append(Path(error.filename))

    for root, names, files in os.walk(top, onerror=unreadable):
        here = Path(root)
        for name in [*names, *files]:
            if name.startswith("."):
                folder.skipped[HIDDEN].append(here / name)
        visible = sorted(name for name in names if not name.startswith("."))
        names[:] = [name for name in visible if not _is_link(here / name, folder)]
        yield from (here / name for name in sorted(files) if not name.startswith("."))


def _is_link(path: Path, folder: Folder) -> bool:
    """Whether a folder is a link, which may lead in a circle or out of what was given."""
    if linked := os.path.islink(path):  # noqa: PTH114  (Path's own raises where it may not look)
        folder.skipped["linked folder"].append(path)
    return linked


class _LeftOut(Exception):
    """Why a file is not taken in."""


def _read(path: Path) -> str:
    if path.suffix.lower() not in SUFFIXES:
        raise _LeftOut(OTHER_KIND)
    try:
        if not path.is_file():  # a pipe would block, a device never end, a link may be broken
            raise _LeftOut("not a regular file")
        if path.stat().st_size > MAX_BYTES:
            raise _LeftOut(f"larger than {MAX_BYTES // 1_000_000} MB")
        text = _decode(path.read_bytes())
    except OSError:
        raise _LeftOut("not readable") from None
    except UnicodeDecodeError:
        raise _LeftOut("not UTF-8 text") from None
    if "\0" in text:
        raise _LeftOut("binary")
    if not has_words(text):
        raise _LeftOut("without words" if text.strip() else "empty")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decode(data: bytes) -> str:
    """UTF-8 with or without a byte order mark, or UTF-16 with one; nothing is guessed."""
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return data.decode("utf-16")
    return data.decode("utf-8-sig")


def _describe(reason: str, paths: list[Path]) -> str:
    if reason in (OTHER_KIND, HIDDEN):
        return f"{len(paths)} {reason}"
    more = ", ..." if len(paths) > NAMED else ""
    return f"{len(paths)} {reason} ({', '.join(map(str, paths[:NAMED]))}{more})"
