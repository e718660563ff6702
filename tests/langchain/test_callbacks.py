"""Runs and events: what a tracer sees."""

import logging
from typing import Any
from uuid import UUID

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import RunnableLambda

from langchain_recall_signal import RecallRetriever
from tests.langchain.fakes import QUERY, documents, encoder_for, entry, faiss_store, simple_store

WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke", "batch", "abatch"])


class Tracer(BaseCallbackHandler):
    """Keeps every run of a retriever and every custom event."""

    def __init__(self) -> None:
        self.runs: list[dict[str, Any]] = []
        self.events: list[tuple[str, Any, UUID]] = []
        self.ended: list[UUID] = []
        self.failed: list[BaseException] = []

    def on_retriever_start(self, serialized: Any, query: str, **run: Any) -> None:
        self.runs.append(run)

    def on_retriever_end(self, documents: Any, *, run_id: UUID, **_: Any) -> None:
        self.ended.append(run_id)

    def on_retriever_error(self, error: BaseException, **_: Any) -> None:
        self.failed.append(error)

    def on_custom_event(self, name: str, data: Any, *, run_id: UUID, **_: Any) -> None:
        self.events.append((name, data, run_id))


async def ask(retriever: Any, way: str, config: Any = None) -> Any:
    queries = [QUERY, QUERY] if "batch" in way else QUERY
    answer = getattr(retriever, way)(queries, config)
    return await answer if way.startswith("a") else answer


def wrapped(count: int = 5) -> RecallRetriever:
    return RecallRetriever(retriever=simple_store(count).as_retriever())


@WAYS
@pytest.mark.parametrize("bound", [False, True])
async def test_the_wrapped_retriever_runs_below_the_wrapper(way: str, bound: bool) -> None:
    inner: Any = simple_store().as_retriever()
    inner = inner.bind(k=2).with_config(tags=["inner"]) if bound else inner
    tracer = Tracer()
    await ask(RecallRetriever(retriever=inner), way, {"callbacks": [tracer], "tags": ["outer"]})
    outer = [run for run in tracer.runs if run["parent_run_id"] is None]
    below = [run for run in tracer.runs if run["parent_run_id"] is not None]
    assert len(outer) == len(below) == (2 if "batch" in way else 1)
    assert {run["parent_run_id"] for run in below} == {run["run_id"] for run in outer}
    assert len(tracer.ended) == len(tracer.runs)
    assert [run["name"] for run in outer] == ["RecallRetriever"] * len(outer)
    assert all("outer" in run["tags"] for run in tracer.runs)
    assert all(("inner" in run["tags"]) == bound for run in below)


@WAYS
async def test_the_event_carries_both_reports(way: str) -> None:
    tracer = Tracer()
    await ask(wrapped(), way, {"callbacks": [tracer]})
    outer = [run["run_id"] for run in tracer.runs if run["parent_run_id"] is None]
    assert len(tracer.events) == len(outer)
    assert {run_id for *_, run_id in tracer.events} == set(outer)
    for name, data, _ in tracer.events:
        assert name == "recall_signal"
        assert data == wrapped().recall(QUERY).to_dict()


@WAYS
async def test_an_empty_page_sends_it_too(way: str) -> None:
    tracer = Tracer()
    await ask(wrapped(0), way, {"callbacks": [tracer]})
    assert tracer.events
    for _, data, _ in tracer.events:
        assert data["confidence"]["level"] == "none"
        assert data["confidence"]["result_count"] == 0


@WAYS
async def test_no_handler_no_event(way: str) -> None:
    assert await ask(wrapped(), way)


async def test_what_a_handler_does_to_the_event_stays_there() -> None:
    class Careless(Tracer):
        def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
            data["confidence"].clear()

    page = wrapped().invoke(QUERY, {"callbacks": [Careless()]})
    assert entry(page[0]) == entry(wrapped().invoke(QUERY)[0])
    response = wrapped().recall(QUERY, {"callbacks": [Careless()]})
    assert response.to_dict() == wrapped().recall(QUERY).to_dict()


@pytest.mark.parametrize("count", [5, 0])
async def test_event_stream(count: int) -> None:
    events = [event async for event in wrapped(count).astream_events(QUERY, version="v2")]
    starts = [event for event in events if event["event"] == "on_retriever_start"]
    custom = [event for event in events if event["event"] == "on_custom_event"]
    assert [event["name"] for event in starts] == ["RecallRetriever", "VectorStoreRetriever"]
    assert starts[1]["parent_ids"] == [starts[0]["run_id"]]
    assert [event["name"] for event in custom] == ["recall_signal"]
    assert custom[0]["data"] == wrapped(count).recall(QUERY).to_dict()


async def test_event_stream_of_a_chain() -> None:
    chain = RunnableLambda(lambda text: text) | wrapped() | RunnableLambda(len)
    names = [event["name"] async for event in chain.astream_events(QUERY, version="v2")]
    assert names.count("recall_signal") == 1


@WAYS
@pytest.mark.parametrize("recall", [False, True])
@pytest.mark.parametrize("raises", [False, True])
async def test_a_handler_that_fails_does_not_cost_the_page(
    way: str, raises: bool, recall: bool, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(BaseCallbackHandler):
        raise_error = raises

        def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
            raise ValueError("a handler's secret")

    config = {"callbacks": [Failing()]}
    retriever: Any = wrapped().as_report_runnable() if recall else wrapped()
    answer = await ask(retriever, way, config)
    one = answer[0] if "batch" in way else answer
    assert len(one.documents if recall else one) == 4
    ours = [r.getMessage() for r in caplog.records if r.name.startswith("langchain_recall")]
    assert ours == ["the event recall_signal was not sent: ValueError"] * len(ours)
    assert bool(ours) == raises


@WAYS
async def test_tracing_goes_on_naming_the_store_and_its_encoder(way: str) -> None:
    store = faiss_store(encoder_for([[1.0, 0.0]], [1.0, 0.0]), 1)
    tracer = Tracer()
    config = {"callbacks": [tracer], "metadata": {"mine": 1}}
    await ask(RecallRetriever(retriever=store.as_retriever()), way, config)
    for run in tracer.runs:
        assert run["metadata"]["ls_vector_store_provider"] == "FAISS"
        assert run["metadata"]["ls_embedding_provider"] == "Encoder"
        assert run["metadata"]["mine"] == 1
    names = {run["metadata"]["ls_retriever_name"] for run in tracer.runs}
    assert names == {"recall", "vectorstore"}


def test_tracing_names_the_store_that_is_searched_now() -> None:
    bare = simple_store().as_retriever()
    wrapper, tracer = RecallRetriever(retriever=bare), Tracer()
    bare.vectorstore = faiss_store(encoder_for([[1.0, 0.0]], [1.0, 0.0]), 1)
    wrapper.invoke(QUERY, {"callbacks": [tracer]})
    assert [run["metadata"]["ls_vector_store_provider"] for run in tracer.runs] == ["FAISS"] * 2


def test_a_retriever_of_ones_own_is_asked_at_each_call() -> None:
    class Named(BaseRetriever):
        def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
            return {**super()._get_ls_params(), "ls_embedding_provider": kwargs["tenant"]}

        def _get_relevant_documents(  # type: ignore[override]
            self, query: str, *, run_manager: Any, tenant: str
        ) -> list[Document]:
            return documents(1)

    wrapper, tracer = RecallRetriever(retriever=Named()), Tracer()
    for tenant in ("north", "south"):
        wrapper.invoke(QUERY, {"callbacks": [tracer]}, tenant=tenant)
    seen = [run["metadata"]["ls_embedding_provider"] for run in tracer.runs]
    assert seen == ["north", "north", "south", "south"]


def test_tracing_of_other_runnables() -> None:
    tracer = Tracer()
    inner: RunnableLambda[str, list[Document]] = RunnableLambda(lambda query: documents(1))
    RecallRetriever(retriever=inner).invoke(QUERY, {"callbacks": [tracer]})
    assert tracer.runs[0]["metadata"]["ls_retriever_name"] == "recall"


@WAYS
async def test_an_error_is_seen_by_both_runs(way: str) -> None:
    failure = RuntimeError("gone")

    def fail(*_: Any, **__: Any) -> Any:
        raise failure

    store = simple_store()
    store.embedding.embed_query = fail  # type: ignore[method-assign]
    tracer = Tracer()
    with pytest.raises(RuntimeError):
        await ask(RecallRetriever(retriever=store.as_retriever()), way, {"callbacks": [tracer]})
    assert len(tracer.failed) >= 2
    assert all(error is failure for error in tracer.failed)
    assert tracer.events == []


async def test_recall_runs_as_invoke_does() -> None:
    tracer = Tracer()
    retriever: Any = wrapped().with_config(tags=["mine"], run_name="named")
    config: Any = {"callbacks": [tracer]}
    retriever.recall(QUERY, config)
    await retriever.arecall(QUERY, config)
    outer = [run for run in tracer.runs if run["parent_run_id"] is None]
    assert [(run["name"], run["tags"]) for run in outer] == [("named", ["mine"])] * 2
    assert len(tracer.events) == 2


def test_nothing_of_a_query_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        wrapped().invoke(QUERY)
    ours = [r for r in caplog.records if "recall_signal" in r.name]
    assert ours == []


async def test_a_fit_within_a_chain_is_nobodys_run() -> None:
    """Of its hundreds of searches a trace would have as many runs."""
    tracer, cosines = Tracer(), [0.9, *[0.3] * 40]
    wrapped = RecallRetriever.from_vectorstore(simple_store(41, cosines), k=2)

    async def afit(_: str) -> Any:
        return await wrapped.acalibrate()

    step = RunnableLambda(lambda _: wrapped.calibrate(), afunc=afit)
    step.invoke("now", {"callbacks": [tracer]})
    await step.ainvoke("now", {"callbacks": [tracer]})
    assert (tracer.runs, tracer.events) == ([], [])
