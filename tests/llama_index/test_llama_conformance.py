"""``SimpleVectorStore`` passes the cases that every adapter of every store has to pass."""

from typing import Any

from llama_fakes import Embedding
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import TextNode

from llama_index_recall_signal import RecallRetriever
from recall_signal.testing import AdapterConformance, Seen


class LlamaConformance(AdapterConformance):
    """The hooks for LlamaIndex."""

    encoder_class = Embedding
    mode = "default"

    def build(
        self, texts: list[str], vectors: Any, encoder: Any, k: int, pool_size: int
    ) -> tuple[Any, Any]:
        nodes = [
            TextNode(
                id_=f"id {number}",
                text=text,
                metadata={"number": number, "nested": {"tags": ["a"]}},
                embedding=vector.tolist(),
            )
            for number, (text, vector) in enumerate(zip(texts, vectors, strict=True))
        ]
        index = VectorStoreIndex(nodes, embed_model=encoder)
        bare = index.as_retriever(similarity_top_k=k, vector_store_query_mode=self.mode)
        return RecallRetriever(bare, pool_size=pool_size), bare

    def ask(self, retriever: Any, query: str) -> Any:
        return retriever.retrieve(query)

    async def ask_async(self, retriever: Any, query: str) -> Any:
        return await retriever.aretrieve(query)

    def read(self, item: Any) -> Seen:
        rest = dict(item.node.metadata)
        entry = rest.pop(self.metadata_key, None)
        return Seen(item.node.node_id, item.node.text, rest, entry)


class TestSimpleVectorStore(LlamaConformance):
    norms = (1.0, 3.0, (0.5, 1.0, 7.0))


class TestSimpleVectorStoreWithMmr(LlamaConformance):
    """The score is no cosine here, but the store's vectors are at hand."""

    norms = (1.0, (0.5, 1.0, 7.0))
    mode = "mmr"
    stored, asked = 40, 5
    can_be_empty = False  # LlamaIndex's own search fails there

    def test_the_top_hit_has_the_highest_cosine(self) -> None:
        """Nothing that MMR promises."""
