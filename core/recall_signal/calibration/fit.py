"""Learning a calibration through a retriever's own search, as steps without any I/O.

A generator asks for one search at a time (:class:`Search`) and is sent the pool; a driver
carries the searches out, synchronously or not. Nothing is kept of a query but its figures.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from math import isfinite
from pathlib import Path
from typing import Any

from recall_signal.calibration.journal import Journal, Observation
from recall_signal.calibration.labels import (
    VENN_ABERS_FROM,
    Platt,
    VennAbers,
    fit_platt,
    fit_venn_abers,
)
from recall_signal.calibration.model import Calibration, Mode
from recall_signal.calibration.probes import Probe, bundled_probes, choose_probes
from recall_signal.calibration.pseudo import (
    PseudoQuery,
    as_pair,
    cut_pseudo_queries,
    without_source,
)
from recall_signal.calibration.scale import (
    NULL_SLOPE,
    Scale,
    null_scale,
    past_scale,
    quantile,
)
from recall_signal.calibration.scripts import scripts_of
from recall_signal.errors import CalibrationError, ConfigurationError, InvalidInputError
from recall_signal.pool import Pool

__all__ = ["FitInput", "Search", "as_pool", "fit_flow", "fit_input"]

PROBES, PSEUDO_QUERIES = 120, 60
"""Searches of a fit by default: 180, plus one for each past or labelled query."""

FEWEST_PROBES, FEWEST_PSEUDO, FEWEST_PAST, FEWEST_OF_A_CLASS = 10, 5, 10, 5
"""With fewer of a kind, that kind is left out and a warning says so (probes: an error)."""

LANGUAGE_GAIN = 0.2
"""Hits must stand this far above the corpus' own language, in units of how far that language
stands above all probes; an encoder that cannot read it sees only which language it is."""

SEPARABLE = 0.6
"""AUROC of hits against probes at or below which there is no threshold."""

_A_LANGUAGE = 5
"""Probes of a language from which its median is looked at."""

DUPLICATE_GAIN = 0.1
"""Where leaving a piece's own document out costs less than this share, others say the same."""


@dataclass(frozen=True, slots=True)
class Search:
    """Ask the retriever. Answered with a :class:`Pool` or a sequence of cosines."""

    query: str


@dataclass(frozen=True, slots=True)
class FitInput:
    """Everything a fit was given; see :meth:`Calibration.fit`."""

    documents: Sequence[Any] | None = None
    past_queries: Sequence[str] | None = None
    labelled: Sequence[tuple[str, bool]] | None = None
    probes: Sequence[str | Probe] | None = None
    encoder: str | None = None
    seed: int = 0
    prior: float = 0.5
    max_false_none: float | None = None
    progress: Callable[[int, int], None] | None = None
    memory: MutableMapping[str, Observation] = field(default_factory=dict)


def fit_input(
    *,
    documents: Iterable[Any] | None = None,
    past_queries: Iterable[str] | None = None,
    labelled: Iterable[tuple[str, bool]] | None = None,
    probes: Iterable[str | Probe] | None = None,
    resume: str | Path | None = None,
    **rest: Any,
) -> FitInput:
    """The arguments of :meth:`Calibration.fit`, checked and gathered."""
    for name, texts in (("past_queries", past_queries), ("probes", probes)):
        if isinstance(texts, str):
            raise InvalidInputError(f"{name} must be a sequence of texts, got one text")
    if rest.get("max_false_none") is not None and labelled is None:
        raise ConfigurationError("max_false_none is a bound that only labelled queries can carry")
    return FitInput(
        documents=None if documents is None else list(documents),
        past_queries=None if past_queries is None else list(past_queries),
        labelled=None if labelled is None else [_as_label(pair) for pair in labelled],
        probes=None if probes is None else list(probes),
        memory={} if resume is None else Journal(resume),
        **rest,
    )


def _as_label(pair: Any) -> tuple[str, bool]:
    if isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], str):
        return pair[0], bool(pair[1])
    raise InvalidInputError("labelled must hold (query, whether something relevant is stored)")


Steps = Generator[Search, Any, Any]


@dataclass(frozen=True, slots=True)
class _Anchors:
    """The tops that a scale is made of, ascending in no order; absent ones are left out."""

    probes: list[float]
    languages: list[list[float]]
    pseudo: list[float]
    hits: list[float]
    past: list[float]


def fit_flow(given: FitInput) -> Generator[Search, Any, Calibration]:
    """The steps of one fit."""
    asker = _Asker(given)
    probes, languages = yield from _ask_probes(given, asker)
    documents = asker.texts_seen() if given.documents is None else given.documents
    pieces = cut_pseudo_queries(documents, PSEUDO_QUERIES, given.seed)
    asker.expect(len(pieces))
    cut = []
    for piece in pieces:
        cut.append((yield from asker.ask(piece.text, piece)))
    past = yield from _ask_tops(given.past_queries or (), asker)
    tops = yield from _ask_tops([query for query, _ in given.labelled or ()], asker)
    anchors = _Anchors(
        probes=_present(probes),
        languages=languages,
        pseudo=_present([seen.without for seen in cut]),
        hits=_present([seen.top for seen in cut]),
        past=_present(past),
    )
    labels = [bool(label) for _, label in given.labelled or ()]
    labelled = [(t, label) for t, label in zip(tops, labels, strict=True) if t is not None]
    return _conclude(given, anchors, labelled)


class _Asker:
    """Asks, remembers the figures, and reports progress."""

    def __init__(self, given: FitInput) -> None:
        self._memory = given.memory
        self._progress = given.progress
        self._keep_texts = given.documents is None
        self._texts: dict[str, str | None] = {}
        self._done = 0
        self._total = len(given.past_queries or ()) + len(given.labelled or ())

    def expect(self, more: int) -> None:
        """So many more searches are to come."""
        self._total += more

    def texts_seen(self) -> list[tuple[str | None, str]]:
        """The documents that came back so far, in an order of their own."""
        return [(id_, text) for text, id_ in sorted(self._texts.items())]

    def ask(self, query: str, piece: PseudoQuery | None = None) -> Steps:
        """One search; spared where its figures are remembered and its texts are not needed."""
        key = _key(query, piece)
        known = self._memory.get(key)
        if known is None or (self._keep_texts and piece is None):
            pool = as_pool((yield Search(query)))
            known = self._memory[key] = _observe(pool, piece)
            if self._keep_texts and pool.texts is not None:
                ids = pool.ids or [None] * len(pool)
                self._texts.update(zip(pool.texts, ids, strict=True))
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, max(self._total, self._done))
        return known


def _ask_probes(given: FitInput, asker: _Asker) -> Steps:
    """The tops of the probes that fit the corpus, and the tops of each language.

    Half of the bundled probes are asked in all languages, which shows what the encoder makes of
    a language; the other half in the scripts that the corpus is written in. Probes in another
    script are no queries that this corpus gets, so they are left out of the tops.
    """
    if given.probes is not None:
        texts = [probe.text if isinstance(probe, Probe) else probe for probe in given.probes]
        asker.expect(len(texts))
        return (yield from _ask_tops(texts, asker)), []
    first = choose_probes(PROBES // 2, given.seed)
    asker.expect(PROBES)
    asked = list(zip(first, (yield from _ask_tops([p.text for p in first], asker)), strict=True))
    if given.documents is None:
        corpus = [text for _, text in asker.texts_seen()]
    else:
        corpus = [text for _, text in map(as_pair, given.documents)]
    scripts = scripts_of(corpus)
    left = [probe for probe in bundled_probes() if probe not in first]
    fitting = [probe for probe in left if scripts_of([probe.text]) & scripts]
    more = choose_probes(PROBES // 2, given.seed, fitting or left)
    asker.expect(len(more) - PROBES // 2)
    asked += zip(more, (yield from _ask_tops([p.text for p in more], asker)), strict=True)
    tops = [top for probe, top in asked if scripts_of([probe.text]) & scripts]
    if len(tops) < FEWEST_PROBES:
        tops = [top for _, top in asked]
    by_language: dict[str, list[float]] = {}
    for probe, top in asked:
        if top is not None:
            by_language.setdefault(probe.lang, []).append(top)
    return tops, list(by_language.values())


def _ask_tops(queries: Sequence[str], asker: _Asker) -> Steps:
    tops = []
    for query in queries:
        if not isinstance(query, str):
            raise InvalidInputError(f"a query must be a text, got {type(query).__name__}")
        tops.append((yield from asker.ask(query)).top)
    return tops


def _conclude(
    given: FitInput, anchors: _Anchors, labelled: list[tuple[float, bool]]
) -> Calibration:
    """The calibration that the figures support."""
    if len(anchors.probes) < FEWEST_PROBES:
        raise CalibrationError(
            f"only {len(anchors.probes)} of the probes brought a cosine back, and at least "
            f"{FEWEST_PROBES} are needed: check that `search` returns cosines"
        )
    warnings: list[str] = []
    pseudo = _enough(anchors.pseudo, FEWEST_PSEUDO, "pieces of stored texts", warnings)
    scale = null_scale(anchors.probes, pseudo)
    mode: Mode = "null"
    if given.past_queries is not None:
        past = _enough(anchors.past, FEWEST_PAST, "past queries", warnings)
        if past and scale.step > 0.0:
            mode, scale = "null+past", past_scale(scale, past)
    separable = scale.step > 0.0 and _separates(anchors, warnings)
    line: Platt = Platt(0.0, NULL_SLOPE)
    free_form: VennAbers | None = None
    answerable: list[float] = []
    if given.labelled is not None and scale.step > 0.0:
        found = _from_labels(scale, labelled, warnings)
        if found is not None:
            mode, (line, free_form, separable) = "labelled", found
            answerable = sorted(scale.of(top) for top, label in labelled if label)
    return Calibration(
        mode=mode,
        status="ok" if separable else "no_valid_threshold",
        scale=scale,
        line=line,
        free_form=free_form,
        prior=given.prior,
        overlap=_overlap(anchors),
        encoder=given.encoder,
        corpus_size=None if given.documents is None else len(given.documents),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        counts=(
            ("probes", len(anchors.probes)),
            ("pseudo-queries", len(anchors.pseudo)),
            ("past queries", len(anchors.past)),
            ("labelled queries", len(labelled)),
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
        answerable=tuple(answerable),
        max_false_none=given.max_false_none,
    )


def _enough(tops: list[float], fewest: int, kind: str, warnings: list[str]) -> list[float]:
    if len(tops) >= fewest:
        return tops
    warnings.append(f"only {len(tops)} {kind} could be used, {fewest} are needed: left out")
    return []


def _separates(anchors: _Anchors, warnings: list[str]) -> bool:
    """Whether hits stand out from what is not stored; says what was noticed on the way."""
    if not anchors.hits:
        return True
    hit, general = quantile(anchors.hits, 0.5), quantile(anchors.probes, 0.5)
    without = quantile(anchors.pseudo, 0.5) if anchors.pseudo else general
    if hit - without < DUPLICATE_GAIN * (hit - general):
        warnings.append(
            "most pieces of stored texts have a near-duplicate elsewhere in the corpus: the cut "
            "may lie too high, and past or labelled queries would help"
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
    if hit - language < LANGUAGE_GAIN * offset:
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
    scale: Scale, labelled: list[tuple[float, bool]], warnings: list[str]
) -> tuple[Platt, VennAbers | None, bool] | None:
    """Line, free form and whether they separate; None where there are too few labels."""
    statistics = [scale.of(top) for top, _ in labelled]
    labels = [label for _, label in labelled]
    fewest = min(sum(labels), len(labels) - sum(labels))
    if fewest < FEWEST_OF_A_CLASS:
        warnings.append(
            f"only {fewest} labelled queries of one kind, {FEWEST_OF_A_CLASS} are needed: the "
            "labels are left out"
        )
        return None
    positive = [t for t, label in zip(statistics, labels, strict=True) if label]
    negative = [t for t, label in zip(statistics, labels, strict=True) if not label]
    separable = _auroc(positive, negative) > SEPARABLE
    if not separable:
        warnings.append("labelled answerable queries score no higher than the others")
    free = fit_venn_abers(statistics, labels) if len(labels) >= VENN_ABERS_FROM else None
    return fit_platt(statistics, labels), free, separable


def as_pool(found: Any) -> Pool:
    """What a search returned, as a pool.

    Raises:
        InvalidInputError: It is neither a pool nor a sequence of cosines.
    """
    if isinstance(found, Pool):
        return found
    if hasattr(found, "tolist"):
        found = found.tolist()
    if not isinstance(found, list | tuple):
        raise InvalidInputError(
            f"search must return a Pool or a sequence of cosines, got {type(found).__name__}"
        )
    return Pool(found)


def _observe(pool: Pool, piece: PseudoQuery | None) -> Observation:
    without = None if piece is None else _top(without_source(pool, piece))
    return Observation(_top(pool.cosines), without)


def _top(cosines: Sequence[float | None]) -> float | None:
    usable = [float(cosine) for cosine in cosines if cosine is not None and isfinite(cosine)]
    return max(usable, default=None)


def _present(tops: Sequence[float | None]) -> list[float]:
    return [top for top in tops if top is not None]


def _key(query: str, piece: PseudoQuery | None) -> str:
    """What a search is remembered by: a hash, so that no text is kept."""
    kind = "" if piece is None else f"piece {piece.source_id}"
    return blake2b(f"{kind}\n{query}".encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _overlap(anchors: _Anchors) -> float:
    if not anchors.hits:
        return 0.0
    hit = quantile(anchors.hits, 0.5)
    return sum(top >= hit for top in anchors.probes) / len(anchors.probes)


def _auroc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """The share of pairs in the right order, ties counted half."""
    won = sum((a > b) + 0.5 * (a == b) for a in higher for b in lower)
    return won / (len(higher) * len(lower))


def _quartiles(tops: Sequence[float]) -> tuple[float, float, float]:
    low, middle, high = (round(quantile(tops, share), 4) for share in (0.25, 0.5, 0.75))
    return low, middle, high
