"""What the retrievers of retrievers are made of."""

from collections.abc import Sequence
from typing import Any

import faiss
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.schema import TextNode
from llama_index.vector_stores.faiss import FaissVectorStore
from llama_store_cases import DIMENSION, QUERY, QUERY_VECTOR, Embedding

from recall_signal.testing import vectors_with_cosines

COSINES = [0.8, 0.5, 0.4, 0.3, 0.2, 0.1]


def nodes_with(cosines: Sequence[float], **fields: Any) -> list[TextNode]:
    vectors = vectors_with_cosines(QUERY_VECTOR, cosines)
    return [
        TextNode(
            id_=f"00000000-0000-0000-0000-{number:012d}",
            text=f"stored text {number}",
            embedding=vector.tolist(),
            **fields,
        )
        for number, vector in enumerate(vectors)
    ]


def encoder() -> Embedding:
    """Knows the question and the texts."""
    vectors = vectors_with_cosines(QUERY_VECTOR, COSINES)
    texts = {f"stored text {number}": vector for number, vector in enumerate(vectors)}
    return Embedding({QUERY: QUERY_VECTOR} | texts)


def index_of(store: Any, nodes: Sequence[Any], **settings: Any) -> VectorStoreIndex:
    storage = StorageContext.from_defaults(vector_store=store)
    return VectorStoreIndex(list(nodes), storage_context=storage, embed_model=encoder(), **settings)


def flat(metric: int = faiss.METRIC_INNER_PRODUCT) -> FaissVectorStore:
    return FaissVectorStore(faiss.IndexFlat(DIMENSION, metric))
