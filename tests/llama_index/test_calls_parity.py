"""Options of a call and failing parts, the same in both frameworks."""

import asyncio
import pickle
import threading
import uuid
from collections.abc import Sequence
from copy import copy, deepcopy
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import VectorIndexRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from langchain_recall_signal import RecallRetriever as LangChainRetriever
from llama_index_recall_signal import DemoEmbedding, RecallQueryEngine
from llama_index_recall_signal import RecallRetriever as LlamaIndexRetriever
from llama_index_recall_signal._encoders import EncoderEmbedding
from recall_signal import ConfigurationError
from recall_signal.selection import SelectionRequest
from recall_signal.testing import SettableEncoder
from tests.frameworks import FRAMEWORKS, QUERY, Framework, Keeping
from tests.langchain.fakes import Encoder
from tests.llama_index.fakes import (
    QUERY_VECTOR,
    Embedding,
    ListRetriever,
    RecordingLLM,
    index_with_cosines,
    scored,
)

COSINES = [0.9, 0.8, 0.7, 0.6, 0.5]


class Hanging:
    """A selector that never answers in time."""

    def __init__(self, over: threading.Event) -> None:
        self.over = over

    def select(self, request: SelectionRequest) -> Any:
        self.over.wait(30)
        raise RuntimeError


class Panic(BaseException):
    """What native code raises."""


def backwards(query: str, texts: list[str]) -> list[float]:
    return [float(n) for n in range(len(texts))]


def langchain(**settings: Any) -> Any:
    return FRAMEWORKS["langchain"].over(COSINES, **settings)


def llama_index(**settings: Any) -> Any:
    return FRAMEWORKS["llama_index"].over(COSINES, **settings)


def page(framework: Framework, response: Any) -> list[str]:
    return [item.id for item in framework.page(response)]


async def test_a_call_has_options_of_its_own(framework: Framework) -> None:
    wrapped = framework.over(COSINES, selector=Keeping(0), reranker=backwards)
    for options, positions, applied in (
        ({}, [0], True),
        ({"select": False}, [0, 1, 2, 3], False),
        ({"select": False, "k": 2}, [0, 1], False),
        ({"select": False, "k": 2, "use_rerank": True}, [1, 0], False),
        ({"use_rerank": True}, [3], True),
    ):
        for response in (
            wrapped.recall(QUERY, **options),
            await wrapped.arecall(QUERY, **options),
        ):
            assert [int(name.strip("id")) for name in page(framework, response)] == positions
            assert response.selection.applied is applied
            assert (response.rerank is not None) == ("use_rerank" in options)
            assert response.confidence.result_count == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be a whole number"),
        ({"select": True}, "select=True needs a selector"),
        ({"use_rerank": True}, "use_rerank=True needs a reranker"),
        ({"use_reranker": True}, "did you mean use_rerank"),
    ],
)
async def test_a_wrong_option_is_refused(framework: Framework, options: Any, message: str) -> None:
    wrapped = framework.over(COSINES)
    with pytest.raises(ConfigurationError, match=message):
        wrapped.recall(QUERY, **options)
    with pytest.raises(ConfigurationError, match=message):
        await wrapped.arecall(QUERY, **options)


def test_llama_index_takes_no_argument_but_the_options() -> None:
    with pytest.raises(ConfigurationError, match="filters is no argument of this call"):
        llama_index().retrieve(QUERY, filters=None)


async def test_a_query_engine_hands_the_options_on() -> None:
    llm = RecordingLLM()
    engine = RecallQueryEngine.from_args(llama_index(selector=Keeping(0)), llm=llm)
    assert len(engine.query(QUERY).source_nodes) == 1
    assert len(engine.query(QUERY, select=False, k=3).source_nodes) == 3
    assert len((await engine.aquery(QUERY, select=False, k=2)).source_nodes) == 2
    assert len(engine.query(QUERY).source_nodes) == 1
    with pytest.raises(ConfigurationError, match="did you mean select"):
        engine.query(QUERY, selects=False)


async def test_a_query_engine_takes_the_options_where_it_only_retrieves() -> None:
    engine = RecallQueryEngine.from_args(llama_index(selector=Keeping(0)), llm=RecordingLLM())
    bundle = QueryBundle(QUERY)
    assert len(engine.retrieve(bundle)) == 1
    assert len(engine.retrieve(bundle, select=False, k=3)) == 3
    assert len(await engine.aretrieve(bundle, select=False, k=2)) == 2
    with pytest.raises(ConfigurationError, match="use_rerank=True needs a reranker"):
        engine.retrieve(bundle, use_rerank=True)
    with pytest.raises(ConfigurationError, match="did you mean select"):
        await engine.aretrieve(bundle, selects=False)

    class OnlySynchronous(RetrieverQueryEngine):
        aretrieve = None  # type: ignore[assignment]

    inner = OnlySynchronous.from_args(llama_index(), llm=RecordingLLM())
    assert len(await RecallQueryEngine(inner).aretrieve(bundle, k=2)) == 2


class Speaking(ListRetriever):
    """Its own methods take more than the question."""

    spoken: Any = None

    def retrieve(self, question: Any, lang: str = "en", *, tone: str = "plain") -> Any:
        self.spoken = lang, tone
        return super().retrieve(question)

    async def aretrieve(self, question: Any, **more: Any) -> Any:
        self.spoken = more
        return await super().aretrieve(question)


async def test_a_call_has_the_arguments_of_the_wrapped_retrievers_signature(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inner, plain = Speaking(scored(0.5, 0.4)), []
    wrapped = LlamaIndexRetriever(inner, score_kind="cosine")
    calibration = type(wrapped._runtime.flow.calibration)
    monkeypatch.setattr(calibration, "observe", lambda *_, is_plain, **__: plain.append(is_plain))
    assert len(wrapped.retrieve(QUERY, lang="de", k=1)) == 1
    assert inner.spoken == ("de", "plain")
    assert len(wrapped.recall(QUERY, tone="curt").nodes) == 2
    assert inner.spoken == ("en", "curt")
    await wrapped.arecall(QUERY, anything=1)
    assert inner.spoken == {"anything": 1}
    around = LlamaIndexRetriever(wrapped)
    around.retrieve(QUERY, lang="fr")
    assert inner.spoken == ("fr", "plain")
    assert not any(plain)
    wrapped.retrieve(QUERY)
    assert plain[-1]
    for name in ("language", "question", "selects"):
        with pytest.raises(ConfigurationError, match=f"{name} is no argument"):
            wrapped.retrieve(QUERY, **{name: "de"})
    with pytest.raises(ConfigurationError, match="did you mean select"):
        await wrapped.aretrieve(QUERY, selects=True)


def test_a_wrapper_inside_a_wrapper_has_its_own_options() -> None:
    inside = llama_index()
    outside = LlamaIndexRetriever(inside, score_kind="cosine")
    assert len(outside.retrieve(QUERY, k=2)) == 2
    assert outside.recall(QUERY, k=2).confidence.result_count == 4


class TestArgumentsOfLangChain:
    def test_what_the_search_takes_is_passed_on(self) -> None:
        wrapped = langchain()
        kept = wrapped.invoke(QUERY, filter=lambda document: document.id != "id0", k=2)
        assert [document.id for document in kept] == ["id1", "id2"]
        with pytest.raises(ConfigurationError, match="some_option_of_the_store is no argument"):
            wrapped.invoke(QUERY, some_option_of_the_store=1)

    def test_the_frameworks_own_are_accepted(self) -> None:
        assert langchain().invoke(QUERY, run_id=uuid.uuid4())

    def test_a_function_has_the_arguments_of_its_signature(self) -> None:
        def search(query: str, lang: str = "en") -> list[Document]:
            return [Document(page_content=lang)]

        wrapped = LangChainRetriever(retriever=RunnableLambda(search))
        assert wrapped.invoke("", lang="de")[0].page_content == "de"
        with pytest.raises(ConfigurationError, match="language is no argument"):
            wrapped.invoke("", language="de")

    def test_a_chain_takes_what_its_links_take(self) -> None:
        chain: Any = RunnableLambda(lambda _: []) | RunnableLambda(lambda found: found)
        with pytest.raises(ConfigurationError, match="did you mean use_rerank"):
            LangChainRetriever(retriever=chain).invoke("", use_rerank_=True)

    def test_a_wrapper_takes_the_options_of_a_wrapper(self) -> None:
        outside = LangChainRetriever(retriever=langchain(), score_kind="auto")
        assert len(outside.invoke(QUERY, k=2)) == 2


async def test_a_hanging_model_is_its_own_wrappers_affair(framework: Framework) -> None:
    over = threading.Event()
    hanging = framework.over(COSINES, selector=Hanging(over), selector_timeout=0.001)
    for _ in range(20):
        assert hanging.recall(QUERY).selection.reason == "timeout"
    healthy = framework.over(COSINES, selector=Keeping(0))
    assert healthy.recall(QUERY).selection.applied
    assert (await healthy.arecall(QUERY)).selection.applied
    over.set()


async def test_a_panic_of_a_reranker_costs_no_page(framework: Framework) -> None:
    def panic(query: str, texts: list[str]) -> list[float]:
        raise Panic

    wrapped = framework.over(COSINES, reranker=panic, use_rerank=True)
    for response in (wrapped.recall(QUERY), await wrapped.arecall(QUERY)):
        assert len(page(framework, response)) == 4
        assert response.rerank.reason == "reranker_error"


async def test_a_timeout_around_a_call_is_never_missed(framework: Framework) -> None:
    wrapped = framework.over(COSINES, reranker=backwards, use_rerank=True)
    for turn in range(30):
        task = asyncio.create_task(wrapped.arecall(QUERY))
        for _ in range(turn):
            await asyncio.sleep(0)
        if not task.done() and task.cancel():
            with pytest.raises(asyncio.CancelledError):
                await task


def test_copies_work_out_their_own(framework: Framework) -> None:
    wrapped = framework.over(COSINES)
    assert wrapped._runtime is wrapped._runtime
    again = wrapped._replace(annotate="none")
    assert again._runtime is not wrapped._runtime
    for copied in (copy(wrapped), deepcopy(wrapped)):
        assert len(page(framework, copied.recall(QUERY))) == 4
    assert pickle.loads(pickle.dumps(wrapped._runtime)) is None


def test_a_retrievers_stop_iteration_is_raised_as_it_is() -> None:
    class Stopping(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            raise StopIteration

    def stop(_: str) -> list[Document]:
        raise StopIteration

    with pytest.raises(StopIteration):
        LlamaIndexRetriever(Stopping()).retrieve(QUERY)
    with pytest.raises(StopIteration):
        LangChainRetriever(retriever=RunnableLambda(stop)).invoke(QUERY)


class TestCalledOnce:
    def test_an_encoder_that_is_down(self) -> None:
        class Down(Encoder):
            calls = 0

            def embed_query(self, text: str) -> list[float]:
                self.calls += 1
                raise ConnectionError

        wrapped = langchain()
        down = Down({}, dimension=16)
        wrapped.retriever.vectorstore.embedding = down
        with pytest.raises(ConnectionError):
            wrapped.invoke(QUERY)
        assert down.calls == 1

    async def test_an_encoder_of_llama_index_that_is_down(self) -> None:
        index = index_with_cosines(COSINES)
        embedding: Any = index._embed_model
        calls = []

        def fail(query: str) -> list[float]:
            calls.append(query)
            raise ConnectionError

        object.__setattr__(embedding, "_get_query_embedding", fail)
        wrapped = LlamaIndexRetriever(index.as_retriever())
        with pytest.raises(ConnectionError):
            wrapped.retrieve(QUERY)
        with pytest.raises(ConnectionError):
            await wrapped.aretrieve(QUERY)
        assert len(calls) == 2

    @pytest.mark.parametrize(("pool_size", "searches"), [(4, 1), (50, 2)])
    def test_a_store_that_is_down(self, pool_size: int, searches: int) -> None:
        made: list[int] = []

        class Down(InMemoryVectorStore):
            def similarity_search_with_score(self, *args: Any, **kwargs: Any) -> Any:
                made.append(1)
                raise ConnectionError

        bare = Down(Encoder({}, dimension=16)).as_retriever(search_kwargs={"k": 4})
        with pytest.raises(ConnectionError):
            LangChainRetriever(retriever=bare, pool_size=pool_size, score_kind="cosine").invoke(
                QUERY
            )
        assert len(made) == searches

    def test_a_store_of_llama_index_that_is_down(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = []

        def fail(*_: Any) -> Any:
            calls.append(1)
            raise ConnectionError

        monkeypatch.setattr(VectorIndexRetriever, "_get_nodes_with_embeddings", fail)
        for pool_size, searches in ((4, 1), (50, 2)):
            calls.clear()
            with pytest.raises(ConnectionError):
                llama_index(k=4, pool_size=pool_size).retrieve(QUERY)
            assert len(calls) == searches


async def test_an_encoder_that_sorts_its_list_swaps_nothing() -> None:
    class Sorting(Embedding):
        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            found = super()._get_text_embeddings(list(texts))
            texts.sort(reverse=True)
            return found

    class SortingEncoder(Encoder):
        def embed_documents(self, texts: Any) -> list[list[float]]:
            found = super().embed_documents(list(texts))
            texts.sort(reverse=True)
            return found

    known = {QUERY: [1.0, 0.0], "stored text 0": [0.0, 1.0], "stored text 1": [1.0, 0.0]}
    wrapped: Any = LlamaIndexRetriever(ListRetriever(scored(None, None)), Sorting(vectors=known))
    for _ in range(2):
        assert wrapped.recall(QUERY).pool.cosines == pytest.approx([0.0, 1.0])
    documents = [Document(page_content=f"stored text {n}") for n in range(2)]
    wrapped = LangChainRetriever(
        retriever=RunnableLambda(lambda _: documents), embeddings=SortingEncoder(known)
    )
    for _ in range(2):
        assert wrapped.recall(QUERY).pool.cosines == pytest.approx([0.0, 1.0])


def test_no_model_shows_in_a_printed_wrapper(framework: Framework) -> None:
    class Keyed(Keeping):
        def __repr__(self) -> str:
            return "sk-secret"

    wrapped = framework.over(COSINES, selector=Keyed(0))
    assert "sk-secret" not in repr(getattr(wrapped, "settings", wrapped))


def test_an_api_key_of_an_encoder_is_not_printed() -> None:
    """F6: settings do not show a model's key."""

    class Keyed(Embedding):
        def __repr__(self) -> str:
            return "sk-secret"

    index = index_with_cosines(COSINES, embedding=Keyed(vectors={QUERY: QUERY_VECTOR}))
    wrapped = LlamaIndexRetriever(index.as_retriever(), Keyed())
    assert "sk-secret" not in repr(wrapped.settings)


def test_texts_for_a_calibration_are_content_only() -> None:
    node = TextNode(text="the content", metadata={"file_path": "/notes/a.md"})
    wrapped = LlamaIndexRetriever(ListRetriever([NodeWithScore(node=node, score=0.5)]))
    assert wrapped.recall(QUERY).pool.texts == ["the content"]


async def test_the_demo_encoder_leaves_the_loop_alone() -> None:
    """C9: it embeds in a thread."""
    threads: list[Any] = []

    class Where(SettableEncoder):
        name = "where"

        def embed_query(self, text: str) -> list[float]:
            threads.append(threading.current_thread())
            return [1.0]

        def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            threads.append(threading.current_thread())
            return [[1.0]] * len(texts)

    encoder = Where()
    embedding = EncoderEmbedding(encoder)
    assert await embedding.aget_query_embedding("a") == [1.0]
    assert await embedding.aget_text_embedding_batch(["a"]) == [[1.0]]
    assert threading.main_thread() not in threads
    assert issubclass(DemoEmbedding, EncoderEmbedding)


def test_a_store_that_is_exchanged_is_read_anew(framework: Framework) -> None:
    wrapped = framework.over(COSINES)
    first = wrapped._runtime
    name = "vectorstore" if framework.name == "langchain" else "_vector_store"
    setattr(wrapped.retriever, name, getattr(framework.over(COSINES).retriever, name))
    assert wrapped._runtime is not first
    assert len(page(framework, wrapped.recall(QUERY))) == 4
