"""Read the hits of a LangChain store: its scores, its stored vectors, its encoder."""

from __future__ import annotations

import logging
from functools import partial

from langchain_recall_signal.stores import Hits, StoreAdapter
from langchain_recall_signal.stores._base import AnyAdapter, Vectors
from recall_signal._steps.failures import contained, original
from recall_signal.stores._reader import StoreReader
from recall_signal.stores._vectors import VectorSource

__all__ = ["HitsReader"]

log = logging.getLogger(__name__)


class HitsReader(StoreReader[AnyAdapter]):
    """Reads scores by the declared kind, else by the store's adapter."""

    @property
    def encoder(self) -> object:
        """Return the encoder of the store's queries, None where it is unknown."""
        try:
            return contained(lambda: (self.adapter or StoreAdapter()).encoder(self.store))
        except Exception as error:
            raised = type(original(error)).__name__
            log.warning("looking for the store's encoder failed: %s", raised)
            return None

    def source(self, hits: Hits) -> VectorSource:
        """Return what else the store gives for these hits."""
        vectors = None
        if self.adapter is not None and hits.documents:
            vectors = partial(self._vectors, self.adapter, hits)
        return self._access(vectors, self.encoder, hits.query_vector, len(hits.documents))

    def _vectors(self, adapter: AnyAdapter, hits: Hits) -> Vectors | None:
        return adapter.vectors(self.store, hits.identified)
