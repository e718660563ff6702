"""Term coverage as a calibration knows it: vocabulary, scale and line, and how they are learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from recall_signal._numbers import finite_column
from recall_signal._statistics import auroc
from recall_signal._words import (
    Vocabulary,
    best_coverage,
    coverage_front,
    is_foreign,
    is_witness,
    query_terms,
)
from recall_signal.calibration._separation import SEPARABLE
from recall_signal.calibration._word_scale import (
    NULL_SLOPE,
    PAST_SLOPE,
    WitnessPair,
    WordLine,
    WordScale,
    label_line,
    null_word_scale,
    past_cut,
    traffic_cut,
)
from recall_signal.pool import Pool

__all__ = ["WordScores", "Words", "estimate_words"]


@dataclass(frozen=True, slots=True)
class WordScores:
    """The searches of a fit on both witnesses; those without a cosine are left out.

    Attributes:
        vocabulary: Of the corpus.
        size: Texts in the corpus, known or estimated.
        probes: General questions in the corpus' own writing systems.
        pseudo_query: Pseudo-queries, without their own document.
        past: Past queries.
        labelled: Labelled ones, True where something relevant is stored.
    """

    vocabulary: Vocabulary
    size: int | None
    probes: Sequence[WitnessPair]
    pseudo_query: Sequence[WitnessPair]
    past: Sequence[WitnessPair] = ()
    labelled: Sequence[tuple[WitnessPair, bool]] = ()


@dataclass(frozen=True, slots=True)
class Words:
    """The second witness of a calibration.

    Attributes:
        vocabulary: Weights of the terms, and the language of the corpus.
        scale: The scale of both witnesses without labels.
        line: The line that decides.
    """

    vocabulary: Vocabulary
    scale: WordScale
    line: WordLine

    def measure(self, pool: Pool) -> tuple[float, bool] | None:
        """Return a pool's term coverage, and True where missing words say something.

        Returns:
            None without query, texts, or an informative term.
        """
        if pool.query is None or pool.texts is None:
            return None
        terms = query_terms(pool.query, self.vocabulary)
        if terms is None:
            return None
        cosines = finite_column(pool.cosines, "a cosine must be a number or None")
        step = self.scale.step
        front = coverage_front(terms, pool.texts, cosines, vocabulary=self.vocabulary, step=step)
        coverage = best_coverage(front, step)
        return None if coverage is None else (coverage, is_witness(terms.foreign, coverage))

    def count(self, query: str, coverage: float) -> bool:
        """Return True where words of a query that are missing say something, as in `measure`."""
        return is_witness(is_foreign(query, self.vocabulary), coverage)

    def following(self, traffic: Sequence[tuple[float, float]]) -> Words:
        """Return these words with the line moved by a window of (top cosine, coverage) pairs."""
        u = [self.scale.u(top, coverage) for top, coverage in traffic]
        return replace(self, line=self.scale.line(traffic_cut(self.scale, u), PAST_SLOPE))


def estimate_words(
    scores: WordScores, *, fewest_past: int, fewest_of_a_class: int
) -> tuple[Words, bool] | None:
    """Learn scale and line from reference scores.

    Args:
        scores: The searches of a fit.
        fewest_past: Past queries from which they move the cut.
        fewest_of_a_class: Labelled queries of each kind from which they make a line.

    Returns:
        The words, and True where labels made the line; None where the scores make no scale.
    """
    length = scores.vocabulary.length
    scale = null_word_scale(scores.probes, scores.pseudo_query, length, scores.size)
    if scale is None:
        return None
    past = [scale.of(seen) for seen in scores.past]  # in other languages too: all are traffic
    if len(past) >= fewest_past:
        line = scale.line(past_cut(scale, past), PAST_SLOPE)
    else:
        line = scale.line(scale.cut, NULL_SLOPE)
    labelled = [pair for pair in scores.labelled if pair[0].witness(scale.step)]
    by_label = {
        kind: [scale.of(seen) for seen, label in labelled if label is kind]
        for kind in (True, False)
    }
    if (
        min(map(len, by_label.values())) >= fewest_of_a_class
        and auroc(by_label[True], by_label[False]) > SEPARABLE
        and (learned := label_line(scale, labelled)) is not None
    ):
        return Words(scores.vocabulary, scale, learned), True
    return Words(scores.vocabulary, scale, line), False
