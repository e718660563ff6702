"""The selector alone, for pipelines built on ``ContextualCompressionRetriever``."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple, Self

from langchain_core.callbacks import BaseCallbackManager, Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict, Field, PrivateAttr, ValidationError

from langchain_recall_signal.documents import id_of
from langchain_recall_signal.events import asend, send
from langchain_recall_signal.selector import RunnableSelector, aask, ask
from recall_signal import ConfigurationError
from recall_signal.confidence import Level
from recall_signal.driver import drive, drive_async
from recall_signal.reports import fresh_copy
from recall_signal.selection import Ask, SelectionOptions, select_page
from recall_signal.settings import RESERVED_KEYS
from recall_signal.signals import level_in

__all__ = ["SelectorCompressor"]


class _Compressed(NamedTuple):
    """The documents that stay, and what the event says."""

    documents: list[Document]
    report: dict[str, Any]


class SelectorCompressor(BaseDocumentCompressor):
    """Removes what a model finds irrelevant, and says so on every document that is left.

    A compressor sees documents only, so there is no recall signal here, and LangChain does not
    call it for an empty page; around a :class:`RecallRetriever` prefer its ``selector=``. Where
    a document already carries an entry, its ``selection`` and ``rank`` are replaced. Within a
    run, the custom event ``recall_signal`` says it as well, also where no document is left.

    Attributes:
        selector: As in :class:`RecallRetriever`.
        options: As in :class:`RecallRetriever`; ``skip_levels`` reads the level that the first
            document carries, if it carries one.
        metadata_key: Where the documents carry the report.
        id_key: Metadata key of a document's id; None takes ``Document.id``.

    Raises:
        ConfigurationError: The selector is not one, or another setting is wrong.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", frozen=True)

    selector: Any
    options: SelectionOptions = Field(default_factory=SelectionOptions)
    metadata_key: str = Field(default="recall", min_length=1)
    id_key: str | None = None

    _step: RunnableSelector = PrivateAttr()

    def __init__(self, **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            wrong = "; ".join(f"{item['loc'][0]}: {item['msg']}" for item in error.errors())
            raise ConfigurationError(f"SelectorCompressor: {wrong}") from None
        if self.metadata_key in RESERVED_KEYS:
            raise ConfigurationError(
                f"SelectorCompressor: metadata_key {self.metadata_key!r} has a meaning of its own"
            )
        self._step = RunnableSelector(self.selector)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy that asks its own selector."""
        copied = super().model_copy(update=update, deep=deep)
        copied._step = RunnableSelector(copied.selector)
        return copied

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """The documents that stay, as copies, in their order."""
        flow = self._flow(documents, query)
        compressed = drive(flow, lambda request: ask(self._step, request, callbacks))
        if (listening := _listening(callbacks)) is not None:
            send(compressed.report, listening)
        return compressed.documents

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """:meth:`compress_documents`, asynchronously."""
        flow = self._flow(documents, query)
        compressed = await drive_async(flow, lambda request: aask(self._step, request, callbacks))
        if (listening := _listening(callbacks)) is not None:
            await asend(compressed.report, listening)
        return compressed.documents

    def _flow(self, documents: Sequence[Document], query: str) -> Generator[Ask, Any, _Compressed]:
        kept, selection = yield from select_page(
            query,
            texts=[document.page_content for document in documents],
            ids=[id_of(self.id_key, document) for document in documents],
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
        return _Compressed(copies, report)

    def _known_level(self, documents: Sequence[Document]) -> Level:
        return level_in(documents[0].metadata.get(self.metadata_key)) if documents else "unknown"

    def _entry(self, document: Document) -> dict[str, Any]:
        entry = document.metadata.get(self.metadata_key)
        return fresh_copy(entry) if isinstance(entry, dict) else {}


def _listening(callbacks: Callbacks) -> BaseCallbackManager | None:
    """The callbacks of a run that somebody listens to, None where there is none to tell."""
    if not isinstance(callbacks, BaseCallbackManager) or callbacks.parent_run_id is None:
        return None
    return callbacks if callbacks.handlers else None
