"""From the figures of all searches to the calibration that they support."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from recall_signal.calibration.given import FitInput, Label, check_probes
from recall_signal.calibration.labels import (
    VENN_ABERS_FROM,
    Platt,
    VennAbers,
    fit_platt,
    fit_venn_abers,
)
from recall_signal.calibration.model import Calibration, Mode
from recall_signal.calibration.scale import (
    NULL_SLOPE,
    PAST_SLOPE,
    Scale,
    label_scale,
    null_scale,
    past_scale,
    quantile,
)

__all__ = ["Anchors", "conclude"]

FEWEST_PSEUDO, FEWEST_PAST, FEWEST_OF_A_CLASS = 5, 10, 5
"""With fewer of a kind, that kind is left out and a warning says so."""

FEW_PSEUDO = 20
"""With fewer, a warning says that more documents would help."""

LANGUAGE_GAIN = 0.2
"""Hits must stand this far above the corpus' own language, in units of how far that language
stands above all probes; an encoder that cannot read it sees only which language it is."""

SEPARABLE = 0.6
"""AUROC of hits against probes at or below which there is no threshold."""

DUPLICATE_GAIN = 0.1
"""Where leaving a piece's own document out costs less than this share, others say the same."""

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


def conclude(given: FitInput, anchors: Anchors) -> Calibration:
    """The calibration that the figures support.

    Raises:
        CalibrationError: Too few probes brought a cosine back, or too few labelled answerable
            queries did for the bound that was asked for.
    """
    check_probes(len(anchors.probes))
    warnings: list[str] = []
    learnt = _without_labels(given, anchors, warnings)
    if given.labelled is not None:
        learnt = _from_labels(learnt.scale, anchors.labelled, warnings) or learnt
    return Calibration(
        mode=learnt.mode,
        status="ok" if learnt.separates else "no_valid_threshold",
        scale=learnt.scale,
        line=learnt.line,
        free_form=learnt.free_form,
        prior=given.prior,
        overlap=_overlap(anchors),
        encoder=given.encoder,
        corpus_size=None if given.documents is None else len(given.documents),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        counts=(
            ("probes", len(anchors.probes)),
            ("pseudo-queries", len(anchors.pseudo)),
            ("past queries", len(anchors.past)),
            ("labelled queries", len(anchors.labelled)),
        ),
        anchors=tuple(
            (kind, _quartiles(tops))
            for kind, tops in (
                ("probes", anchors.probes),
                ("pseudo", anchors.pseudo),
                ("hits", anchors.hits),
                ("past", anchors.past),
            )
            if tops
        ),
        warnings=tuple(warnings),
        answerable=tuple(sorted(top for top, label in anchors.labelled if label.relevant)),
        groups=_groups(anchors.labelled),
        max_false_none=given.max_false_none,
    )


@dataclass(frozen=True, slots=True)
class _Learnt:
    """Scale and line, what they were learnt from, and whether the two sides stand apart."""

    mode: Mode
    scale: Scale
    line: Platt
    separates: bool
    free_form: VennAbers | None = None


def _without_labels(given: FitInput, anchors: Anchors, warnings: list[str]) -> _Learnt:
    pseudo = _enough(anchors.pseudo, FEWEST_PSEUDO, "pieces of stored texts", warnings)
    if FEWEST_PSEUDO <= len(pseudo) < FEW_PSEUDO:
        warnings.append(
            f"only {len(pseudo)} pieces of stored texts could be used: with {FEW_PSEUDO} "
            "documents or more the cut is steadier"
        )
    scale = null_scale(anchors.probes, pseudo)
    if not scale.usable:
        warnings.append("general questions score all alike, or above pieces of stored texts")
        return _Learnt("null", scale, Platt(0.0, NULL_SLOPE), separates=False)
    separates = _separates(anchors, warnings)
    if given.past_queries is not None:
        past = _enough(anchors.past, FEWEST_PAST, "past queries", warnings)
        moved = past_scale(scale, past) if past else scale
        if past and moved.usable:
            return _Learnt("null+past", moved, Platt(0.0, PAST_SLOPE), separates)
        if past:
            warnings.append("past queries score far below general questions: left out")
    return _Learnt("null", scale, Platt(0.0, NULL_SLOPE), separates)


def _enough(tops: list[float], fewest: int, kind: str, warnings: list[str]) -> list[float]:
    if len(tops) >= fewest:
        return tops
    warnings.append(f"only {len(tops)} {kind} could be used, {fewest} are needed: left out")
    return []


def _separates(anchors: Anchors, warnings: list[str]) -> bool:
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
    if _auroc(anchors.hits, anchors.probes) <= SEPARABLE:
        warnings.append("pieces of stored texts score no higher than general questions")
        return False
    return True


def _from_labels(
    scale: Scale, labelled: list[tuple[float, Label]], warnings: list[str]
) -> _Learnt | None:
    """What labels say; None where there are too few of them."""
    positive = [top for top, label in labelled if label.relevant]
    negative = [top for top, label in labelled if not label.relevant]
    fewest = min(len(positive), len(negative))
    if fewest < FEWEST_OF_A_CLASS:
        warnings.append(
            f"only {fewest} labelled queries of one kind, {FEWEST_OF_A_CLASS} are needed: the "
            "labels are left out, but for a bound on false none"
        )
        return None
    if not scale.usable:
        scale = label_scale(positive, negative)
    labels = [label.relevant for _, label in labelled]
    if scale.usable and _auroc(positive, negative) > SEPARABLE:
        statistics = [scale.of(top) for top, _ in labelled]
        line = fit_platt(statistics, labels)
        if line.slope > 0.0:
            many = len(labels) >= VENN_ABERS_FROM
            free_form = fit_venn_abers(statistics, labels) if many else None
            return _Learnt("labelled", scale, line, separates=True, free_form=free_form)
    warnings.append("labelled answerable queries score no higher than the others")
    return _Learnt("labelled", scale, Platt(0.0, 0.0), separates=False)


def _groups(labelled: list[tuple[float, Label]]) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """The ascending tops of the answerable queries of each group."""
    tops: dict[str, list[float]] = {}
    for top, label in labelled:
        if label.group is not None and label.relevant:
            tops.setdefault(label.group, []).append(top)
    return tuple((group, tuple(sorted(tops[group]))) for group in sorted(tops))


def _overlap(anchors: Anchors) -> float:
    """The share of probes that score like a typical hit."""
    if not anchors.hits:
        return 0.0
    hit = quantile(anchors.hits, 0.5)
    return sum(top >= hit for top in anchors.probes) / len(anchors.probes)


def _auroc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """The share of pairs in the right order, ties counted half."""
    ranked = sorted(lower)
    won = sum(bisect_left(ranked, top) + bisect_right(ranked, top) for top in higher)
    return won / (2 * len(higher) * len(lower))


def _quartiles(tops: Sequence[float]) -> tuple[float, float, float]:
    low, middle, high = (round(quantile(tops, share), 4) for share in (0.25, 0.5, 0.75))
    return low, middle, high
