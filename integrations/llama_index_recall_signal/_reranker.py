"""The reranker in LlamaIndex's terms: a rerank postprocessor, a model, or a function."""

from __future__ import annotations

from typing import TypeAlias

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, TextNode

from recall_signal._steps.blocking import holds_loop
from recall_signal._wrapper.model_calls import Model
from recall_signal.reranking import InvalidScores, Rerank, as_scorer

__all__ = ["Reranker", "as_reranker"]

Reranker: TypeAlias = Model[Rerank, None, object]


def as_reranker(model: object) -> Reranker:
    """Wrap a postprocessor, a model or a function.

    Raises:
        ConfigurationError: It is none of these.
    """
    if isinstance(model, BaseNodePostprocessor):
        return _postprocessor(model)
    scorer = as_scorer(model, "a node postprocessor, ")
    return Model(lambda asked, _: scorer(asked.query, asked.texts))


def _postprocessor(postprocessor: BaseNodePostprocessor) -> Reranker:
    def score(asked: Rerank, _: None) -> object:
        nodes = postprocessor.postprocess_nodes(_nodes(asked), query_str=asked.query)
        return _scores(nodes, len(asked.texts))

    async def ascore(asked: Rerank, _: None) -> object:
        nodes = await postprocessor.apostprocess_nodes(_nodes(asked), query_str=asked.query)
        return _scores(nodes, len(asked.texts))

    own = type(postprocessor)._apostprocess_nodes is not BaseNodePostprocessor._apostprocess_nodes
    alone = holds_loop(postprocessor._apostprocess_nodes)
    return Model(score, ascore if own else None, alone=alone)


def _nodes(asked: Rerank) -> list[NodeWithScore]:
    """Make new nodes: postprocessors write into the ones that they are given.

    They start without a score, so that a score is known to be the postprocessor's own.
    """
    return [
        NodeWithScore(node=TextNode(id_=str(place), text=text))
        for place, text in enumerate(asked.texts)
    ]


def _scores(nodes: list[NodeWithScore], count: int) -> list[object]:
    """Read one score a text; None for what the postprocessor left out or gave none."""
    places = {str(place): place for place in range(count)}
    scores: list[object] = [None] * count
    for item in nodes:
        place = places.pop(item.node_id, None)
        if place is None:
            raise InvalidScores
        scores[place] = item.score
    return scores
