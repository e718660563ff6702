"""The selector in LlamaIndex's terms: any LLM, or any `Selector` of the core."""

from __future__ import annotations

from asyncio import iscoroutinefunction
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.llms import ChatResponse, CompletionResponse, CustomLLM
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.prompts import PromptTemplate
from llama_index.core.tools import FunctionTool
from pydantic import BaseModel, ConfigDict, StrictStr, ValidationError

from recall_signal import ConfigurationError
from recall_signal._steps.blocking import holds_loop
from recall_signal._wrapper.answer_ends import ends_in, is_cut_off
from recall_signal._wrapper.model_calls import Model
from recall_signal.selection import ANSWER_SCHEMA, Answer, Select, SelectionRequest

__all__ = ["LLMSelector", "as_selector"]

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
        self.native_async = not _async_is_blocking(type(llm))

    @property
    def async_code(self) -> tuple[object, ...]:
        """Return the methods of the model that wait for it in async code."""
        if not self.structured:
            return (self.llm.acomplete,)
        return (self.llm.achat, self.llm.achat_with_tools) if self.by_tool else (self.llm.achat,)

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
        """Return the arguments of the one call, or else the text; nothing where it was cut off."""
        calls = self._arguments(response)
        content = response.message.content if not calls else calls[0] if len(calls) == 1 else None
        return Answer(None if is_cut_off(_ends(response)) else content, self._name(response))

    def _arguments(self, response: ChatResponse) -> list[str | Mapping[str, object]]:
        blocks = response.message.blocks  # the class of these came with llama-index-core 0.14.3
        calls: list[Any] = [block for block in blocks if hasattr(block, "tool_kwargs")]
        if not calls:
            calls = self.llm.get_tool_calls_from_response(response, error_on_no_tool_call=False)
        return [call.tool_kwargs for call in calls]

    def _predicted(self, kept: object) -> Answer:
        content = kept.model_dump() if isinstance(kept, _Kept) else None
        return Answer(content, self._name(None))

    def _text(self, response: CompletionResponse) -> Answer:
        content = None if is_cut_off(_ends(response)) else response.text
        return Answer(content, self._name(response))

    def _name(self, response: object) -> str:
        own = _part(getattr(response, "raw", None), "model")
        if isinstance(own, str) and own:
            return own
        return str(self.llm.metadata.model_name or self.llm.class_name())


def as_selector(selector: object) -> Model[Select, None, Answer]:
    """Wrap any accepted `selector=`.

    Raises:
        ConfigurationError: It is neither an LLM nor has it a `select` method.
    """
    chosen = LLMSelector(selector) if isinstance(selector, BaseLLM) else selector
    select, aselect = getattr(chosen, "select", None), getattr(chosen, "aselect", None)
    given = f"the class {chosen.__name__}" if isinstance(chosen, type) else type(chosen).__name__
    if not callable(select) or isinstance(chosen, type) or iscoroutinefunction(select):
        raise ConfigurationError(
            "selector must be an LLM or an object with select(request), beside which "
            f"aselect(request) may stand, got {given}"
        )
    if aselect is None or not getattr(chosen, "native_async", True):
        return Model(lambda asked, _: select(asked.request))
    code = chosen.async_code if isinstance(chosen, LLMSelector) else (aselect,)
    return Model(
        lambda asked, _: select(asked.request),
        lambda asked, _: aselect(asked.request),
        alone=any(map(holds_loop, code)),
    )


def _async_is_blocking(llm_class: type) -> bool:
    """Return whether asynchronous calls are `CustomLLM`'s, which block on synchronous ones."""
    line = llm_class.__mro__
    if CustomLLM not in line:
        return False
    ahead = line[: line.index(CustomLLM)]
    return not any("acomplete" in vars(llm) for llm in ahead)


def _ends(response: ChatResponse | CompletionResponse) -> Iterator[str]:
    """Yield what a response says of its end: itself, the reply behind it, or its first choice."""
    raw = response.raw
    message = response.message if isinstance(response, ChatResponse) else None
    places = [response.additional_kwargs, _part(message, "additional_kwargs"), raw]
    for name in ("choices", "candidates"):
        choices = _part(raw, name)
        places += choices[:1] if isinstance(choices, list | tuple) else []
    for place in places:
        yield from ends_in(partial(_part, place))


def _part(whole: object, name: str) -> object:
    return whole.get(name) if isinstance(whole, Mapping) else getattr(whole, name, None)
