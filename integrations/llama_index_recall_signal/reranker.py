"""The reranker in LlamaIndex's terms: a rerank postprocessor, a model, or a function."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, TextNode

from recall_signal.deadline import await_within, call_within, thread_within
from recall_signal.reranking import InvalidScores, Rerank, as_scorer

__all__ = ["Reranker", "arerank", "as_reranker", "rerank"]


@dataclass(frozen=True, slots=True)
class Reranker:
    """Any accepted ``reranker=``.

    Attributes:
        score: From a request to one score a text.
        ascore: The same with async code of its own; None where it has none.
    """

    score: Callable[[Rerank], Any]
    ascore: Callable[[Rerank], Coroutine[Any, Any, Any]] | None = None


def as_reranker(model: Any) -> Reranker:
    """A postprocessor, a model or a function as a :class:`Reranker`.

    Raises:
        ConfigurationError: It is none of these.
    """
    if isinstance(model, BaseNodePostprocessor):
        return _postprocessor(model)
    scorer = as_scorer(model, "a node postprocessor, ")
    return Reranker(lambda asked: scorer(asked.query, asked.texts))


def rerank(reranker: Reranker, asked: Rerank) -> Any:
    """Carry out one request within its time."""
    return call_within(asked.timeout, lambda: reranker.score(asked))


async def arerank(reranker: Reranker, asked: Rerank) -> Any:
    """:func:`rerank`, asynchronously; what has no async code of its own gets a thread."""
    if reranker.ascore is None:
        return await thread_within(asked.timeout, lambda: reranker.score(asked))
    return await await_within(asked.timeout, reranker.ascore(asked))


def _postprocessor(postprocessor: BaseNodePostprocessor) -> Reranker:
    def score(asked: Rerank) -> list[Any]:
        nodes = postprocessor.postprocess_nodes(_nodes(asked), query_str=asked.query)
        return _scores(nodes, len(asked.texts))

    async def ascore(asked: Rerank) -> list[Any]:
        nodes = await postprocessor.apostprocess_nodes(_nodes(asked), query_str=asked.query)
        return _scores(nodes, len(asked.texts))

    own = type(postprocessor)._apostprocess_nodes is not BaseNodePostprocessor._apostprocess_nodes
    return Reranker(score, ascore if own else None)


def _nodes(asked: Rerank) -> list[NodeWithScore]:
    """The texts as nodes of ours: postprocessors write into the ones that they are given.

    They start without a score, so that a score is known to be the postprocessor's own.
    """
    return [
        NodeWithScore(node=TextNode(id_=str(place), text=text))
        for place, text in enumerate(asked.texts)
    ]


def _scores(nodes: list[NodeWithScore], count: int) -> list[Any]:
    """One score a text; None for what the postprocessor left out or gave none."""
    places = {str(place): place for place in range(count)}
    scores: list[Any] = [None] * count
    for item in nodes:
        place = places.pop(item.node_id, None)
        if place is None:
            raise InvalidScores
        scores[place] = item.score
    return scores
