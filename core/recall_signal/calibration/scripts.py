"""Which writing systems texts use, so that probes can be asked in the ones a corpus has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
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


def scripts_of(texts: Iterable[str]) -> frozenset[str]:
    """The scripts that hold a tenth or more of the letters of these texts."""
    counts: Counter[str] = Counter()
    for text in texts:
        letters = Counter(c for c in text[:_LOOKED_AT] if c.isalpha())
        for letter, count in letters.items():
            first = name(letter, "").partition(" ")[0]
            counts[_FAMILIES.get(first, first.lower())] += count
    total = sum(counts.values())
    return frozenset(script for script, count in counts.items() if count >= _SHARE * total)
