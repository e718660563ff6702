"""Many questions in one call: embedded together, searched one by one.

A `QueryBundle` with an embedding is LlamaIndex' own way to search with a vector that is known.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, TypeAlias, cast

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeWithScore, QueryBundle, QueryType

from llama_index_recall_signal._internals import DEFAULT_MODE, VectorSearch
from llama_index_recall_signal._question import EmbeddedTogether, note_own_vector
from recall_signal._wrapper.batches import embed_questions, embedder_of, parts_of

__all__ = ["RetrieveOne", "RetrieveOneAsync", "caught", "caught_async", "embedded"]

RetrieveOne: TypeAlias = Callable[[QueryType], list[NodeWithScore]]
RetrieveOneAsync: TypeAlias = Callable[[QueryType], Coroutine[Any, Any, list[NodeWithScore]]]


def embedded(
    search: VectorSearch | None, queries: Sequence[QueryType]
) -> Iterator[Sequence[QueryType]]:
    """Yield the queries in parts, with their vectors where they can be embedded together.

    A query that is a `QueryBundle` is left as it is, and so is an empty one, which LlamaIndex
    does not embed.

    Args:
        search: How the wrapped retriever searches; None where that is not known.
        queries: As they were given.
    """
    encoder = embed = None
    if search is not None and search.mode == DEFAULT_MODE:
        encoder, embed = search.encoder, embedder_of(search.encoder)
    for part in parts_of(len(queries)):
        some = queries[part]
        texts = [query for query in some if isinstance(query, str) and query]
        if embed is None or len(texts) < 2:
            yield some
            continue
        vectors = iter(embed_questions(embed, texts))
        yield [
            _own(query, next(vectors), encoder) if isinstance(query, str) and query else query
            for query in some
        ]


def _own(question: str, vector: list[float] | None, encoder: BaseEmbedding | None) -> QueryBundle:
    """Return a question with its vector, which is known to be its own."""
    bundle = EmbeddedTogether(question, embedding=vector)
    note_own_vector(bundle, encoder)
    return bundle


def caught(ask: RetrieveOne, query: QueryType) -> list[NodeWithScore]:
    """Return an error in place of the nodes, as `batch` in LangChain does."""
    try:
        return ask(query)
    except Exception as error:
        return cast("list[NodeWithScore]", error)


async def caught_async(ask: RetrieveOneAsync, query: QueryType) -> list[NodeWithScore]:
    """`caught`, asynchronously."""
    try:
        return await ask(query)
    except Exception as error:
        return cast("list[NodeWithScore]", error)
