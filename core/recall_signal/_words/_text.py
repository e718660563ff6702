"""Folded text, its words and pairs of characters, and function words."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from unicodedata import normalize
from zlib import crc32

__all__ = [
    "MAX_CHARACTERS",
    "SHORTEST",
    "STEM",
    "fold",
    "hash_of",
    "is_function_word",
    "is_unspaced",
    "split",
]

STEM = 6
"""Letters of a word that count, which replaces a stemmer in the languages tried."""

SHORTEST = 3
"""Words of fewer letters are function words: they tell the language, never the topic."""

MAX_CHARACTERS = 2000
"""Characters read of each text, and of the query. Reading 700 costs .000 / .008 / .002, and 1,500
costs nothing."""

_WORDS = re.compile(
    "[\\w\u0591-\u05c7\u0610-\u061a\u064b-\u0670\u06d6-\u06ed\u0900-\u0963\u0970-\u0dff]+"
)
"""Letters and digits, and the marks that are written on letters (Hebrew, Arabic, Indic scripts)."""

_STRIDE = 31
_MARK = r"[^\w\s\x00-\x7f]"
_RUN_OF_MARKS, _LONG_RUN = re.compile(_MARK + "{2}"), re.compile(_MARK + f"{{{_STRIDE},}}")
"""Runs of combining marks, whose order takes time that grows with the square of their length. No
writing has long ones; every 31st character shows whether there may be one."""

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff]+"
)
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese and Korean, read as pairs of characters."""


def fold(text: str) -> str:
    """Return the first 2,000 characters of a text in NFC, without case."""
    text = text[:MAX_CHARACTERS]
    if text.isascii():
        return text.lower()
    if _RUN_OF_MARKS.search(text[::_STRIDE]):
        text = _LONG_RUN.sub(lambda run: run[0][:_STRIDE], text)
    # What casefold() does to sharp s and final sigma too, at less than two thirds of its cost.
    return normalize("NFC", text).lower().replace("ß", "ss").replace("\u03c2", "\u03c3")


def split(low: str) -> tuple[list[str], list[str]]:
    """Return the words of a folded text, and the pairs of its scripts without spaces."""
    words: list[str] = []
    pairs: list[str] = []
    for word in _WORDS.findall(low.replace("_", " ")):
        if word.isascii() or not _UNSPACED.search(word):
            words.append(word)
            continue
        for run in _UNSPACED.findall(word):
            pairs += [run[at : at + 2] for at in range(len(run) - 1)]
        words += [part for part in _UNSPACED.split(word) if part]
    return words, pairs


def is_function_word(word: str) -> bool:
    """Return True for a word that tells the language and not the topic."""
    return (len(word) < SHORTEST or word[:STEM] in _function_stems()) and not word.isdigit()


def is_unspaced(term: str) -> bool:
    """Return True for characters of a script that puts no spaces between words."""
    return _UNSPACED.match(term) is not None


def hash_of(term: str) -> int:
    """Return 32 bits by which a term is remembered, so that no text is kept."""
    return crc32(term.encode("utf-8", "surrogatepass"))


@cache
def _function_stems() -> frozenset[str]:
    lines = (files(__package__) / "function_words.txt").read_text("utf-8").splitlines()
    return frozenset(
        word[:STEM] for line in lines if not line.startswith("#") for word in line.split()[1:]
    )
