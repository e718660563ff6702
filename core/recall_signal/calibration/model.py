"""``Calibration``: a frozen value that turns a top cosine into a probability and a level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import ConfigDict

from recall_signal.calibration.decide import NO_VECTORS, decide, lifted
from recall_signal.calibration.fitting import Fitting
from recall_signal.calibration.hub import Corrected, HubCorrection
from recall_signal.calibration.labels import Platt, VennAbers
from recall_signal.calibration.levels import (
    DEFAULT_CUTS,
    check_prior,
    probability_at,
    shift_prior,
)
from recall_signal.calibration.reranker import RerankScale
from recall_signal.calibration.risk import check_sample
from recall_signal.calibration.saved import VERSION, read, write
from recall_signal.calibration.scale import Scale
from recall_signal.calibration.summary import summary
from recall_signal.confidence import RecallConfidence
from recall_signal.errors import CalibrationError, ConfigurationError
from recall_signal.pool import Pool

__all__ = ["Calibration", "Mode", "Status"]

Mode = Literal["null", "null+past", "labelled"]
Status = Literal["ok", "few_documents", "labels_do_not_separate", "no_valid_threshold"]


@dataclass(frozen=True, slots=True)
class Calibration(Fitting):
    """The scale of one retriever: one encoder on one corpus.

    Made by :meth:`fit`, which learns it through the retriever's own search. A probability is
    about topical match, never about whether the exact fact is stored: where the topic is
    stored and the answer is not, every score statistic is near chance.

    Attributes:
        mode: What it was learnt from: ``null`` (probes and pieces of stored texts),
            ``null+past`` (and unlabelled past queries), ``labelled``.
        status: ``ok``; ``few_documents`` where the cut rests on fewer than twenty pieces of
            stored texts; ``labels_do_not_separate`` where labelled answerable queries score no
            higher than the others, so that the labels are left out; ``no_valid_threshold``
            where the anchors do not separate either. Only with the last are levels left on the
            uncalibrated basis, see :attr:`decides`.
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
        reranker: What was learnt about the reranker's scores, where there was one.
        hub: The line on hub-corrected cosines, for pools that bring vectors; see :meth:`fit`.
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
    hub: HubCorrection | None = None
    reranker: RerankScale | None = None

    def __post_init__(self) -> None:
        if self.decides and not self.scale.usable:
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

    @property
    def decides(self) -> bool:
        """Whether levels follow this calibration."""
        return self.status != "no_valid_threshold"

    def apply(self, confidence: RecallConfidence, cosines: Sequence[float]) -> RecallConfidence:
        """The signal with its calibrated level; ``cosines`` are finite, the highest first."""
        top = cosines[0]
        if not self.decides:
            return lifted(self, confidence, top)
        probability = self.probability_of(self.scale.of(top))
        note = "" if self.hub is None else NO_VECTORS
        return decide(self, confidence, top, probability, self.scale.cut, note)

    def for_pool(self, pool: Pool) -> Calibration | Corrected:
        """What judges this pool: the hub-corrected line where it can, else this calibration."""
        if self.hub is None or (corrected := self.hub.bank.top(pool)) is None:
            return self
        return Corrected(self, self.hub, corrected)

    def probability_of(self, statistic: float) -> float:
        """P(something relevant was retrieved) at this statistic, under :attr:`prior`."""
        return probability_at(statistic, self.line, self.free_form, self.prior)

    def interval(self, top_score: float) -> tuple[float, float] | None:
        """The Venn-Abers interval of the probability at this top cosine, None without one.

        Its width shows how few labels there are near this score.
        """
        if self.free_form is None or not self.decides:
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

        Holds on average for queries like the labelled answerable ones (conformal p-values). It
        decides between ``low`` and ``none``, which both send the reader elsewhere: ``none`` is
        what the lowest such share of them reads, and nothing else reads it. A query whose
        probability says moderate or high is never told ``none`` by the bound, so the share is
        smaller where the labels separate badly.

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
        twice as many documents, or half, are worth a new fit. Without ``documents`` at the fit
        their number then is not known, which is said instead.
        """
        if self.corpus_size is None:
            return (
                "whether the corpus has grown since the fit cannot be told: the fit was given no "
                "`documents`, so it does not know how many there were"
            )
        if not self.corpus_size or 0.5 < corpus_size / self.corpus_size < 2.0:
            return None
        return (
            f"the corpus has {corpus_size} documents and had {self.corpus_size} at the fit: "
            "calibrate again"
        )

    def save(self, path: str | Path) -> None:
        """Write this calibration as JSON: numbers and names only, no texts.

        No vectors either, those of the probes excepted where there is a hub correction. The
        file is replaced whole: a reader sees the old one or the new one.
        """
        write(path, {"v": VERSION, **asdict(self)}, indent=1)

    @classmethod
    def load(cls, path: str | Path) -> Calibration:
        """Read a saved calibration.

        Raises:
            CalibrationError: The file is not one, or of another version.
            OSError: The file cannot be read; FileNotFoundError with its path where there is none.
        """
        return read(path, cls, "calibration")

    def __str__(self) -> str:
        return summary(self)
