"""Read the text files of a folder into passages, and list the files left out with the reason."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recall_signal._files import read_bounded
from recall_signal.cli._backends import Passage
from recall_signal.cli._file_kinds import CODE, Extracted, LeftOut, extract, is_known
from recall_signal.errors import ConfigurationError, MissingDependencyError

if TYPE_CHECKING:
    from langchain_text_splitters import TextSplitter

__all__ = ["Folder", "TextFile", "read_folder", "require_folder", "split_into_passages"]

MAX_BYTES = 10_000_000
"""A larger file is a dump or a log: it would take minutes to embed and drown everything else."""

CHUNK_SIZE = 600
"""Characters: about a paragraph, so that one vector stands for one thought."""

CHUNK_OVERLAP = 80
"""Characters: a sentence that is split in two is whole in one of the passages."""

GENERATED = ("node_modules", "__pycache__", "site-packages")
"""Folders of code that nobody here wrote."""

OTHER_KIND = "of another kind"
HIDDEN = "hidden"
_HEADING = re.compile(r" {0,3}#{1,6}\s|\s*$").match
"""Of a line of Markdown; an empty one beside it counts as part of it."""

NAMED = 3
"""Paths named for each reason; whole kinds are only counted."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file and its text."""

    path: Path
    extracted: Extracted


@dataclass(frozen=True, slots=True)
class Folder:
    """The texts of a folder.

    Attributes:
        files: The readable files, sorted within each folder.
        skipped: Reason -> paths left out.
    """

    files: list[TextFile] = field(default_factory=list)
    skipped: defaultdict[str, list[Path]] = field(default_factory=lambda: defaultdict(list))

    def describe_skipped(self) -> str:
        """Return one line on the files left out, empty if there are none."""
        return "; ".join(_describe(reason, paths) for reason, paths in self.skipped.items())


def read_folder(path: Path, patterns: Sequence[str] = ()) -> Folder:
    """Return all texts under a folder, without hidden files and links that lead out of it.

    Args:
        path: The folder.
        patterns: Only files whose path within the folder, or whose name, matches one of these
            are read, then of any kind; none reads every file of a known kind.

    Raises:
        ConfigurationError: It is missing, is no folder, cannot be read, or holds no text.
    """
    require_folder(path)
    folder = Folder()
    for file in _walk(path, folder):
        try:
            folder.files.append(TextFile(file, _read(file, path, patterns)))
        except LeftOut as reason:
            folder.skipped[str(reason)].append(file)
    if not folder.files:
        kinds = f"match {' or '.join(patterns)}" if patterns else "hold text, such as .md or .txt"
        found = folder.describe_skipped() or "it is empty"
        raise ConfigurationError(
            f"--docs {path} has nothing to read: expected files that {kinds}; found: {found}"
        )
    return folder


def require_folder(path: Path) -> None:
    """Refuse a path that is no folder.

    Raises:
        ConfigurationError: It is missing, is no folder, or cannot be read.
    """
    try:
        exists, is_folder = path.exists(), path.is_dir()
    except OSError as error:
        raise ConfigurationError(f"--docs {path} cannot be read: {error.strerror}") from None
    if not exists:
        raise ConfigurationError(f"--docs {path} does not exist")
    if not is_folder:
        raise ConfigurationError(
            f"--docs {path} is not a folder; give the folder that holds it, or to calibrate on one "
            "file of JSON lines, name it by --jsonl"
        )


def split_into_passages(files: Sequence[TextFile]) -> list[Passage]:
    """Return the passages of these files, in order, with `path:line` as their source.

    Raises:
        MissingDependencyError: The text splitters are not installed.
    """
    try:
        from langchain_text_splitters import Language, RecursiveCharacterTextSplitter
    except ImportError:
        raise MissingDependencyError("recall-signal ask", "demo") from None

    @cache
    def splitter(language: str | None) -> TextSplitter:
        sizes: dict[str, Any] = {
            "chunk_size": CHUNK_SIZE,
            "chunk_overlap": CHUNK_OVERLAP,
            "add_start_index": True,
        }
        if language is None:
            return RecursiveCharacterTextSplitter(**sizes)
        return RecursiveCharacterTextSplitter.from_language(Language(language), **sizes)

    passages: list[Passage] = []
    for file in files:
        passages += _passages(file, splitter(CODE.get(file.path.suffix.lower())))
    return passages


def _passages(file: TextFile, splitter: TextSplitter) -> Iterator[Passage]:
    at, line, text = 0, 1, file.extracted.text
    split = splitter.create_documents([text])
    chunks = [(c.metadata["start_index"], c.page_content) for c in split]
    if CODE.get(file.path.suffix.lower()) == "markdown":
        chunks = [*_under_headings(chunks)]
    worded = ((start, chunk) for start, chunk in chunks if _has_words(chunk))
    for number, (start, chunk) in enumerate(worded, start=1):
        begin = max(at, start)  # -1 where the splitter lost the place
        line += text.count("\n", at, begin)
        at = begin
        source = f"{file.path}{file.extracted.place(begin, line)}"
        yield Passage(id=f"{file.path}#{number}", text=chunk, source=source)


def _under_headings(chunks: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Put a heading that the splitter left alone, before a long paragraph, on what follows it."""
    above: tuple[int, str] | None = None
    for start, chunk in chunks:
        whole = (start, chunk) if above is None else (above[0], f"{above[1]}\n\n{chunk}")
        short = len(whole[1]) <= CHUNK_SIZE
        above = whole if short and all(map(_HEADING, chunk.splitlines())) else None
        if above is None:
            yield whole
    if above is not None:
        yield above


def _has_words(text: str) -> bool:
    """Return whether a text has a letter or a digit; a rule or a code fence has none."""
    return any(map(str.isalnum, text))


def _walk(top: Path, folder: Folder) -> Iterator[Path]:
    """Yield every visible file, in sorted order."""

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
        names[:] = [name for name in visible if _is_entered(here / name, folder)]
        yield from (here / name for name in sorted(files) if not name.startswith("."))


def _is_entered(path: Path, folder: Folder) -> bool:
    """Return whether a folder is looked into.

    A link may lead in a circle or out of the given one; installed packages drown what is meant.
    """
    reason = None
    if os.path.islink(path):  # noqa: PTH114  (Path's own raises where it may not look)
        reason = "linked folder"
    elif path.name in GENERATED or os.path.isfile(path / "pyvenv.cfg"):  # noqa: PTH113
        reason = "folder of installed code"
    if reason is not None:
        folder.skipped[reason].append(path)
    return reason is None


def _read(path: Path, top: Path, patterns: Sequence[str]) -> Extracted:
    suffix = path.suffix.lower()
    if patterns:
        inside = path.relative_to(top).as_posix()
        if not any(fnmatch(name, p) for name in (inside, path.name) for p in patterns):
            raise LeftOut(OTHER_KIND)
    elif not is_known(suffix):
        raise LeftOut(OTHER_KIND)
    try:
        if path.is_symlink() and not _real(path).is_relative_to(_real(top)):
            raise LeftOut("link out of the folder")
        if not path.is_file():  # a pipe would block, a device never end, a link may be broken
            raise LeftOut("not a regular file")
        data = read_bounded(path, MAX_BYTES)
        if data is None:
            raise LeftOut(f"larger than {MAX_BYTES // 1_000_000} MB")
    except OSError:
        raise LeftOut("not readable") from None
    extracted = extract(data, suffix)
    if not _has_words(extracted.text):
        raise LeftOut("without words" if extracted.text.strip() else "empty")
    return extracted


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))  # Path.resolve raises for a link to itself


def _describe(reason: str, paths: list[Path]) -> str:
    if reason in (OTHER_KIND, HIDDEN):
        return f"{len(paths)} {reason}"
    more = ", ..." if len(paths) > NAMED else ""
    return f"{len(paths)} {reason} ({', '.join(map(str, paths[:NAMED]))}{more})"
