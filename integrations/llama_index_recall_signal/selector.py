"""The selector in LlamaIndex's terms: any LLM, or any ``Selector`` of the core."""

from __future__ import annotations

from asyncio import iscoroutinefunction
from collections.abc import Mapping
from typing import Any

from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.llms import ChatResponse, CustomLLM
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.prompts import PromptTemplate
from llama_index.core.tools import FunctionTool
from pydantic import BaseModel, ConfigDict, StrictStr, ValidationError

from recall_signal import ConfigurationError
from recall_signal.deadline import await_within, call_within, thread_within
from recall_signal.selection import ANSWER_SCHEMA, Answer, Ask, SelectionRequest, Selector

__all__ = ["LLMSelector", "aask", "as_selector", "ask"]

_WHOLE = PromptTemplate("{request}")


class _Kept(BaseModel):
    """The labels of the search results that help to answer the question."""

    model_config = ConfigDict(extra="forbid")

    keep: list[StrictStr]


_TOOL = FunctionTool.from_defaults(
    fn=lambda keep: keep,
    name=ANSWER_SCHEMA["title"],
    description=ANSWER_SCHEMA["description"],
    fn_schema=_Kept,
)


class LLMSelector:
    """An LLM as a selector.

    A function-calling model is made to call one function with the labels. Its arguments are
    read as they came: LlamaIndex's structured prediction completes JSON that was cut off.

    Args:
        llm: Any LlamaIndex LLM.
        structured: Whether functions, or else structured prediction, are used: None where the
            model calls functions, False for JSON as text in any case.
    """

    def __init__(self, llm: Any, *, structured: bool | None = None) -> None:
        self.llm = llm
        calls = bool(getattr(llm.metadata, "is_function_calling_model", False))
        self.structured = calls if structured is None else structured
        self.by_tool = self.structured and calls and isinstance(llm, FunctionCallingLLM)
        self.native_async = not _borrows_async(type(llm))

    def select(self, request: SelectionRequest) -> Answer:
        """Ask synchronously."""
        if self.by_tool:
            return self._called(
                self.llm.chat_with_tools([_TOOL], user_msg=request.prompt, tool_required=True)
            )
        if not self.structured:
            return self._text(self.llm.complete(request.prompt))
        try:
            kept = self.llm.structured_predict(_Kept, _WHOLE, request=request.prompt)
        except ValidationError:
            kept = None
        return self._predicted(kept)

    async def aselect(self, request: SelectionRequest) -> Answer:
        """Ask asynchronously."""
        if self.by_tool:
            return self._called(
                await self.llm.achat_with_tools(
                    [_TOOL], user_msg=request.prompt, tool_required=True
                )
            )
        if not self.structured:
            return self._text(await self.llm.acomplete(request.prompt))
        try:
            kept = await self.llm.astructured_predict(_Kept, _WHOLE, request=request.prompt)
        except ValidationError:
            kept = None
        return self._predicted(kept)

    def _called(self, response: ChatResponse) -> Answer:
        """The arguments of the one call, or else the text."""
        calls = self._arguments(response)
        content = response.message.content if not calls else calls[0] if len(calls) == 1 else None
        return Answer(content, self._name(response))

    def _arguments(self, response: ChatResponse) -> list[str | Mapping[str, Any]]:
        blocks = response.message.blocks  # the class of these came with llama-index-core 0.14.3
        calls: list[Any] = [block for block in blocks if hasattr(block, "tool_kwargs")]
        if not calls:
            calls = self.llm.get_tool_calls_from_response(response, error_on_no_tool_call=False)
        return [call.tool_kwargs for call in calls]

    def _predicted(self, kept: Any) -> Answer:
        content = kept.model_dump() if isinstance(kept, _Kept) else None
        return Answer(content, self._name(None))

    def _text(self, response: Any) -> Answer:
        return Answer(response.text, self._name(response))

    def _name(self, response: Any) -> str:
        raw = getattr(response, "raw", None)
        own = raw.get("model") if isinstance(raw, Mapping) else getattr(raw, "model", None)
        if isinstance(own, str) and own:
            return own
        return str(self.llm.metadata.model_name or self.llm.class_name())


def as_selector(selector: Any) -> Selector:
    """Any accepted ``selector=`` with the methods of the core's ``Selector``.

    Raises:
        ConfigurationError: It is neither an LLM nor has it a ``select`` method.
    """
    if isinstance(selector, BaseLLM):
        return LLMSelector(selector)
    select = getattr(selector, "select", None)
    is_class = isinstance(selector, type)
    if callable(select) and not is_class and not iscoroutinefunction(select):
        chosen: Selector = selector
        return chosen
    given = f"the class {selector.__name__}" if is_class else type(selector).__name__
    raise ConfigurationError(
        f"selector must be an LLM or an object with select() and aselect(), got {given}"
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
