"""The steps of a fit, without any I/O.

A generator yields one `Search` at a time and is sent what that returned; a driver carries
the searches out, synchronously or not. What takes long without one is a `Compute`. Nothing is kept
of a query but its figures.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from recall_signal._steps.compute import Compute, computed
from recall_signal._words import Vocabulary, learn_vocabulary
from recall_signal.calibration._corpus_size import estimate_size
from recall_signal.calibration._estimate import Estimate, estimate_calibration
from recall_signal.calibration._fit_input import CosineEvidence, FitInput, check_probes
from recall_signal.calibration._observation import Observation, as_pool, observe
from recall_signal.calibration._probes import Probe, bundled_probes, choose_probes
from recall_signal.calibration._pseudo_queries import (
    PseudoQuery,
    cut_pseudo_queries,
    writing_systems_of,
)
from recall_signal.calibration._requests import Search
from recall_signal.calibration._reranker import RerankAnchors
from recall_signal.calibration._separation import FEWEST_PROBES, ReferenceScores
from recall_signal.calibration._word_scale import WitnessPair
from recall_signal.calibration._words_estimate import WordScores
from recall_signal.errors import RecallSignalError
from recall_signal.pool import Pool

__all__ = ["PROBES", "PSEUDO_QUERIES", "FitFlow", "fit_flow"]

PROBES, PSEUDO_QUERIES = 120, 60
"""Searches of a fit by default: at most 180, plus one for each past or labelled query."""

PROBE_SEED = 0
"""Every fit asks the same probes, and its seed draws the pseudo-queries only: other probes move 5
to 10 of 72 levels."""

FAILURES = 0.2
"""Share of the searches of a fit that may fail; these are left out."""

FAILURES_AT_FIRST = 3
"""Searches that fail before the first success: then the retriever is down, and the fit ends."""


AHEAD = 60
"""Queries that a search names at most, so that they can be embedded together."""


FitFlow: TypeAlias = Generator[Search | Compute, object, Estimate]
_Step: TypeAlias = Generator[Search, object, Observation]
_Steps: TypeAlias = Generator[Search, object, list[Observation]]


def fit_flow(given: FitInput) -> FitFlow:
    """Run one fit.

    Args:
        given: The arguments. A driver that throws the exception of a search into the generator
            has it counted; the fit goes on as long as at most a fifth of the searches fail.

    Raises:
        CalibrationError: The store is empty, or too few probes bring a cosine back.
        InvalidInputError: A search returned something else than a pool or cosines.
        Exception: A search failed, and more of them than may.
    """
    session = _FitSession(given)
    probes, languages = yield from _ask_probes(given, session)
    check_probes(len(_tops(probes)), "scores" if _tops(probes) else session.found)
    documents = session.texts_seen() if given.documents is None else given.documents
    pseudo_queries = yield from computed(
        partial(cut_pseudo_queries, documents, PSEUDO_QUERIES, given.seed)
    )
    session.add_expected(len(pseudo_queries) - PSEUDO_QUERIES)
    pseudo_results = yield from session.ask_all(
        [one.text for one in pseudo_queries], sources=pseudo_queries
    )
    labels = given.labelled or ()
    past_results = yield from session.ask_all(given.past_queries or ())
    labelled_results = yield from session.ask_all([label.query for label in labels])
    seen = _Results(
        probes=probes,
        languages=languages,
        pseudo_query=pseudo_results,
        past=past_results,
        labelled=[
            (result, label.relevant) for result, label in zip(labelled_results, labels, strict=True)
        ],
        warnings=session.warnings(),
    )
    return (yield from computed(partial(_estimate, given, documents, seen)))


@dataclass(frozen=True, slots=True)
class _Results:
    """Results of all searches of a fit, and the sentences on those that failed."""

    probes: list[Observation]
    languages: list[list[float]]
    pseudo_query: list[Observation]
    past: list[Observation]
    labelled: list[tuple[Observation, bool]]
    warnings: list[str]


def _estimate(
    given: FitInput, documents: Sequence[tuple[str | None, str]], results: _Results
) -> Estimate:
    vocabulary = learn_vocabulary(text for _, text in documents)
    pools = [result.keys for result in (*results.probes, *results.pseudo_query)]
    size = estimate_size(pools, len(given.documents or ()))
    return estimate_calibration(
        ReferenceScores(
            probes=_tops(results.probes),
            languages=results.languages,
            pseudo_query=_present([one.top_excluding_source for one in results.pseudo_query]),
            self_retrieval=_tops(results.pseudo_query),
            past=_tops(results.past),
            labelled=[(one.top, label) for one, label in results.labelled if one.top is not None],
        ),
        WordScores(
            vocabulary=vocabulary,
            size=size,
            probes=_seen(results.probes, vocabulary),
            pseudo_query=_seen(results.pseudo_query, vocabulary),
            past=_seen(results.past, vocabulary),
            labelled=[
                (seen, label)
                for result, label in results.labelled
                if (seen := result.seen(vocabulary)) is not None
            ],
        ),
        with_past=given.past_queries is not None,
        with_labels=given.labelled is not None,
        reranked=RerankAnchors(
            probes=_present([result.reranked for result in results.probes]),
            self_retrieval=_present([result.reranked for result in results.pseudo_query]),
            labelled=[
                (one.top, one.reranked, label)
                for one, label in results.labelled
                if one.top is not None and one.reranked is not None
            ],
        ),
        rerank_scale=given.rerank_scale,
        warnings=results.warnings,
    )


class _FitSession:
    """Asks queries, keeps their figures, counts failures and reports progress."""

    def __init__(self, given: FitInput) -> None:
        self.found: CosineEvidence = "nothing"
        self._progress = given.progress
        self._seen: dict[tuple[str, PseudoQuery | None], Observation] = {}
        self._texts: dict[str, str | None] = {}
        self._done = 0
        self._failed = 0
        self._searched = 0
        self._total = (
            (PROBES if given.probes is None else len(given.probes))
            + PSEUDO_QUERIES
            + len(given.past_queries or ())
            + len(given.labelled or ())
        )

    def add_expected(self, more: int) -> None:
        """Adjust the expected number of searches."""
        self._total += more
        if more:
            self._report()

    def texts_seen(self) -> list[tuple[str | None, str]]:
        """Return the documents of the searches whose texts were kept, in a fixed order."""
        return [(id_, text) for text, id_ in sorted(self._texts.items())]

    def warnings(self) -> list[str]:
        """Return a sentence on failed searches, where there are any."""
        if not self._failed:
            return []
        return [f"{self._failed} of {self._searched} searches failed and were left out"]

    def ask_all(
        self,
        queries: Sequence[str],
        *,
        sources: Sequence[PseudoQuery] | None = None,
        keep_texts: bool = False,
    ) -> _Steps:
        """Search once for each query; one that comes again is answered from memory.

        Args:
            queries: The queries.
            sources: The pieces of stored texts that they are, if they are such.
            keep_texts: Keep the texts that come back.
        """
        pieces: Sequence[PseudoQuery | None] = sources or [None] * len(queries)
        keys = list(zip(queries, pieces, strict=True))
        results = []
        for begin in range(0, len(keys), AHEAD):
            part = keys[begin : begin + AHEAD]
            ahead = [key[0] for key in part if key not in self._seen]
            for key in part:
                if key not in self._seen:
                    self._seen[key] = yield from self._search(*key, ahead, keep_texts)
                    ahead = []
                self._done += 1
                self._report()
                results.append(self._seen[key])
        return results

    def _search(
        self, query: str, source: PseudoQuery | None, ahead: Sequence[str], keep_texts: bool
    ) -> _Step:
        self._searched += 1
        try:
            answer = yield Search(query, ahead)
        except RecallSignalError:  # a wrong setting, or a search that returns no pool
            raise
        except Exception:
            self._failed += 1
            down = self._failed == self._searched >= FAILURES_AT_FIRST
            if down or self._failed > FAILURES * self._total:
                raise
            return Observation(None)
        pool = as_pool(answer)
        self._record_outcome(pool)
        if keep_texts and pool.texts is not None:
            self._keep_texts(pool.texts, pool.ids)
        return observe(pool, query, source)

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self._done, self._total)

    def _record_outcome(self, pool: Pool) -> None:
        if any(cosine is not None and cosine == cosine for cosine in pool.cosines):
            self.found = "scores"
        elif len(pool) and self.found == "nothing":
            self.found = "no cosines"

    def _keep_texts(self, texts: Sequence[object], ids: Sequence[object] | None) -> None:
        for text, id_ in zip(texts, [None] * len(texts) if ids is None else ids, strict=True):
            if isinstance(text, str):
                self._texts[text] = None if id_ is None else str(id_)


def _ask_probes(
    given: FitInput, session: _FitSession
) -> Generator[Search | Compute, object, tuple[list[Observation], list[list[float]]]]:
    """Return the results of the probes that fit the corpus, and the tops of each language.

    Half of the bundled probes are asked in all languages, which shows how the encoder places a
    language; the other half in the corpus' own writing systems. Probes in another one are no
    queries that this corpus gets, so they are left out of the results.
    """
    bare = given.documents is None
    if given.probes is not None:
        results = yield from session.ask_all(given.probes, keep_texts=bare)
        return results, []
    first = choose_probes(PROBES // 2, PROBE_SEED)
    results = yield from session.ask_all(_texts(first), keep_texts=bare)
    corpus = session.texts_seen() if given.documents is None else given.documents
    systems = yield from computed(partial(writing_systems_of, [text for _, text in corpus]))
    left = [probe for probe in bundled_probes() if probe not in first]
    fitting = [probe for probe in left if writing_systems_of([probe.text]) & systems]
    more = choose_probes(PROBES // 2, PROBE_SEED, fitting or left)
    session.add_expected(len(first) + len(more) - PROBES)
    results += yield from session.ask_all(_texts(more), keep_texts=bare)
    asked = list(zip([*first, *more], results, strict=True))
    fit = [result for probe, result in asked if writing_systems_of([probe.text]) & systems]
    by_language: dict[str, list[float]] = {}
    for probe, result in asked:
        if result.top is not None:
            by_language.setdefault(probe.lang, []).append(result.top)
    return (fit if len(_tops(fit)) >= FEWEST_PROBES else results), list(by_language.values())


def _texts(probes: Sequence[Probe]) -> list[str]:
    return [probe.text for probe in probes]


def _seen(results: Sequence[Observation], vocabulary: Vocabulary) -> list[WitnessPair]:
    return [seen for result in results if (seen := result.seen(vocabulary)) is not None]


def _tops(results: Sequence[Observation]) -> list[float]:
    return _present([result.top for result in results])


def _present(tops: Sequence[float | None]) -> list[float]:
    return [top for top in tops if top is not None]
