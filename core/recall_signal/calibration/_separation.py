"""The reference scores of a fit, and the check that stored texts score above the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recall_signal._statistics import auroc, quantile

__all__ = [
    "FEWEST_OF_A_CLASS",
    "FEWEST_PROBES",
    "SEPARABLE",
    "ReferenceScores",
    "check_separability",
    "hits_are_saturated",
]

SEPARABLE = 0.6
"""AUROC of self-retrieval against probes at or below which there is no threshold."""

LANGUAGE_GAIN = 0.4
"""Self-retrieval must stand this far above the corpus' own language, in units of how far that
language stands above all probes; an encoder that cannot read it sees only which language it is.
On dev the lowest with a language the encoder knows is .49 (e5 on German, from five probes), and
those with one it does not know reach .37, but for two in Latin script (.62, 1.40)."""

DUPLICATE_GAIN = 0.1
"""Where leaving out a pseudo-query's own document costs less than this share, others say the
same."""

ALL_ALIKE = 1e-3
"""Self-retrieval scores this near to the best one are the same text found again, in units of how
far it stands above general questions."""

OTHERS_SEPARABLE = 0.65
"""The same as `SEPARABLE` without the own document, where self-retrieval is saturated. Of 36
random encoders on 40 one-sentence notes none was above, real ones on 40 utterances had .80 and
more."""

FEWEST_PROBES, FEWEST_OF_A_CLASS = 10, 5
"""Probes, and labelled queries of each class, that anything is learned from."""

_FEWEST_OTHERS = 5
"""Pseudo-queries without their own document that the check on whole texts needs."""

_FEWEST_OF_A_LANGUAGE = 5
"""Probes of a language from which its median is used."""


@dataclass(frozen=True, slots=True)
class ReferenceScores:
    """The top cosines that a calibration is made of; searches without one are left out.

    Attributes:
        probes: Of general questions in the corpus' own writing systems.
        languages: Of all bundled probes, by language; empty with a user's own.
        pseudo_query: Of pseudo-queries, without their own document.
        self_retrieval: Of the same pseudo-queries, with it.
        past: Of past queries.
        labelled: Of labelled ones: (top cosine, whether something relevant is stored).
    """

    probes: list[float]
    languages: list[list[float]]
    pseudo_query: list[float]
    self_retrieval: list[float]
    past: list[float]
    labelled: list[tuple[float, bool]]

    @property
    def overlap(self) -> float:
        """Share of probes that score like a typical self-retrieval, in [0, 1]."""
        if not self.self_retrieval:
            return 0.0
        typical = quantile(self.self_retrieval, 0.5)
        return sum(top >= typical for top in self.probes) / len(self.probes)

    @property
    def counts(self) -> tuple[tuple[str, int], ...]:
        """Return the number of each kind, with the kind in words."""
        return (
            ("probes", len(self.probes)),
            ("pseudo-queries", len(self.pseudo_query)),
            ("past queries", len(self.past)),
            ("labelled queries", len(self.labelled)),
        )

    @property
    def quartiles(self) -> tuple[tuple[str, tuple[float, float, float]], ...]:
        """The quartiles of each kind that there is, rounded for display."""
        kinds = ("probes", "pseudo_query", "self_retrieval", "past")
        columns = [(kind, getattr(self, kind)) for kind in kinds]
        return tuple((kind, _quartiles(tops)) for kind, tops in columns if tops)


def _quartiles(tops: Sequence[float]) -> tuple[float, float, float]:
    low, middle, high = (round(quantile(tops, share), 4) for share in (0.25, 0.5, 0.75))
    return low, middle, high


def check_separability(scores: ReferenceScores, warnings: list[str]) -> bool:
    """Return True where stored texts score above general questions.

    Args:
        scores: The reference scores.
        warnings: Receives what a user should know, as sentences.
    """
    if not scores.self_retrieval:
        return True
    typical, general = quantile(scores.self_retrieval, 0.5), quantile(scores.probes, 0.5)
    without = quantile(scores.pseudo_query, 0.5) if scores.pseudo_query else general
    if typical - without < DUPLICATE_GAIN * (typical - general):
        warnings.append(
            "most pieces of stored texts have a near-duplicate elsewhere in the corpus (or the "
            "ids of `documents` are not those that `search` returns): the cut may lie too high, "
            "and past or labelled queries would help"
        )
    similar = sum(top >= typical for top in scores.probes)
    if similar:
        warnings.append(
            f"{similar} of {len(scores.probes)} probes score like a typical piece of a stored "
            "text: the corpus may cover their topics"
        )
    if not _tells_more_than_the_language(scores, typical, general):
        warnings.append(
            "general questions in the corpus' own language score like stored texts: the encoder "
            "tells the language, not the topic"
        )
        return False
    if hits_are_saturated(scores.self_retrieval, scores.probes):
        return _others_separate(scores, warnings)
    if auroc(scores.self_retrieval, scores.probes) <= SEPARABLE:
        warnings.append("pieces of stored texts score no higher than general questions")
        return False
    return True


def hits_are_saturated(self_retrieval: Sequence[float], probes: Sequence[float]) -> bool:
    """Return True where half of the self-retrievals or more score like the best one.

    A piece of a short text is the whole text, and any encoder, even a random one, finds that.
    """
    best = max(self_retrieval)
    return best - quantile(self_retrieval, 0.5) <= ALL_ALIKE * (best - quantile(probes, 0.5))


def _tells_more_than_the_language(scores: ReferenceScores, typical: float, general: float) -> bool:
    if not scores.languages:
        return True
    medians = [
        quantile(tops, 0.5) for tops in scores.languages if len(tops) >= _FEWEST_OF_A_LANGUAGE
    ]
    language = max(medians, default=general)
    everything = [top for tops in scores.languages for top in tops]
    return typical - language >= LANGUAGE_GAIN * (language - quantile(everything, 0.5))


def _others_separate(scores: ReferenceScores, warnings: list[str]) -> bool:
    """Check the other documents, where self-retrieval proves nothing."""
    whole = "most pieces of stored texts are whole texts, which any encoder finds"
    if len(scores.pseudo_query) < _FEWEST_OTHERS:
        warnings.append(f"{whole}: whether what is stored stands out could not be checked")
        return True
    if auroc(scores.pseudo_query, scores.probes) <= OTHERS_SEPARABLE:
        warnings.append(f"{whole}, and without them they score no higher than general questions")
        return False
    warnings.append(
        f"{whole}: whether what is stored stands out was checked on the other documents alone"
    )
    return True
