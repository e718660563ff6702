"""The selector alone, for pipelines where only nodes are at hand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from operator import attrgetter
from typing import ClassVar, Self

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.prompts import BasePromptTemplate, PromptTemplate
from llama_index.core.prompts.mixin import PromptDictType, PromptMixin
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import PrivateAttr

from llama_index_recall_signal._annotation import NODE_KEYS
from llama_index_recall_signal._nodes import annotated, id_of, prompt_text
from llama_index_recall_signal._selector import as_selector
from recall_signal._steps.timeouts import CallLimits, Workers
from recall_signal._wrapper.checked_settings import RESERVED_KEYS
from recall_signal._wrapper.model_calls import Model
from recall_signal._wrapper.page_selection import (
    PageSelection,
    PageSelectionSettings,
    Selected,
    select,
    select_async,
)
from recall_signal.selection import Answer, Select, SelectionOptions

__all__ = ["PROMPT_KEY", "RecallSelectorPostprocessor", "with_prompt"]

PROMPT_KEY = "selection"


class RecallSelectorPostprocessor(PageSelectionSettings, BaseNodePostprocessor, PromptMixin):
    """Removes what a model finds irrelevant, and reports it on every node that is left.

    It has no recall signal of its own (`unknown`, `no_signal`); around a `RecallRetriever` prefer
    its `selector=`. Where a node already carries a whole entry, its `selection`, `advice` and
    `rank` are replaced; anything else under the key is removed. Whether a `RecallRetriever` of this
    call made an entry cannot be seen: one that was stored counts as well, so store pages by
    `without_report`. Without a query nothing is asked. Its prompt is `selection` in `get_prompts`.

    Raises:
        ConfigurationError: The selector is not one, or another setting is wrong.
    """

    reserved_keys: ClassVar[frozenset[str]] = RESERVED_KEYS | NODE_KEYS

    _model: Model[Select, None, Answer] = PrivateAttr()
    _limits: CallLimits = PrivateAttr(default_factory=CallLimits)
    _workers: Workers = PrivateAttr(default_factory=Workers)

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)
        self._model = as_selector(self.selector)

    def model_copy(self, *, update: Mapping[str, object] | None = None, deep: bool = False) -> Self:
        """Return a copy that asks its own selector."""
        copied = super().model_copy(update=update, deep=deep)
        copied._model, copied._limits = as_selector(copied.selector), CallLimits()
        return copied

    @classmethod
    def class_name(cls) -> str:
        """Return the component's name."""
        return "RecallSelectorPostprocessor"

    def _get_prompts(self) -> PromptDictType:
        return {PROMPT_KEY: PromptTemplate(self.options.prompt)}

    def _update_prompts(self, prompts: PromptDictType) -> None:
        if PROMPT_KEY in prompts:
            self.options = with_prompt(self.options, prompts[PROMPT_KEY])

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            return nodes
        steps = self._selection.flow(query_bundle.query_str, nodes, self.options)
        return self._copies(select(steps, self._model, self._limits, None))

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            return nodes
        steps = self._selection.flow(query_bundle.query_str, nodes, self.options)
        selected = await select_async(steps, self._model, self._limits, None, self._workers)
        return self._copies(selected)

    @property
    def _selection(self) -> PageSelection[NodeWithScore]:
        metadata_of = attrgetter("node.metadata")
        return PageSelection(
            self.metadata_key, metadata_of, prompt_text, partial(id_of, self.id_key)
        )

    def _copies(self, selected: Selected[NodeWithScore]) -> list[NodeWithScore]:
        pairs = zip(selected.items, selected.entries, strict=True)
        return [annotated(item, self.metadata_key, entry) for item, entry in pairs]


def with_prompt(options: SelectionOptions, prompt: BasePromptTemplate) -> SelectionOptions:
    """Return the same options with another request; `{candidates}` must stand in it once.

    Raises:
        ConfigurationError: It does not.
    """
    return options.replace(prompt=prompt.get_template())
