"""What the LangChain tests share: an encoder with set vectors, small stores, and ways to look."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import faiss
import numpy as np
from langchain_community.docstore.in_memory import InMemoryDocstore
from langchain_community.vectorstores import FAISS
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from recall_signal.testing import SettableEncoder, vectors_with_cosines

faiss.omp_set_num_threads(1)  # the indexes are tiny, and starting threads takes far longer

QUERY = "what is asked"
DIMENSION = 16


class Encoder(SettableEncoder, Embeddings):
    """The settable encoder as LangChain's `Embeddings`."""


def encoder_for(vectors: Any, query_vector: Any) -> Encoder:
    """Text `t3` has `vectors[3]`, and the query its own."""
    known = {f"t{n}": vector for n, vector in enumerate(vectors)}
    return Encoder({**known, QUERY: query_vector}, dimension=len(query_vector))


def documents(count: int, start: int = 0) -> list[Document]:
    """Documents with ids and nested metadata."""
    return [
        Document(id=f"id{n}", page_content=f"t{n}", metadata={"n": n, "tags": [{"of": [n]}]})
        for n in range(start, start + count)
    ]


def in_memory(encoder: Encoder, count: int) -> InMemoryVectorStore:
    store = InMemoryVectorStore(encoder)
    store.add_documents(documents(count))
    return store


def faiss_store(encoder: Encoder, count: int, index: Any = None, **settings: Any) -> FAISS:
    if index is None:
        index = faiss.IndexFlatL2(encoder.dimension)
    store = FAISS(encoder, index, InMemoryDocstore(), {}, **settings)
    if count:
        store.add_documents(documents(count))
    return store


def simple_store(count: int = 10, cosines: Sequence[float] | None = None) -> InMemoryVectorStore:
    """`t0` fits the query best, `t1` second best, and so on."""
    query = np.eye(DIMENSION)[0]
    wanted = np.linspace(0.95, 0.1, count) if cosines is None else np.asarray(cosines)
    return in_memory(encoder_for(vectors_with_cosines(query, wanted), query), len(wanted))


class Scored(VectorStore):
    """A store that nobody knows, with the scores it is given."""

    def __init__(self, scores: Sequence[Any]) -> None:
        self.hits = list(zip(documents(len(scores)), scores, strict=True))

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return [document for document, _ in self.hits[:k]]

    def similarity_search_with_score(
        self, *args: Any, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        return self.hits[: kwargs.get("k", 4)]

    @classmethod
    def from_texts(cls, *_: Any, **__: Any) -> "Scored":
        raise NotImplementedError


def cosine(one: Any, other: Any) -> float:
    return float(np.dot(one, other) / (np.linalg.norm(one) * np.linalg.norm(other)))


def entry(document: Document, key: str = "recall") -> dict[str, Any]:
    found: dict[str, Any] = document.metadata[key]
    return found


def plain(page: Sequence[Document], key: str = "recall") -> list[tuple[Any, ...]]:
    """A page without our entries: what must be the same as the bare retriever's."""
    return [
        (type(d), d.id, d.page_content, {k: v for k, v in d.metadata.items() if k != key})
        for d in page
    ]


def contents(store: VectorStore) -> Any:
    """A deep copy of everything that a store holds."""
    if isinstance(store, InMemoryVectorStore):
        return deepcopy(store.store)
    assert isinstance(store, FAISS)
    assert isinstance(store.docstore, InMemoryDocstore)
    vectors = [store.index.reconstruct(n).tolist() for n in range(store.index.ntotal)]
    state = (store.docstore._dict, store.index_to_docstore_id, vectors, sorted(store.__dict__))
    return deepcopy(state)


def spoil(value: Any) -> None:
    """Change everything that can be changed, however deep."""
    if isinstance(value, dict):
        for inner in value.values():
            spoil(inner)
        value.clear()
        value["spoiled"] = True
    elif isinstance(value, list):
        for inner in value:
            spoil(inner)
        value.append("spoiled")
