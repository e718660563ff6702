"""What we add on our own account never costs the page, and changes nothing of it."""

from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.runnables import ConfigurableField, RunnableConfig, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_recall_signal import RecallRetriever, SelectorCompressor, without_report
from langchain_recall_signal.stores import find_adapter
from tests.frameworks import Keeping
from tests.langchain.fakes import (
    DIMENSION,
    QUERY,
    Encoder,
    documents,
    encoder_for,
    plain,
    simple_store,
)


class Capped(InMemoryVectorStore):
    """A store that refuses to look further than it likes."""

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Any:
        if k > 5:
            raise ValueError("too many")
        return super().similarity_search_with_score(query, k, **kwargs)


def capped() -> Any:
    store = Capped(encoder_for(np.eye(DIMENSION), np.eye(DIMENSION)[0]))
    store.add_documents(documents(12))
    return store.as_retriever(search_kwargs={"k": 3})


def test_what_the_retriever_raises_by_itself_is_raised() -> None:
    wrapped = RecallRetriever(retriever=capped(), score_kind="cosine")
    with pytest.raises(ValueError, match="too many"):
        wrapped.invoke(QUERY, k=6)


def test_an_encoder_that_is_not_to_be_had_costs_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    store = simple_store()
    rewriting: RunnableLambda[str, str] = RunnableLambda(lambda _: "another text")
    bare = rewriting | store.as_retriever()
    wrapped = RecallRetriever(retriever=bare)
    assert wrapped.recall(QUERY).cosine_source == "vectors"

    def encoder(self: Any, store: Any) -> Any:
        raise RuntimeError("not here")

    monkeypatch.setattr(type(find_adapter(store)), "encoder", encoder)
    response = wrapped.recall(QUERY)
    assert response.confidence.reason == "rewritten_query"
    assert plain(response.documents) == plain(bare.invoke(QUERY))


async def test_what_is_configured_reaches_the_wrapped_retriever() -> None:
    seen: list[Any] = []

    def search(_: str, config: RunnableConfig) -> list[Document]:
        seen.append((config["configurable"].get("tenant"), config["metadata"].get("who")))
        return documents(2)

    wrapped = RecallRetriever(retriever=RunnableLambda(search))
    config: RunnableConfig = {"configurable": {"tenant": "a"}, "metadata": {"who": "me"}}
    wrapped.invoke(QUERY, config)
    await wrapped.ainvoke(QUERY, config)
    wrapped.with_config(config).invoke(QUERY)
    assert seen == [("a", "me")] * 3


def test_a_configurable_filter_stays_in_force() -> None:
    inner = (
        simple_store(20)
        .as_retriever()
        .configurable_fields(search_kwargs=ConfigurableField(id="search"))
    )
    wrapped = RecallRetriever(retriever=inner)
    config: RunnableConfig = {
        "configurable": {"search": {"k": 4, "filter": lambda d: d.metadata["n"] % 2 == 1}}
    }
    assert plain(wrapped.invoke(QUERY, config)) == plain(inner.invoke(QUERY, config))


class Uncopyable(Document):
    """A document that refuses to be copied."""

    def __copy__(self) -> Any:
        raise TypeError("no copies")


def test_a_document_that_cannot_be_copied_goes_out_as_it_is() -> None:
    odd = Uncopyable(page_content="odd")
    wrapped = RecallRetriever(retriever=RunnableLambda(lambda _: [odd, *documents(1)]))
    page = wrapped.invoke(QUERY)
    assert page[0] is odd
    assert "recall" in page[1].metadata


def with_metadata(metadata: Any) -> Document:
    document = Document(page_content="t1", id="id1")
    document.metadata = metadata
    return document


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"embeddings": encoder_for(np.eye(DIMENSION), np.eye(DIMENSION)[1])},
        {"score_key": "s", "score_kind": "cosine"},
        {"id_key": "n"},
    ],
    ids=["bare", "embeddings", "score_key", "id_key"],
)
async def test_no_metadata_counts_as_empty(
    settings: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    stored = with_metadata(None)
    wrapped = RecallRetriever(retriever=RunnableLambda(lambda _: [stored]), **settings)
    caplog.clear()  # of the warning that nothing can be measured
    for page in (wrapped.invoke(QUERY), await wrapped.ainvoke(QUERY)):
        assert [*page[0].metadata] == ["recall"]
        assert page[0].id == "id1"
    assert stored.metadata is None
    assert not caplog.records


async def test_metadata_that_is_none_at_all_costs_no_page() -> None:
    odd = with_metadata(5)
    wrapped = RecallRetriever(retriever=RunnableLambda(lambda _: [odd, *documents(1)]))
    for page in (wrapped.invoke(QUERY), await wrapped.ainvoke(QUERY)):
        assert page[0] is odd
        assert "recall" in page[1].metadata


def test_no_metadata_holds_no_report_either() -> None:
    bare = without_report([with_metadata(None)])
    assert bare[0].metadata == {}
    selecting = SelectorCompressor(selector=Keeping(0))
    kept = selecting.compress_documents([with_metadata(None), with_metadata(None)], QUERY)
    assert [[*document.metadata] for document in kept] == [["recall"]]


def test_metadata_that_contains_itself_is_handed_on() -> None:
    cyclic: dict[str, Any] = {"n": 1}
    cyclic["self"] = cyclic
    document = Document(page_content="t")
    document.metadata = {"cyclic": cyclic}
    page = RecallRetriever(retriever=RunnableLambda(lambda _: [document])).invoke(QUERY)
    assert page[0].metadata["recall"]["confidence"]["level"] == "unknown"


def test_a_store_may_answer_with_an_iterator() -> None:
    class Iterating(InMemoryVectorStore):
        def similarity_search_with_score(self, *args: Any, **kwargs: Any) -> Any:
            return iter(super().similarity_search_with_score(*args, **kwargs))

    encoder = encoder_for(np.eye(DIMENSION), np.eye(DIMENSION)[0])
    store = Iterating(encoder)
    store.add_documents(documents(3))
    wrapped = RecallRetriever(retriever=store.as_retriever(), score_kind="cosine")
    response = wrapped.recall(QUERY)
    assert (response.cosine_source, response.confidence.top_score) == ("declared", 1.0)


def test_a_vector_without_a_length_costs_the_signal_alone() -> None:
    class Unsized:
        """Is read by position, and has no length."""

        def __init__(self, vector: list[float]) -> None:
            self.vector = vector

        def __array__(self, *_: Any, **__: Any) -> Any:
            return np.asarray(self.vector)

    class Odd(Encoder):
        def embed_query(self, text: str) -> Any:
            return Unsized(super().embed_query(text))

    store = InMemoryVectorStore(Odd())
    store.add_texts(["one", "two"])
    bare = store.as_retriever()
    assert plain(RecallRetriever(retriever=bare).invoke("one")) == plain(bare.invoke("one"))
