"""``Calibration``: a frozen value that turns a top cosine into a probability and a level."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict

from recall_signal.calibration.labels import Platt, VennAbers
from recall_signal.calibration.risk import check_sample, p_value
from recall_signal.calibration.saved import VERSION, read
from recall_signal.calibration.scale import Scale
from recall_signal.confidence import Basis, Level, RecallConfidence
from recall_signal.driver import drive, drive_async
from recall_signal.errors import CalibrationError, ConfigurationError

__all__ = ["DEFAULT_CUTS", "Calibration", "Mode", "Status", "level_of", "with_probability"]

Mode = Literal["null", "null+past", "labelled"]
Status = Literal["ok", "no_valid_threshold"]

DEFAULT_CUTS = (0.2, 0.5, 0.8)
"""Probabilities from which a level is low, moderate and high."""

_NOTES: dict[Level, str] = {
    "high": "a strong match of the topic. Read these; the exact fact is not verified.",
    "moderate": "a plausible match of the topic. Read these; the exact fact is not verified.",
    "low": "probably nothing relevant. Consider an external source.",
    "none": "likely nothing relevant. Prefer an external source.",
}


@dataclass(frozen=True, slots=True)
class Calibration:
    """The scale of one retriever: one encoder on one corpus.

    Made by :meth:`fit`, which learns it through the retriever's own search. A probability is
    about topical match, never about whether the exact fact is stored: where the topic is
    stored and the answer is not, every score statistic is near chance.

    Attributes:
        mode: What it was learnt from: ``null`` (probes and pieces of stored texts),
            ``null+past`` (and unlabelled past queries), ``labelled``.
        status: ``no_valid_threshold`` where the anchors do not separate; levels then stay on
            the uncalibrated basis.
        scale: Cut and step on the top cosine.
        line: Statistic to probability; universal without labels, Platt's with few labels.
        free_form: A Venn-Abers predictor instead, with many labels.
        prior: Expected share of answerable queries, in (0, 1).
        cuts: Probabilities from which a level is low, moderate and high.
        overlap: Share of probes that score like a typical hit, in [0, 1].
        encoder: Name of the encoder, where it was given.
        corpus_size: Number of documents given at the fit, None where none were.
        created: UTC time of the fit, ISO 8601.
        counts: How many anchors of each kind were used.
        anchors: Quartiles of their top cosines, by kind.
        warnings: What a user should know about the fit, as sentences.
        answerable: Ascending top cosines of labelled answerable queries.
        groups: The same for each group that labelled queries were given with.
        max_false_none: Bound on the share of answerable queries that read ``none``.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    mode: Mode
    status: Status
    scale: Scale
    line: Platt
    overlap: float
    created: str
    free_form: VennAbers | None = None
    prior: float = 0.5
    cuts: tuple[float, float, float] = DEFAULT_CUTS
    encoder: str | None = None
    corpus_size: int | None = None
    counts: tuple[tuple[str, int], ...] = ()
    anchors: tuple[tuple[str, tuple[float, float, float]], ...] = ()
    warnings: tuple[str, ...] = ()
    answerable: tuple[float, ...] = ()
    groups: tuple[tuple[str, tuple[float, ...]], ...] = ()
    max_false_none: float | None = None

    def __post_init__(self) -> None:
        if self.status == "ok" and not self.scale.usable:
            raise ConfigurationError(f"a step of {self.scale.step} is no scale")
        check_prior(self.prior)
        low, moderate, high = self.cuts
        if not 0.0 < low <= moderate <= high < 1.0:
            raise ConfigurationError(
                f"cuts must rise between 0 and 1, got {low}, {moderate}, {high}"
            )
        for tops in (self.answerable, *(tops for _, tops in self.groups)):
            if any(a > b for a, b in pairwise(tops)):
                raise ConfigurationError("the tops of answerable queries must ascend")
        if self.max_false_none is not None:
            check_sample(len(self.answerable), self.max_false_none)

    @classmethod
    def fit(
        cls,
        search: Callable[[str], Any],
        *,
        documents: Iterable[Any] | None = None,
        past_queries: Iterable[str] | None = None,
        labelled: Iterable[tuple[str, bool] | tuple[str, bool, str | None]] | None = None,
        probes: Iterable[Any] | None = None,
        encoder: str | None = None,
        seed: int = 0,
        progress: Callable[[int, int], None] | None = None,
        prior: float = 0.5,
        max_false_none: float | None = None,
        resume: str | Path | None = None,
    ) -> Calibration:
        """Learn the scale of a retriever through its own search, in about 180 searches.

        Nothing but ``search`` is needed; whatever else is given is used.

        Args:
            search: ``search(query)`` returns a :class:`~recall_signal.Pool` or a sequence of
                cosines. A pool with ids or texts lets a piece's own document be left out.
            documents: (id, text) pairs or texts to cut pseudo-queries from; without them they
                are cut from the texts that the probes' own pools bring back.
            past_queries: Unlabelled texts, 30 to 100 of the kind that will be asked.
            labelled: (query, whether something relevant is stored) pairs, 20 or better 50; with
                the name of a group (a tenant, a language) as a third, see :meth:`for_group`.
            probes: Other general questions than the bundled ones; to add to those, pass
                ``[*bundled_probes(), *own]``.
            encoder: Name of the encoder; use with another one is refused.
            seed: The same seed, search and arguments give the same calibration.
            progress: Called with (searches done, searches in all).
            prior: Expected share of answerable queries.
            max_false_none: Bound on the share of answerable queries that read ``none``; needs
                ``labelled``, see :meth:`with_risk`.
            resume: A file for the figures of each search (no texts); an interrupted fit that
                is called again with it goes on. Without ``documents`` the probes are asked
                again, for their texts. Once the corpus has changed, use a new file.

        Raises:
            CalibrationError: Too few probes brought a cosine back, or too few labels for
                ``max_false_none``; the message says how many are needed.
            ConfigurationError: ``prior`` or ``max_false_none`` is out of its range.
            InvalidInputError: An argument is of another type.
        """
        from recall_signal.calibration.fit import fit_flow, fit_input

        given = fit_input(
            documents=documents,
            past_queries=past_queries,
            labelled=labelled,
            probes=probes,
            encoder=encoder,
            seed=seed,
            progress=progress,
            prior=prior,
            max_false_none=max_false_none,
            resume=resume,
        )
        return drive(fit_flow(given), lambda request: search(request.query))

    @classmethod
    async def afit(cls, search: Callable[[str], Awaitable[Any]], **given: Any) -> Calibration:
        """:meth:`fit` with an asynchronous search and the same arguments."""
        from recall_signal.calibration.fit import fit_flow, fit_input

        flow = fit_flow(fit_input(**given))
        return await drive_async(flow, lambda request: search(request.query))

    def apply(self, confidence: RecallConfidence, cosines: Sequence[float]) -> RecallConfidence:
        """The signal with its calibrated level; ``cosines`` are finite, the highest first."""
        top = cosines[0]
        if self.status != "ok":
            return self._lifted(confidence, top)
        probability = self.probability_of(self.scale.of(top))
        level = level_of(probability, self.cuts)
        basis: Basis = "labels" if self.mode == "labelled" else "calibration"
        text = f"a cut of {self.scale.cut:.2f} learnt from this retriever ({self.mode})"
        if self.max_false_none is not None:
            basis = "labels"
            text += f", none for at most {100 * self.max_false_none:.3g}% of answerable queries"
            if self._is_unusual(top):
                level = "none"
            elif level == "none":
                level = "low"
        return with_probability(confidence, probability, level, basis, text)

    def _is_unusual(self, top: float) -> bool:
        """Whether the bound allows ``none`` for this top cosine."""
        return self.max_false_none is None or p_value(top, self.answerable) <= self.max_false_none

    def _lifted(self, confidence: RecallConfidence, top: float) -> RecallConfidence:
        """The uncalibrated signal; a bound holds for it too, so ``none`` may become ``low``."""
        if confidence.level != "none" or self._is_unusual(top):
            return confidence
        text = f"Top cosine {confidence.top_score:.2f}, not unusual for answerable queries: "
        return confidence.model_copy(
            update={"level": "low", "basis": "labels", "rationale": text + _NOTES["low"]}
        )

    def probability_of(self, statistic: float) -> float:
        """P(something relevant was retrieved) at this statistic, under :attr:`prior`."""
        if self.free_form is None:
            return shift_prior(self.line.probability(statistic), self.prior)
        probability = self.free_form.probability(statistic)
        return shift_prior(probability, self.prior, self.free_form.share)

    def interval(self, top_score: float) -> tuple[float, float] | None:
        """The Venn-Abers interval of the probability at this top cosine, None without one.

        Its width shows how few labels there are near this score.
        """
        if self.free_form is None or self.status != "ok":
            return None
        lower, upper = self.free_form.interval(self.scale.of(top_score))
        share = self.free_form.share
        return shift_prior(lower, self.prior, share), shift_prior(upper, self.prior, share)

    def with_prior(self, prior: float) -> Calibration:
        """The same calibration for another expected share of answerable queries."""
        return replace(self, prior=prior)

    def with_cuts(self, low: float, moderate: float, high: float) -> Calibration:
        """The same calibration with other probabilities for the levels."""
        return replace(self, cuts=(low, moderate, high))

    def with_risk(self, max_false_none: float) -> Calibration:
        """The same calibration, with a bound on the answerable queries that read ``none``.

        Holds on average for queries like the labelled answerable ones (conformal p-values). The
        bound is used up: ``none`` is what the lowest such share of them reads, whatever their
        probability, and nothing else reads it.

        Raises:
            CalibrationError: Too few labelled answerable queries, or no labels at all; the
                message says how many are needed.
        """
        check_sample(len(self.answerable), max_false_none)
        return replace(self, max_false_none=max_false_none)

    def for_group(self, name: str) -> Calibration:
        """The same calibration, whose bound is one on this group's answerable queries.

        Raises:
            CalibrationError: Too few labelled answerable queries of this group for the bound,
                or none at all; the message says how many are needed.
        """
        answerable = dict(self.groups).get(name, ())
        if self.max_false_none is not None:
            check_sample(len(answerable), self.max_false_none)
        elif not answerable:
            raise CalibrationError(
                "a group needs at least 1 labelled answerable query, given as "
                "(query, True, name of the group); got 0 of this one"
            )
        return replace(self, answerable=answerable)

    def require_encoder(self, encoder: str | None) -> None:
        """Refuse another encoder than the one this was fitted with.

        Raises:
            CalibrationError: Both names are known and differ.
        """
        if self.encoder is not None and encoder is not None and encoder != self.encoder:
            raise CalibrationError(
                f"this calibration was fitted with the encoder {self.encoder!r} and cannot be "
                f"used with {encoder!r}: cosines of two encoders have different scales; fit anew"
            )

    def staleness(self, corpus_size: int) -> str | None:
        """Why the fit may be out of date for a corpus of this size, None where it is not.

        The best cosine of an irrelevant query rises with the logarithm of the corpus size, so
        twice as many documents, or half, are worth a new fit.
        """
        if not self.corpus_size or 0.5 < corpus_size / self.corpus_size < 2.0:
            return None
        return (
            f"the corpus has {corpus_size} documents and had {self.corpus_size} at the fit: "
            "calibrate again"
        )

    def save(self, path: str | Path) -> None:
        """Write this calibration as JSON: numbers and names only, no texts, no vectors."""
        values = {"v": VERSION, **asdict(self)}
        Path(path).write_text(json.dumps(values, indent=1, allow_nan=False) + "\n", "utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Calibration:
        """Read a saved calibration.

        Raises:
            CalibrationError: The file is not one, or of another version.
            OSError: The file cannot be read.
        """
        return read(path, cls, "calibration")

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {kind}" for kind, count in self.counts)
        lines = [
            f"Calibration ({self.mode}): {self.status}",
            f"  encoder {self.encoder or 'not named'}, {self.corpus_size or 'unknown number of'}"
            f" documents, {self.created}",
            f"  from {counts}",
            f"  cut {self.scale.cut:.3f}, step {self.scale.step:.3f}, overlap {self.overlap:.0%}",
        ]
        lines += [
            f"  {kind:<9} quartiles {low:.3f} {middle:.3f} {high:.3f}"
            for kind, (low, middle, high) in self.anchors
        ]
        lines += [f"  note: {warning}" for warning in self.warnings]
        return "\n".join(lines)


def level_of(probability: float, cuts: tuple[float, float, float]) -> Level:
    """The level of a probability."""
    return _BY_PROBABILITY[bisect_right(cuts, probability)]


_BY_PROBABILITY: tuple[Level, ...] = ("none", "low", "moderate", "high")


def shift_prior(probability: float, prior: float, given: float = 0.5) -> float:
    """A probability at the prior ``given``, moved to another one."""
    if prior == given:
        return probability
    favour = probability * prior * (1.0 - given)
    against = (1.0 - probability) * (1.0 - prior) * given
    return favour / (favour + against) if favour else 0.0


def check_prior(prior: float) -> None:
    """Refuse a prior that is not a share strictly between 0 and 1."""
    if not isinstance(prior, float) or not 0.0 < prior < 1.0:
        raise ConfigurationError("prior must be a share between 0 and 1, both excluded")


def with_probability(
    confidence: RecallConfidence, probability: float, level: Level, basis: Basis, scale: str
) -> RecallConfidence:
    """A signal whose level follows a probability; all other fields stay as they are."""
    return confidence.model_copy(
        update={
            "level": level,
            "probability": round(probability, 4),
            "basis": basis,
            "rationale": f"Top cosine {confidence.top_score:.2f} against {scale}, "
            f"probability {probability:.2f}: {_NOTES[level]}",
        }
    )
