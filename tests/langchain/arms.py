"""Composites with random settings, around one store whose searches and embeddings are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

import numpy as np
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MergerRetriever,
    MultiQueryRetriever,
    MultiVectorRetriever,
    ParentDocumentRetriever,
    RePhraseQueryRetriever,
    SelfQueryRetriever,
    TimeWeightedVectorStoreRetriever,
)
from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import (
    ConfigurableField,
    Runnable,
    RunnableBranch,
    RunnableLambda,
    RunnableParallel,
)
from langchain_core.stores import InMemoryStore
from langchain_core.structured_query import StructuredQuery, Visitor
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import CharacterTextSplitter

from tests.langchain.fakes import cosine, faiss_store

DIMENSION = 8
WORDS = ["mole", "wool", "lamp", "rain", "salt", "fern", "rope", "clay", "moss", "barn"]


class Counting(Embeddings):
    """Gives each text a vector of its own, and counts the questions."""

    dimension = DIMENSION

    def __init__(self) -> None:
        self.questions: list[str] = []

    def vector(self, text: str) -> list[float]:
        made = Random(text)
        vector = np.array([made.gauss(0.4, 1.0) for _ in range(DIMENSION)])
        unit: list[float] = (vector / np.linalg.norm(vector)).tolist()
        return unit

    def embed_query(self, text: str) -> list[float]:
        self.questions.append(text)
        return self.vector(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.vector(text) for text in texts]


class CountingStore(InMemoryVectorStore):
    """Keeps its searches, below what an adapter reads: the vector and the texts found."""

    searches: list[tuple[list[float], set[str]]]

    def _similarity_search_with_score_by_vector(self, embedding: Any, *args: Any, **kw: Any) -> Any:
        found = super()._similarity_search_with_score_by_vector(embedding, *args, **kw)
        self.searches.append((embedding, {document.page_content for document, _, _ in found}))
        return found

    def max_marginal_relevance_search_by_vector(self, embedding: Any, *args: Any, **kw: Any) -> Any:
        found = super().max_marginal_relevance_search_by_vector(embedding, *args, **kw)
        self.searches[-1] = embedding, {document.page_content for document in found}
        return found


@dataclass
class World:
    """One setting.

    Attributes:
        random: Chooses.
        question: The question.
        encoder: The only encoder.
        stores: Every store.
        parts: Text of a parent, or of an extract, to the texts that have its cosine.
        numbers: Each document has one of its own.
    """

    random: Random
    question: str
    encoder: Counting = field(default_factory=Counting)
    stores: list[CountingStore] = field(default_factory=list)
    parts: dict[str, list[str]] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)

    def k(self) -> int:
        return self.random.randint(1, 7)

    def documents(self) -> list[Document]:
        """Documents of a few words; some texts come twice, some ids are missing."""
        pick = self.random
        texts = [" ".join(pick.choices(WORDS, k=pick.randint(2, 5))) for _ in range(9)]
        texts += pick.sample(texts, 2)
        return [
            Document(text, metadata={"n": n}, id=None if pick.random() < 0.2 else f"id{n}")
            for text, n in zip(texts, self.numbers, strict=False)
        ]

    def store(self, documents: Sequence[Document] = ()) -> CountingStore:
        made = CountingStore(self.encoder)
        made.searches = []
        made.add_documents([d.model_copy(deep=True) for d in documents or self.documents()])
        self.stores.append(made)
        return made

    def dense(self) -> Runnable[str, list[Document]]:
        search = self.random.choice(["similarity", "similarity", "mmr"])
        return self.store().as_retriever(search_type=search, search_kwargs={"k": self.k()})

    def keywords(self) -> BM25Retriever:
        return BM25Retriever.from_documents(self.documents(), k=self.k())

    def cosine(self, text: str, *, own: bool) -> float | None:
        """The best cosine of what is behind a text, as far as it was found.

        Args:
            text: The text of a document.
            own: Whether only searches for the question count.
        """
        question = self.encoder.vector(self.question)
        found: set[str] = set()
        for store in self.stores:
            for vector, texts in store.searches:
                found |= texts if not own or vector == question else set()
        sources = [source for source in self.parts.get(text, [text]) if source in found]
        cosines = [cosine(question, self.encoder.vector(source)) for source in sources]
        return max(cosines, default=None)

    def forget(self) -> tuple[int, int]:
        """Return the number of embedded questions and of searches, and begin again."""
        counts = len(self.encoder.questions), sum(len(store.searches) for store in self.stores)
        self.encoder.questions.clear()
        for store in self.stores:
            store.searches.clear()
        return counts


class Compressor(BaseDocumentCompressor):
    """Drops, copies, cuts and reorders."""

    seed: int
    parts: Any

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        pick, made = Random(self.seed), []
        for document in documents:
            how = pick.choice(["keep", "copy", "cut", "drop"])
            if how == "keep":
                made.append(document)
            elif how == "copy":
                made.append(Document(document.page_content, metadata={**document.metadata, "s": 1}))
            elif how == "cut":
                text = f"In short {document.metadata['n']}: {document.page_content[:5]}"
                self.parts[text] = [document.page_content]
                made.append(Document(text, metadata=document.metadata))
        pick.shuffle(made)
        return made


class AsTold(Visitor):
    """A translator for a structured query without a filter."""

    def visit_operation(self, operation: Any) -> Any: ...

    def visit_comparison(self, comparison: Any) -> Any: ...

    def visit_structured_query(self, structured_query: StructuredQuery) -> Any:
        return structured_query.query, {}


def ensemble(world: World) -> Any:
    arms = [world.dense(), world.keywords(), world.dense()][: world.random.randint(1, 3)]
    world.random.shuffle(arms)
    weights = [1 / len(arms)] * len(arms)
    return EnsembleRetriever(retrievers=arms, weights=weights, c=world.random.choice([1, 60]))


def merger(world: World) -> Any:
    return MergerRetriever(retrievers=[world.dense(), world.keywords()])


def compression(world: World) -> Any:
    inner = world.random.choice([world.dense, lambda: ensemble(world)])()
    step = Compressor(seed=world.random.randint(0, 999), parts=world.parts)
    return ContextualCompressionRetriever(base_compressor=step, base_retriever=inner)


def parents(world: World) -> Any:
    kind = world.random.choice(["similarity", "mmr"])
    made = ParentDocumentRetriever(
        vectorstore=world.store([Document("an unrelated child")]),
        docstore=InMemoryStore(),
        child_splitter=CharacterTextSplitter(separator=". ", chunk_size=25, chunk_overlap=0),
        search_type=kind,
        search_kwargs={"k": world.k()},
    )
    for one, two in _pairs(world):
        text = f"{one}. {two}"
        children = made.child_splitter.create_documents([text])
        world.parts[text] = [child.page_content for child in children]
        made.add_documents([Document(text)])
    return made


def several_vectors(world: World) -> Any:
    docstore, children = InMemoryStore(), []
    for key, (one, two) in enumerate(_pairs(world)):
        text = f"both of {one} and {two}"
        world.parts[text] = [one, two]
        docstore.mset([(str(key), Document(text))])
        children += [Document(part, metadata={"doc_id": str(key)}) for part in (one, two)]
    return MultiVectorRetriever(
        vectorstore=world.store(children), docstore=docstore, search_kwargs={"k": world.k()}
    )


def _pairs(world: World) -> list[tuple[str, str]]:
    """The children of some parents; no text comes twice."""
    texts = [f"{d.page_content} {d.metadata['n']}" for d in world.documents()]
    return list(zip(texts[::2], texts[1::2], strict=False))


def self_query(world: World) -> Any:
    constructed = StructuredQuery(query="another text", filter=None, limit=world.k())
    return SelfQueryRetriever(
        vectorstore=world.store(),
        query_constructor=RunnableLambda(lambda _: constructed),
        structured_query_translator=AsTold(),
        use_original_query=True,
    )


def time_weighted(world: World) -> Any:
    encoder: Any = world.encoder
    store = faiss_store(encoder, 0, relevance_score_fn=lambda squared: 1 - squared / 4)
    made = TimeWeightedVectorStoreRetriever(vectorstore=store, k=world.k(), decay_rate=0.3)
    made.search_kwargs = {"k": world.k()}
    made.add_documents([d for d in world.documents() if d.id])
    return made


def fallbacks(world: World) -> Any:
    def broken(_: str) -> list[Document]:
        raise ConnectionError

    return RunnableLambda(broken).with_fallbacks([world.dense()])


def bound(world: World) -> Any:
    return ensemble(world).with_retry().with_config(tags=["a tag"]).bind()


def configurable(world: World) -> Any:
    retriever: Any = world.dense()
    return retriever.configurable_fields(search_kwargs=ConfigurableField(id="search"))


def alternatives(world: World) -> Any:
    retriever: Any = world.dense()
    made_later = world.dense()
    return retriever.configurable_alternatives(
        ConfigurableField(id="which"),
        default_key="one",
        other=world.dense(),
        later=lambda: made_later,
    ).with_config(configurable={"which": world.random.choice(["one", "other", "later"])})


def parallel(world: World) -> Any:
    both = RunnableParallel(one=world.dense(), two=world.keywords())
    return both | (lambda found: found["one"] + found["two"])


def branch(world: World) -> Any:
    return RunnableBranch((lambda question: len(question) % 2 == 0, world.dense()), merger(world))


def nested(world: World) -> Any:
    arms = [compression(world), parents(world), merger(world)]
    return EnsembleRetriever(retrievers=arms, weights=[1 / 3] * 3)


ASK: dict[str, Callable[[World], Any]] = {
    "ensemble": ensemble,
    "merger": merger,
    "compression": compression,
    "parents": parents,
    "several vectors": several_vectors,
    "self query, the question's": self_query,
    "time weighted": time_weighted,
    "fallbacks": fallbacks,
    "bound": bound,
    "configurable fields": configurable,
    "configurable alternatives": alternatives,
    "parallel": parallel,
    "branch": branch,
    "nested": nested,
}
"""Composites that ask the question as it is."""


def _variants(world: World, *, keep: bool) -> Any:
    texts = [" ".join(world.random.choices(WORDS, k=3)) for _ in range(world.random.randint(1, 3))]
    return MultiQueryRetriever(
        retriever=world.dense(),
        llm_chain=RunnableLambda(lambda _: list(texts)),
        include_original=keep,
    )


def rephrased(world: World) -> Any:
    return RePhraseQueryRetriever(
        retriever=world.dense(), llm_chain=RunnableLambda(lambda asked: f"{asked}, in other words")
    )


def rewritten_self_query(world: World) -> Any:
    return self_query(world).model_copy(update={"use_original_query": False})


def rewriting_sequence(world: World) -> Any:
    return RunnableLambda(lambda question: f"{question} and more") | world.dense()


def rewritten_parents(world: World) -> Any:
    return RunnableLambda(lambda question: f"{question} and more") | parents(world)


REWRITE: dict[str, Callable[[World], Any]] = {
    "multi query": lambda world: _variants(world, keep=False),
    "rephrase": rephrased,
    "self query": rewritten_self_query,
    "sequence": rewriting_sequence,
    "parents": rewritten_parents,
}
"""Composites that search for other texts only."""


def with_original(world: World) -> Any:
    """Searches for the question among other texts."""
    return _variants(world, keep=True)
