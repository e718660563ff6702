"""From the figures of all searches to what they support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from recall_signal._statistics import auroc, quantile
from recall_signal.calibration._probability import (
    VENN_ABERS_FROM,
    Platt,
    VennAbers,
    fit_platt,
    fit_venn_abers,
)
from recall_signal.calibration._reranker import RerankAnchors, RerankScale, learn
from recall_signal.calibration._scale import (
    NULL_SLOPE,
    PAST_SLOPE,
    Scale,
    label_scale,
    null_scale,
    past_scale,
)
from recall_signal.calibration._separation import (
    FEWEST_OF_A_CLASS,
    SEPARABLE,
    ReferenceScores,
    check_separability,
    hits_are_saturated,
)
from recall_signal.calibration._word_scale import PAST_PROBES, PAST_PSEUDO
from recall_signal.calibration._words_estimate import Words, WordScores, estimate_words
from recall_signal.reports import RerankerScale

__all__ = [
    "FEWEST_PSEUDO",
    "Estimate",
    "Mode",
    "Status",
    "estimate_calibration",
]

Mode = Literal["null", "null+past", "labelled"]
Status = Literal["ok", "few_documents", "labels_do_not_separate", "no_valid_threshold"]

FEWEST_PSEUDO, FEWEST_PAST = 5, 10
"""With fewer of a kind, that kind is left out and a warning says so."""

FEW_PSEUDO = 20
"""With fewer, the status and a warning say that more documents would help. Used all the same: on
corpora of 3 to 19 passages the cut was right for .95 to .97 of far queries on dev, as for 100."""


@dataclass(frozen=True)
class Estimate:
    """Everything that a fit learned; a `Calibration` has a field of the same name for each.

    Attributes:
        mode: Kind of evidence that the line rests on.
        status: How far the estimate carries.
        scale: Cut and unit on the top cosine.
        platt: The line on that scale.
        venn_abers: Step functions instead, with many labels.
        overlap: Share of probes that score like a typical self-retrieval.
        counts: Number of reference scores of each kind.
        quartiles: Their quartiles, by kind.
        answerable: Ascending top cosines of labelled answerable queries.
        reranker: The scale of a reranker, where there was one.
        words: The second witness, where the pools had texts.
        floor: Median of self-retrieval, where it is not saturated.
        bounds: Lowest and highest cut that traffic may move the cosine line to.
        estimated_size: Texts in the corpus, by the pools' own ids or texts; None without.
        warnings: Sentences that a user should know.
    """

    mode: Mode
    status: Status
    scale: Scale
    platt: Platt
    venn_abers: VennAbers | None = None
    overlap: float = 0.0
    counts: tuple[tuple[str, int], ...] = ()
    quartiles: tuple[tuple[str, tuple[float, float, float]], ...] = ()
    answerable: tuple[float, ...] = ()
    reranker: RerankScale | None = None
    words: Words | None = None
    floor: float | None = None
    bounds: tuple[float, float] | None = None
    estimated_size: int | None = None
    warnings: tuple[str, ...] = field(default=())


def estimate_calibration(
    scores: ReferenceScores,
    word_scores: WordScores | None = None,
    *,
    with_past: bool = False,
    with_labels: bool = False,
    reranked: RerankAnchors | None = None,
    rerank_scale: RerankerScale = "unknown",
    warnings: Sequence[str] = (),
) -> Estimate:
    """Estimate scale and line from reference scores.

    Args:
        scores: The top cosines of all searches; at least one probe.
        word_scores: The same searches on both witnesses.
        with_past: Past queries were given, so too few of them are worth a warning.
        with_labels: The same for labelled queries.
        reranked: A reranker's best scores of the same searches.
        rerank_scale: The declared kind of those.
        warnings: Sentences of the fit so far.
    """
    notes = list(warnings)
    found = _without_labels(scores, with_past, notes)
    found = replace(found, bounds=_bounds(found.scale, scores), floor=_floor(scores))
    words = None
    if word_scores is not None and found.scale.usable:
        fewest = FEWEST_PAST if found.mode == "null+past" else len(word_scores.past) + 1
        words = estimate_words(word_scores, fewest_past=fewest, fewest_of_a_class=FEWEST_OF_A_CLASS)
    if words is not None:
        found = replace(found, words=words[0])
    if with_labels:
        by_words = words is not None and words[1]
        found = _with_labels(found, scores.labelled, notes, by_words=by_words)
    reranker = None if reranked is None else learn(reranked, rerank_scale, notes)
    return replace(
        found,
        overlap=scores.overlap,
        counts=scores.counts,
        quartiles=scores.quartiles,
        answerable=tuple(sorted(top for top, relevant in scores.labelled if relevant)),
        reranker=reranker,
        estimated_size=None if word_scores is None else word_scores.size or None,
        warnings=tuple(notes),
    )


def _without_labels(scores: ReferenceScores, with_past: bool, notes: list[str]) -> Estimate:
    pseudo = _enough(scores.pseudo_query, FEWEST_PSEUDO, "pieces of stored texts", notes)
    few = len(pseudo) < FEW_PSEUDO
    if few and pseudo:
        notes.append(
            f"only {len(pseudo)} pieces of stored texts could be used: with {FEW_PSEUDO} "
            "documents or more the cut is steadier"
        )
    scale, line = null_scale(scores.probes, pseudo), Platt(0.0, NULL_SLOPE)
    if not scale.usable:
        notes.append("general questions score all alike, or above pieces of stored texts")
        return Estimate("null", "no_valid_threshold", scale, line)
    status: Status = "few_documents" if few else "ok"
    if not check_separability(scores, notes):
        status = "no_valid_threshold"
    past = _enough(scores.past, FEWEST_PAST, "past queries", notes) if with_past else []
    if past:
        moved = past_scale(scale, past)
        if moved.usable:
            return Estimate("null+past", status, moved, Platt(0.0, PAST_SLOPE))
        notes.append("past queries score far below general questions: left out")
    return Estimate("null", status, scale, line)


def _enough(tops: list[float], fewest: int, kind: str, notes: list[str]) -> list[float]:
    if len(tops) >= fewest:
        return tops
    notes.append(f"only {len(tops)} {kind} could be used, {fewest} are needed: left out")
    return []


def _floor(scores: ReferenceScores) -> float | None:
    """Return the cosine from which a query is as close as stored texts are to their own pieces."""
    found = scores.self_retrieval
    if len(found) < FEWEST_PSEUDO or hits_are_saturated(found, scores.probes):
        return None
    return quantile(found, 0.5)


def _bounds(scale: Scale, scores: ReferenceScores) -> tuple[float, float]:
    """Return the bounds of the cosine line's cut, as those of the line on both witnesses."""
    low = min(scale.cut, quantile(scores.probes, PAST_PROBES))
    pseudo = scores.pseudo_query
    high = max(scale.cut, quantile(pseudo, PAST_PSEUDO)) if pseudo else scale.cut + scale.unit
    return low, max(low, high)


def _with_labels(
    without: Estimate, labelled: list[tuple[float, bool]], notes: list[str], *, by_words: bool
) -> Estimate:
    """Learn from labels, or keep the estimate without them where they say nothing."""
    positive = [top for top, relevant in labelled if relevant]
    negative = [top for top, relevant in labelled if not relevant]
    if min(len(positive), len(negative)) < FEWEST_OF_A_CLASS:
        notes.append(
            f"of the labelled queries with a cosine {len(positive)} are answerable and "
            f"{len(negative)} are not, and {FEWEST_OF_A_CLASS} of each are needed: the labels move "
            "no level; only a bound on false none uses them"
        )
        return without
    scale = without.scale if without.scale.usable else label_scale(positive, negative)
    if scale.usable and auroc(positive, negative) > SEPARABLE:
        labels = [relevant for _, relevant in labelled]
        statistics = [scale.standardize(top) for top, _ in labelled]
        platt = fit_platt(statistics, labels)
        if platt.slope > 0.0:
            many = len(labels) >= VENN_ABERS_FROM
            venn_abers = fit_venn_abers(statistics, labels) if many else None
            return replace(
                without,
                mode="labelled",
                status="ok",
                scale=scale,
                platt=platt,
                venn_abers=venn_abers,
            )
    if by_words:
        return replace(without, mode="labelled", status="ok")
    notes.append(
        "labelled answerable queries score no higher than the others: the labels move no level; "
        "only a bound on false none uses them"
    )
    if without.status == "no_valid_threshold":
        return without
    return replace(without, status="labels_do_not_separate")
