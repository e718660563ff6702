"""The record of one call: what the parts of a retriever searched, looked up and compressed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, TypeVar, cast

from langchain_core.documents import Document

from langchain_recall_signal._hits import HitsReader
from langchain_recall_signal._tap import declared_search, search_names
from langchain_recall_signal.stores._base import AnyAdapter
from recall_signal import ScoreKind
from recall_signal.stores import Vector

Recorded = TypeVar("Recorded")
ScoredHits: TypeAlias = Sequence[tuple[Document, float | None]]

__all__ = [
    "AnySearch",
    "Arm",
    "ArmReader",
    "ArmSearch",
    "CallRecord",
    "Compression",
    "KeywordSearch",
    "Lookup",
    "ScoredHits",
]


class ArmReader(HitsReader):
    """Reads the hits of one store inside a composite.

    Args:
        kind: The declared kind; None to go by the store.
        store: The store.
        adapter: Its adapter, where there is one.

    Attributes:
        scored_search: The search with scores that does what `similarity_search` does; None where
            the plain one runs.
        score_key: Where the plain search puts the score into the metadata, if it does.
    """

    def __init__(self, kind: ScoreKind | None, store: object, adapter: AnyAdapter | None) -> None:
        super().__init__(kind, store, adapter, ranked=False)
        self.scored_search: str | None = None if kind is None else declared_search(store)
        self.score_key: str | None = None
        if adapter is not None:
            self.scored_search, _, self.score_key = search_names(adapter, store)

    @property
    def is_known(self) -> bool:
        """Return whether the store's number, or its vectors, can be read."""
        return self.adapter is not None or self.kind is not None


@dataclass(frozen=True, slots=True, eq=False)
class Arm:
    """A store in a retriever, in one call.

    Attributes:
        reader: Reads its hits; holds the store.
        record: The call's record.
        place: Its place among the stores of the retriever.
    """

    reader: ArmReader
    record: CallRecord
    place: int

    def has_scores(self, kwargs: dict[str, object]) -> bool:
        """Return whether a search with these arguments gives numbers that are read."""
        if self.record.is_closed:
            return False
        adapter = self.reader.adapter
        return adapter is None or adapter.unsupported_kwargs.isdisjoint(kwargs)


class AnySearch(Protocol):
    """A search of either kind."""

    @property
    def documents(self) -> Sequence[Document]: ...


@dataclass(slots=True, eq=False)
class ArmSearch:
    """A search of a store.

    Attributes:
        arm: The store.
        query: The text that was searched for; None for a search by vector.
        vector: The vector that was searched with, where it was seen.
        documents: The hits.
        scores: The store's own number for each; empty where none was seen.
    """

    arm: Arm
    query: object = None
    vector: Vector | None = None
    documents: Sequence[Document] = ()
    scores: Sequence[float | None] = ()

    def saw_vector(self, vector: object) -> None:
        """Keep the vector that was searched with."""
        if self.vector is None:
            self.vector = cast("Vector", vector)

    def note_scored(self, found: ScoredHits) -> list[Document]:
        """Keep hits with the store's own numbers, and return the documents."""
        pairs = [(document, score) for document, score in found]
        self.documents = [document for document, _ in pairs]
        self.scores = [score for _, score in pairs]
        return list(self.documents)

    def note(self, documents: Sequence[Document]) -> None:
        """Keep hits without numbers, unless an inner search has seen theirs."""
        if not self.scores:
            self.documents = list(documents)


@dataclass(frozen=True, slots=True, eq=False)
class KeywordSearch:
    """A search of a keyword index.

    Attributes:
        index: The index.
        query: The text that was searched for; None where it is unknown.
        documents: The hits.
        scores: Their keyword scores.
    """

    index: object
    query: str | None
    documents: Sequence[Document]
    scores: Sequence[float]


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """The parents that were fetched for the keys that their children carry.

    Attributes:
        id_key: Metadata key of the children.
        keys: Keys of the parents.
        parents: The documents, None for one that is missing.
    """

    id_key: str
    keys: Sequence[object]
    parents: Sequence[Document | None]


@dataclass(frozen=True, slots=True, eq=False)
class Compression:
    """The documents before and after a compressor.

    Attributes:
        given: Before.
        kept: After; the texts may be parts of what was given.
    """

    given: Sequence[Document]
    kept: Sequence[Document]


@dataclass(slots=True, eq=False)
class CallRecord:
    """Everything seen in one call; appended to from any thread until it is closed."""

    searches: list[ArmSearch] = field(default_factory=list)
    keywords: list[KeywordSearch] = field(default_factory=list)
    lookups: list[Lookup] = field(default_factory=list)
    compressions: list[Compression] = field(default_factory=list)
    is_closed: bool = False

    def add(self, to: list[Recorded], seen: Recorded) -> None:
        """Keep what has ended well in one of the lists."""
        if not self.is_closed:
            to.append(seen)

    def close(self) -> None:
        """Take nothing more: a task that still runs comes too late."""
        self.is_closed = True
