"""Learning a calibration through a retriever's own search, as steps without any I/O.

A generator asks for one search at a time (:class:`Search`) and is sent the pool; a driver
carries the searches out, synchronously or not. Nothing is kept of a query but its figures.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from recall_signal.calibration.conclude import Anchors, conclude
from recall_signal.calibration.given import FEWEST_PROBES, FitInput, fit_input
from recall_signal.calibration.model import Calibration
from recall_signal.calibration.observe import as_pool, observe
from recall_signal.calibration.probes import Probe, bundled_probes, choose_probes
from recall_signal.calibration.pseudo import PseudoQuery, cut_pseudo_queries
from recall_signal.calibration.scripts import scripts_of

__all__ = ["FitInput", "Search", "as_pool", "fit_flow", "fit_input"]

PROBES, PSEUDO_QUERIES = 120, 60
"""Searches of a fit by default: 180, plus one for each past or labelled query."""

Steps = Generator["Search", Any, Any]


@dataclass(frozen=True, slots=True)
class Search:
    """Ask the retriever. Answered with a :class:`Pool` or a sequence of cosines."""

    query: str


def fit_flow(given: FitInput) -> Generator[Search, Any, Calibration]:
    """The steps of one fit."""
    asker = _Asker(given)
    probes, languages = yield from _ask_probes(given, asker)
    documents = asker.texts_seen() if given.documents is None else given.documents
    pieces = cut_pseudo_queries(documents, PSEUDO_QUERIES, given.seed)
    asker.expect(len(pieces) - PSEUDO_QUERIES)
    cut = []
    for piece in pieces:
        cut.append((yield from asker.ask(piece.text, piece)))
    labels = given.labelled or ()
    past = yield from _ask_tops(given.past_queries or (), asker)
    tops = yield from _ask_tops([label.query for label in labels], asker)
    anchors = Anchors(
        probes=_present(probes),
        languages=languages,
        pseudo=_present([seen.without for seen in cut]),
        hits=_present([seen.top for seen in cut]),
        past=_present(past),
        labelled=[(t, label) for t, label in zip(tops, labels, strict=True) if t is not None],
    )
    return conclude(given, anchors)


class _Asker:
    """Asks, remembers the figures, and reports progress."""

    def __init__(self, given: FitInput) -> None:
        self._memory = given.memory
        self._progress = given.progress
        self._encoder = given.encoder
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

    def ask(self, query: str, piece: PseudoQuery | None = None, *, texts: bool = False) -> Steps:
        """One search; spared where its figures are remembered and its texts are not needed."""
        key = self._key(query, piece)
        seen = self._memory.get(key)
        if seen is None or texts:
            pool = as_pool((yield Search(query)))
            if seen is None:
                seen = self._memory[key] = observe(pool, piece)
            if texts and pool.texts is not None:
                self._keep_texts(pool.texts, pool.ids)
        self._done += 1
        self._report()
        return seen

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self._done, self._total)

    def _keep_texts(self, texts: Sequence[Any], ids: Sequence[Any] | None) -> None:
        for text, id_ in zip(texts, [None] * len(texts) if ids is None else ids, strict=True):
            if isinstance(text, str):
                self._texts[text] = None if id_ is None else str(id_)

    def _key(self, query: str, piece: PseudoQuery | None) -> str:
        """What a search is remembered by: a hash, so that no text is kept."""
        kind = "" if piece is None else f"piece {piece.source_id}"
        text = f"{self._encoder}\n{kind}\n{query}".encode("utf-8", "surrogatepass")
        return blake2b(text, digest_size=12).hexdigest()


def _ask_probes(given: FitInput, asker: _Asker) -> Steps:
    """The tops of the probes that fit the corpus, and the tops of each language.

    Half of the bundled probes are asked in all languages, which shows what the encoder makes of
    a language; the other half in the scripts that the corpus is written in. Probes in another
    script are no queries that this corpus gets, so they are left out of the tops.
    """
    bare = given.documents is None
    if given.probes is not None:
        return (yield from _ask_tops(given.probes, asker, texts=bare)), []
    first = choose_probes(PROBES // 2, given.seed)
    tops = yield from _ask_tops(_texts(first), asker, texts=bare)
    corpus = asker.texts_seen() if given.documents is None else given.documents
    scripts = scripts_of([text for _, text in corpus])
    left = [probe for probe in bundled_probes() if probe not in first]
    fitting = [probe for probe in left if scripts_of([probe.text]) & scripts]
    more = choose_probes(PROBES // 2, given.seed, fitting or left)
    asker.expect(len(first) + len(more) - PROBES)
    tops += yield from _ask_tops(_texts(more), asker, texts=bare)
    asked = list(zip([*first, *more], tops, strict=True))
    fit = [top for probe, top in asked if scripts_of([probe.text]) & scripts]
    by_language: dict[str, list[float]] = {}
    for probe, top in asked:
        if top is not None:
            by_language.setdefault(probe.lang, []).append(top)
    return (fit if len(_present(fit)) >= FEWEST_PROBES else tops), list(by_language.values())


def _ask_tops(queries: Sequence[str], asker: _Asker, *, texts: bool = False) -> Steps:
    tops = []
    for query in queries:
        tops.append((yield from asker.ask(query, texts=texts)).top)
    return tops


def _texts(probes: Sequence[Probe]) -> list[str]:
    return [probe.text for probe in probes]


def _present(tops: Sequence[float | None]) -> list[float]:
    return [top for top in tops if top is not None]
