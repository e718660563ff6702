"""The selector alone, for pipelines built on `ContextualCompressionRetriever`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Self

from langchain_core.callbacks import BaseCallbackManager, Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict, PrivateAttr

from langchain_recall_signal._documents import id_of, text_of
from langchain_recall_signal._events import asend, send
from langchain_recall_signal._selector import RunnableSelector
from recall_signal._steps.timeouts import CallLimits, Workers
from recall_signal._wrapper.page_selection import (
    PageSelection,
    PageSelectionSettings,
    Selected,
    select,
    select_async,
)
from recall_signal.reports import copy_nested

__all__ = ["SelectorCompressor"]


class SelectorCompressor(PageSelectionSettings, BaseDocumentCompressor):
    """Removes what a model finds irrelevant, and reports it on every document that is left.

    A compressor sees documents only, so there is no recall signal here (`unknown`, `no_signal`),
    and LangChain does not call it for an empty page; around a `RecallRetriever` prefer its
    `selector=`. Where a document already carries a whole entry, its `selection`, `advice` and
    `rank` are replaced; anything else under the key is removed. Whether a `RecallRetriever` of this
    call made an entry cannot be seen: one that was stored counts as well, so store pages by
    `without_report`. Within a run, the custom event `recall_signal` carries the reports as well,
    also where no document is left.

    Raises:
        ConfigurationError: The selector is not one, or another setting is wrong.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", frozen=True)

    _step: RunnableSelector = PrivateAttr()
    _limits: CallLimits = PrivateAttr(default_factory=CallLimits)
    _workers: Workers = PrivateAttr(default_factory=Workers)
    _events: CallLimits = PrivateAttr(default_factory=CallLimits)

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)
        self._step = RunnableSelector(self.selector)

    def model_copy(self, *, update: Mapping[str, object] | None = None, deep: bool = False) -> Self:
        """Return a copy that asks its own selector."""
        copied = super().model_copy(update=update, deep=deep)
        copied._step, copied._limits = RunnableSelector(copied.selector), CallLimits()
        return copied

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Return the documents that stay, as copies, in their order."""
        steps = self._selection.flow(query, documents, self.options)
        selected = select(steps, self._step.model, self._limits, callbacks)
        if (listening := _listening(callbacks)) is not None:
            send(selected.report, listening)
        return self._copies(selected)

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """`compress_documents`, asynchronously."""
        steps = self._selection.flow(query, documents, self.options)
        selected = await select_async(
            steps, self._step.model, self._limits, callbacks, self._workers
        )
        if (listening := _listening(callbacks)) is not None:
            await asend(selected.report, listening, self._events)
        return self._copies(selected)

    @property
    def _selection(self) -> PageSelection[Document]:
        return PageSelection(
            self.metadata_key, attrgetter("metadata"), text_of, partial(id_of, self.id_key)
        )

    def _copies(self, selected: Selected[Document]) -> list[Document]:
        copies = []
        for document, entry in zip(selected.items, selected.entries, strict=True):
            metadata = {**copy_nested(document.metadata), self.metadata_key: entry}
            copies.append(document.model_copy(update={"metadata": metadata}))
        return copies


def _listening(callbacks: Callbacks) -> BaseCallbackManager | None:
    """Return the callbacks of a run that somebody listens to; None where nobody does."""
    if not isinstance(callbacks, BaseCallbackManager) or callbacks.parent_run_id is None:
        return None
    return callbacks if callbacks.handlers else None
