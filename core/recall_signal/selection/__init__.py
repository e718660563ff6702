"""The selection protocol: ask a model which results to keep, and accept only a valid answer.

No I/O happens here. A driver sends `SelectionRequest.prompt` to some model, in whatever way,
and hands the answer to `apply_answer`::

    request = build_request(question, texts, options)
    decision = apply_answer(request, answer, options)  # positions to keep, or a reason
"""

from recall_signal.selection._collect import collect_selections, publish_selection
from recall_signal.selection._options import DEFAULT_PROMPT, SelectionOptions
from recall_signal.selection._prompt import (
    ANSWER_SCHEMA,
    SelectionDecision,
    SelectionRequest,
    apply_answer,
    build_request,
    parse_labels,
)
from recall_signal.selection._select import (
    Answer,
    Select,
    Selector,
    SelectorError,
    select_page,
)

__all__ = [
    "ANSWER_SCHEMA",
    "DEFAULT_PROMPT",
    "Answer",
    "Select",
    "SelectionDecision",
    "SelectionOptions",
    "SelectionRequest",
    "Selector",
    "SelectorError",
    "apply_answer",
    "build_request",
    "collect_selections",
    "parse_labels",
    "publish_selection",
    "select_page",
]
