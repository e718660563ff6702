"""From the figures of all searches to the calibration that they support."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from recall_signal.calibration.anchors import (
    SEPARABLE,
    Anchors,
    auroc,
    counts,
    groups,
    overlap,
    quartiles,
    separates,
)
from recall_signal.calibration.given import FEWEST_PROBES, FitInput, Label
from recall_signal.calibration.hub import Bank, HubCorrection, pays
from recall_signal.calibration.labels import (
    VENN_ABERS_FROM,
    Platt,
    VennAbers,
    fit_platt,
    fit_venn_abers,
)
from recall_signal.calibration.model import Calibration, Mode, Status
from recall_signal.calibration.scale import (
    NULL_SLOPE,
    PAST_SLOPE,
    Scale,
    label_scale,
    null_scale,
    past_scale,
)

__all__ = ["conclude"]

FEWEST_PSEUDO, FEWEST_PAST, FEWEST_OF_A_CLASS = 5, 10, 5
"""With fewer of a kind, that kind is left out and a warning says so."""

FEW_PSEUDO = 20
"""With fewer, the status and a warning say that more documents would help. Used all the same: on
corpora of 3 to 19 passages the cut was right for .95 to .97 of far queries on dev, as for 100."""


def conclude(
    given: FitInput, anchors: Anchors, bank: Bank | None = None, corrected: Anchors | None = None
) -> Calibration:
    """The calibration that the figures support.

    Args:
        given: What the fit was given.
        anchors: The top cosines.
        bank: What candidates were compared with, where a hub correction was asked for.
        corrected: The hub-corrected tops, of the probes that are not in the bank.

    Raises:
        CalibrationError: Too few labelled answerable queries brought a cosine back for the
            bound that was asked for.
    """
    warnings: list[str] = []
    learnt = _learn(given, anchors, warnings)
    hub = None
    if bank is not None and corrected is not None:
        hub = _corrected(given, learnt, anchors, bank, corrected, warnings)
    elif given.hub_correction:
        warnings.append("no hub correction: the search returned no vectors")
    return Calibration(
        mode=learnt.mode,
        status=learnt.status,
        scale=learnt.scale,
        line=learnt.line,
        free_form=learnt.free_form,
        prior=given.prior,
        overlap=overlap(anchors),
        encoder=given.encoder,
        corpus_size=None if given.documents is None else len(given.documents),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        counts=counts(anchors),
        anchors=tuple(
            (kind, quartiles(tops))
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
        groups=groups(anchors.labelled),
        max_false_none=given.max_false_none,
        hub=hub,
    )


@dataclass(frozen=True, slots=True)
class _Learnt:
    """Scale and line, what they were learnt from, and how well."""

    mode: Mode
    scale: Scale
    line: Platt
    status: Status
    free_form: VennAbers | None = None


def _learn(given: FitInput, anchors: Anchors, warnings: list[str]) -> _Learnt:
    learnt = _without_labels(given, anchors, warnings)
    if given.labelled is None:
        return learnt
    return _with_labels(learnt, anchors.labelled, warnings)


def _without_labels(given: FitInput, anchors: Anchors, warnings: list[str]) -> _Learnt:
    pseudo = _enough(anchors.pseudo, FEWEST_PSEUDO, "pieces of stored texts", warnings)
    few = len(pseudo) < FEW_PSEUDO
    if few and pseudo:
        warnings.append(
            f"only {len(pseudo)} pieces of stored texts could be used: with {FEW_PSEUDO} "
            "documents or more the cut is steadier"
        )
    scale, line = null_scale(anchors.probes, pseudo), Platt(0.0, NULL_SLOPE)
    if not scale.usable:
        warnings.append("general questions score all alike, or above pieces of stored texts")
        return _Learnt("null", scale, line, "no_valid_threshold")
    status: Status = "few_documents" if few else "ok"
    if not separates(anchors, warnings):
        status = "no_valid_threshold"
    if given.past_queries is not None:
        past = _enough(anchors.past, FEWEST_PAST, "past queries", warnings)
        moved = past_scale(scale, past) if past else scale
        if past and moved.usable:
            return _Learnt("null+past", moved, Platt(0.0, PAST_SLOPE), status)
        if past:
            warnings.append("past queries score far below general questions: left out")
    return _Learnt("null", scale, line, status)


def _enough(tops: list[float], fewest: int, kind: str, warnings: list[str]) -> list[float]:
    if len(tops) >= fewest:
        return tops
    warnings.append(f"only {len(tops)} {kind} could be used, {fewest} are needed: left out")
    return []


def _with_labels(
    learnt: _Learnt, labelled: list[tuple[float, Label]], warnings: list[str]
) -> _Learnt:
    """What labels say; what was learnt without them where they say nothing."""
    positive = [top for top, label in labelled if label.relevant]
    negative = [top for top, label in labelled if not label.relevant]
    if min(len(positive), len(negative)) < FEWEST_OF_A_CLASS:
        warnings.append(
            f"of the labelled queries with a cosine {len(positive)} are answerable and "
            f"{len(negative)} are not, and {FEWEST_OF_A_CLASS} of each are needed: the labels move "
            "no level; only a bound on false none uses them"
        )
        return learnt
    scale = learnt.scale if learnt.scale.usable else label_scale(positive, negative)
    labels = [label.relevant for _, label in labelled]
    if scale.usable and auroc(positive, negative) > SEPARABLE:
        statistics = [scale.of(top) for top, _ in labelled]
        line = fit_platt(statistics, labels)
        if line.slope > 0.0:
            many = len(labels) >= VENN_ABERS_FROM
            free_form = fit_venn_abers(statistics, labels) if many else None
            return _Learnt("labelled", scale, line, "ok", free_form)
    warnings.append(
        "labelled answerable queries score no higher than the others: the labels move no level; "
        "only a bound on false none uses them"
    )
    if learnt.status == "no_valid_threshold":
        return learnt
    return replace(learnt, status="labels_do_not_separate")


def _corrected(
    given: FitInput,
    learnt: _Learnt,
    anchors: Anchors,
    bank: Bank,
    corrected: Anchors,
    warnings: list[str],
) -> HubCorrection | None:
    """The line on corrected tops; None where it is not to be used, with the reason among notes."""
    if given.hub_correction == "auto" and not _helps(anchors.labelled, corrected.labelled):
        warnings.append(
            "no hub correction: it takes labelled queries that are told better with it than without"
        )
        return None
    if len(corrected.probes) >= FEWEST_PROBES:
        second = _learn(given, corrected, [])
        if second.mode == learnt.mode and "no_valid_threshold" not in (
            learnt.status,
            second.status,
        ):
            return HubCorrection(bank, second.scale, second.line, second.free_form)
    warnings.append(
        "no hub correction: too few probes beside its bank, or nothing separates with it"
    )
    return None


def _helps(raw: list[tuple[float, Label]], corrected: list[tuple[float, Label]]) -> bool:
    labels = [label.relevant for _, label in corrected]
    fewest = min(labels.count(True), labels.count(False))
    if len(raw) != len(corrected) or fewest < FEWEST_OF_A_CLASS:
        return False
    return pays([top for top, _ in raw], [top for top, _ in corrected], labels)
