"""The conformance suite in LangChain: one store for each world, two retrievers on it."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_qdrant.sparse_embeddings import SparseEmbeddings, SparseVector

from langchain_recall_signal import RecallRetriever
from recall_signal.testing import AdapterConformance, SettableEncoder

LONG = 3.0
MIXED = (1.0, 2.5, 0.4)


class Encoder(SettableEncoder, Embeddings):
    """The shipped encoder under LangChain's interface."""


class Words(SparseEmbeddings):
    """Each word is one dimension, by its length."""

    def embed_query(self, text: str) -> SparseVector:
        lengths = sorted({len(word) for word in text.split()})
        return SparseVector(indices=lengths, values=[1.0] * len(lengths))

    def embed_documents(self, texts: list[str]) -> list[SparseVector]:
        return [self.embed_query(text) for text in texts]


def check_cosines(documents: Sequence[Document], encoder: Embeddings, query: str) -> None:
    """Every cosine that is reported is numpy's."""
    asked = np.array(encoder.embed_query(query))
    for document in documents:
        cosine = document.metadata["recall"]["cosine"]
        if cosine is not None:
            vector = np.array(encoder.embed_documents([document.page_content])[0])
            exact = asked @ vector / (np.linalg.norm(asked) * np.linalg.norm(vector))
            assert cosine == pytest.approx(exact, abs=1e-4)


class StoreConformance(AdapterConformance):
    """Builds the two retrievers around what `store` returns.

    Attributes:
        search: How the bare retriever searches.
        options: What it hands to the store, beside `k`.
        settings: What the wrapper is made with.
        source: Where the cosines have to come from.
        unit_only: Whether that is so for vectors of length 1 only; others have to be read.
        ranks_by_cosine: Whether the store's order is that of the cosines of unit vectors.
    """

    encoder_class = Encoder
    stored, asked = 120, 10
    page_sizes = (1, 10)
    norms: ClassVar[Sequence[float | Sequence[float]]] = (1.0, LONG, MIXED)
    search: ClassVar[str] = "similarity"
    options: ClassVar[dict[str, Any]] = {}
    settings: ClassVar[dict[str, Any]] = {}
    source: ClassVar[str] = "store"
    unit_only: ClassVar[bool] = False
    ranks_by_cosine: ClassVar[bool] = True
    _stores: ClassVar[dict[Any, Any]]

    def store(self, encoder: Embeddings) -> Any:
        """A new store without any document."""
        raise NotImplementedError

    def add(self, store: Any, documents: list[Document]) -> None:
        """Store these."""
        store.add_documents(documents)

    def document(self, number: int, text: str) -> Document:
        """What is stored for a text; nested where the store can hold that."""
        metadata = {"n": number, "nested": {"tags": [f"tag{number % 3}"]}}
        return Document(id=f"id{number}", page_content=text, metadata=metadata)

    def build(
        self, texts: list[str], vectors: Any, encoder: Any, k: int, pool_size: int
    ) -> tuple[Any, Any]:
        known = type(self).__dict__.get("_stores")
        if known is None:
            known = type(self)._stores = {}
        key = (tuple(texts), vectors.tobytes(), tuple(self.norms))
        if key not in known:  # the cases ask the same few worlds, and none of them adds anything
            known[key] = self.store(encoder)
            if texts:
                self.add(known[key], [self.document(n, text) for n, text in enumerate(texts)])
        options = {**self.options, "k": k}
        bare = known[key].as_retriever(search_type=self.search, search_kwargs=options)
        return RecallRetriever(retriever=bare, pool_size=pool_size, **self.settings), bare

    def test_the_top_hit_has_the_highest_cosine(self) -> None:
        if self.ranks_by_cosine:
            super().test_the_top_hit_has_the_highest_cosine()

    def test_where_the_cosines_come_from(self) -> None:
        if self.expected_reason is not None:
            return
        for norm, world in zip(self.norms, self._worlds(), strict=True):
            wrapped: Any = self._build(world, 4)[0]
            response = wrapped.recall(world.queries[0])
            by_score = self.source == "store" and (norm == 1.0 or not self.unit_only)
            assert response.cosine_source == ("store" if by_score else "vectors")
            # A score that is a cosine makes a wider search worthwhile.
            assert self.source != "store" or len(response.pool) == self.pool_size


MMR = {"search": "mmr", "source": "vectors", "ranks_by_cosine": False}
"""Its pool is the page."""


class FlatMetadata:
    """For stores that hold no metadata inside of metadata."""

    def document(self, number: int, text: str) -> Document:
        return Document(id=f"id{number}", page_content=text, metadata={"n": number})
