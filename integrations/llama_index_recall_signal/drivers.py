"""What carries out the requests of a query, synchronously and asynchronously."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_index_recall_signal.call import Retrieve, Steps
from llama_index_recall_signal.reranker import Reranker, arerank, rerank
from llama_index_recall_signal.selector import aask, ask
from recall_signal.calibration.through import WrapperParts
from recall_signal.driver import drive, drive_async
from recall_signal.embedding import Embed
from recall_signal.flow import OUR_STEPS, FlowSettings, Outcome, Request, recall_flow
from recall_signal.reranking import Rerank
from recall_signal.selection import Selector
from recall_signal.stores.access import EmbedQuery, StoreMemory, Wait

__all__ = ["Driver", "Parts"]


@dataclass(slots=True, kw_only=True)
class Parts(WrapperParts):
    """What is worked out from a wrapper's settings once, and shared by its calls.

    Attributes:
        memory: What the wrapper knows of the store.
        selector: Whom the flow's ``Ask`` goes to.
        reranker: Whom its ``Rerank`` goes to.
    """

    memory: StoreMemory
    selector: Selector | None
    reranker: Reranker | None


@dataclass(frozen=True, slots=True)
class Driver:
    """One query.

    Attributes:
        bundle: The query, handed to the wrapped retriever as it is.
        settings: The wrapper's.
        steps: The call of the wrapped retriever.
        embed_model: The wrapper's encoder, for texts that are embedded again.
        selector: Whom the flow's ``Ask`` goes to.
        reranker: Whom its ``Rerank`` goes to.
    """

    bundle: QueryBundle
    settings: FlowSettings[NodeWithScore]
    steps: Steps
    embed_model: BaseEmbedding | None
    selector: Selector | None = None
    reranker: Reranker | None = None

    def run(self) -> Outcome[NodeWithScore]:
        """Carry it out."""
        flow = recall_flow(self.bundle.query_str, self.settings, self.steps)
        return drive(flow, self._perform)

    async def arun(self) -> Outcome[NodeWithScore]:
        """Carry it out, asynchronously."""
        flow = recall_flow(self.bundle.query_str, self.settings, self.steps)
        return await drive_async(flow, self._aperform, OUR_STEPS)

    def _perform(self, request: Request | Retrieve | EmbedQuery | Wait) -> Any:
        if isinstance(request, Retrieve):
            return request.retriever.retrieve(self.bundle)
        if isinstance(request, EmbedQuery):
            return request.encoder.get_agg_embedding_from_queries(self._strings)
        if isinstance(request, Wait):
            return request.call()
        if isinstance(request, Embed):
            encoder: Any = self.embed_model
            vectors = encoder.get_text_embedding_batch(request.texts) if request.texts else []
            return encoder.get_agg_embedding_from_queries(self._strings), vectors
        if isinstance(request, Rerank):
            assert self.reranker is not None  # noqa: S101  (the flow asks only then)
            return rerank(self.reranker, request)
        selector: Any = self.selector
        return ask(selector, request)

    async def _aperform(self, request: Request | Retrieve | EmbedQuery | Wait) -> Any:
        if isinstance(request, Retrieve):
            return await request.retriever.aretrieve(self.bundle)
        if isinstance(request, EmbedQuery):
            return await request.encoder.aget_agg_embedding_from_queries(self._strings)
        if isinstance(request, Wait):
            return await asyncio.to_thread(request.call)
        if isinstance(request, Embed):
            encoder: Any = self.embed_model
            texts = request.texts
            vectors = await encoder.aget_text_embedding_batch(texts) if texts else []
            return await encoder.aget_agg_embedding_from_queries(self._strings), vectors
        if isinstance(request, Rerank):
            assert self.reranker is not None  # noqa: S101  (the flow asks only then)
            return await arerank(self.reranker, request)
        selector: Any = self.selector
        return await aask(selector, request)

    @property
    def _strings(self) -> list[str]:
        """What stands for the query in the encoder's space, as LlamaIndex's own search has it."""
        return self.bundle.embedding_strs or [self.bundle.query_str]
