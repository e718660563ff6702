"""The selector alone, for pipelines where only nodes are at hand."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.prompts import BasePromptTemplate, PromptTemplate
from llama_index.core.prompts.mixin import PromptDictType, PromptMixin
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import ConfigDict, Field, PrivateAttr, ValidationError

from llama_index_recall_signal.nodes import annotated, id_of, prompt_text
from llama_index_recall_signal.reporting import NODE_KEYS
from llama_index_recall_signal.selector import aask, as_selector, ask
from recall_signal import ConfigurationError
from recall_signal.confidence import Level
from recall_signal.driver import drive, drive_async
from recall_signal.reports import fresh_copy
from recall_signal.selection import Ask, SelectionOptions, Selector, select_page
from recall_signal.settings import RESERVED_KEYS
from recall_signal.signals import level_in

__all__ = ["PROMPT_KEY", "RecallSelectorPostprocessor", "with_prompt"]

PROMPT_KEY = "selection"


class RecallSelectorPostprocessor(BaseNodePostprocessor, PromptMixin):
    """Removes what a model finds irrelevant, and says so on every node that is left.

    It has no recall signal of its own; around a :class:`RecallRetriever` prefer its
    ``selector=``. Where a node already carries an entry, its ``selection`` and ``rank`` are
    replaced. Without a query nothing is asked. Its prompt is ``selection`` in ``get_prompts``.

    Attributes:
        selector: An LLM or any :class:`~recall_signal.selection.Selector`.
        options: How it is asked; ``skip_levels`` reads the level that the first node carries.
        metadata_key: Where the nodes carry the report.
        id_key: Metadata key of a node's id; None takes ``node_id``.

    Raises:
        ConfigurationError: The selector is not one, or another setting is wrong.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    selector: Any = Field(exclude=True)
    options: SelectionOptions = Field(default_factory=SelectionOptions)
    metadata_key: str = Field(default="recall", min_length=1)
    id_key: str | None = None

    _step: Selector = PrivateAttr()

    def __init__(self, **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            wrong = "; ".join(f"{item['loc'][0]}: {item['msg']}" for item in error.errors())
            raise ConfigurationError(f"RecallSelectorPostprocessor: {wrong}") from None
        if self.metadata_key in RESERVED_KEYS | NODE_KEYS:
            raise ConfigurationError(
                f"RecallSelectorPostprocessor: metadata_key {self.metadata_key!r} has a meaning "
                "of its own"
            )
        self._step = as_selector(self.selector)

    @classmethod
    def class_name(cls) -> str:
        """The component's name."""
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
        flow = self._flow(nodes, query_bundle.query_str)
        return drive(flow, lambda request: ask(self._step, request))

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            return nodes
        flow = self._flow(nodes, query_bundle.query_str)
        return await drive_async(flow, lambda request: aask(self._step, request))

    def _flow(
        self, nodes: list[NodeWithScore], query: str
    ) -> Generator[Ask, Any, list[NodeWithScore]]:
        kept, selection = yield from select_page(
            query,
            texts=[prompt_text(item) for item in nodes],
            ids=[id_of(self.id_key, item) for item in nodes],
            level=self._known_level(nodes),
            options=self.options,
        )
        report = {"v": 1, "selection": selection.model_dump(mode="json")}
        left = [nodes[position] for position in kept]
        return [
            annotated(
                item, self.metadata_key, {**self._entry(item), **fresh_copy(report), "rank": rank}
            )
            for rank, item in enumerate(left)
        ]

    def _known_level(self, nodes: list[NodeWithScore]) -> Level:
        return level_in(nodes[0].node.metadata.get(self.metadata_key)) if nodes else "unknown"

    def _entry(self, item: NodeWithScore) -> dict[str, Any]:
        entry = item.node.metadata.get(self.metadata_key)
        return fresh_copy(entry) if isinstance(entry, dict) else {}


def with_prompt(options: SelectionOptions, prompt: BasePromptTemplate) -> SelectionOptions:
    """The same options with another request; ``{candidates}`` must stand in it once.

    Raises:
        ConfigurationError: It does not.
    """
    return replace(options, prompt=prompt.get_template())
