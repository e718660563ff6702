"""`SimpleVectorStore` passes the cases that every adapter of every store has to pass."""

from typing import Any

from llama_index.core.vector_stores import SimpleVectorStore

from tests.stores.cases import conformance
from tests.stores.llama_store_cases import MMR, OTHER_NORMS, StoreConformance


class InMemory(StoreConformance):
    norms = (1.0, *OTHER_NORMS)

    def store(self, number: int) -> Any:
        return SimpleVectorStore()


CASES: dict[str, dict[str, Any]] = {
    "SimpleVectorStore": {"stored": 300, "asked": 40, "page_sizes": (1, 4, 10)},
    # The score is no cosine here, but the store's vectors are at hand.
    "SimpleVectorStoreWithMmr": {
        **MMR,
        "norms": (1.0, (0.5, 1.0, 7.0)),
        "stored": 40,
        "can_be_empty": False,  # LlamaIndex's own search fails there
    },
}
globals().update(conformance(InMemory, CASES))
