"""The selection protocol: ask a model what to keep, and believe only a well-formed answer.

No I/O here. A driver sends :attr:`SelectionRequest.prompt` to some model, in whatever way, and
hands the answer to :func:`apply_answer`::

    request = build_request(question, texts, options)
    verdict = apply_answer(request, answer, options)     # positions to keep, or a reason
"""

from recall_signal.selection.answer import Verdict, apply_answer, parse_labels
from recall_signal.selection.options import DEFAULT_PROMPT, SelectionOptions
from recall_signal.selection.request import ANSWER_SCHEMA, SelectionRequest, build_request
from recall_signal.selection.selector import Answer, Selector, SelectorError
from recall_signal.selection.steps import Ask, select_page

__all__ = [
    "ANSWER_SCHEMA",
    "DEFAULT_PROMPT",
    "Answer",
    "Ask",
    "SelectionOptions",
    "SelectionRequest",
    "Selector",
    "SelectorError",
    "Verdict",
    "apply_answer",
    "build_request",
    "parse_labels",
    "select_page",
]
