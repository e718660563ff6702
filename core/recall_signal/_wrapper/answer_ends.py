"""Ends of a model's answer, as providers report them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

__all__ = ["ends_in", "is_cut_off"]

_FINISH = ("finish_reason", "finishReason", "stop_reason", "stopReason", "done_reason")
"""Keys under which providers say how an answer ended. The first one counts: beside a
`finish_reason`, vLLM's `stop_reason` is the text or token at which it stopped."""

_WHOLE = (
    "stop", "tool_calls", "function_call", "completed",  # OpenAI, Mistral, Gemini, Ollama
    "end_turn", "tool_use", "stop_sequence",  # Anthropic, Bedrock
    "complete", "tool_call",  # Cohere
    "eos_token", "eos",  # Hugging Face, Together
)  # fmt: skip
"""Ends of a whole answer, in the words of the providers' own references. Any other (a length, a
filter, an error, a word that is not known) may stand in the middle of one."""

_ENDS_WHOLE = re.compile(rf"1|(?:{'|'.join(_WHOLE)})+")
"""A sum of LangChain's chunks joins what each of them says, such as `stopstop`; in Gemini's
enumeration `STOP` is 1."""


def ends_in(read: Callable[[str], object]) -> Iterator[str]:
    """Yield the ends that a reply, or a part of one, names, in small letters.

    Args:
        read: Returns what it has under a key, None for nothing.
    """
    yield next(filter(None, map(_end, map(read, _FINISH))), "")
    status = read("status")
    yield status.lower() if isinstance(status, str) else ""  # a number is that of HTTP
    yield "incomplete" if read("incomplete_details") else ""


def is_cut_off(ends: Iterable[str]) -> bool:
    """Return whether one of these ends, of `ends_in`, may be that of half an answer."""
    return any(end and not _ENDS_WHOLE.fullmatch(end) for end in ends)


def _end(value: object) -> str:
    """Return an end as text, "" for none; of a member of an enumeration its name."""
    name = getattr(value, "name", None) or value
    return str(name or "").lower()
