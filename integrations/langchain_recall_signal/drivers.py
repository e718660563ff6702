"""What carries out the requests of a query, synchronously and asynchronously."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import patch_config, run_in_executor

from langchain_recall_signal.call import Retrieve
from langchain_recall_signal.encoders import aembed, embed
from langchain_recall_signal.reader import Reader
from langchain_recall_signal.reranker import Reranker, arerank, rerank
from langchain_recall_signal.selector import aask, ask
from langchain_recall_signal.tap import listening
from recall_signal.calibration.through import WrapperParts
from recall_signal.embedding import Embed
from recall_signal.flow import Request
from recall_signal.reranking import Rerank
from recall_signal.stores.access import EmbedQuery, Wait

__all__ = ["Driver", "Parts"]


@dataclass(slots=True, kw_only=True)
class Parts(WrapperParts):
    """What is worked out from a wrapper's settings once, and shared by its calls.

    Attributes:
        reader: How the scores of the wrapped retriever are read.
        embeddings: The wrapper's encoder, for texts that are embedded again.
        selector: Whom the flow's ``Ask`` goes to: a ``RunnableSelector``, where it asks one.
        reranker: Whom its ``Rerank`` goes to.
        trace: What tracers are told of the wrapper, and of a plain retriever's store.
        traced: Who tells them more at each call.
    """

    reader: Reader
    embeddings: Embeddings | None
    selector: Any
    reranker: Reranker | None
    trace: LangSmithRetrieverParams
    traced: BaseRetriever | None


@dataclass(slots=True)
class Driver:
    """One query.

    Attributes:
        query: The question.
        parts: The wrapper's.
        config: What the call was configured with.
        manager: The run that everything here is a child of.
    """

    query: str
    parts: Parts
    config: RunnableConfig | None
    manager: Any

    def perform(self, request: Request | Retrieve | EmbedQuery | Wait) -> Any:
        """Carry out one request."""
        if isinstance(request, Retrieve):
            token = listening.set(request.recorder)
            try:
                return request.retriever.invoke(self.query, self._child(), **request.kwargs)
            finally:
                listening.reset(token)
        if isinstance(request, EmbedQuery):
            return request.encoder.embed_query(self.query)
        if isinstance(request, Wait):
            return request.call()
        if isinstance(request, Embed):
            return embed(self.parts.embeddings, request)
        if isinstance(request, Rerank):
            assert self.parts.reranker is not None  # noqa: S101  (the flow asks only then)
            return rerank(self.parts.reranker, request, self.manager.get_child())
        return ask(self.parts.selector, request, self.manager.get_child())

    async def aperform(self, request: Request | Retrieve | EmbedQuery | Wait) -> Any:
        """:meth:`perform`, asynchronously."""
        if isinstance(request, Retrieve):
            token = listening.set(request.recorder)
            try:
                return await request.retriever.ainvoke(self.query, self._child(), **request.kwargs)
            finally:
                listening.reset(token)
        if isinstance(request, EmbedQuery):
            return await request.encoder.aembed_query(self.query)
        if isinstance(request, Wait):
            return await run_in_executor(None, request.call)
        if isinstance(request, Embed):
            return await aembed(self.parts.embeddings, request)
        if isinstance(request, Rerank):
            assert self.parts.reranker is not None  # noqa: S101  (the flow asks only then)
            return await arerank(self.parts.reranker, request, self.manager.get_child())
        return await aask(self.parts.selector, request, self.manager.get_child())

    def _child(self) -> RunnableConfig:
        """The configuration of a run inside ours; what the context holds is merged in there."""
        callbacks = self.manager.get_child()
        if self.config is None:
            return {"callbacks": callbacks}
        return patch_config(self.config, callbacks=callbacks)
