"""Composites of LlamaIndex with arms of every kind, in random settings, and the true cosines."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.indices.query.query_transform.base import BaseQueryTransform
from llama_index.core.retrievers import (
    AutoMergingRetriever,
    QueryFusionRetriever,
    RecursiveRetriever,
    RouterRetriever,
    TransformRetriever,
)
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import (
    BaseNode,
    IndexNode,
    MetadataMode,
    NodeRelationship,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.tools import RetrieverTool
from llama_index.retrievers.bm25 import BM25Retriever

from llama_index_recall_signal import RecallRetriever
from tests.llama_index.fakes import Embedding, RecordingLLM, numpy_cosine

QUESTION = "which jar holds the cobalt glaze"
VARIANTS = ("where is the blue glaze kept", "cobalt jar shelf")
WORDS = ["jar", "cobalt", "glaze", "kiln", "shelf", "bucket", "slip", "wheel", "sieve", "tongs"]


class Other(Embedding):
    """Another model, with vectors of the same length."""

    def _get_query_embedding(self, query: str) -> list[float]:
        return stretched(super()._get_query_embedding(query))

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return [stretched(vector) for vector in super()._get_text_embeddings(texts)]


def stretched(vector: list[float]) -> list[float]:
    return [value * place for place, value in enumerate(vector)]


class Shelf:
    """A corpus of chunks in families, every index on it, and what numpy says.

    Args:
        seed: Of its vectors, texts and families.
        families: Parents, with two to four chunks each.
    """

    def __init__(self, seed: int, families: int = 4) -> None:
        rng = random.Random(seed)
        self.encoder = Embedding(dimension=24)
        self.other_encoder = Other(dimension=24)
        self.chunks: list[TextNode] = []
        self.parents: list[TextNode] = []
        for family in range(families):
            parent = TextNode(id_=f"p{seed}.{family}", text=f"section {seed}.{family}")
            for number in range(rng.randint(2, 4)):
                words = " ".join(rng.choices(WORDS, k=rng.randint(3, 8)))
                chunk = TextNode(
                    id_=f"c{seed}.{family}.{number}",
                    text=f"{words} {seed}.{family}.{number}",
                    metadata={"family": family},
                )
                chunk.relationships[NodeRelationship.PARENT] = RelatedNodeInfo(
                    node_id=parent.node_id
                )
                self.chunks.append(chunk)
            children = [one for one in self.chunks if one.metadata["family"] == family]
            parent.relationships[NodeRelationship.CHILD] = [
                RelatedNodeInfo(node_id=child.node_id) for child in children
            ]
            self.parents.append(parent)
        self.context = StorageContext.from_defaults()
        self.context.docstore.add_documents([*self.chunks, *self.parents])
        self.index = VectorStoreIndex(
            self.chunks, embed_model=self.encoder, storage_context=self.context
        )
        self.other = VectorStoreIndex(self.chunks[::2], embed_model=self.other_encoder)
        self.summaries = [
            IndexNode(id_=f"i{seed}.{at}", text=f"about {parent.text}", index_id=parent.node_id)
            for at, parent in enumerate(self.parents)
        ]
        self.overview = VectorStoreIndex(self.summaries, embed_model=self.encoder)
        self.ids = {node.node_id for node in [*self.chunks, *self.summaries]}
        self.bm25 = BM25Retriever.from_defaults(nodes=list(self.chunks), similarity_top_k=4)

    def dense(self, rng: random.Random) -> BaseRetriever:
        """A vector retriever, at times in the MMR mode or wrapped itself."""
        mode = "mmr" if rng.random() < 0.15 else "default"
        arm = self.index.as_retriever(
            similarity_top_k=rng.randint(1, 9), vector_store_query_mode=mode
        )
        return RecallRetriever(arm, annotate="none") if rng.random() < 0.15 else arm

    def keywords(self, rng: random.Random) -> BaseRetriever:
        self.bm25.similarity_top_k = rng.randint(1, 9)
        return self.bm25

    def cosine(self, node: BaseNode, encoder: Embedding | None = None) -> float:
        """The true cosine of a node and the question."""
        encoder = encoder or self.encoder
        text = node.get_content(metadata_mode=MetadataMode.EMBED)
        vector = encoder._get_text_embeddings([text])[0]
        return numpy_cosine(encoder._get_query_embedding(QUESTION), vector)


class Fixed(BaseSelector):
    """Selects always the same."""

    def __init__(self, chosen: Sequence[int]) -> None:
        self.chosen = chosen

    def _result(self) -> SelectorResult:
        return SelectorResult(
            selections=[SingleSelection(index=one, reason="") for one in self.chosen]
        )

    def _get_prompts(self) -> Any:
        return {}

    def _update_prompts(self, prompts: Any) -> None: ...

    def _select(self, choices: Any, query: Any) -> SelectorResult:
        return self._result()

    async def _aselect(self, choices: Any, query: Any) -> SelectorResult:
        return self._result()


class Rewriting(BaseQueryTransform):
    """Another question, or other texts to embed in its place, as HyDE does."""

    def __init__(self, query: str | None = None, strings: list[str] | None = None) -> None:
        self.query, self.strings = query, strings

    def _get_prompts(self) -> Any:
        return {}

    def _update_prompts(self, prompts: Any) -> None: ...

    def _run(self, query_bundle: QueryBundle, metadata: Any) -> QueryBundle:
        query = self.query or query_bundle.query_str
        return QueryBundle(query, custom_embedding_strs=self.strings)


Make = Callable[[Shelf, random.Random], BaseRetriever]


def fusion(shelf: Shelf, rng: random.Random, arms: Sequence[Any] = (), **settings: Any) -> Any:
    arms = list(arms) or rng.choice(
        [
            [shelf.dense(rng), shelf.keywords(rng)],
            [shelf.keywords(rng), shelf.dense(rng)],
            [shelf.dense(rng), shelf.keywords(rng), shelf.dense(rng)],
        ]
    )
    given: dict[str, Any] = {
        "llm": RecordingLLM(answer="\n".join(VARIANTS)),
        "mode": rng.choice(list(FUSION_MODES)),
        "similarity_top_k": rng.randint(1, 12),
        "num_queries": 1,
        "use_async": rng.random() < 0.5,
        "retriever_weights": [rng.uniform(0.1, 2.0) for _ in arms],
    }
    return QueryFusionRetriever(arms, **(given | settings))


def variants(shelf: Shelf, rng: random.Random) -> BaseRetriever:
    return fusion(shelf, rng, num_queries=rng.randint(2, 4))


def router(shelf: Shelf, rng: random.Random, *arms: BaseRetriever) -> BaseRetriever:
    choices = list(arms) or [shelf.dense(rng), shelf.keywords(rng), shelf.dense(rng)]
    chosen = rng.sample(range(len(choices)), rng.randint(1, len(choices)))
    tools = [RetrieverTool.from_defaults(one, description="a shelf") for one in choices]
    return RouterRetriever(Fixed(chosen), tools, llm=RecordingLLM())


def merging(shelf: Shelf, rng: random.Random) -> BaseRetriever:
    arm: Any = shelf.index.as_retriever(similarity_top_k=rng.randint(1, 12))
    ratio = rng.choice([0.2, 0.5, 0.9])
    return AutoMergingRetriever(arm, shelf.context, simple_ratio_thresh=ratio)


def recursive(shelf: Shelf, rng: random.Random) -> BaseRetriever:
    root = shelf.overview.as_retriever(similarity_top_k=rng.randint(1, 5))
    ids = [parent.node_id for parent in shelf.parents]
    inner = set(rng.sample(ids, rng.randint(0, 3)))
    arms = {id_: shelf.index.as_retriever(similarity_top_k=rng.randint(1, 4)) for id_ in inner}
    nodes: dict[str, BaseNode] = {
        parent.node_id: parent for parent in shelf.parents if parent.node_id not in inner
    }
    return RecursiveRetriever("root", {"root": root, **arms}, node_dict=nodes)


def identity(shelf: Shelf, rng: random.Random) -> BaseRetriever:
    return TransformRetriever(shelf.dense(rng), Rewriting())


def rewritten(shelf: Shelf, rng: random.Random) -> BaseRetriever:
    return TransformRetriever(shelf.dense(rng), Rewriting(rng.choice(VARIANTS)))


def hyde(shelf: Shelf, rng: random.Random) -> BaseRetriever:
    strings = ["the cobalt glaze is in the third jar", *([QUESTION] * rng.randint(0, 1))]
    return TransformRetriever(shelf.dense(rng), Rewriting(strings=strings))


def nested(shelf: Shelf, rng: random.Random) -> BaseRetriever:
    inner = rng.choice([fusion, merging, recursive, identity])(shelf, rng)
    if rng.random() < 0.3:
        inner = RecallRetriever(inner, annotate="none")
    return rng.choice(
        [
            lambda: fusion(shelf, rng, [inner, shelf.keywords(rng)]),
            lambda: router(shelf, rng, inner, shelf.keywords(rng)),
            lambda: TransformRetriever(inner, Rewriting()),
        ]
    )()


def two_encoders(shelf: Shelf, rng: random.Random) -> BaseRetriever:
    other = shelf.other.as_retriever(similarity_top_k=rng.randint(1, 6))
    return fusion(shelf, rng, [shelf.index.as_retriever(similarity_top_k=4), other])


AS_IT_IS: list[Make] = [fusion, variants, router, merging, recursive, identity, nested]
REWRITING: list[Make] = [rewritten, hyde]


def stood_for(shelf: Shelf, node: BaseNode) -> list[BaseNode]:
    """A node itself, its children and its summary."""
    children = {child.node_id for child in node.child_nodes or ()}
    chunks = [chunk for chunk in shelf.chunks if chunk.node_id in children]
    return [node, *chunks, *(one for one in shelf.summaries if one.index_id == node.node_id)]
