"""`Calibration`: a frozen value that turns a top cosine into a probability and a level."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Unpack

from pydantic import ConfigDict

from recall_signal._cards import Printer
from recall_signal._fork_safe import cached_value
from recall_signal._names import without_secrets
from recall_signal._numbers import require_between, require_number, require_share
from recall_signal.calibration._canaries import Canaries
from recall_signal.calibration._card import calibration_card
from recall_signal.calibration._check import CheckResult, acheck, check, size_change
from recall_signal.calibration._estimate import Estimate, Mode, Status
from recall_signal.calibration._file_checks import (
    constant_level,
    require_levels,
    require_plain_texts,
    require_possible,
)
from recall_signal.calibration._fingerprint import fingerprint_of
from recall_signal.calibration._fit_input import FitArguments, FitInput, Progress, fit_input
from recall_signal.calibration._fit_run import run_fit, run_fit_async
from recall_signal.calibration._fitted_encoder import FittedEncoder
from recall_signal.calibration._judge_many import Coverage, Judgements
from recall_signal.calibration._levels import DEFAULT_CUTS
from recall_signal.calibration._lines import Lines
from recall_signal.calibration._observation import SearchResult
from recall_signal.calibration._persistence import read, write
from recall_signal.calibration._port import RetrieverPort, Searchable, port_of
from recall_signal.calibration._probability import Platt, VennAbers
from recall_signal.calibration._probes import Probe
from recall_signal.calibration._reranker import RerankScale
from recall_signal.calibration._risk import check_sample
from recall_signal.calibration._rule import Judgement, Rule
from recall_signal.calibration._scale import Scale
from recall_signal.calibration._summary import summary_of
from recall_signal.calibration._words_estimate import Words
from recall_signal.confidence import Level, RecallConfidence
from recall_signal.errors import ConfigurationError
from recall_signal.pool import Pool
from recall_signal.reports import RerankerScale

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Calibration"]

VERSION = 2
"""Of the file format. Version 1 had other names and a hub correction."""


@dataclass(frozen=True, repr=False)
class Calibration:
    """The scale of one retriever: one encoder on one corpus.

    Made by `fit`, which learns it through the retriever's own search. A probability is
    about topical match, never about whether the exact fact is stored: where the topic is
    stored and the answer is not, every score statistic is near chance.

    Attributes:
        mode: Evidence it rests on: `null` (probes and pieces of stored texts), `null+past`
            (and unlabelled past queries), `labelled`.
        status: `ok`; `few_documents` where the cut rests on fewer than twenty pieces of
            stored texts; `labels_do_not_separate` where labelled answerable queries score no
            higher than the others, so that the labels are left out; `no_valid_threshold`
            where the reference scores do not separate either. Only with the last are levels left
            on the uncalibrated basis, see `decides`.
        scale: Cut and unit on the top cosine, at an even prior and without labels.
        platt: Statistic to probability; universal without labels, Platt's with few labels.
        overlap: Share of probes that score like a typical piece of a stored text, in [0, 1].
        created: UTC time of the fit, ISO 8601.
        venn_abers: Step functions instead of the line, with 100 labels or more.
        prior: Expected share of answerable queries, in (0, 1).
        cuts: Probabilities from which a level is low, moderate and high.
        encoder: Name of the encoder, where it was given.
        corpus_size: Number of documents given at the fit, None where none were.
        counts: Number of reference scores of each kind.
        quartiles: Quartiles of their top cosines, by kind.
        warnings: Sentences that a user should know.
        answerable: Ascending top cosines of labelled answerable queries.
        max_false_none: Bound on the share of answerable queries that read `none`.
        reranker: The scale of the reranker's scores, where there was one.
        words: Term weights and the line on both witnesses, where the pools had texts.
        floor: Top cosine from which a level is at least moderate: the median of pieces of stored
            texts with their own document. None where these are whole texts.
        bounds: Lowest and highest cut that traffic may move the cosine line to.
        estimated_size: Number of stored texts, given or estimated from the pools of the fit.
        canaries: The results of a dozen bundled probes at the fit, which `check` compares.
        evidence: 16 hex digits that change with the labelled and past queries, probes and seed of
            the fit; None where none were given.

    Raises:
        ConfigurationError: The values cannot be applied.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False
    )

    mode: Mode
    status: Status
    scale: Scale
    platt: Platt
    overlap: float
    created: str
    venn_abers: VennAbers | None = None
    prior: float = 0.5
    cuts: tuple[float, float, float] = DEFAULT_CUTS
    encoder: str | None = None
    corpus_size: int | None = None
    counts: tuple[tuple[str, int], ...] = ()
    quartiles: tuple[tuple[str, tuple[float, float, float]], ...] = ()
    warnings: tuple[str, ...] = ()
    answerable: tuple[float, ...] = ()
    max_false_none: float | None = None
    reranker: RerankScale | None = None
    words: Words | None = None
    floor: float | None = None
    bounds: tuple[float, float] | None = None
    estimated_size: int | None = None
    canaries: Canaries | None = None
    evidence: str | None = None

    def __post_init__(self) -> None:
        self._set("encoder", self.encoder and without_secrets(self.encoder))
        if self.decides and not self.scale.usable:
            raise ConfigurationError(
                f"the unit of a calibration's scale must be at least 1e-06, got {self.scale.unit}"
            )
        self._set("prior", require_share("prior", self.prior))
        low, moderate, high = (require_number("cuts", cut) for cut in self.cuts)
        if not 0.0 < low <= moderate <= high < 1.0:
            raise ConfigurationError(
                f"cuts must rise between 0 and 1, got {low}, {moderate}, {high}"
            )
        self._set("cuts", (low, moderate, high))
        if any(a > b for a, b in pairwise(self.answerable)):
            raise ConfigurationError("the top cosines of answerable queries must ascend")
        if self.bounds is not None and self.bounds[0] > self.bounds[1]:
            raise ConfigurationError(f"bounds must ascend, got {self.bounds}")
        if self.max_false_none is not None:
            bound = check_sample(len(self.answerable), self.max_false_none)
            self._set("max_false_none", bound)

    def _set(self, name: str, value: object) -> None:
        """Keep a setting as the built-in value that a file holds."""
        object.__setattr__(self, name, value)

    @classmethod
    def fit(
        cls,
        search: Callable[[str], SearchResult] | RetrieverPort,
        *,
        documents: Iterable[str | tuple[object, str]] | None = None,
        past_queries: Iterable[str] | None = None,
        labelled: Iterable[tuple[str, bool]] | None = None,
        probes: Iterable[str | Probe] | None = None,
        encoder: str | None = None,
        seed: int = 0,
        progress: Progress | None = None,
        prior: float = 0.5,
        max_false_none: float | None = None,
        rerank_scale: RerankerScale = "unknown",
    ) -> Calibration:
        """Learn the scale of a retriever through its own search, in at most 186 searches.

        These are 120 probes, up to 60 pieces of stored texts, one a text, and 6 by which
        `check` notices a change later (18 with probes of your own); one more for each
        past or labelled query, and as many as there are probes of your own. Nothing but
        `search` is needed; whatever else is given is used. Up to a fifth of the searches may
        fail; these are left out, and a warning counts them.

        Args:
            search: `search(query)` returns a `Pool` or a sequence of
                cosines. A pool with ids or texts lets a piece's own document be left out.
            documents: (id, text) pairs or texts to cut pseudo-queries from; without them they
                are cut from the texts that the probes' own pools bring back. Content only:
                metadata in front of a text would be cut as well.
            past_queries: Unlabelled texts, 30 to 100 of the kind that will be asked; blank ones are
                left out.
            labelled: (query, True where something relevant is stored) pairs, 20 or better 50.
            probes: Other general questions than the bundled ones; to add to those, pass
                `[*bundled_probes(), *own]`.
            encoder: Name of the encoder, by default the one that a wrapper knows; use with another
                one is refused.
            seed: The same seed, search and arguments give the same calibration.
            progress: Called with (searches done, searches in all).
            prior: Expected share of answerable queries, in (0, 1).
            max_false_none: Bound on the share of answerable queries that read `none`; needs
                `labelled`, see `with_risk`.
            rerank_scale: Kind of the `rerank_scores` of the pools, where they have some.

        Raises:
            CalibrationError: The store is empty, the search gives no cosines or gives them for
                too few probes, or there are too few labels for `max_false_none`; the message
                says what is needed.
            ConfigurationError: A setting is out of its range, or `prior` so extreme that every
                query would have the same level.
            InvalidInputError: An argument is of another type.
        """
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
            rerank_scale=rerank_scale,
        )
        port = port_of(search)
        return cls._from_estimate(*run_fit(given, port), given, port)

    @classmethod
    async def afit(
        cls,
        search: Callable[[str], Awaitable[SearchResult]] | RetrieverPort,
        **given: Unpack[FitArguments],
    ) -> Calibration:
        """Learn the scale with an asynchronous search; arguments as in `fit`.

        The event loop is never held: a thread computes between the searches.
        """
        checked, port = fit_input(**given), port_of(search)
        return cls._from_estimate(*await run_fit_async(checked, port), checked, port)

    @classmethod
    def _from_estimate(
        cls, found: Estimate, canaries: Canaries | None, given: FitInput, port: RetrieverPort
    ) -> Calibration:
        made = cls(
            **vars(found),  # every field of it is one here
            encoder=given.encoder or port.encoder_name,
            corpus_size=None if given.documents is None else len(given.documents),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            max_false_none=given.max_false_none,
            canaries=canaries,
            evidence=given.evidence,
        )
        return made if given.prior == made.prior else made.with_prior(given.prior)

    @property
    def decides(self) -> bool:
        """True where levels follow this calibration."""
        return self.status != "no_valid_threshold"

    @property
    def reads_words(self) -> bool:
        """True where a pool's query and texts are worth handing over."""
        return self.words is not None and self.decides

    def apply(self, confidence: RecallConfidence, pool: Pool) -> RecallConfidence:
        """Return the signal with its calibrated level.

        Args:
            confidence: The uncalibrated signal of the pool; a `term_coverage` that it has
                stands for the words of the pool.
            pool: The candidates, at least one with a cosine. With `query` and `texts` both
                witnesses decide, else the cosine alone.
        """
        return self._rule.apply(confidence, pool)

    def judge(
        self, uncalibrated: Level, top: float, coverage: float | None, *, witness: bool = True
    ) -> Judgement:
        """Return the calibrated level of a query.

        Args:
            uncalibrated: Its level without a calibration.
            top: Its top cosine.
            coverage: Its term coverage, 0 to 1; None leaves the cosine alone to decide.
            witness: False where missing words say nothing, as in another language than the
                texts': then words can only help.
        """
        return self._rule.judge(uncalibrated, top, coverage, witness)

    def judge_many(
        self, uncalibrated: NDArray[np.int8], top: NDArray[np.float64], coverage: Coverage
    ) -> Judgements:
        """Return the calibrated levels of many queries, each as `judge` gives it.

        Args:
            uncalibrated: Their levels without a calibration, as places in `LEVELS`.
            top: Their top cosines.
            coverage: Their term coverages, 0 to 1, NaN where there is none; None for no column.
        """
        return self._rule.judge_many(uncalibrated, top, coverage)

    def probability_of(self, statistic: float) -> float:
        """Return P(something relevant was retrieved) by the cosine alone, under `prior`.

        Args:
            statistic: The top cosine on `scale`.
        """
        return self._lines.alone(statistic)

    def cut_at(self, term_coverage: float | None = None, probability: float = 0.5) -> float | None:
        """Return the top cosine of a probability; that of 0.5 is the cut in force.

        It moves with labels and with `prior`, unlike the cut of `scale`. With 100 labels or more
        the probability rises in steps: the cut is where it steps to 0.5 or beyond.

        Args:
            term_coverage: Of the query, 0 to 1; None for a pool without query or texts.
            probability: Another one than 0.5, as where a level begins.

        Returns:
            The cosine; None where levels do not follow this calibration, or where every top
            cosine lies on one side of the probability.

        Raises:
            ConfigurationError: The coverage or the probability is out of its range.
        """
        if term_coverage is not None:
            require_between("term_coverage", term_coverage, 0.0, 1.0)
        require_share("probability", probability)
        return self._lines.cut_at(term_coverage, probability) if self.decides else None

    def cut_for(self, pool: Pool) -> float | None:
        """Return the cut in force for this pool: `cut_at` of its term coverage.

        That is `cut_at()` where its words were left aside, as for a question in another language
        than the texts'.
        """
        return self._rule.cut_for(pool)

    def with_traffic(self, window: Sequence[tuple[float, float | None]]) -> Calibration:
        """Return this calibration with its cuts moved by a window of real queries.

        The cuts stay within bounds that no stream of chosen queries can pass. Labels are worth
        more than traffic, so a labelled calibration stays as it is.

        Args:
            window: (top cosine, term coverage or None) of each query; from thirty on with a
                coverage the line on both witnesses moves, from thirty on in all that on the cosine.

        Raises:
            InvalidInputError: It holds something else.
        """
        if not self.decides or self.mode == "labelled":
            return self
        moved = self._lines.following(window, self.bounds)
        return replace(self, scale=moved.scale, platt=moved.platt, words=moved.words)

    def with_prior(self, prior: float) -> Calibration:
        """Return this calibration for another expected share of answerable queries.

        Raises:
            ConfigurationError: It is no share between 0 and 1, or so extreme that every query
                would have the same level.
        """
        return replace(self, prior=prior)._telling(f"prior={prior}")

    def with_cuts(self, low: float, moderate: float, high: float) -> Calibration:
        """Return this calibration with other probabilities for the levels.

        Raises:
            ConfigurationError: They do not rise between 0 and 1, or are so extreme that every
                query would have the same level.
        """
        return replace(self, cuts=(low, moderate, high))._telling(
            f"cuts of {low}, {moderate} and {high}"
        )

    def _telling(self, setting: str) -> Calibration:
        """Return this calibration, if its levels tell queries apart.

        Raises:
            ConfigurationError: They do not, by this setting.
        """
        level = constant_level(self) if self.decides else None
        if level is not None:
            raise ConfigurationError(
                f"with {setting} this calibration would call every query {level}, whatever is "
                "found; choose less extreme ones"
            )
        return self

    def with_risk(self, max_false_none: float) -> Calibration:
        """Return this calibration with a bound on the answerable queries that read `none`.

        Holds on average for queries like the labelled answerable ones (conformal p-values). It
        decides between `low` and `none`, which both send the reader elsewhere: `none` is
        the level of the lowest such share of them, and of nothing else. A query whose
        probability says moderate or high never reads `none` by the bound, so the share is
        smaller where the labels separate badly.

        Raises:
            CalibrationError: Too few labelled answerable queries, or no labels at all; the
                message says how many are needed.
        """
        check_sample(len(self.answerable), max_false_none)
        return replace(self, max_false_none=max_false_none)

    def fits_encoder(self, encoder: str | None, dimension: int | None = None) -> bool:
        """Return False where names or dimensions are known and differ: this is of another encoder.

        Args:
            encoder: The name of an encoder, None where it is not known.
            dimension: The length of its vectors, likewise.
        """
        return self._fitted_encoder.fits(encoder, dimension)

    def require_encoder(self, encoder: str | None, dimension: int | None = None) -> None:
        """Refuse another encoder than the one this was fitted with.

        Args:
            encoder: The name of an encoder, None where it is not known.
            dimension: The length of its vectors, likewise.

        Raises:
            CalibrationError: Both names are known and differ, or both lengths.
        """
        self._fitted_encoder.require(encoder, dimension)

    def staleness(self, corpus_size: int) -> str | None:
        """Return why the fit may be out of date for a corpus of this size, else None.

        The best cosine of an irrelevant query rises with the logarithm of the corpus size, so
        twice as many documents, or half, are worth a new fit. Without `documents` at the fit
        their number is estimated from ids or texts of the pools; without those it is not known,
        which is the reason returned.

        Raises:
            ConfigurationError: It is no number of documents.
        """
        require_between("corpus_size", corpus_size, 0.0)
        is_estimate = self.corpus_size is None
        fitted = self.estimated_size if is_estimate else self.corpus_size
        return size_change(fitted, corpus_size, is_estimate=is_estimate)

    def with_fingerprint(self, vectors: Sequence[Sequence[float]] | None) -> Calibration:
        """Return this calibration with its encoder's answer to the fingerprint's texts.

        Args:
            vectors: One vector for each; None where no encoder could be reached.
        """
        if self.canaries is None:
            return self
        canaries = replace(self.canaries, fingerprint=fingerprint_of(vectors))
        return replace(self, canaries=canaries)

    def check(self, retriever: Searchable) -> CheckResult:
        """Find out by a dozen searches whether encoder and corpus still are those of the fit.

        Args:
            retriever: A `RecallRetriever`, or a function `search(query) -> Pool`, through
                which no encoder can be reached.
        """
        return check(self.canaries, port_of(retriever))

    async def acheck(self, retriever: Searchable) -> CheckResult:
        """Check asynchronously; a function returns an awaitable."""
        return await acheck(self.canaries, port_of(retriever))

    def save(self, path: str | Path) -> None:
        """Write this calibration as JSON: figures, names and hashes of words, no texts.

        The file is replaced whole: a reader sees the old one or the new one.
        """
        write(path, {"v": VERSION, **asdict(self)}, indent=1)

    @classmethod
    def load(cls, path: str | Path) -> Calibration:
        """Read a saved calibration, strictly.

        Raises:
            CalibrationError: The file does not hold one, holds one of another version, or one
                whose levels would be constant, or whose figures cannot be.
            OSError: The file cannot be read; FileNotFoundError with its path where there is none.
        """
        loaded, file = read(path, cls, "calibration", VERSION), Path(path).name
        require_plain_texts(loaded, file)
        require_possible(loaded, file)
        if loaded.decides:
            even = replace(loaded, prior=0.5, cuts=DEFAULT_CUTS, max_false_none=None)
            require_levels(loaded, even, replace(even, floor=None, venn_abers=None), file)
        return loaded

    def __repr__(self) -> str:
        """Name the fit; its figures would fill a page."""
        names = ("mode", "status", "encoder", "created")
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"Calibration({shown})"

    def __str__(self) -> str:
        return summary_of(self)

    def _repr_html_(self) -> str:
        return calibration_card(self)

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:  # noqa: ARG002  (IPython's)
        printer.text(str(self))

    @property
    def _fitted_encoder(self) -> FittedEncoder:
        fingerprint = None if self.canaries is None else self.canaries.fingerprint
        return FittedEncoder(self.encoder, None if fingerprint is None else fingerprint.dimensions)

    @property
    def _lines(self) -> Lines:
        return self._rule.lines

    @cached_value
    def _rule(self) -> Rule:
        return Rule(
            lines=Lines(self.scale, self.platt, self.venn_abers, self.words, self.prior),
            cuts=self.cuts,
            mode=self.mode,
            status=self.status,
            floor=self.floor,
            answerable=self.answerable,
            max_false_none=self.max_false_none,
        )
