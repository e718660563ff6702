"""The selector protocol, and the steps of one selection as part of the flow of a query."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Protocol, runtime_checkable

from recall_signal._names import without_secrets
from recall_signal._steps.compute import Compute, computed
from recall_signal._steps.driver import Steps, contained_steps
from recall_signal._steps.failures import is_timeout, original
from recall_signal._text import encodable
from recall_signal.confidence import Level
from recall_signal.reports import MAX_DROPPED_IDS, SelectionReason, SelectionReport
from recall_signal.selection._options import SelectionOptions
from recall_signal.selection._prompt import (
    SelectionDecision,
    SelectionRequest,
    apply_answer,
    build_request,
)

__all__ = ["Answer", "Select", "Selector", "SelectorError", "select_page"]

log = logging.getLogger(__name__)

_MAX_NAME = 200

_LONG = 20_000
"""Characters of a page from which a request is not made on an event loop; fewer take 3 ms."""


class SelectorError(Exception):
    """Raised by a selector that cannot answer; the page comes back with `llm_error`."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer.

    Attributes:
        content: `{"keep": [labels]}`, as a mapping or as JSON text; None where the model gave
            nothing that can be read.
        model: The model's name.
    """

    content: str | Mapping[str, object] | None
    model: str


@runtime_checkable
class Selector(Protocol):
    """Anything with these two methods can select; without `aselect` a thread calls `select`.

    An exception becomes `llm_error` (a `TimeoutError`: `timeout`); the page survives it.
    """

    def select(self, request: SelectionRequest) -> Answer:
        """Answer a request synchronously."""
        ...

    async def aselect(self, request: SelectionRequest) -> Answer:
        """Answer a request asynchronously."""
        ...


@dataclass(frozen=True, slots=True)
class Select:
    """Request of the flow: have this answered within `timeout` seconds, by an `Answer`."""

    name: ClassVar = "select"

    request: SelectionRequest
    timeout: float | None


SelectedPositions = tuple[Sequence[int], SelectionReport]


def select_page(
    question: str,
    texts: Sequence[str],
    ids: Sequence[str | None],
    level: Level,
    options: SelectionOptions,
) -> Steps[Select | Compute, SelectedPositions]:
    """Select from one page: the positions that stay, and the report on it.

    Args:
        question: The query.
        texts: The page's texts.
        ids: The page's ids; a result without one is reported by its place, as `#3`.
        level: The level of the pool, for `skip_levels`.
        options: See `SelectionOptions`.
    """
    skipped = _reason_to_skip(len(texts), level, options)
    if skipped is not None:
        return range(len(texts)), SelectionReport(applied=False, reason=skipped)
    decision, model = yield from _request_decision(question, texts, options)
    if decision.kept is None:
        return range(len(texts)), SelectionReport(applied=False, reason=decision.reason)
    return decision.kept, _applied(decision.kept, ids, model)


def _reason_to_skip(
    results: int, level: Level, options: SelectionOptions
) -> SelectionReason | None:
    if not results:
        return "no_results"
    if results < options.min_results:
        return "too_few_results"
    return "skipped_by_level" if level in options.skip_levels else None


def _request_decision(
    question: str, texts: Sequence[str], options: SelectionOptions
) -> Steps[Select | Compute, tuple[SelectionDecision, str]]:
    try:
        return (yield from contained_steps(_decision(question, texts, options)))
    except Exception as error:
        if is_timeout(error):
            return SelectionDecision(None, "timeout"), ""
        log.warning("the selector failed: %s", type(original(error)).__name__)
        return SelectionDecision(None, "llm_error"), ""


def _decision(
    question: str, texts: Sequence[str], options: SelectionOptions
) -> Steps[Select | Compute, tuple[SelectionDecision, str]]:
    build = partial(build_request, question, texts, options)
    is_long = sum(map(len, texts)) + len(question) > _LONG
    request = (yield from computed(build)) if is_long else build()
    answer = yield Select(request, options.timeout)
    if not isinstance(answer, Answer):
        log.warning("the selector must return an Answer, got %s", type(answer).__name__)
        return SelectionDecision(None, "invalid_output"), ""
    if not isinstance(answer.content, str | Mapping | None):
        log.warning(
            "the content of the selector's Answer must be a text or a mapping, got %s",
            type(answer.content).__name__,
        )
    return apply_answer(request, answer.content, options), _model_name(answer.model)


def _applied(kept: Sequence[int], ids: Sequence[str | None], model: str) -> SelectionReport:
    left = set(kept)
    dropped = [at for at in range(len(ids)) if at not in left]
    names = [str(ids[at] or f"#{at + 1}") for at in dropped[:MAX_DROPPED_IDS]]
    return SelectionReport(
        applied=True,
        model=model,
        kept=len(kept),
        dropped=len(dropped),
        dropped_memory_ids=names,
    )


def _model_name(name: object) -> str:
    """Make a name that can be written down, whatever a selector calls its model."""
    if not isinstance(name, str) or not name:
        return "unknown"
    return encodable(without_secrets(name)[:_MAX_NAME])
