"""The text of a file, by its kind; the extra `files` reads what is not plain text."""

from __future__ import annotations

from bisect import bisect_right
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from itertools import accumulate, islice
from zipfile import ZipFile

__all__ = ["CODE", "TEXT", "Extracted", "LeftOut", "extract", "is_known"]

TEXT = ("", ".txt", ".md", ".markdown", ".rst", ".sh", ".sql")
"""Suffixes of plain text, none among them."""

CODE = {
    ".c": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cs": "csharp",
    ".ex": "elixir",
    ".go": "go",
    ".h": "c",
    ".hpp": "cpp",
    ".hs": "haskell",
    ".java": "java",
    ".js": "js",
    ".jsx": "js",
    ".kt": "kotlin",
    ".lua": "lua",
    ".markdown": "markdown",
    ".md": "markdown",
    ".php": "php",
    ".pl": "perl",
    ".proto": "proto",
    ".ps1": "powershell",
    ".py": "python",
    ".rb": "ruby",
    ".rs": "rust",
    ".rst": "rst",
    ".scala": "scala",
    ".swift": "swift",
    ".tex": "latex",
    ".ts": "ts",
    ".tsx": "ts",
}
"""Suffix -> the language by whose blocks langchain-text-splitters cuts it."""

MOST_UNPACKED = 20_000_000
"""Bytes that a packed file may unpack to."""

MOST_PARTS = 100_000
"""Pages or paragraphs of a file that are read."""

_UNSEEN = ("script", "style", "noscript", "template")
"""Elements of a page whose text nobody reads."""


class LeftOut(Exception):
    """The reason a file is not read."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text of a file, and how its places are named.

    Attributes:
        text: The text; every line ending is a newline.
        pages: Offset of each page, ascending, empty where there are none.
        is_plain: Whether lines are those of the file itself.
    """

    text: str
    pages: tuple[int, ...] = ()
    is_plain: bool = True

    def place(self, offset: int, line: int) -> str:
        """Return what to add to the path so that a person finds this offset, on this line."""
        if self.pages:
            return f", page {bisect_right(self.pages, offset)}"
        return f":{line}" if self.is_plain else ""


def is_known(suffix: str) -> bool:
    """Return whether files with this suffix are read without being named by a pattern."""
    return suffix in TEXT or suffix in CODE or suffix in _PACKED


def extract(data: bytes, suffix: str) -> Extracted:
    """Return the text of a file.

    Args:
        data: The whole file.
        suffix: Its suffix in lower case; an unknown one is read as plain text.

    Raises:
        LeftOut: It has no text, or none that can be read.
    """
    if suffix not in _PACKED:
        return Extracted(_plain(data))
    try:
        found = _PACKED[suffix](data)
    except ImportError:
        raise LeftOut("read with pip install 'recall-signal[files]'") from None
    except LeftOut:
        raise
    except Exception:  # whatever a parser makes of a foreign file
        raise LeftOut("damaged") from None
    return found


def _plain(data: bytes) -> str:
    text = _decoded(data)
    if "\0" in text:
        raise LeftOut("binary")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decoded(data: bytes) -> str:
    """Decode UTF-8 with or without a byte order mark, UTF-16 with one, else the likeliest."""
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        try:
            return data.decode("utf-16")
        except UnicodeDecodeError:
            raise LeftOut("not UTF-8 text") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        if b"\0" in data:
            raise LeftOut("binary") from None
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        raise LeftOut("not UTF-8 text") from None
    best = from_bytes(data).best()
    if best is None:
        raise LeftOut("in an encoding that is not recognised")
    return str(best)


def _html(data: bytes) -> Extracted:
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(data, "lxml")
    for element in soup(_UNSEEN):
        element.decompose()
    return Extracted(soup.get_text("\n", strip=True), is_plain=False)


def _pdf(data: bytes) -> Extracted:
    from pypdf import PdfReader

    reader = PdfReader(BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise LeftOut("encrypted")
    pages = [page.extract_text() + "\n" for page in islice(reader.pages, MOST_PARTS)]
    starts = accumulate(map(len, pages[:-1]), initial=0)
    return Extracted("".join(pages), pages=tuple(starts), is_plain=False)


def _docx(data: bytes) -> Extracted:
    from docx import Document
    from docx.oxml.ns import qn

    with ZipFile(BytesIO(data)) as packed:
        if sum(part.file_size for part in packed.infolist()) > MOST_UNPACKED:
            raise LeftOut(f"larger than {MOST_UNPACKED // 1_000_000} MB when unpacked")
    # By its elements: a table's cells are repeated as often as the file says that they span.
    body = Document(BytesIO(data)).element.body
    paragraphs = islice(body.iter(qn("w:p")), MOST_PARTS)
    lines = ("".join(run.text or "" for run in part.iter(qn("w:t"))) for part in paragraphs)
    return Extracted("\n".join(lines), is_plain=False)


_PACKED: dict[str, Callable[[bytes], Extracted]] = {
    ".docx": _docx,
    ".htm": _html,
    ".html": _html,
    ".pdf": _pdf,
}
