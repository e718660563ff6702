"""The selector in LlamaIndex's terms: any LLM, or any ``Selector`` of the core."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.llms import CustomLLM
from llama_index.core.prompts import PromptTemplate
from pydantic import BaseModel, ConfigDict, StrictStr

from recall_signal import ConfigurationError
from recall_signal.selection import Answer, Ask, SelectionRequest, Selector
from recall_signal.selection.deadline import await_within, call_within, thread_within

__all__ = ["LLMSelector", "aask", "as_selector", "ask"]

_WHOLE = PromptTemplate("{request}")


class _Kept(BaseModel):
    """The labels of the search results that help to answer the question."""

    model_config = ConfigDict(extra="forbid")

    keep: list[StrictStr]


class LLMSelector:
    """An LLM as a selector.

    Args:
        llm: Any LlamaIndex LLM.
        structured: Whether its structured prediction is used: None where it calls functions,
            False for JSON as text in any case.
    """

    def __init__(self, llm: Any, *, structured: bool | None = None) -> None:
        self.llm = llm
        calls_functions = bool(getattr(llm.metadata, "is_function_calling_model", False))
        self.structured = calls_functions if structured is None else structured
        self.native_async = not _borrows_async(type(llm))

    def select(self, request: SelectionRequest) -> Answer:
        """Ask synchronously."""
        if self.structured:
            kept = self.llm.structured_predict(_Kept, _WHOLE, request=request.prompt)
            return self._structured(kept)
        return self._text(self.llm.complete(request.prompt))

    async def aselect(self, request: SelectionRequest) -> Answer:
        """Ask asynchronously."""
        if self.structured:
            kept = await self.llm.astructured_predict(_Kept, _WHOLE, request=request.prompt)
            return self._structured(kept)
        return self._text(await self.llm.acomplete(request.prompt))

    def _structured(self, kept: Any) -> Answer:
        content = kept.model_dump() if isinstance(kept, _Kept) else None
        return Answer(content, self._name())

    def _text(self, response: Any) -> Answer:
        raw = response.raw
        own = raw.get("model") if isinstance(raw, dict) else getattr(raw, "model", None)
        return Answer(response.text, own if isinstance(own, str) else self._name())

    def _name(self) -> str:
        return str(self.llm.metadata.model_name or self.llm.class_name())


def as_selector(selector: Any) -> Selector:
    """Any accepted ``selector=`` with the methods of the core's ``Selector``.

    Raises:
        ConfigurationError: It is neither an LLM nor has it a ``select`` method.
    """
    if isinstance(selector, BaseLLM):
        return LLMSelector(selector)
    if callable(getattr(selector, "select", None)):
        chosen: Selector = selector
        return chosen
    raise ConfigurationError(
        "selector must be an LLM or an object with select() and aselect(), "
        f"got {type(selector).__name__}"
    )


def _borrows_async(llm_class: type) -> bool:
    """Whether the asynchronous call is ``CustomLLM``'s, which blocks on the synchronous one."""
    line = llm_class.__mro__
    if CustomLLM not in line:
        return False
    ahead = line[: line.index(CustomLLM)]
    return not any("acomplete" in vars(llm) for llm in ahead)


def ask(selector: Selector, asked: Ask) -> Answer:
    """Carry out one request within its time."""
    return call_within(asked.timeout, lambda: selector.select(asked.request))


async def aask(selector: Selector, asked: Ask) -> Answer:
    """:func:`ask`, asynchronously; what has no async code of its own gets a thread."""
    if getattr(selector, "native_async", hasattr(selector, "aselect")):
        return await await_within(asked.timeout, selector.aselect(asked.request))
    return await thread_within(asked.timeout, lambda: selector.select(asked.request))
