"""The selector alone, for pipelines built on ``ContextualCompressionRetriever``."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict, Field, PrivateAttr

from langchain_recall_signal.selector import RunnableSelector, aask, ask
from recall_signal.confidence import LEVELS, Level
from recall_signal.driver import drive, drive_async
from recall_signal.reports import fresh_copy
from recall_signal.selection import Ask, SelectionOptions, select_page

__all__ = ["SelectorCompressor"]


class SelectorCompressor(BaseDocumentCompressor):
    """Removes what a model finds irrelevant, and says so on every document that is left.

    A compressor sees documents only, so there is no recall signal here, and LangChain does not
    call it for an empty page; around a :class:`RecallRetriever` prefer its ``selector=``. Where
    a document already carries an entry, its ``selection`` and ``rank`` are replaced.

    Attributes:
        selector: As in :class:`RecallRetriever`.
        options: As in :class:`RecallRetriever`; ``skip_levels`` reads the level that the first
            document carries, if it carries one.
        metadata_key: Where the documents carry the report.
        id_key: Metadata key of a document's id; None takes ``Document.id``.

    Raises:
        ConfigurationError: The selector is not one.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", frozen=True)

    selector: Any
    options: SelectionOptions = Field(default_factory=SelectionOptions)
    metadata_key: str = Field(default="recall", min_length=1)
    id_key: str | None = None

    _step: RunnableSelector = PrivateAttr()

    def model_post_init(self, context: Any) -> None:  # noqa: ARG002
        """Find out how the selector is asked."""
        self._step = RunnableSelector(self.selector)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """The documents that stay, as copies, in their order."""
        flow = self._flow(documents, query)
        return drive(flow, lambda request: ask(self._step, request, callbacks))

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """:meth:`compress_documents`, asynchronously."""
        flow = self._flow(documents, query)
        return await drive_async(flow, lambda request: aask(self._step, request, callbacks))

    def _flow(
        self, documents: Sequence[Document], query: str
    ) -> Generator[Ask, Any, list[Document]]:
        kept, selection = yield from select_page(
            query,
            texts=[document.page_content for document in documents],
            ids=[self._id_of(document) for document in documents],
            level=self._known_level(documents),
            options=self.options,
        )
        report = {"v": 1, "selection": selection.model_dump(mode="json")}
        copies = []
        for rank, position in enumerate(kept):
            document = documents[position]
            entry = {**self._entry(document), **fresh_copy(report), "rank": rank}
            metadata = {**fresh_copy(document.metadata), self.metadata_key: entry}
            copies.append(document.model_copy(update={"metadata": metadata}))
        return copies

    def _known_level(self, documents: Sequence[Document]) -> Level:
        confidence = self._entry(documents[0]).get("confidence") if documents else None
        level = confidence.get("level") if isinstance(confidence, dict) else None
        return level if level in LEVELS else "unknown"

    def _entry(self, document: Document) -> dict[str, Any]:
        entry = document.metadata.get(self.metadata_key)
        return fresh_copy(entry) if isinstance(entry, dict) else {}

    def _id_of(self, document: Document) -> str | None:
        value = document.metadata.get(self.id_key) if self.id_key else None
        return document.id if value is None else str(value)
