"""Advice and selection where an engine answers from several retrievals, or from none we see."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from llama_index.core.base.response.schema import Response
from llama_index.core.indices.query.query_transform.base import IdentityQueryTransform
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import (
    CitationQueryEngine,
    CustomQueryEngine,
    RetrieverQueryEngine,
    SubQuestionQueryEngine,
    TransformQueryEngine,
)
from llama_index.core.question_gen.types import BaseQuestionGenerator, SubQuestion
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import QueryEngineTool

from llama_index_recall_signal import (
    RecallQueryEngine,
    RecallRetriever,
    RecallRouterQueryEngine,
    RecallSelectorPostprocessor,
)
from recall_signal.selection import SelectionOptions
from tests.frameworks import STRONG, WEAK, Keeping
from tests.llama_index.fakes import (
    QUERY,
    ListRetriever,
    RecordingLLM,
    index_with_cosines,
    scored,
)

DROP = SelectionOptions(on_empty="drop")
CUT = SimilarityPostprocessor(similarity_cutoff=0.99)


def bare(cosines: list[float] = STRONG) -> Any:
    return index_with_cosines(cosines).as_retriever(similarity_top_k=4)


def dense(cosines: list[float] = STRONG, **settings: Any) -> RecallRetriever:
    return RecallRetriever(bare(cosines), **settings)


def emptied() -> RecallRetriever:
    return dense(selector=Keeping(), selector_options=DROP)


def unmeasured() -> RecallRetriever:
    return RecallRetriever(ListRetriever(scored(None, None)))


def selecting(*places: int) -> RecallSelectorPostprocessor:
    return RecallSelectorPostprocessor(selector=Keeping(*places), options=DROP)


def plain(retriever: Any, *postprocessors: Any) -> RetrieverQueryEngine:
    return RetrieverQueryEngine.from_args(
        retriever, llm=RecordingLLM(), node_postprocessors=list(postprocessors)
    )


def cited(retriever: Any, *postprocessors: Any) -> CitationQueryEngine:
    """An engine whose sources are copies with ids of their own."""
    return CitationQueryEngine(
        retriever, llm=RecordingLLM(), node_postprocessors=list(postprocessors)
    )


class EveryTool(BaseQuestionGenerator):
    """Asks every tool the question itself."""

    def _get_prompts(self) -> Any:
        return {}

    def _update_prompts(self, prompts: Any) -> None:
        """Nothing to update."""

    def generate(self, tools: Sequence[Any], query: QueryBundle) -> list[SubQuestion]:
        return [SubQuestion(sub_question=QUERY, tool_name=tool.name or "") for tool in tools]

    async def agenerate(self, tools: Sequence[Any], query: QueryBundle) -> list[SubQuestion]:
        return self.generate(tools, query)


def split(*engines: Any) -> SubQuestionQueryEngine:
    """An engine whose sources are the answers to parts of the question, and theirs."""
    tools = [
        QueryEngineTool.from_defaults(engine, name=f"t{at}", description="d")
        for at, engine in enumerate(engines)
    ]
    return SubQuestionQueryEngine(
        question_gen=EveryTool(),
        response_synthesizer=get_response_synthesizer(llm=RecordingLLM()),
        query_engine_tools=tools,
        use_async=False,
        verbose=False,
    )


def transformed(engine: Any) -> TransformQueryEngine:
    return TransformQueryEngine(engine, IdentityQueryTransform())


class Both(CustomQueryEngine):
    """Answers from the nodes of all of its engines."""

    engines: Any

    def custom_query(self, query_str: str) -> Response:
        responses = [engine.query(query_str) for engine in self.engines]
        return Response("x", source_nodes=[n for one in responses for n in one.source_nodes])


class Expanding(ListRetriever):
    """Other nodes in the place of those that a wrapper inside returned."""

    def __init__(self, inside: RecallRetriever) -> None:
        super().__init__([])
        self.search = lambda query: inside.retrieve(query)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self.search(query_bundle)
        return [NodeWithScore(node=TextNode(text="parent of all"))] if found else []


NONE_SEEN = {"applied": False, "reason": "not_configured"}


async def reported(engine: Any, way: str) -> Any:
    asked = RecallQueryEngine(engine)
    response = asked.query(QUERY) if way == "sync" else await asked.aquery(QUERY)
    return (response.metadata or {})["recall"]


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize(
    ("make", "advice", "selected"),
    [
        # An emptied page, among nodes that others brought
        (lambda: split(plain(emptied())), "fallback", 0),
        (lambda: split(plain(emptied()), plain(emptied())), "fallback", 0),
        (lambda: split(plain(emptied()), plain(dense(WEAK))), "fallback", 0),
        (lambda: split(plain(emptied()), plain(unmeasured())), "fallback", 0),
        (lambda: Both(engines=[plain(emptied()), plain(dense(WEAK))]), "fallback", 0),
        (lambda: split(plain(dense(), CUT)), "fallback", NONE_SEEN),
        (lambda: split(plain(dense(), CUT), plain(dense(WEAK))), "fallback", NONE_SEEN),
        (lambda: split(cited(dense(), selecting()), plain(unmeasured())), "fallback", None),
        (lambda: transformed(plain(dense(), CUT)), "fallback", NONE_SEEN),
        (lambda: transformed(plain(dense(), selecting())), "fallback", 0),
        # A page that is worth reading, whatever became of others
        (lambda: split(plain(emptied()), plain(dense())), "read", NONE_SEEN),
        (lambda: split(plain(dense(), CUT), plain(dense([0.9, 0.3]))), "read", NONE_SEEN),
        (lambda: split(plain(dense(WEAK, selector=Keeping())), plain(dense())), "read", NONE_SEEN),
        (lambda: split(cited(dense()), plain(dense(WEAK))), "read", NONE_SEEN),
        (lambda: transformed(cited(dense())), "read", NONE_SEEN),
        # One retrieval's selection says nothing of another's
        (
            lambda: Both(engines=[plain(dense()), plain(dense(WEAK), selecting())]),
            "read",
            NONE_SEEN,
        ),
        (
            lambda: Both(engines=[plain(dense(WEAK), selecting(0)), plain(dense())]),
            "read",
            NONE_SEEN,
        ),
        (lambda: Both(engines=[plain(dense(), selecting(0)), plain(dense(WEAK))]), "read", 1),
        (lambda: transformed(plain(dense(), selecting(0, 1), selecting(0))), "read", 1),
        # No wrapper is seen
        (lambda: cited(ListRetriever([])), "fallback", NONE_SEEN),
        (lambda: cited(bare(), selecting()), "fallback", 0),
        (lambda: cited(bare(), selecting(0, 1), selecting()), "fallback", 0),
        (lambda: cited(bare(), RecallSelectorPostprocessor(selector=Keeping())), "fallback", None),
        (lambda: transformed(cited(bare(), selecting())), "fallback", 0),
        (lambda: cited(bare(), selecting(0)), "undecided", 1),
        (lambda: split(cited(bare(), selecting(0)), cited(bare())), "undecided", NONE_SEEN),
        # Nodes that an outer retriever made of those of a wrapper
        (lambda: transformed(plain(RecallRetriever(Expanding(dense())))), "read", NONE_SEEN),
        (lambda: transformed(plain(RecallRetriever(Expanding(emptied())))), "fallback", None),
    ],
)
async def test_one_page_one_advice(
    make: Callable[[], Any], advice: str, selected: int | dict[str, Any] | None, way: str
) -> None:
    report = await reported(make(), way)
    assert report["advice"] == advice
    if isinstance(selected, dict):
        assert report["selection"] == selected
    elif selected is not None:
        assert report["selection"]["kept"] == selected


@pytest.mark.parametrize(
    "make",
    [
        lambda: cited(ListRetriever([])),
        lambda: cited(bare(), selecting()),
        lambda: cited(dense(), CUT),
        lambda: plain(emptied()),
    ],
)
def test_an_empty_page_is_answered_elsewhere(make: Callable[[], Any]) -> None:
    seen: list[Any] = []

    def elsewhere(question: str, response: Any) -> str:
        seen.append((response.advice, response.nodes))
        return "elsewhere"

    assert str(RecallQueryEngine(make(), on_absent=elsewhere).query(QUERY)) == "elsewhere"
    assert seen == [("fallback", [])]
    web = RecallQueryEngine(plain(dense()))
    routed = RecallRouterQueryEngine(make(), web).query(QUERY).metadata or {}
    assert routed["recall"]["route"] == "fallback"


def test_somebody_elses_metadata_does_no_harm() -> None:
    confidence = dense().recall(QUERY).confidence.model_dump(mode="json")
    hostile = {"x": {"confidence": {**confidence, "level": np.zeros(2)}}, "y": {"confidence": 5}}
    nodes = [
        NodeWithScore(node=TextNode(id_=f"n{at}", text="x", metadata=hostile)) for at in range(2)
    ]
    silent = Both(engines=[plain(dense(annotate="none"))])
    assert (RecallQueryEngine(silent).query(QUERY).metadata or {})["recall"]["advice"] == "read"

    class Swapping(Both):
        def custom_query(self, query_str: str) -> Response:
            super().custom_query(query_str)
            return Response("x", source_nodes=nodes)

    metadata = RecallQueryEngine(Swapping(engines=[plain(dense())])).query(QUERY).metadata or {}
    assert metadata["recall"]["advice"] == "fallback"
