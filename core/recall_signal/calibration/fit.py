"""Learning a calibration through a retriever's own search, as steps without any I/O.

A generator asks for one search at a time (:class:`Search`) and is sent the pool; a driver
carries the searches out, synchronously or not. Nothing is kept of a query but its figures.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from recall_signal.calibration.anchors import Anchors
from recall_signal.calibration.conclude import conclude
from recall_signal.calibration.given import (
    FEWEST_PROBES,
    FitInput,
    Found,
    check_probes,
    fit_input,
)
from recall_signal.calibration.hub import Bank
from recall_signal.calibration.journal import Observation
from recall_signal.calibration.model import Calibration
from recall_signal.calibration.observe import as_pool, observe
from recall_signal.calibration.probes import Probe, bundled_probes, choose_probes
from recall_signal.calibration.pseudo import PseudoQuery, cut_pseudo_queries
from recall_signal.calibration.reranker import RerankAnchors, learn
from recall_signal.calibration.scripts import scripts_of
from recall_signal.errors import CalibrationError
from recall_signal.pool import Pool

__all__ = ["FitInput", "Search", "as_pool", "fit_flow", "fit_input"]

PROBES, PSEUDO_QUERIES = 120, 60
"""Searches of a fit by default: at most 180, plus one for each past or labelled query."""

Steps = Generator["Search", Any, Any]

_NO_VECTORS = (
    "hub_correction=True needs a search that returns Pool(..., vectors=..., query_vector=...), "
    "all of one dimension: return them, or leave the correction out"
)


@dataclass(frozen=True, slots=True)
class Search:
    """Ask the retriever. Answered with a :class:`Pool` or a sequence of cosines."""

    query: str


def fit_flow(given: FitInput) -> Generator[Search, Any, Calibration]:
    """The steps of one fit."""
    asker = _Asker(given)
    probes, languages = yield from _ask_probes(given, asker)
    check_probes(len(_tops(probes)), "scores" if _tops(probes) else asker.found)
    documents = asker.texts_seen() if given.documents is None else given.documents
    pieces = cut_pseudo_queries(documents, PSEUDO_QUERIES, given.seed)
    asker.expect(len(pieces) - PSEUDO_QUERIES)
    cut = []
    for piece in pieces:
        cut.append((yield from asker.ask(piece.text, piece)))
    labels = given.labelled or ()
    past = yield from _ask_all(given.past_queries or (), asker)
    told = yield from _ask_all([label.query for label in labels], asker)
    anchors = Anchors(
        probes=_tops(probes),
        languages=languages,
        pseudo=_present([seen.without for seen in cut]),
        hits=_tops(cut),
        past=_tops(past),
        labelled=[(s.top, la) for s, la in zip(told, labels, strict=True) if s.top is not None],
    )
    if asker.bank is None:
        return _with_reranker(conclude(given, anchors), given, probes, cut, told)
    corrected = Anchors(
        probes=_present([seen.corrected for seen in probes]),
        languages=[],
        pseudo=_present([seen.corrected_without for seen in cut]),
        hits=_present([seen.corrected for seen in cut]),
        past=_present([seen.corrected for seen in past]),
        labelled=[
            (seen.corrected, label)
            for seen, label in zip(told, labels, strict=True)
            if seen.corrected is not None
        ],
    )
    calibration = conclude(given, anchors, asker.bank, corrected)
    return _with_reranker(calibration, given, probes, cut, told)


def _with_reranker(
    calibration: Calibration,
    given: FitInput,
    probes: Sequence[Observation],
    cut: Sequence[Observation],
    told: Sequence[Observation],
) -> Calibration:
    """The calibration with what was seen of a reranker, where there was one."""
    warnings = list(calibration.warnings)
    anchors = RerankAnchors(
        probes=_present([seen.reranked for seen in probes]),
        hits=_present([seen.reranked for seen in cut]),
        labelled=[
            (seen.top, seen.reranked, label.relevant)
            for seen, label in zip(told, given.labelled or (), strict=True)
            if seen.top is not None and seen.reranked is not None
        ],
    )
    reranker = learn(anchors, given.rerank_scale, warnings)
    return replace(calibration, reranker=reranker, warnings=tuple(warnings))


class _Asker:
    """Asks, remembers the figures, and reports progress."""

    def __init__(self, given: FitInput) -> None:
        self._memory = given.memory
        self._progress = given.progress
        self._encoder = given.encoder
        self._hub_correction = given.hub_correction
        self.bank: Bank | None = None
        self.found: Found = "scores" if given.memory else "nothing"  # the file keeps no pools
        self._texts: dict[str, str | None] = {}
        self._done = 0
        self._total = (
            (PROBES if given.probes is None else len(given.probes))
            + PSEUDO_QUERIES
            + len(given.past_queries or ())
            + len(given.labelled or ())
        )

    def expect(self, more: int) -> None:
        """So many more searches are to come than was thought."""
        self._total += more
        if more:
            self._report()

    def texts_seen(self) -> list[tuple[str | None, str]]:
        """The documents that came back where texts were asked for, in an order of their own."""
        return [(id_, text) for text, id_ in sorted(self._texts.items())]

    def ask(
        self,
        query: str,
        piece: PseudoQuery | None = None,
        *,
        texts: bool = False,
        vectors: list[Any] | None = None,
    ) -> Steps:
        """One search; spared where its figures are remembered and its texts are not needed.

        Args:
            query: What is asked.
            piece: Where it was cut from, if it was.
            texts: Keep the texts that come back.
            vectors: Keep the query's own vector here.
        """
        key = self._key(query, piece)
        seen = self._memory.get(key)
        if seen is None or texts or vectors is not None:
            pool = as_pool((yield Search(query)))
            self._note(pool)
            if seen is None:
                seen = self._memory[key] = observe(pool, piece, self.bank)
            if texts and pool.texts is not None:
                self._keep_texts(pool.texts, pool.ids)
            if vectors is not None and pool.vectors is not None and pool.query_vector is not None:
                vectors.append(pool.query_vector)
        self._done += 1
        self._report()
        return seen

    def ask_bank(self, queries: Sequence[str], *, texts: bool) -> Steps:
        """The first probes; where a hub correction is asked for, their vectors are the bank."""
        vectors: list[Any] | None = [] if self._hub_correction else None
        seen = []
        for query in queries:
            seen.append((yield from self.ask(query, texts=texts, vectors=vectors)))
            if self._hub_correction is True and not vectors:
                raise CalibrationError(_NO_VECTORS)
        try:
            self.bank = Bank.of(vectors) if vectors else None
        except (TypeError, ValueError):
            if self._hub_correction is True:
                raise CalibrationError(_NO_VECTORS) from None
        return seen

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self._done, self._total)

    def _note(self, pool: Pool) -> None:
        if any(cosine is not None and cosine == cosine for cosine in pool.cosines):
            self.found = "scores"
        elif len(pool) and self.found == "nothing":
            self.found = "no cosines"

    def _keep_texts(self, texts: Sequence[Any], ids: Sequence[Any] | None) -> None:
        for text, id_ in zip(texts, [None] * len(texts) if ids is None else ids, strict=True):
            if isinstance(text, str):
                self._texts[text] = None if id_ is None else str(id_)

    def _key(self, query: str, piece: PseudoQuery | None) -> str:
        """What a search is remembered by: a hash, so that no text is kept."""
        kind = "" if piece is None else f"piece {piece.source_id}"
        kind += "" if self.bank is None else f" {self.bank.packed}"
        text = f"{self._encoder}\n{kind}\n{query}".encode("utf-8", "surrogatepass")
        return blake2b(text, digest_size=12).hexdigest()


def _ask_probes(given: FitInput, asker: _Asker) -> Steps:
    """What the probes that fit the corpus found, and the tops of each language.

    Half of the bundled probes are asked in all languages, which shows what the encoder makes of
    a language; the other half in the scripts that the corpus is written in. Probes in another
    script are no queries that this corpus gets, so they are left out of the tops.
    """
    bare = given.documents is None
    if given.probes is not None:
        half = len(given.probes) // 2 if given.hub_correction else 0
        seen = yield from asker.ask_bank(given.probes[:half], texts=bare)
        return seen + (yield from _ask_all(given.probes[half:], asker, texts=bare)), []
    first = choose_probes(PROBES // 2, given.seed)
    seen = yield from asker.ask_bank(_texts(first), texts=bare)
    corpus = asker.texts_seen() if given.documents is None else given.documents
    scripts = scripts_of([text for _, text in corpus])
    left = [probe for probe in bundled_probes() if probe not in first]
    fitting = [probe for probe in left if scripts_of([probe.text]) & scripts]
    more = choose_probes(PROBES // 2, given.seed, fitting or left)
    asker.expect(len(first) + len(more) - PROBES)
    seen += yield from _ask_all(_texts(more), asker, texts=bare)
    asked = list(zip([*first, *more], seen, strict=True))
    fit = [found for probe, found in asked if scripts_of([probe.text]) & scripts]
    by_language: dict[str, list[float]] = {}
    for probe, found in asked:
        if found.top is not None:
            by_language.setdefault(probe.lang, []).append(found.top)
    return (fit if len(_tops(fit)) >= FEWEST_PROBES else seen), list(by_language.values())


def _ask_all(queries: Sequence[str], asker: _Asker, *, texts: bool = False) -> Steps:
    seen = []
    for query in queries:
        seen.append((yield from asker.ask(query, texts=texts)))
    return seen


def _texts(probes: Sequence[Probe]) -> list[str]:
    return [probe.text for probe in probes]


def _tops(seen: Sequence[Observation]) -> list[float]:
    return _present([found.top for found in seen])


def _present(tops: Sequence[float | None]) -> list[float]:
    return [top for top in tops if top is not None]
