"""``RecallRetriever``: settings, arguments, errors, and the ways to ask."""

import asyncio
from copy import deepcopy
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, Runnable, RunnableConfig, RunnableLambda
from langchain_core.vectorstores import VectorStoreRetriever
from langchain_fakes import QUERY, Encoder, documents, entry, faiss_store, plain, simple_store

from langchain_recall_signal import RecallResponse, RecallRetriever
from recall_signal import ConfigurationError, InvalidResultError, ScoreKind, Thresholds, assess

WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke", "batch", "abatch"])
BOTH = pytest.mark.parametrize("way", ["invoke", "ainvoke"])


async def ask(retriever: Runnable[Any, Any], way: str, **kwargs: Any) -> list[Document]:
    """One page, by any of the ways to ask."""
    method = getattr(retriever, way)
    answer = method([QUERY] if "batch" in way else QUERY, **kwargs)
    answer = await answer if way.startswith("a") else answer
    page: list[Document] = answer[0] if "batch" in way else answer
    return page


def wrapped(**settings: Any) -> RecallRetriever:
    return RecallRetriever(retriever=simple_store().as_retriever(), **settings)


def fixed(count: int = 3) -> RunnableLambda[str, list[Document]]:
    return RunnableLambda(lambda query: documents(count))


class TestPageSize:
    @WAYS
    async def test_of_the_call_wins(self, way: str) -> None:
        assert len(await ask(wrapped(k=7), way, k=2)) == 2
        assert len(await ask(wrapped(k=7), way)) == 7
        assert len(await ask(wrapped(), way)) == 4
        assert len(await ask(wrapped().bind(k=2), way)) == 2
        assert len(await ask(wrapped().bind(k=2).with_config(tags=["t"]), way)) == 2
        assert len(await ask(wrapped().with_retry().bind(k=2), way)) == 2

    @WAYS
    @pytest.mark.parametrize(
        ("inner", "k"),
        [
            (simple_store().as_retriever(search_kwargs={"k": 3}), 3),
            (simple_store().as_retriever().bind(k=2), 2),
            (simple_store().as_retriever(search_kwargs={"k": 3}).bind(k=2), 2),
            (simple_store().as_retriever().bind(k=2).bind(k=3), 3),
            (simple_store().as_retriever().bind(k=2).with_config(tags=["t"]), 2),
            (simple_store().as_retriever().with_retry().with_config(run_name="n"), 4),
            (simple_store().as_retriever(search_type="mmr").bind(k=2), 2),
        ],
    )
    async def test_of_the_wrapped_retriever_is_kept(
        self, inner: Runnable[Any, Any], k: int, way: str
    ) -> None:
        retriever = RecallRetriever(retriever=inner)
        assert plain(await ask(retriever, way)) == plain(inner.invoke(QUERY))
        assert len(await ask(retriever, way)) == k
        assert len(await ask(retriever, way, k=1)) == 1

    async def test_above_the_pool_size_widens_the_pool(self) -> None:
        retriever = RecallRetriever(retriever=simple_store(80).as_retriever())
        assert len(retriever.recall(QUERY, k=70).pool) == 70
        assert len(retriever.recall(QUERY, k=70).documents) == 70
        assert len(retriever.recall(QUERY, k=1).pool) == 50

    @BOTH
    async def test_cuts_what_cannot_be_told_a_page_size(self, way: str) -> None:
        assert len(await ask(RecallRetriever(retriever=fixed(5), k=2), way)) == 2
        assert len(await ask(RecallRetriever(retriever=fixed(5)), way)) == 5

    @BOTH
    async def test_is_handed_on_only_where_it_is_taken(self, way: str) -> None:
        class Takes(BaseRetriever):
            def _get_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
                return documents(kwargs.get("k", 5))

            async def _aget_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
                return documents(kwargs.get("k", 5))

        class TakesSynchronously(BaseRetriever):
            def _get_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
                return documents(kwargs.get("k", 5))

        class TakesOther(BaseRetriever):
            def _get_relevant_documents(
                self, query: str, *, run_manager: Any, other: int = 1
            ) -> list[Document]:
                return documents(5)

        class TakesNone(BaseRetriever):
            def _get_relevant_documents(self, query: str) -> list[Document]:
                return documents(5)

        class TakesNoneAtAll(TakesNone):
            def invoke(self, input: str, config: RunnableConfig | None = None) -> list[Document]:  # noqa: A002
                return documents(5)

        assert len(await ask(RecallRetriever(retriever=Takes(), k=9), way)) == 9
        for inner in (TakesSynchronously(), TakesOther(), TakesNone(), TakesNoneAtAll()):
            assert len(await ask(RecallRetriever(retriever=inner, k=3), way)) == 3
            assert len(await ask(RecallRetriever(retriever=inner), way)) == 5

    @BOTH
    async def test_is_not_guessed_for_a_retriever_with_a_search_of_its_own(self, way: str) -> None:
        class Own(VectorStoreRetriever):
            def _get_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
                return documents(7)

            async def _aget_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
                return documents(7)

        inner = Own(vectorstore=simple_store(), search_kwargs={"k": 5})
        assert len(await ask(RecallRetriever(retriever=inner), way)) == 7

    @WAYS
    @pytest.mark.parametrize(
        ("k", "said"), [(0, "0"), (-1, "-1"), (True, "True"), ("3", "str"), (2.5, "2.5")]
    )
    async def test_wrong_at_the_call(self, k: Any, said: str, way: str) -> None:
        message = f"k must be a whole number of at least 1, got {said}$"
        with pytest.raises(ConfigurationError, match=message):
            await ask(wrapped(), way, k=k)


class TestArguments:
    @WAYS
    async def test_a_filter_reaches_the_store(self, way: str) -> None:
        def odd(document: Document) -> bool:
            return bool(document.metadata["n"] % 2)

        page = await ask(wrapped(), way, filter=odd)
        assert [d.metadata["n"] for d in page] == [1, 3, 5, 7]
        page = await ask(wrapped().bind(filter=odd), way, k=1)
        assert [d.metadata["n"] for d in page] == [1]
        inner = simple_store().as_retriever().bind(filter=odd)
        page = await ask(RecallRetriever(retriever=inner, k=2), way)
        assert [d.metadata["n"] for d in page] == [1, 3]

    @BOTH
    async def test_anything_else_is_handed_on(self, way: str) -> None:
        class Strict(BaseRetriever):
            def _get_relevant_documents(
                self, query: str, *, run_manager: CallbackManagerForRetrieverRun, tenant: str
            ) -> list[Document]:
                return [Document(page_content=tenant)]

            async def _aget_relevant_documents(
                self, query: str, *, run_manager: Any, tenant: str
            ) -> list[Document]:
                return [Document(page_content=tenant)]

        retriever = RecallRetriever(retriever=Strict(), k=1)
        assert (await ask(retriever, way, tenant="a"))[0].page_content == "a"


class TestConstruction:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"k": 0}, "k: input should be greater than or equal to 1, got 0"),
            ({"k": True}, "k: input should be a valid integer, got True"),
            (
                {"retriever": simple_store().as_retriever(search_kwargs={"k": 0})},
                "the wrapped retriever has k=0; it must be at least 1",
            ),
            ({"k": "3"}, "k: input should be a valid integer, got str"),
            ({"pool_size": 3}, "pool_size=3 is below the page's k=4"),
            ({"pool_size": 3, "k": 5}, "pool_size=3 is below the page's k=5"),
            ({"pool_size": 0}, "pool_size: input should be greater than or equal to 1, got 0"),
            ({"pool": 3}, "pool: there is no such setting"),
            ({"score_kind": "cosin"}, "score_kind must be one of cosine, .*, got 'cosin'"),
            ({"annotate": "some"}, "annotate: input should be 'all', 'first' or 'none', got str"),
            ({"metadata_key": ""}, "metadata_key: .*at least 1 character, got str"),
            ({"metadata_key": "score"}, "metadata_key 'score' has a meaning of its own"),
            ({"embeddings": "openai"}, "embeddings: .*instance of Embeddings, got str"),
            ({"retriever": len}, "retriever must be a Runnable .*, got builtin_function_or"),
            ({"retriever": lambda q: []}, r"RunnableLambda\(function\), got function"),
            ({"retriever": simple_store()}, r"store.as_retriever\(\) .* got InMemoryVectorStore"),
            ({"k": 0, "pool_size": "x"}, "k: .*; pool_size: "),
        ],
    )
    def test_wrong_settings(self, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigurationError, match=message) as error:
            RecallRetriever(**{"retriever": simple_store().as_retriever(), **settings})
        assert str(error.value).startswith("RecallRetriever: ")

    def test_nothing_to_wrap(self) -> None:
        with pytest.raises(ConfigurationError, match="retriever is required"):
            RecallRetriever()

    @pytest.mark.parametrize(
        "settings",
        [
            {"k": 0},
            {"nonsense": 1},
            {"retriever": None},
            {"retriever": fixed(), "pool_size": 0},
            {"score_kind": "x"},
            {"metadata_key": "score"},
            {"thresholds": "x"},
        ],
    )
    def test_no_message_holds_a_secret(self, settings: dict[str, Any]) -> None:
        class Remote(Encoder):
            def __repr__(self) -> str:
                return "Remote(api_key='sk-secret')"

        class Keyed:
            def __repr__(self) -> str:
                return "sk-secret"

        bare = simple_store().as_retriever()
        for embeddings in (Remote(), Keyed()):
            arguments = {"retriever": bare, "embeddings": embeddings, **settings}
            with pytest.raises(ConfigurationError) as error:
                RecallRetriever(**arguments)
            assert "sk-secret" not in f"{error.value!r} {error.value}"
            assert error.value.__cause__ is None

    @pytest.mark.parametrize(
        ("inner", "source"),
        [
            (fixed(), "embeddings"),
            (simple_store().as_retriever(search_type="mmr"), "vectors"),
        ],
    )
    def test_a_declared_kind_needs_scores(self, inner: Runnable[Any, Any], source: str) -> None:
        with pytest.raises(ConfigurationError, match=r"'cosine' needs scores, and .* embeddings="):
            RecallRetriever(retriever=inner, score_kind="cosine")
        with_encoder = RecallRetriever(retriever=inner, score_kind="cosine", embeddings=Encoder())
        assert with_encoder.recall(QUERY).cosine_source == source

    def test_kinds_by_name_or_value(self) -> None:
        assert wrapped(score_kind="cosine").score_kind is ScoreKind.COSINE
        assert wrapped(score_kind=ScoreKind.COSINE).score_kind is ScoreKind.COSINE
        assert wrapped().score_kind == "auto"

    def test_from_vectorstore(self) -> None:
        retriever = RecallRetriever.from_vectorstore(
            simple_store(), 3, search_type="mmr", search_kwargs={"fetch_k": 7}, annotate="none"
        )
        inner = retriever.retriever
        assert isinstance(inner, VectorStoreRetriever)
        assert inner.search_type == "mmr"
        assert inner.search_kwargs == {"fetch_k": 7, "k": 3}
        assert (retriever.k, retriever.annotate) == (3, "none")
        assert len(RecallRetriever.from_vectorstore(simple_store()).invoke(QUERY)) == 5
        with pytest.raises(ConfigurationError, match=r"k: .*, got 0"):
            RecallRetriever.from_vectorstore(simple_store(), 0)

    def test_the_wrapped_retriever_is_left_alone(self) -> None:
        inner = simple_store().as_retriever(search_kwargs={"k": 3})
        before = inner.model_dump()
        RecallRetriever(retriever=inner, k=7).invoke(QUERY)
        assert inner.model_dump() == before
        assert len(inner.invoke(QUERY)) == 3

    def test_copies(self) -> None:
        original = wrapped()
        assert plain(deepcopy(original).invoke(QUERY)) == plain(original.invoke(QUERY))
        other = original.model_copy(update={"annotate": "none", "retriever": fixed()})
        assert plain(other.invoke(QUERY)) == plain(documents(3))
        assert other.recall(QUERY).confidence.reason == "no_score_access"
        assert "recall" not in other.invoke(QUERY)[0].metadata

    def test_configurable_fields(self) -> None:
        retriever = wrapped().configurable_fields(k=ConfigurableField(id="k"))
        assert len(retriever.with_config(configurable={"k": 2}).invoke(QUERY)) == 2
        assert len(retriever.invoke(QUERY)) == 4


class TestReports:
    def test_the_entry(self) -> None:
        page = wrapped().invoke(QUERY)
        for rank, document in enumerate(page):
            found = entry(document)
            assert set(found) == {"v", "confidence", "selection", "cosine_source", "rank", "cosine"}
            assert (found["v"], found["rank"], found["cosine_source"]) == (1, rank, "store")
            assert found["selection"] == {"applied": False, "reason": "not_configured"}
            assert found["confidence"] == entry(page[0])["confidence"]

    def test_another_key(self) -> None:
        page = wrapped(metadata_key="signal").invoke(QUERY)
        assert all("signal" in d.metadata and "recall" not in d.metadata for d in page)

    async def test_recall_and_arecall(self) -> None:
        retriever = wrapped()
        response, other = retriever.recall(QUERY), await retriever.arecall(QUERY)
        assert isinstance(response, RecallResponse)
        assert response.documents == other.documents == retriever.invoke(QUERY)
        assert response.to_dict() == other.to_dict()
        assert response.confidence == assess(response.pool)
        assert entry(response.documents[0])["confidence"] == response.to_dict()["confidence"]
        assert len((await retriever.arecall(QUERY, k=1)).documents) == 1
        assert len(retriever.with_config(tags=["t"]).recall(QUERY, k=1).documents) == 1

    async def test_an_empty_page(self) -> None:
        retriever = RecallRetriever(retriever=simple_store(0, []).as_retriever())
        for response in (retriever.recall(QUERY), await retriever.arecall(QUERY)):
            assert response.documents == []
            assert response.confidence.level == "none"
            assert response.confidence.result_count == 0
            assert response.selection.reason == "not_configured"

    async def test_in_a_chain(self) -> None:
        chain = (
            RunnableLambda(lambda text: text.strip())
            | wrapped().as_report_runnable()
            | RunnableLambda(lambda r: (len(r.documents), r.confidence.level))
        )
        expected = (4, wrapped().recall(QUERY).confidence.level)
        assert chain.invoke(f" {QUERY} ") == expected
        assert await chain.ainvoke(f" {QUERY} ") == expected
        assert await chain.abatch([QUERY]) == chain.batch([QUERY]) == [expected]
        assert len(wrapped().as_report_runnable().invoke(QUERY, k=2).documents) == 2

    def test_the_page_in_a_chain(self) -> None:
        chain = wrapped(k=2) | RunnableLambda(lambda page: [d.page_content for d in page])
        assert chain.invoke(QUERY) == ["t0", "t1"]

    def test_thresholds(self) -> None:
        strict = Thresholds(
            prominence_high=9.0, prominence_moderate=8.0, prominence_low=7.0, cosine_high=0.99
        )
        level = wrapped(thresholds=strict).recall(QUERY).confidence.level
        assert level == "none" != wrapped().recall(QUERY).confidence.level

    def test_ids(self) -> None:
        page = [
            Document(id="own", page_content="a", metadata={"key": 7}),
            Document(id="own", page_content="b"),
            Document(page_content="c"),
        ]
        inner = RunnableLambda(lambda query: page)
        assert RecallRetriever(retriever=inner).recall(QUERY).pool.ids == ["own", "own", None]
        keyed = RecallRetriever(retriever=inner, id_key="key").recall(QUERY)
        assert keyed.pool.ids == ["7", "own", None]
        assert [d.id for d in keyed.documents] == ["own", "own", None]

    def test_in_a_notebook(self) -> None:
        response = RecallRetriever(
            retriever=RunnableLambda(lambda query: [Document(page_content="<b>bold</b>")])
        ).recall(QUERY)
        assert "<b>bold</b>" not in response._repr_html_()


class TestErrors:
    @WAYS
    async def test_of_the_wrapped_retriever_pass_through(self, way: str) -> None:
        failure = RuntimeError("the database is gone")

        def fail(query: str) -> list[Document]:
            raise failure

        with pytest.raises(RuntimeError) as error:
            await ask(RecallRetriever(retriever=RunnableLambda(fail)), way)
        assert error.value is failure

    @BOTH
    async def test_of_the_store_pass_through(self, way: str) -> None:
        failure = ConnectionError("gone")

        class Broken(Encoder):
            def embed_query(self, text: str) -> list[float]:
                raise failure

        with pytest.raises(ConnectionError) as error:
            await ask(RecallRetriever(retriever=faiss_store(Broken(), 3).as_retriever()), way)
        assert error.value is failure

    @BOTH
    @pytest.mark.parametrize(
        ("returned", "named"),
        [
            ("text", "got str;"),
            (None, "got NoneType;"),
            ({"documents": []}, "got dict;"),
            ([Document(page_content="a"), "secret text"], "got a list with str;"),
        ],
    )
    async def test_something_else_than_documents(self, returned: Any, named: str, way: str) -> None:
        retriever = RecallRetriever(retriever=RunnableLambda(lambda query: returned))
        with pytest.raises(InvalidResultError, match=named) as error:
            await ask(retriever, way)
        assert "secret" not in str(error.value)

    def test_a_tuple_of_documents_is_a_page(self) -> None:
        inner = RunnableLambda(lambda query: tuple(documents(2)))
        assert plain(RecallRetriever(retriever=inner).invoke(QUERY)) == plain(documents(2))

    async def test_a_retry_around_the_wrapped_retriever(self) -> None:
        calls = []

        def flaky(query: str) -> list[Document]:
            calls.append(query)
            if len(calls) % 2:
                raise ConnectionError
            return documents(2)

        inner = RunnableLambda(flaky).with_retry(wait_exponential_jitter=False)
        retriever = RecallRetriever(retriever=inner)
        assert len(retriever.invoke(QUERY)) == len(await retriever.ainvoke(QUERY)) == 2
        assert len(calls) == 4

    async def test_cancelling_is_not_swallowed(self) -> None:
        started = asyncio.Event()

        async def slow(query: str) -> list[Document]:
            started.set()
            await asyncio.sleep(60)
            return []

        inner = RunnableLambda(lambda query: [], afunc=slow)
        task = asyncio.create_task(RecallRetriever(retriever=inner).ainvoke(QUERY))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
