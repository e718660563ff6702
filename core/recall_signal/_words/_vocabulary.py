"""The words of a corpus, as far as a calibration remembers them: figures and hashes only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, log

from recall_signal._fork_safe import cached_value
from recall_signal._statistics import quantile
from recall_signal._words._text import (
    SHORTEST,
    STEM,
    fold,
    hash_of,
    is_function_word,
    split,
)
from recall_signal.errors import ConfigurationError

__all__ = ["DENSITIES", "RARE", "Vocabulary", "is_stuffed", "learn_vocabulary"]

RARE = 1 / 30
"""Share of the texts at or below which a term counts as rare. Terms of a smaller share weigh
log(30); with 1 / 100 the same within .002."""

KNOWN = 0.01
"""Share of the texts from which a function word belongs to the corpus' language."""

MAX_STEMS, MAX_FUNCTION_WORDS = 512, 256
"""Entries that a vocabulary keeps, the most frequent first."""

MAX_TEXTS = 2000
"""Texts that a vocabulary is learned from, spread evenly."""

CROWDED, CROWDED_FROM = 1.15, 100
"""A text of so many characters or more that holds this many times the distinct words that even the
densest texts of the corpus hold for their length is stuffed: its coverage counts as nothing. None
of the benchmark's texts is; a list of distinct words has 1.2 to 1.5 times as many."""

DENSITIES, LEAST_DENSE = (0.5, 2.1), 0.8
"""Density of the densest texts of other corpora, with spaces between the words and without (.37 to
.57 and 1.8 to 2.1 in the benchmark's sets), and the share of it that is the least for a corpus."""

_DENSITY_POWER = 0.8
"""Distinct words grow with the length to about this power (Heaps' law)."""

_DENSEST, _FEWEST_DENSE = 0.99, 20
"""Quantile of the texts' densities that stands for the densest, and the texts that it needs."""


@dataclass(frozen=True)
class Vocabulary:
    """The words of a corpus, without text.

    Attributes:
        shares: (hash of a stem, share of the texts that hold it) of the frequent stems, ascending.
        function_words: Ascending hashes of the function words of the corpus' language.
        densities: Distinct words that the densest texts hold for their length, of texts with
            spaces between their words and of texts without.
        length: Median length of the texts, in characters.

    Raises:
        ConfigurationError: A value is out of its range.
    """

    shares: tuple[tuple[int, float], ...] = ()
    function_words: tuple[int, ...] = ()
    densities: tuple[float, float] = DENSITIES
    length: float = 0.0

    def __post_init__(self) -> None:
        shares_fit = all(0.0 < share <= 1.0 for _, share in self.shares)
        if not (shares_fit and min(self.densities) > 0.0 and self.length >= 0.0):
            raise ConfigurationError(
                "a vocabulary needs shares above 0 and up to 1, densities above 0 and a length of "
                "at least 0"
            )

    def weight_of(self, term: str) -> float:
        """Return how telling a term is: the logarithm of its rarity, at most log(30)."""
        return -log(max(RARE, self._by_hash.get(hash_of(term), RARE)))

    def knows(self, function_word: str) -> bool:
        """Return True where a function word belongs to the corpus' language."""
        return hash_of(function_word) in self._known

    @cached_value
    def _by_hash(self) -> dict[int, float]:
        return dict(self.shares)

    @cached_value
    def _known(self) -> frozenset[int]:
        return frozenset(self.function_words)


def learn_vocabulary(texts: Iterable[str]) -> Vocabulary:
    """Learn the vocabulary of a corpus; equal texts count once.

    Args:
        texts: Contents of the stored texts, at most 2,000 of which are read.
    """
    distinct = list(dict.fromkeys(texts))
    sample = distinct[:: -(-len(distinct) // MAX_TEXTS) or 1]
    frequent: Counter[str] = Counter()
    functional: Counter[str] = Counter()
    densities: tuple[list[float], list[float]] = ([], [])
    for text in sample:
        low = fold(text)
        words, pairs = split(low)
        all_words = set(words)
        function_words = {word for word in all_words if is_function_word(word)}
        functional.update(sorted(function_words))
        frequent.update(sorted({word[:STEM] for word in all_words - function_words} | set(pairs)))
        if len(low) >= CROWDED_FROM:
            unspaced, density = _density(low)
            densities[unspaced].append(density)
    count = len(sample)
    least = max(1 if count < 100 else 2, KNOWN * count)
    return Vocabulary(
        shares=tuple(
            sorted(
                (hash_of(stem), seen / count)
                for stem, seen in frequent.most_common(MAX_STEMS)
                if seen >= 2 and seen > RARE * count
            )
        ),
        function_words=tuple(
            sorted(
                hash_of(word)
                for word, seen in functional.most_common(MAX_FUNCTION_WORDS)
                if seen >= least
            )
        ),
        densities=(_densest(densities[0], DENSITIES[0]), _densest(densities[1], DENSITIES[1])),
        length=quantile([float(len(text)) for text in sample], 0.5) if sample else 0.0,
    )


def is_stuffed(low: str, densities: tuple[float, float]) -> bool:
    """Return True where a folded text holds more distinct words than an ordinary one would."""
    if len(low) < CROWDED_FROM:
        return False
    unspaced, density = _density(low)
    return density > CROWDED * densities[unspaced]


def _density(low: str) -> tuple[bool, float]:
    """Return True for a text without spaces between words, and its distinct words for its length.

    Without spaces distinct characters are counted.
    """
    words = low.split()
    unspaced = len(words) * 20 < len(low)
    distinct = len(set(low) if unspaced else {w[:STEM] for w in words if len(w) >= SHORTEST})
    return unspaced, distinct / exp(_DENSITY_POWER * log(len(low)))


def _densest(densities: Sequence[float], otherwise: float) -> float:
    if len(densities) < _FEWEST_DENSE:
        return otherwise
    return max(LEAST_DENSE * otherwise, quantile(densities, _DENSEST))
