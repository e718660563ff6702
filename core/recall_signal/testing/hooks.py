"""How the conformance suite asks retrievers, and looks at what they return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from recall_signal.pool import Pool

__all__ = ["Hooks", "Seen"]


@dataclass(frozen=True, slots=True)
class Seen:
    """One returned item as the cases look at it.

    Attributes:
        id: Its id, None where the store gives none.
        text: Its text.
        metadata: Its metadata without our entry.
        entry: Our entry, None where it carries none.
    """

    id: str | None
    text: str
    metadata: Mapping[str, Any]
    entry: Mapping[str, Any] | None


class Hooks:
    """What a framework decides about the cases; as it stands here, for LangChain.

    Attributes:
        metadata_key: Where items carry the entry.
    """

    metadata_key: ClassVar[str] = "recall"

    def ask(self, retriever: Any, query: str) -> Any:
        """What a retriever, wrapped or bare, answers."""
        return retriever.invoke(query)

    async def ask_async(self, retriever: Any, query: str) -> Any:
        """The same, asynchronously."""
        return await retriever.ainvoke(query)

    def pool_of(self, wrapped: Any, query: str) -> Pool:
        """The candidates behind a wrapped retriever's answer."""
        pool: Pool = wrapped.recall(query).pool
        return pool

    def items(self, response: Any) -> Sequence[Any]:
        """The returned items, in rank order, inside what :meth:`ask` returned."""
        items: Sequence[Any] = response
        return items

    def read(self, item: Any) -> Seen:
        """One item as the cases look at it; here, a LangChain ``Document``."""
        metadata = dict(item.metadata)
        entry = metadata.pop(self.metadata_key, None)
        return Seen(item.id, item.page_content, metadata, entry)
