"""Results of the retrievals of one question, and the responses that report them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from llama_index.core.base.response.schema import (
    RESPONSE_TYPE,
    AsyncStreamingResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_index_recall_signal._collect import collect_responses, publish
from llama_index_recall_signal._pages import with_what_is_left
from llama_index_recall_signal._response import RecallResponse
from recall_signal import SelectionReport
from recall_signal.confidence import unknown
from recall_signal.report_parsing import strongest
from recall_signal.reports import NOT_CONFIGURED
from recall_signal.selection import collect_selections

__all__ = ["Found", "afind", "asaying", "find", "saying", "with_report"]


@dataclass(frozen=True, slots=True)
class Found:
    """The end of the retrievals of one question.

    Attributes:
        nodes: What is left to answer from.
        response: That of the strongest retrieval, with what is left of its page; of level
            `unknown` where we saw none.
    """

    nodes: list[NodeWithScore]
    response: RecallResponse

    @classmethod
    def of(
        cls,
        nodes: list[NodeWithScore],
        responses: Sequence[RecallResponse],
        selections: Sequence[SelectionReport],
        *,
        is_page: bool,
    ) -> Found:
        """Look at everything that was collected (see `with_what_is_left`).

        Args:
            nodes: What is left to answer from.
            responses: Those of the retrievals.
            selections: Those that were made inside.
            is_page: Whether all nodes come from one retriever.
        """
        confidence = unknown("no_score_access", len(nodes))
        unseen = RecallResponse(nodes=nodes, confidence=confidence, selection=NOT_CONFIGURED)
        left = partial(
            with_what_is_left,
            nodes=nodes,
            selections=selections,
            is_page=is_page,
            is_only_one=len(responses) <= 1,
        )
        return cls(nodes, strongest(map(left, responses)) or left(unseen))

    @property
    def is_absent(self) -> bool:
        """True where the advice on what was retrieved is `fallback`."""
        return self.response.advice == "fallback"

    def report(self) -> dict[str, Any]:
        """Return the reports as plain JSON values."""
        return self.response.to_dict()


class Retrieving(Protocol):
    """A query engine that retrieves by itself."""

    def retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Return what it would answer from."""

    async def aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """`retrieve`, asynchronously."""


def find(engine: Retrieving, query_bundle: QueryBundle) -> Found:
    """Retrieve what an engine would answer from, with the reports, which are published."""
    with collect_responses() as responses, collect_selections() as selections:
        nodes = engine.retrieve(query_bundle)
    publish(responses)
    return Found.of(nodes, responses, selections, is_page=True)


async def afind(engine: Retrieving, query_bundle: QueryBundle) -> Found:
    """`find`, asynchronously."""
    with collect_responses() as responses, collect_selections() as selections:
        nodes = await engine.aretrieve(query_bundle)
    publish(responses)
    return Found.of(nodes, responses, selections, is_page=True)


def with_report(response: RESPONSE_TYPE, key: str, report: dict[str, Any]) -> RESPONSE_TYPE:
    """Return the response with the reports, as a copy: an engine may hand out a shared one."""
    return replace(response, metadata={**(response.metadata or {}), key: report})


def saying(text: str, *, streaming: bool) -> RESPONSE_TYPE:
    """Return a response with this text, as a stream where the engine gives one."""
    return StreamingResponse(_once(text)) if streaming else Response(text)


def asaying(text: str, *, streaming: bool) -> RESPONSE_TYPE:
    """`saying` for an asynchronous call, whose stream is asynchronous too."""
    return AsyncStreamingResponse(_aonce(text)) if streaming else Response(text)


def _once(text: str) -> Generator[str, None, None]:
    yield text


async def _aonce(text: str) -> AsyncGenerator[str, None]:
    yield text
