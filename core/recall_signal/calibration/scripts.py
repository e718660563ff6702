"""Which writing systems texts use, so that probes can be asked in the ones a corpus has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from unicodedata import name

__all__ = ["scripts_of"]

_FAMILIES = {
    "LATIN": "latin",
    "CYRILLIC": "cyrillic",
    "CJK": "cjk",
    "HIRAGANA": "cjk",
    "KATAKANA": "cjk",
    "HANGUL": "hangul",
    "ARABIC": "arabic",
}

_SHARE = 0.1
"""A script with less than this share of the letters is taken for names and quotations."""

_LOOKED_AT = 200
"""Characters looked at in each text."""

_TEXTS = 500
"""Texts looked at, spread evenly over all."""


def scripts_of(texts: Sequence[str]) -> frozenset[str]:
    """The scripts that hold a tenth or more of the letters of these texts."""
    counts: Counter[str] = Counter()
    for text in texts[:: -(-len(texts) // _TEXTS) or 1]:
        letters = Counter(c for c in text[:_LOOKED_AT] if c.isalpha())
        for letter, count in letters.items():
            counts[_script(letter)] += count
    total = sum(counts.values())
    return frozenset(script for script, count in counts.items() if count >= _SHARE * total)


@lru_cache(4096)
def _script(letter: str) -> str:
    first = name(letter, "").partition(" ")[0]
    return _FAMILIES.get(first, first.lower())
