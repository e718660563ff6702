"""The response of `recall`, as far as both frameworks share it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

from recall_signal._cards import Printer
from recall_signal._flow.values import Item, Outcome
from recall_signal.agents._tool import ToolItem
from recall_signal.confidence import RecallConfidence
from recall_signal.display import PageRow, response_html, response_text
from recall_signal.pool import Pool
from recall_signal.reports import CosineSource, ReportsMixin, RerankReport, SelectionReport

__all__ = ["RecallResponseBase"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RecallResponseBase(ReportsMixin):
    """Retrieval and its signal.

    Attributes:
        confidence: The recall signal of the whole pool.
        selection: The selector's report.
        pool: Every candidate that was looked at: cosines, ids, texts, scores.
            `assess(pool, thresholds=...)` judges it again without a search.
        cosine_source: Where the cosines came from, None where there are none.
        rerank: The reranker's report, None without one.
        rows: The page before the selector, each result with its cosine; one that the selector
            left out has no rank.
        cut: The top cosine with probability 0.5 at this query's term coverage, None where no
            calibration gave the level.
        calibration: `id`, `created` and `status` of the calibration in use, None without one.
    """

    confidence: RecallConfidence
    selection: SelectionReport
    pool: Pool = field(default_factory=lambda: Pool([]))
    cosine_source: CosineSource | None = None
    rerank: RerankReport | None = None
    rows: tuple[PageRow, ...] = field(default_factory=tuple)
    cut: float | None = field(default_factory=lambda: None)
    calibration: Mapping[str, str | None] | None = None

    @classmethod
    def of(cls, outcome: Outcome[Item], **page: object) -> Self:
        """Make the response of a query; its pool is built when it is read.

        Args:
            outcome: The query's.
            **page: The page as it is returned, under the framework's name for it.
        """
        response = object.__new__(cls)
        vars(response).update(
            page,
            confidence=outcome.confidence,
            selection=outcome.selection,
            cosine_source=outcome.cosine_source,
            rerank=outcome.rerank,
            calibration=outcome.report.get("calibration"),
            _encoder_name=outcome.encoder,
            _outcome=outcome,
        )
        return response

    @property
    def _encoder(self) -> str | None:
        """Name of the encoder of the cosines, None where that is not known."""
        name: str | None = vars(self).get("_encoder_name")
        return name

    @abstractmethod
    def page_items(self) -> list[ToolItem]:
        """Return the page as id, text and metadata of each result, whatever the framework."""

    if not TYPE_CHECKING:  # pragma: no branch  (or a type checker believes in any attribute)

        def __getattr__(self, name: str) -> object:
            made, own = _LATER.get(name), vars(self)
            outcome = own.get("_outcome")
            if made is None or outcome is None:
                if name in own:  # another thread has just built it
                    return own[name]
                page = _PAGES & own.keys() if name in _PAGES else ()
                hint = "".join(f"; its page is {own_name}" for own_name in page)
                raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{hint}")
            value = own.setdefault(name, made(outcome))
            if own.keys() >= _LATER.keys():
                own.pop("_outcome", None)
            return value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_LATER})

    def __getstate__(self) -> dict[str, object]:
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}(level={self.level!r}, advice={self.advice!r}, results={self.shown})"

    def __str__(self) -> str:
        return response_text(self)

    def _repr_html_(self) -> str:
        return response_html(self)

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:  # noqa: ARG002  (IPython's)
        printer.text(str(self))


def _rows(outcome: Outcome[Item]) -> tuple[PageRow, ...]:
    pool = outcome.pool
    scores = pool.rerank_scores or [None] * len(pool)
    kept = {position: rank for rank, position in enumerate(outcome.kept)}
    ids, texts = pool.ids or (), pool.texts or ()
    return tuple(
        PageRow(
            rank=kept.get(position),
            id=ids[position],
            text=texts[position] or "",
            cosine=pool.cosines[position],
            rerank_score=scores[position],
        )
        for position in outcome.shown
    )


def _cut(outcome: Outcome[Item]) -> float | None:
    """Return the cut in force; a level that no calibration gave has none."""
    cut_for = getattr(outcome.calibrator, "cut_for", None)
    if cut_for is None or outcome.confidence.probability is None:
        return None
    found: float | None = cut_for(outcome.pool)
    return found


_PAGES = {"documents", "nodes"}
"""Names of the page in the frameworks."""

_LATER: dict[str, Callable[[Outcome[Any]], object]] = {
    "pool": lambda outcome: outcome.pool,
    "rows": _rows,
    "cut": _cut,
}
"""Parts that are built when they are read: most queries never need them."""
