"""Calls of retrievers in the conformance suite, and views of what they return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from recall_signal.pool import Pool

__all__ = ["FrameworkHooks", "Seen"]


@dataclass(frozen=True, slots=True)
class Seen:
    """Returned item as the cases compare it.

    Attributes:
        id: Its id, None where the store gives none.
        text: Its text.
        metadata: Its metadata without the wrapper's entry.
        entry: The wrapper's entry, None where it carries none.
    """

    id: str | None
    text: str
    metadata: Mapping[str, object]
    entry: Mapping[str, Any] | None


class FrameworkHooks:
    """The part of the cases that depends on the framework; this class is for LangChain.

    Attributes:
        metadata_key: The metadata key of the entry.
    """

    metadata_key: ClassVar[str] = "recall"

    def ask(self, retriever: Any, query: str) -> object:
        """Return the response of a retriever, wrapped or bare."""
        response: object = retriever.invoke(query)
        return response

    async def ask_async(self, retriever: Any, query: str) -> object:
        """Return the response of the asynchronous method."""
        response: object = await retriever.ainvoke(query)
        return response

    def pool_of(self, wrapped: Any, query: str) -> Pool:
        """Return the candidates behind a wrapped retriever's response."""
        pool: Pool = wrapped.recall(query).pool
        return pool

    def items(self, response: Any) -> Sequence[Any]:
        """Return the items of a response of `ask`, in rank order."""
        return list(response)

    def read(self, item: Any) -> Seen:
        """Return the view of one item; here, of a LangChain `Document`."""
        metadata = dict(item.metadata)
        entry = metadata.pop(self.metadata_key, None)
        return Seen(item.id, item.page_content, metadata, entry)
