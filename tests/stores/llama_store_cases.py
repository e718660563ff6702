"""What the tests of LlamaIndex's stores are made of."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from uuid import UUID

from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeWithScore, TextNode
from pydantic import PrivateAttr

from llama_index_recall_signal import RecallRetriever
from recall_signal import Pool
from recall_signal.testing import AdapterConformance, Seen, SettableEncoder, vectors_with_cosines

DIMENSION = 16
QUERY = "where is the key?"
QUERY_VECTOR = [1.0, *[0.0] * (DIMENSION - 1)]

OTHER_NORMS = (3.0, (0.5, 1.0, 7.0))
"""One other length for all, and several."""


class Embedding(BaseEmbedding):
    """A `SettableEncoder` for LlamaIndex."""

    _encoder: SettableEncoder = PrivateAttr()

    def __init__(self, vectors: Mapping[str, Any] | None = None) -> None:
        super().__init__(model_name="settable", embed_batch_size=1000)
        self._encoder = SettableEncoder(vectors, dimension=DIMENSION)

    @property
    def encoder(self) -> SettableEncoder:
        return self._encoder

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._encoder.embed_query(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        await asyncio.sleep(0)
        return self._encoder.embed_query(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._encoder.embed_documents([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._encoder.embed_documents(texts)


class StoreConformance(AdapterConformance):
    """The hooks for a store of LlamaIndex; a subclass makes the store.

    Attributes:
        mode: The query mode.
        search: What else the retriever is made with.
        ranks_by_cosine: Whether the store's order is that of the cosines of unit vectors.
    """

    encoder_class = Embedding
    stored, asked = 120, 10
    page_sizes = (1, 10)
    mode: ClassVar[str] = "default"
    search: ClassVar[Mapping[str, Any]] = {}
    ranks_by_cosine: ClassVar[bool] = True
    indexes: ClassVar[dict[Any, VectorStoreIndex]]
    last: tuple[Any, Any, Any] = (None, None, None)

    def store(self, number: int) -> Any:
        """An empty store; `number` is another one for each."""
        raise NotImplementedError

    @classmethod
    def setup_class(cls) -> None:
        """One store for each set of texts and vectors: filling one takes longer than the rest."""
        cls.indexes = {}

    @classmethod
    def teardown_class(cls) -> None:
        cls.indexes.clear()

    def test_the_top_hit_has_the_highest_cosine(self) -> None:
        if self.ranks_by_cosine:
            super().test_the_top_hit_has_the_highest_cosine()

    def build(
        self, texts: list[str], vectors: Any, encoder: Any, k: int, pool_size: int
    ) -> tuple[Any, Any]:
        known, key = self.indexes, (tuple(texts), vectors.tobytes())
        if key not in known:
            known[key] = index_of(self.store(len(known)), texts, vectors)
        bare = known[key].as_retriever(
            similarity_top_k=k,
            vector_store_query_mode=self.mode,
            embed_model=encoder,
            **self.search,
        )
        return RecallRetriever(bare, pool_size=pool_size), bare

    def ask(self, retriever: Any, query: str) -> Any:
        if not isinstance(retriever, RecallRetriever):
            return retriever.retrieve(query)
        response = retriever.recall(query)
        self.last = retriever, query, response.pool
        return response.nodes

    def pool_of(self, wrapped: Any, query: str) -> Pool:
        """That of the answer just given, where there is one: half of the searches are saved."""
        asked, about, pool = self.last
        return pool if asked is wrapped and about == query else super().pool_of(wrapped, query)

    async def ask_async(self, retriever: Any, query: str) -> Any:
        return await retriever.aretrieve(query)

    def read(self, item: Any) -> Seen:
        rest = dict(item.node.metadata)
        entry = rest.pop(self.metadata_key, None)
        return Seen(item.node.node_id, item.node.text, rest, entry)


MMR: dict[str, Any] = {
    "norms": (1.0, 3.0),
    "mode": "mmr",
    "stored": 60,
    "asked": 5,
    "ranks_by_cosine": False,
}
"""The page is not ranked by what its scores say; LlamaIndex takes long for it."""


def index_of(store: Any, texts: Sequence[str], vectors: Any) -> VectorStoreIndex:
    """An index on a store with these texts, whose encoder knows `QUERY`."""
    nodes = [
        TextNode(
            id_=node_id(number), text=text, metadata={"number": number}, embedding=vector.tolist()
        )
        for number, (text, vector) in enumerate(zip(texts, vectors, strict=True))
    ]
    storage = StorageContext.from_defaults(vector_store=store)
    return VectorStoreIndex(
        nodes, storage_context=storage, embed_model=Embedding({QUERY: QUERY_VECTOR})
    )


def node_id(number: int) -> str:
    """Some stores take nothing else for an id."""
    return str(UUID(int=number))


def index_with_cosines(
    store: Any, cosines: Sequence[float], norm: float | Sequence[float] = 1.0
) -> VectorStoreIndex:
    """An index on a store whose texts have these cosines with `QUERY`."""
    texts = [f"stored text {number}" for number in range(len(cosines))]
    return index_of(store, texts, vectors_with_cosines(QUERY_VECTOR, cosines, norm=norm))


def ask_as_query(index: VectorStoreIndex, asked: str) -> None:
    """Let the encoder of an index take this question for `QUERY`."""
    assert isinstance(index._embed_model, Embedding)
    index._embed_model.encoder.vectors[asked] = QUERY_VECTOR


def page_of(items: Sequence[NodeWithScore], key: str = "recall") -> list[tuple[Any, ...]]:
    """A page without our key, for comparison with the bare retriever's."""
    page = []
    for item in items:
        metadata = {name: value for name, value in item.node.metadata.items() if name != key}
        page.append((item.node_id, item.score, item.node.get_content(), metadata))
    return page
