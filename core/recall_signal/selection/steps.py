"""The steps of one selection, as part of the flow of a query: when to ask, and what it means."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from recall_signal.confidence import Level
from recall_signal.deadline import is_timeout
from recall_signal.reports import SelectionReason, SelectionReport
from recall_signal.selection.answer import Verdict, apply_answer
from recall_signal.selection.options import SelectionOptions
from recall_signal.selection.request import SelectionRequest, build_request
from recall_signal.selection.selector import Answer

__all__ = ["Ask", "select_page"]

log = logging.getLogger(__name__)

MOST_DROPPED_IDS = 20
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the selector, for at most ``timeout`` seconds. Answered with an ``Answer``."""

    request: SelectionRequest
    timeout: float | None


Selected = tuple[Sequence[int], SelectionReport]


def select_page(
    question: str,
    texts: Sequence[str],
    ids: Sequence[str | None],
    level: Level,
    options: SelectionOptions,
) -> Generator[Ask, Any, Selected]:
    """Which positions of the page stay, and the report on it.

    Args:
        question: The query.
        texts: The page's texts.
        ids: The page's ids; a result without one is reported by its place, as ``#3``.
        level: The level of the pool, for ``skip_levels``.
        options: See :class:`SelectionOptions`.
    """
    everything = range(len(texts))
    skipped = _why_skip(len(texts), level, options)
    if skipped is not None:
        return everything, SelectionReport(applied=False, reason=skipped)
    deadline = None if options.timeout is None else monotonic() + options.timeout
    reason: SelectionReason = "llm_error"
    for _ in range(options.retries + 1):
        left = None if deadline is None else deadline - monotonic()
        if left is not None and left <= 0:
            return everything, SelectionReport(applied=False, reason="timeout")
        verdict, model = yield from _ask_once(question, texts, options, left)
        if verdict.kept is not None:
            return verdict.kept, _applied(verdict.kept, ids, model)
        assert verdict.reason is not None  # noqa: S101  (a verdict has one or the other)
        reason = verdict.reason
        if reason not in ("llm_error", "invalid_output"):
            break
    return everything, SelectionReport(applied=False, reason=reason)


def _why_skip(results: int, level: Level, options: SelectionOptions) -> SelectionReason | None:
    if not results:
        return "no_results"
    if results < options.min_results:
        return "too_few_results"
    return "skipped_by_level" if level in options.skip_levels else None


def _ask_once(
    question: str, texts: Sequence[str], options: SelectionOptions, timeout: float | None
) -> Generator[Ask, Any, tuple[Verdict, str]]:
    try:
        request = build_request(question, texts, options)
        answer = yield Ask(request, timeout)
        if not isinstance(answer, Answer):
            return Verdict(None, "invalid_output"), ""
        return apply_answer(request, answer.content, options), _model_name(answer.model)
    except Exception as error:
        if is_timeout(error):
            return Verdict(None, "timeout"), ""
        log.warning("the selector failed: %s", type(error).__name__)
        return Verdict(None, "llm_error"), ""


def _applied(kept: Sequence[int], ids: Sequence[str | None], model: str) -> SelectionReport:
    left = set(kept)
    dropped = [at for at in range(len(ids)) if at not in left]
    names = [str(ids[at] or f"#{at + 1}") for at in dropped]
    return SelectionReport(
        applied=True,
        model=model,
        kept=len(kept),
        dropped=len(dropped),
        dropped_memory_ids=names[:MOST_DROPPED_IDS],
    )


def _model_name(name: Any) -> str:
    """A name that can be written down, whatever a selector calls its model."""
    if not isinstance(name, str) or not name:
        return "unknown"
    return name[:_LONGEST_NAME].encode("utf-8", "replace").decode("utf-8")
