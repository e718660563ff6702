"""Query engines that can be stopped between their search and their answer."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import getattr_static

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.query_engine import CitationQueryEngine, RetrieverQueryEngine

__all__ = ["answers_in_two_steps", "answers_like", "own_way"]

_KNOWN = (RetrieverQueryEngine, CitationQueryEngine)
_ANSWERING = ("query", "aquery", "_query", "_aquery", "synthesize", "asynthesize")


def answers_in_two_steps(engine: BaseQueryEngine) -> bool:
    """Return whether an answer of the engine is `retrieve` and then `synthesize`, nothing else.

    One that answers in a way of its own, such as by a rewritten question, would not give the same
    answer by these two.
    """
    return answers_like(engine, _KNOWN)


def answers_like(engine: BaseQueryEngine, known: Sequence[type[BaseQueryEngine]]) -> bool:
    """Return whether an engine is of one of these classes, and answers as that class does."""
    own = type(engine)
    return any(
        issubclass(own, one)
        and all(getattr_static(own, name) is getattr_static(one, name) for name in _ANSWERING)
        for one in known
    )


def own_way(engine: BaseQueryEngine, part: str) -> str:
    """Return the end of a message about an engine that answers in a way of its own.

    Args:
        engine: The engine.
        part: That which goes around the engine inside it instead.
    """
    return (
        "needs an engine whose answer is one retrieval and one synthesis, such as "
        f"index.as_query_engine(); {type(engine).__name__} answers in a way of its own: put "
        f"{part} around the engine inside it"
    )
