"""`RecallRetriever`: settings, arguments, errors, and the ways to ask."""

from typing import Any

import numpy as np
import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, Runnable, RunnableConfig, RunnableLambda
from langchain_core.vectorstores import VectorStoreRetriever

from langchain_recall_signal import RecallResponse, RecallRetriever
from langchain_recall_signal._configuration import is_plain
from recall_signal import ConfigurationError, InvalidResultError, assess
from tests.langchain.fakes import QUERY, Encoder, documents, entry, plain, simple_store

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
            def _get_relevant_documents(  # type: ignore[override]
                self, query: str
            ) -> list[Document]:
                return documents(5)

        class TakesNoneAtAll(TakesNone):
            def invoke(  # type: ignore[override]
                self,
                input: str,  # noqa: A002
                config: RunnableConfig | None = None,
            ) -> list[Document]:
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
            def _get_relevant_documents(  # type: ignore[override]
                self, query: str, *, run_manager: CallbackManagerForRetrieverRun, tenant: str
            ) -> list[Document]:
                return [Document(page_content=tenant)]

            async def _aget_relevant_documents(  # type: ignore[override]
                self, query: str, *, run_manager: Any, tenant: str
            ) -> list[Document]:
                return [Document(page_content=tenant)]

        retriever = RecallRetriever(retriever=Strict(), k=1)
        assert (await ask(retriever, way, tenant="a"))[0].page_content == "a"


class TestConstruction:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            (
                {"retriever": simple_store().as_retriever(search_kwargs={"k": 0})},
                "the wrapped retriever has k=0; it must be at least 1",
            ),
            ({"pool": 3}, "pool: there is no such setting"),
            ({"embeddings": "openai"}, "embeddings: .*instance of Embeddings, got str"),
            ({"retriever": len}, "retriever must be a Runnable .*, got builtin_function_or"),
            ({"retriever": lambda q: []}, r"RunnableLambda\(function\), got function"),
            ({"retriever": simple_store()}, r"store.as_retriever\(\) .* got InMemoryVectorStore"),
        ],
    )
    def test_wrong_settings(self, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigurationError, match=message):
            RecallRetriever(**{"retriever": simple_store().as_retriever(), **settings})

    def test_a_setting_without_its_name(self) -> None:
        with pytest.raises(ConfigurationError, match=r"by name, .*retriever=.*got Vector"):
            RecallRetriever(simple_store().as_retriever())

    def test_nothing_to_wrap(self) -> None:
        with pytest.raises(ConfigurationError, match="retriever is required"):
            RecallRetriever()

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
        k: Any = np.int64(3)
        of_numpy = RecallRetriever.from_vectorstore(simple_store(), k)
        assert (type(of_numpy.k), len(of_numpy.recall(QUERY).pool)) == (int, 10)
        with pytest.raises(ConfigurationError, match=r"k: .*, got 0"):
            RecallRetriever.from_vectorstore(simple_store(), 0)

    def test_the_wrapped_retriever_is_left_alone(self) -> None:
        inner = simple_store().as_retriever(search_kwargs={"k": 3})
        before = inner.model_dump()
        RecallRetriever(retriever=inner, k=7).invoke(QUERY)
        assert inner.model_dump() == before
        assert len(inner.invoke(QUERY)) == 3

    def test_configurable_fields(self) -> None:
        retriever = wrapped().configurable_fields(k=ConfigurableField(id="k"))
        assert len(retriever.with_config(configurable={"k": 2}).invoke(QUERY)) == 2
        assert len(retriever.invoke(QUERY)) == 4


class TestCopies:
    @pytest.mark.parametrize(
        ("update", "said"),
        [
            ({"score_kind": "cosine_distanc"}, "score_kind must be one of"),
            ({"calibrtion": "auto"}, "calibrtion: there is no such setting; did you mean calib"),
            ({"annotate": "bogus"}, "annotate: "),
            ({"k": "x"}, "k: input should be a valid integer, got str"),
            ({"k": 0}, "k: .* got 0"),
            ({"thresholds": {}}, "thresholds must be a Thresholds or None, got dict"),
            ({"metadata_key": ""}, "metadata_key: "),
            ({"selector_timeout": -1}, "selector_timeout: "),
            ({"calibration": 5}, "calibration must be"),
            ({"embeddings": 5}, "embeddings: "),
            ({"retriever": 5}, "retriever must be a Runnable"),
            ({"use_rerank": True}, "use_rerank=True needs a reranker"),
        ],
    )
    def test_wrong_settings_are_refused(self, update: dict[str, Any], said: str) -> None:
        with pytest.raises(ConfigurationError, match=f"RecallRetriever: {said}"):
            wrapped().model_copy(update=update)

    @BOTH
    async def test_other_settings_hold_for_the_copy(self, way: str) -> None:
        original = wrapped(k=4)
        copied = original.model_copy(update={"k": 2, "score_kind": "cosine", "annotate": "first"})
        assert ["recall" in d.metadata for d in await ask(copied, way)] == [True, False]
        assert ["recall" in d.metadata for d in await ask(original, way)] == [True] * 4

    def test_a_copy_on_the_same_scale_shares_what_is_learned(self) -> None:
        original = wrapped(calibration="auto", score_kind="cosine")
        same = {"k": 2, "score_kind": "cosine", "retriever": original.retriever}
        assert original.model_copy(update=same)._watcher is original._watcher
        other = original.model_copy(update={"score_kind": "auto"})
        assert other._watcher is not original._watcher


class TestReports:
    async def test_recall_and_arecall(self) -> None:
        retriever = wrapped()
        response, other = retriever.recall(QUERY), await retriever.arecall(QUERY)
        assert isinstance(response, RecallResponse)
        assert response.documents == other.documents == retriever.invoke(QUERY)
        assert response.to_dict() == other.to_dict()
        assert response.confidence == assess(response.pool.cosines)
        assert entry(response.documents[0])["confidence"] == response.to_dict()["confidence"]
        assert len((await retriever.arecall(QUERY, k=1)).documents) == 1
        tagged: Any = retriever.with_config(tags=["t"])
        assert len(tagged.recall(QUERY, k=1).documents) == 1

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
        texts: RunnableLambda[list[Document], list[str]] = RunnableLambda(
            lambda page: [d.page_content for d in page]
        )
        chain = wrapped(k=2) | texts
        assert chain.invoke(QUERY) == ["t0", "t1"]

    def test_ids(self) -> None:
        page = [
            Document(id="own", page_content="a", metadata={"key": 7}),
            Document(id="own", page_content="b"),
            Document(page_content="c"),
        ]
        inner: RunnableLambda[str, list[Document]] = RunnableLambda(lambda query: page)
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
        inner: RunnableLambda[str, Any] = RunnableLambda(lambda query: tuple(documents(2)))
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


@pytest.mark.parametrize(
    ("configurable", "plain"),
    [
        ({}, True),
        ({"thread_id": "1", "checkpoint_ns": "", "__pregel_task_id": "2"}, True),
        ({"run_id": "1", "graph_id": "g", "assistant_id": "a", "langgraph_request_id": "r"}, True),
        ({"user_id": "", "langgraph_auth_user": None, "langgraph_auth_permissions": []}, True),
        ({"user_id": "ann"}, False),
        ({"langgraph_auth_user_id": 0}, False),
        ({"filter": np.array([1, 2])}, False),
    ],
    ids=repr,
)
def test_a_run_of_a_server_is_no_tenant_and_a_user_is_one(configurable: Any, plain: bool) -> None:
    assert is_plain({}, {"configurable": configurable}) is plain
    assert not is_plain({"filter": 1}, {"configurable": configurable})
