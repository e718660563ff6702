"""The warning of a wrapper that can never measure anything."""

from __future__ import annotations

import logging

from recall_signal.reasons import REASONS

__all__ = ["warn_unmeasurable"]


def warn_unmeasurable(log: logging.Logger, wrapped: object, reason: str, encoder: str) -> None:
    """Log that every level of a new wrapper will be `unknown`, and what helps.

    Called once, where the wrapper is made, and only where that is certain.

    Args:
        log: The logger of the framework's package.
        wrapped: The wrapped retriever; its class is named.
        reason: The key of `REASONS` that every report will carry.
        encoder: The wrapper's setting that takes an encoder.
    """
    log.warning(
        "this RecallRetriever can never measure a match: around %s every level will be unknown "
        "(%s: %s). Pass %s=, so that the returned texts are embedded again, or score_kind= with "
        "score_key=, where their metadata holds a score",
        type(wrapped).__name__,
        reason,
        REASONS.get(reason, reason),
        encoder,
    )
