"""Both integrations behind one small interface, for what both must do alike.

The fixture `framework` (in `tests/conftest.py`) runs a test once with each. Stores hold the
texts `t0`, `t1`, ... under the ids `id0`, `id1`, ..., with the given cosines to `QUERY`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from langchain.agents import create_agent
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import StructuredTool
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.workflow import Context

import langchain_recall_signal as in_langchain
import llama_index_recall_signal as in_llama_index
from recall_signal.logs import LogWriter
from recall_signal.selection import Answer, SelectionOptions, SelectionRequest
from recall_signal.testing import SettableEncoder, vectors_with_cosines
from tests.langchain import agent_fakes as lc_agents
from tests.langchain import fakes as lc
from tests.llama_index import agent_fakes as li_agents
from tests.llama_index import fakes as li

QUERY = lc.QUERY
STRONG, WEAK = [0.9, 0.5, 0.45, 0.4], [0.2, 0.195, 0.19, 0.185]


@dataclass(frozen=True)
class Item:
    """One result of a page."""

    id: str
    text: str
    metadata: dict[str, Any]

    @property
    def entry(self) -> dict[str, Any]:
        found: dict[str, Any] = self.metadata["recall"]
        return found


@dataclass(frozen=True)
class Said:
    """An answer, its reports, and how often a model was asked for it."""

    text: str
    report: dict[str, Any]
    asked: int


class Framework(Protocol):
    """The parts of an integration that the tests of both use."""

    name: str
    package: Any

    def encoding(self, vectors: Mapping[str, Any]) -> tuple[SettableEncoder, dict[str, Any]]:
        """An encoder that knows these vectors, and the setting of a retriever with it."""

    def listed(self, scores: Sequence[Any], **settings: Any) -> Any:
        """A `RecallRetriever` over a page with these scores, of a store that nobody knows."""

    def over(self, cosines: Sequence[float] = STRONG, k: int = 4, **settings: Any) -> Any:
        """A `RecallRetriever` over a vector store."""

    def around(self, search: Callable[[], Sequence[str]], **settings: Any) -> Any:
        """A `RecallRetriever` around a retriever without scores that returns these texts."""

    def hanging(self, **settings: Any) -> Any:
        """A `RecallRetriever` whose asynchronous search takes a minute."""

    def thresholded(self, cosines: Sequence[float]) -> Any:
        """A `RecallRetriever` whose retriever lets no result pass its own limit."""

    def selected_inside(self, options: SelectionOptions) -> Any:
        """A `RecallRetriever` around a retriever whose own selector keeps none of two."""

    def events(self) -> Any:
        """A context manager giving settings of a call, and the reports of its events."""

    def page(self, response: Any) -> list[Item]:
        """The page of a response."""

    def telemetry(self) -> Any:
        """A context manager with a registered telemetry handler, giving settings of a call."""

    def logged(self, log: LogWriter) -> Any:
        """The same with a handler that writes this log."""

    async def recall(self, retriever: Any, way: str, **call: Any) -> Any:
        """`recall` or `arecall`."""

    async def call_tool(self, tool: Any, way: str) -> tuple[str, dict[str, Any]]:
        """Content and artifact of a call of the recall tool."""

    async def run_agent(
        self, retriever: Any, way: str, *, through_a_protocol: bool = False, **settings: Any
    ) -> tuple[bool, dict[str, Any]]:
        """Whether the web is offered after one recall, and the reports in the agent's state."""

    async def answer(
        self, retriever: Any, way: str, *, streaming: bool = False, **settings: Any
    ) -> Said:
        """The answer of a chain or a query engine, whose model says `answer`."""

    def asks(self, shown: int) -> int:
        """How often the model is asked for an answer from a page of this size."""

    async def run_corrective(self, retriever: Any, way: str) -> dict[str, Any]:
        """The outcome of the corrective graph or workflow, whose web search finds one hit."""


class LangChain:
    """LangChain."""

    name = "langchain"
    package: Any = in_langchain

    def encoding(self, vectors: Mapping[str, Any]) -> tuple[SettableEncoder, dict[str, Any]]:
        encoder = lc.Encoder(vectors, dimension=lc.DIMENSION)
        return encoder, {"embeddings": encoder}

    def listed(self, scores: Sequence[Any], **settings: Any) -> Any:
        store, k = lc.Scored(scores), max(1, len(scores))
        return in_langchain.RecallRetriever.from_vectorstore(store, k=k, **settings)

    def over(self, cosines: Sequence[float] = STRONG, k: int = 4, **settings: Any) -> Any:
        store = lc.simple_store(cosines=cosines)
        return in_langchain.RecallRetriever.from_vectorstore(store, k=k, **settings)

    def around(self, search: Callable[[], Sequence[str]], **settings: Any) -> Any:
        def documents(query: str) -> list[Document]:
            return [Document(id=f"id{n}", page_content=text) for n, text in enumerate(search())]

        return in_langchain.RecallRetriever(retriever=RunnableLambda(documents), **settings)

    def hanging(self, **settings: Any) -> Any:
        return in_langchain.RecallRetriever(retriever=_Hanging(), **settings)

    def page(self, response: Any) -> list[Item]:
        return [Item(d.id, d.page_content, d.metadata) for d in response.documents]

    @contextmanager
    def telemetry(self) -> Iterator[dict[str, Any]]:
        yield {"config": {"callbacks": [in_langchain.RecallTelemetryHandler()]}}

    @contextmanager
    def logged(self, log: LogWriter) -> Iterator[dict[str, Any]]:
        yield {"config": {"callbacks": [in_langchain.RecallLogHandler(log)]}}

    async def recall(self, retriever: Any, way: str, **call: Any) -> Any:
        if way == "sync":
            return retriever.recall(QUERY, **call)
        return await retriever.arecall(QUERY, **call)

    async def call_tool(self, tool: Any, way: str) -> tuple[str, dict[str, Any]]:
        call = {"type": "tool_call", "name": tool.name, "id": "1", "args": {"query": QUERY}}
        message = tool.invoke(call) if way == "sync" else await tool.ainvoke(call)
        return message.content, message.artifact

    def thresholded(self, cosines: Sequence[float]) -> Any:
        vectors = vectors_with_cosines(np.eye(lc.DIMENSION)[0], cosines)
        encoder = lc.encoder_for(vectors, np.eye(lc.DIMENSION)[0])
        return in_langchain.RecallRetriever.from_vectorstore(
            lc.faiss_store(encoder, len(vectors)),
            search_type="similarity_score_threshold",
            search_kwargs={"score_threshold": 0.99},
        )

    def selected_inside(self, options: SelectionOptions) -> Any:
        page = [Document(id=f"id{n}", page_content=f"t{n}") for n in range(2)]
        compressor = in_langchain.SelectorCompressor(selector=Keeping(), options=options)
        inner = ContextualCompressionRetriever(
            base_compressor=compressor, base_retriever=_Fixed(page=page)
        )
        return in_langchain.RecallRetriever(retriever=inner)

    @contextmanager
    def events(self) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        heard = _Events()
        yield {"config": {"callbacks": [heard]}}, heard.reports

    async def run_agent(
        self, retriever: Any, way: str, *, through_a_protocol: bool = False, **settings: Any
    ) -> tuple[bool, dict[str, Any]]:
        tool = in_langchain.create_recall_tool(retriever, "memory", "x")
        if through_a_protocol:
            tool = lc_agents.through_a_protocol(tool)
        web = StructuredTool.from_function(lambda query: "w", name="web", description="x")
        model = lc_agents.ScriptedModel(policy=lc_agents.look_then_web)
        middleware = in_langchain.RecallMiddleware(
            retriever_tools=["memory"], fallback_tools=["web"], **settings
        )
        agent: Any = create_agent(model, [tool, web], middleware=[middleware])
        question = {"messages": [("human", QUERY)]}
        state = agent.invoke(question) if way == "sync" else await agent.ainvoke(question)
        return any("web" in offer for offer in model.offers), state["recall"]

    async def run_corrective(self, retriever: Any, way: str) -> dict[str, Any]:
        graph: Any = in_langchain.corrective_graph(
            retriever, lambda given: "answer", lambda query: [{"content": "hit"}]
        ).compile()
        question = {"question": QUERY}
        result: dict[str, Any] = (
            graph.invoke(question) if way == "sync" else await graph.ainvoke(question)
        )
        return result

    async def answer(
        self, retriever: Any, way: str, *, streaming: bool = False, **settings: Any
    ) -> Said:
        model = lc_agents.Answering()
        chain: Any = in_langchain.create_recall_chain(retriever, model, **settings)
        if way == "sync":
            parts = [*chain.stream(QUERY)] if streaming else [chain.invoke(QUERY)]
        elif streaming:
            parts = [part async for part in chain.astream({"input": QUERY})]
        else:
            parts = await chain.abatch([QUERY])
        assert ["recall" in part.response_metadata for part in parts[:-1]] == [False] * len(
            parts[:-1]
        )
        text = "".join(part.text for part in parts)
        return Said(text, parts[-1].response_metadata["recall"], len(model.prompts))

    def asks(self, shown: int) -> int:
        return 1


class _Events(BaseCallbackHandler):
    def __init__(self) -> None:
        self.reports: list[dict[str, Any]] = []

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        self.reports.append(data)


class _Fixed(BaseRetriever):
    page: list[Document]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return self.page


class _Hanging(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        raise KeyboardInterrupt

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        await asyncio.sleep(60)
        return []


class LlamaIndex:
    """LlamaIndex."""

    name = "llama_index"
    package: Any = in_llama_index

    def encoding(self, vectors: Mapping[str, Any]) -> tuple[SettableEncoder, dict[str, Any]]:
        embedding = li.Embedding(vectors, dimension=lc.DIMENSION)
        return embedding.encoder, {"embed_model": embedding}

    def listed(self, scores: Sequence[Any], **settings: Any) -> Any:
        nodes = [
            NodeWithScore(node=TextNode(id_=f"id{n}", text=f"t{n}"), score=score)
            for n, score in enumerate(scores)
        ]
        return in_llama_index.RecallRetriever(li.ListRetriever(nodes), **settings)

    def over(self, cosines: Sequence[float] = STRONG, k: int = 4, **settings: Any) -> Any:
        vectors = vectors_with_cosines(li.QUERY_VECTOR, cosines)
        nodes = [
            TextNode(
                id_=f"id{n}",
                text=f"t{n}",
                metadata={"n": n},
                excluded_llm_metadata_keys=["n"],
                embedding=vector.tolist(),
            )
            for n, vector in enumerate(vectors)
        ]
        embedding = li.Embedding({QUERY: li.QUERY_VECTOR})
        inner = li.index_of(nodes, embedding=embedding).as_retriever(similarity_top_k=k)
        return in_llama_index.RecallRetriever(inner, **settings)

    def around(self, search: Callable[[], Sequence[str]], **settings: Any) -> Any:
        return in_llama_index.RecallRetriever(_Searching(search), **settings)

    def hanging(self, **settings: Any) -> Any:
        return in_llama_index.RecallRetriever(li.ListRetriever([], seconds=60), **settings)

    def page(self, response: Any) -> list[Item]:
        return [Item(i.node_id, i.node.get_content(), i.node.metadata) for i in response.nodes]

    @contextmanager
    def telemetry(self) -> Iterator[dict[str, Any]]:
        with _handling(in_llama_index.RecallTelemetryHandler()):
            yield {}

    @contextmanager
    def logged(self, log: LogWriter) -> Iterator[dict[str, Any]]:
        with _handling(in_llama_index.RecallLogHandler(log)):
            yield {}

    async def recall(self, retriever: Any, way: str, **call: Any) -> Any:
        if way == "sync":
            return retriever.recall(QUERY, **call)
        return await retriever.arecall(QUERY, **call)

    async def call_tool(self, tool: Any, way: str) -> tuple[str, dict[str, Any]]:
        output = tool(QUERY) if way == "sync" else await tool.acall(QUERY)
        assert output.is_error == (output.raw_output["error"] is not None)
        return output.content, output.raw_output

    def thresholded(self, cosines: Sequence[float]) -> Any:
        """No retriever of LlamaIndex has a limit of its own; postprocessors have."""
        return self.around(list)

    def selected_inside(self, options: SelectionOptions) -> Any:
        selector = in_llama_index.RecallSelectorPostprocessor(selector=Keeping(), options=options)
        return in_llama_index.RecallRetriever(_Selecting(li.scored(None, None), selector))

    @contextmanager
    def events(self) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        reports: list[dict[str, Any]] = []
        with li.caught_events() as catcher:
            yield {}, reports
            reports += [event.report for event in catcher.of("RecallSignalEvent")]

    async def run_agent(
        self, retriever: Any, way: str, *, through_a_protocol: bool = False, **settings: Any
    ) -> tuple[bool, dict[str, Any]]:
        tool: Any = in_llama_index.create_recall_tool(retriever, "notes", "x")
        if through_a_protocol:
            tool = li_agents.ThroughAProtocol(tool)
        runner, llm = li_agents.agent(
            [[("notes", {"query": QUERY})]], tool, li_agents.web(), **settings
        )
        context: Any = Context(runner)
        await runner.run(QUERY, ctx=context)
        recall: dict[str, Any] = await context.store.get("recall")
        return any("web" in offer for offer in llm.offered), recall

    async def run_corrective(self, retriever: Any, way: str) -> dict[str, Any]:
        workflow = in_llama_index.CorrectiveWorkflow(
            retriever, lambda given: "answer", lambda query: [{"content": "hit"}]
        )
        outcome: Any = await workflow.run(question=QUERY)
        result: dict[str, Any] = outcome.model_dump()
        return result

    async def run_engine(
        self, retriever: Any, way: str, *, router: bool, emptier: str | None = None
    ) -> dict[str, Any]:
        """The reports of a query engine's response."""
        engine = self._engine(retriever, emptier, llm=li.RecordingLLM())
        if router:
            engine = in_llama_index.RecallRouterQueryEngine(engine, _Elsewhere())
        response = engine.query(QUERY) if way == "sync" else await engine.aquery(QUERY)
        report: dict[str, Any] = response.metadata["recall"]
        return report

    async def answer(
        self,
        retriever: Any,
        way: str,
        *,
        streaming: bool = False,
        emptier: str | None = None,
        **settings: Any,
    ) -> Said:
        llm = li.RecordingLLM()
        engine = self._engine(retriever, emptier, llm=llm, streaming=streaming, **settings)
        if way == "sync":
            response = engine.query(QUERY)
        else:
            response = await engine.aquery(QUERY)
        report = response.metadata["recall"]
        if streaming and way == "sync":
            text = "".join(response.response_gen)
        elif streaming:
            text = "".join([part async for part in response.async_response_gen()])
        else:
            text = str(response)
        return Said(text, report, len(llm.prompts))

    def asks(self, shown: int) -> int:
        """The framework answers a question without nodes by itself."""
        return min(shown, 1)

    def _engine(self, retriever: Any, emptier: str | None, **settings: Any) -> Any:
        emptiers = {
            "threshold": lambda: SimilarityPostprocessor(similarity_cutoff=0.99),
            "selector": lambda: in_llama_index.RecallSelectorPostprocessor(
                selector=Keeping(), options=SelectionOptions(on_empty="drop")
            ),
            "selector, keeping": lambda: in_llama_index.RecallSelectorPostprocessor(
                selector=Keeping()
            ),
        }
        steps = [emptiers[emptier]()] if emptier else []
        return in_llama_index.RecallQueryEngine.from_args(
            retriever, node_postprocessors=steps, **settings
        )


@contextmanager
def _handling(handler: BaseEventHandler) -> Iterator[None]:
    root = get_dispatcher()
    root.add_event_handler(handler)
    try:
        yield
    finally:
        root.event_handlers.remove(handler)


class _Elsewhere(CustomQueryEngine):
    """Answers from somewhere else."""

    def custom_query(self, query_str: str) -> str:
        return "elsewhere"


class _Selecting(li.ListRetriever):
    def __init__(self, nodes: list[NodeWithScore], selector: Any) -> None:
        super().__init__(nodes)
        self.selector = selector

    def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        found: list[NodeWithScore] = self.selector.postprocess_nodes(
            super()._retrieve(query_bundle), query_bundle
        )
        return found

    async def _aretrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        return self._retrieve(query_bundle)


class _Searching(li.ListRetriever):
    def __init__(self, search: Callable[[], Sequence[str]]) -> None:
        super().__init__([])
        self.search = search

    def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        texts = enumerate(self.search())
        return [NodeWithScore(node=TextNode(id_=f"id{n}", text=text)) for n, text in texts]


FRAMEWORKS: dict[str, Framework] = {"langchain": LangChain(), "llama_index": LlamaIndex()}


class Keeping:
    """A selector that keeps these positions of the page, or none of these."""

    def __init__(self, *places: int) -> None:
        self.places = places

    def select(self, request: SelectionRequest) -> Answer:
        keep = [request.labels[at] for at in self.places] or [request.none_label]
        return Answer({"keep": keep}, "keeper")

    async def aselect(self, request: SelectionRequest) -> Answer:
        return self.select(request)
