"""The anchors of a fit, and whether what is stored stands apart from what is not."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from recall_signal.calibration.given import Label
from recall_signal.calibration.scale import quantile

__all__ = [
    "SEPARABLE",
    "Anchors",
    "auroc",
    "counts",
    "groups",
    "overlap",
    "quartiles",
    "saturated",
    "separates",
]

SEPARABLE = 0.6
"""AUROC of hits against probes at or below which there is no threshold."""

LANGUAGE_GAIN = 0.4
"""Hits must stand this far above the corpus' own language, in units of how far that language
stands above all probes; an encoder that cannot read it sees only which language it is. On dev
the lowest with a language the encoder knows is .49 (e5 on German, from five probes), and those
with one it does not know reach .37, but for two in Latin script (.62, 1.40)."""

DUPLICATE_GAIN = 0.1
"""Where leaving a piece's own document out costs less than this share, others say the same."""

ALL_ALIKE = 1e-3
"""Hits this near to the best one are the same text found again, in units of how far it stands
above general questions."""

OTHERS_SEPARABLE = 0.65
"""The same for pieces without their own document, where hits say nothing. Of 36 random encoders
on 40 one-sentence notes none was above, real ones on 40 utterances had .80 and more."""

_FEWEST_OTHERS = 5
"""Pieces without their own document that the check on whole texts takes."""

_A_LANGUAGE = 5
"""Probes of a language from which its median is looked at."""


@dataclass(frozen=True, slots=True)
class Anchors:
    """The top cosines that a calibration is made of; searches without one are left out.

    Attributes:
        probes: Of general questions that fit the corpus.
        languages: Of all bundled probes, by language; empty with a user's own.
        pseudo: Of pieces of stored texts, without their own document.
        hits: Of the same, with it.
        past: Of past queries.
        labelled: Of labelled ones.
    """

    probes: list[float]
    languages: list[list[float]]
    pseudo: list[float]
    hits: list[float]
    past: list[float]
    labelled: list[tuple[float, Label]]


def separates(anchors: Anchors, warnings: list[str]) -> bool:
    """Whether hits stand out from what is not stored; says what was noticed on the way."""
    if not anchors.hits:
        return True
    hit, general = quantile(anchors.hits, 0.5), quantile(anchors.probes, 0.5)
    without = quantile(anchors.pseudo, 0.5) if anchors.pseudo else general
    if hit - without < DUPLICATE_GAIN * (hit - general):
        warnings.append(
            "most pieces of stored texts have a near-duplicate elsewhere in the corpus (or the "
            "ids of `documents` are not those that `search` returns): the cut may lie too high, "
            "and past or labelled queries would help"
        )
    like_hits = sum(top >= hit for top in anchors.probes)
    if like_hits:
        warnings.append(
            f"{like_hits} of {len(anchors.probes)} probes score like a typical hit: the corpus "
            "may cover their topics"
        )
    language = max(
        (quantile(tops, 0.5) for tops in anchors.languages if len(tops) >= _A_LANGUAGE),
        default=general,
    )
    everything = [top for tops in anchors.languages for top in tops] or anchors.probes
    offset = language - quantile(everything, 0.5)
    if anchors.languages and hit - language < LANGUAGE_GAIN * offset:
        warnings.append(
            "general questions in the corpus' own language score like hits: the encoder tells "
            "the language, not the topic"
        )
        return False
    if saturated(anchors.hits, anchors.probes):
        return _others_separate(anchors, warnings)
    if auroc(anchors.hits, anchors.probes) <= SEPARABLE:
        warnings.append("pieces of stored texts score no higher than general questions")
        return False
    return True


def saturated(hits: Sequence[float], probes: Sequence[float]) -> bool:
    """Whether half of the pieces or more score like the best one, as whole texts do.

    A piece of a short text is the whole text, and any encoder, even a random one, finds that.
    """
    best = max(hits)
    return best - quantile(hits, 0.5) <= ALL_ALIKE * (best - quantile(probes, 0.5))


def _others_separate(anchors: Anchors, warnings: list[str]) -> bool:
    """Where hits say nothing: whether the next best documents stand out from general questions."""
    whole = "most pieces of stored texts are whole texts, which any encoder finds: whether what "
    if len(anchors.pseudo) < _FEWEST_OTHERS:
        warnings.append(whole + "is stored stands out could not be checked")
        return True
    if auroc(anchors.pseudo, anchors.probes) <= OTHERS_SEPARABLE:
        warnings.append(
            "most pieces of stored texts are whole texts, which any encoder finds, and without "
            "them they score no higher than general questions"
        )
        return False
    warnings.append(whole + "is stored stands out was checked on the other documents alone")
    return True


def counts(anchors: Anchors) -> tuple[tuple[str, int], ...]:
    """How many of each kind there are."""
    return (
        ("probes", len(anchors.probes)),
        ("pseudo-queries", len(anchors.pseudo)),
        ("past queries", len(anchors.past)),
        ("labelled queries", len(anchors.labelled)),
    )


def groups(labelled: list[tuple[float, Label]]) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """The ascending tops of the answerable queries of each group."""
    tops: dict[str, list[float]] = {}
    for top, label in labelled:
        if label.group is not None and label.relevant:
            tops.setdefault(label.group, []).append(top)
    return tuple((group, tuple(sorted(tops[group]))) for group in sorted(tops))


def overlap(anchors: Anchors) -> float:
    """The share of probes that score like a typical hit."""
    if not anchors.hits:
        return 0.0
    hit = quantile(anchors.hits, 0.5)
    return sum(top >= hit for top in anchors.probes) / len(anchors.probes)


def auroc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """The share of pairs in the right order, ties counted half."""
    ranked = sorted(lower)
    won = sum(bisect_left(ranked, top) + bisect_right(ranked, top) for top in higher)
    return won / (2 * len(higher) * len(lower))


def quartiles(tops: Sequence[float]) -> tuple[float, float, float]:
    """Rounded: they are for looking at."""
    low, middle, high = (round(quantile(tops, share), 4) for share in (0.25, 0.5, 0.75))
    return low, middle, high
