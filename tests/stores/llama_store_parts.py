"""The parts of retrievers of retrievers."""

from collections.abc import Sequence
from typing import Any

import faiss
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.schema import TextNode
from llama_index.vector_stores.faiss import FaissVectorStore

from recall_signal.testing import vectors_with_cosines
from tests.stores.llama_store_cases import DIMENSION, QUERY, QUERY_VECTOR, Embedding, node_id

COSINES = [0.8, 0.5, 0.4, 0.3, 0.2, 0.1]


def nodes_with(cosines: Sequence[float], **fields: Any) -> list[TextNode]:
    return [
        TextNode(
            id_=node_id(number), text=f"stored text {number}", embedding=vector.tolist(), **fields
        )
        for number, vector in enumerate(vectors_with_cosines(QUERY_VECTOR, cosines))
    ]


def encoder() -> Embedding:
    """Knows the question and the texts."""
    texts = {node.text: node.embedding for node in nodes_with(COSINES)}
    return Embedding({QUERY: QUERY_VECTOR} | texts)


def index_of(store: Any, nodes: Sequence[Any], **settings: Any) -> VectorStoreIndex:
    storage = StorageContext.from_defaults(vector_store=store)
    return VectorStoreIndex(list(nodes), storage_context=storage, embed_model=encoder(), **settings)


def flat(metric: int = faiss.METRIC_INNER_PRODUCT) -> FaissVectorStore:
    return FaissVectorStore(faiss.IndexFlat(DIMENSION, metric))
