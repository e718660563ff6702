"""The values of a query's way: settings, the checked page, candidates, outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from operator import gt, lt
from typing import Generic, Protocol, TypeVar

from recall_signal._flow.backend import Flow
from recall_signal._flow.embedding import EmbeddingCache
from recall_signal._steps.failures import contained
from recall_signal.assess import Calibrator
from recall_signal.confidence import RecallConfidence
from recall_signal.errors import InvalidResultError
from recall_signal.pool import DEFAULT_POOL_SIZE, Pool
from recall_signal.reports import CosineSource, RerankReport, SelectionReport
from recall_signal.reranking import Reranked, Reranking
from recall_signal.selection import SelectionOptions
from recall_signal.thresholds import Thresholds

__all__ = [
    "CalibrationSource",
    "Candidates",
    "FixedCalibration",
    "FlowSettings",
    "Item",
    "Outcome",
    "SearchFlow",
    "has_settled_page",
    "item_id",
    "pool_of",
    "validate_page",
]

Item = TypeVar("Item")

_SEQUENCES = (list, tuple)  # a union would be made at every call


@dataclass(slots=True)
class Candidates(Generic[Item]):
    """The result of one call of the wrapped retriever.

    Attributes:
        items: Every candidate, in rank order.
        page: Positions in `items` of what the caller gets, in rank order.
        cosines: One per item, or of the first items only; None where the retriever's scores gave
            none.
        scores: Keyword scores, higher is better, of as many items.
        source: Where the cosines came from.
        reason: Why there are no cosines.
        encoder: Name of the encoder of these cosines, None where it is that of the settings.
        dimension: Length of the question's vector in the search, None where it was not seen.
    """

    items: Sequence[Item]
    page: Sequence[int]
    cosines: Sequence[float | None] | None = None
    scores: Sequence[float | None] | None = None
    source: CosineSource | None = None
    reason: str | None = None
    encoder: str | None = None
    dimension: int | None = None


_NOTHING = nullcontext()


class CalibrationSource(Protocol):
    """Source of a wrapper's calibration; looked up once in each query."""

    def current(
        self, encoder: str | None = None, dimension: int | None = None
    ) -> Calibrator | None:
        """Return the calibration in force, None where there is none.

        The calibration of another encoder is not in force.

        Args:
            encoder: Name of the encoder of the cosines that it is to judge, None where that is not
                known.
            dimension: Length of its vectors, likewise.
        """
        ...

    @property
    def reads_words(self) -> bool:
        """True where the next query's texts are read, as far as that is known before it."""
        ...

    def entry(self) -> Mapping[str, str | None] | None:
        """Return the part of a report that names the calibration, None without one.

        Never fails.
        """
        ...

    def running(self) -> AbstractContextManager[None]:
        """Return a block in which a query runs."""
        ...

    def observe(self, outcome: Outcome[Item], *, is_plain: bool, is_async: bool) -> None:
        """Learn from a finished query.

        Args:
            outcome: The end of the query.
            is_plain: Whether the call had no arguments or configuration of its own (a filter,
                another tenant).
            is_async: Whether the query ran on the running event loop.
        """
        ...


@dataclass(frozen=True, slots=True)
class FixedCalibration:
    """Calibration that does not change."""

    calibrator: Calibrator | None

    def current(
        self,
        encoder: str | None = None,  # noqa: ARG002
        dimension: int | None = None,  # noqa: ARG002
    ) -> Calibrator | None:
        """Return the calibration."""
        return self.calibrator

    @property
    def reads_words(self) -> bool:
        """True where the calibration reads texts."""
        return bool(getattr(self.calibrator, "reads_words", False))

    def entry(self) -> None:
        """Return None: a wrapper's calibration is watched, see `recall_signal._auto.source`."""

    def running(self) -> AbstractContextManager[None]:
        """Return a block without any effect."""
        return _NOTHING

    def observe(self, outcome: Outcome[Item], *, is_plain: bool, is_async: bool) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class FlowSettings(Generic[Item]):
    """The settings that hold for every query of a wrapper.

    Attributes:
        id_of: Returns an item's id, None where it has none.
        text_of: Returns the text of an item as the encoder sees it.
        read_text_of: Returns the text of an item as a language model sees it.
        content_of: Returns the text of an item without its metadata.
        thresholds: The cuts.
        calibration: Gives the level where cosines are usable.
        cache: Where re-embedded vectors are kept; None where no encoder was given.
        embed_limit: At most this many candidates are embedded again.
        annotate: Which items carry the report.
        metadata_key: The metadata key of the report.
        reranking: How the reranker is used; None where it is not.
        selection: The options of the selector; None where it is not used.
        retriever: Name of what is searched, for logs.
        encoder: Name of what embeds the queries, None where that is not known.
        own_encoder: Name of the wrapper's own encoder, which embeds texts again; None without one.
    """

    id_of: Callable[[Item], str | None]
    text_of: Callable[[Item], str]
    read_text_of: Callable[[Item], str]
    content_of: Callable[[Item], str]
    thresholds: Thresholds | None = None
    calibration: CalibrationSource = FixedCalibration(None)
    cache: EmbeddingCache | None = None
    embed_limit: int = DEFAULT_POOL_SIZE
    annotate: str = "all"
    metadata_key: str = "recall"
    reranking: Reranking | None = None
    selection: SelectionOptions | None = None
    retriever: str | None = None
    encoder: str | None = None
    own_encoder: str | None = None

    @property
    def reads_pool(self) -> bool:
        """True where a query may read the text of a candidate beyond the page."""
        if self.cache is not None:
            return True
        try:
            return contained(lambda: self.calibration.reads_words)
        except Exception:  # logged where it is to judge
            return True


@dataclass(slots=True)
class Outcome(Generic[Item]):
    """The end of a query: the page, the reports and the candidates.

    Attributes:
        query: The question, None where none was handed over.
        items: The page.
        entries: What each item of the page carries, None for nothing.
        confidence: The signal.
        selection: The selector's report.
        cosine_source: Where the cosines came from.
        report: The reports as plain JSON values.
        candidates: Every candidate.
        cosines: One per candidate.
        scores: Keyword scores, one per candidate.
        settings: The wrapper's.
        shown: Positions of the page in `candidates`, in page order, before the selector.
        kept: Those that the selector left.
        calibrator: What gave the level; None where nothing did.
        ranked: The reranker's result, None without one.
        seconds: From the beginning of the search to the reports.
        encoder: Name of the encoder of the cosines, None where that is not known.
        dimension: Length of its vectors, likewise.
    """

    query: str | None
    items: list[Item]
    entries: list[dict[str, object] | None]
    confidence: RecallConfidence
    selection: SelectionReport
    cosine_source: CosineSource | None
    report: dict[str, object]
    candidates: Sequence[Item]
    cosines: Sequence[float | None]
    scores: Sequence[float | None] | None
    settings: FlowSettings[Item]
    shown: Sequence[int]
    kept: Sequence[int]
    calibrator: Calibrator | None = None
    ranked: Reranked | None = None
    seconds: float | None = None
    encoder: str | None = None
    dimension: int | None = None

    @property
    def rerank(self) -> RerankReport | None:
        """Return the reranker's report, None without one."""
        return None if self.ranked is None else self.ranked.report

    @property
    def pool(self) -> Pool:
        """Build the pool of all candidates when it is read: most queries never need it."""
        pool = pool_of(self.query, self.candidates, self.cosines, self.scores, self.settings)
        if self.ranked is None:
            return pool
        return replace(pool, rerank_scores=self.ranked.by_candidate(len(self.candidates)))


def pool_of(
    query: str | None,
    items: Sequence[Item],
    cosines: Sequence[float | None],
    scores: Sequence[float | None] | None,
    settings: FlowSettings[Item],
) -> Pool:
    """Return the pool of these candidates, with the texts that people and models read."""
    return Pool(
        cosines=cosines,
        ids=[settings.id_of(item) for item in items],
        texts=[settings.content_of(item) for item in items],
        scores=scores,
        query=query,
    )


def validate_page(returned: object, item_class: type[Item]) -> list[Item]:
    """Return what a wrapped retriever returned as a list, if it is a page.

    Raises:
        InvalidResultError: It is something other than a list of the framework's own items.
    """
    if isinstance(returned, _SEQUENCES):
        if set(map(type, returned)) <= {item_class}:
            return list(returned)
        if all(isinstance(item, item_class) for item in returned):
            return list(returned)
        stranger = next(item for item in returned if not isinstance(item, item_class))
        given = f"a list with {type(stranger).__name__}"
    else:
        given = type(returned).__name__
    name = item_class.__name__
    raise InvalidResultError(
        f"the wrapped retriever must return a list of {name}, got {given}; "
        f"end what is wrapped with a step that returns {name}s"
    )


def item_id(metadata: Mapping[str, object] | None, key: str | None, own: str | None) -> str | None:
    """Return an item's id: what its metadata has under `key`, else the framework's own."""
    value = metadata.get(key) if key and metadata is not None else None
    try:
        return own if value is None else str(value)
    except Exception:  # an id that cannot be written down is none
        return own


def has_settled_page(scores: Sequence[float | None], size: int | None) -> bool:
    """Return whether the first `size` hits are surely those of a search for only that many.

    Many stores keep and order equal scores differently for every size. Where any two neighbours up
    to the end of the page are not in strict order, the retriever has to return a page of its own.

    Args:
        scores: As the store gave them, in its order; None or NaN is in no order.
        size: The size of the page; None where everything is on it.
    """
    if size is None or len(scores) <= size:
        return True
    known = [score for score in scores[: size + 1] if score is not None]
    if len(known) <= size:
        return False
    return all(map(gt, known, known[1:])) or all(map(lt, known, known[1:]))


SearchFlow = Flow[Candidates[Item]]
"""Steps of a framework around one call of the wrapped retriever."""
