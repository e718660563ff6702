"""What we add on our own account never costs the page, and changes nothing of it."""

from typing import Any

import faiss
import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.runnables import ConfigurableField, RunnableConfig, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_fakes import (
    DIMENSION,
    QUERY,
    cosine,
    documents,
    encoder_for,
    entry,
    faiss_store,
    plain,
    simple_store,
)

from langchain_recall_signal import RecallRetriever
from langchain_recall_signal.stores import find_adapter
from recall_signal.testing import vectors_with_cosines


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


async def test_a_wider_search_that_fails_is_replaced_by_the_retrievers_own() -> None:
    bare = capped()
    wrapped = RecallRetriever(retriever=bare, score_kind="cosine")
    assert plain(wrapped.invoke(QUERY)) == plain(bare.invoke(QUERY))
    assert wrapped.recall(QUERY).confidence.reason == "no_score_access"
    assert plain(await wrapped.ainvoke(QUERY)) == plain(await bare.ainvoke(QUERY))


def test_what_the_retriever_raises_by_itself_is_raised() -> None:
    wrapped = RecallRetriever(retriever=capped(), score_kind="cosine")
    with pytest.raises(ValueError, match="too many"):
        wrapped.invoke(QUERY, k=6)


def test_an_encoder_that_is_not_to_be_had_costs_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = simple_store().as_retriever(search_type="mmr")
    wrapped = RecallRetriever(retriever=bare)
    assert wrapped.recall(QUERY).cosine_source == "vectors"

    def encoder(self: Any, store: Any) -> Any:
        raise RuntimeError("not here")

    monkeypatch.setattr(type(find_adapter(bare.vectorstore)), "encoder", encoder)
    response = wrapped.recall(QUERY)
    assert response.confidence.reason == "no_score_access"
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


def test_a_store_exchanged_at_run_time_is_read_as_what_it_is() -> None:
    query = np.eye(DIMENSION)[0]
    vectors = vectors_with_cosines(query, np.linspace(0.9, 0.1, 30))
    flat = faiss_store(encoder_for(vectors, query), 30)
    inner = flat.as_retriever(search_kwargs={"k": 3})
    wrapped = RecallRetriever(retriever=inner)
    assert entry(wrapped.invoke(QUERY)[0])["cosine"] == pytest.approx(0.9, abs=1e-4)
    index = faiss.IndexFlatIP(DIMENSION)
    inner.vectorstore = faiss_store(encoder_for(vectors, query), 30, index)
    assert entry(wrapped.invoke(QUERY)[0])["cosine"] == pytest.approx(0.9, abs=1e-4)


@pytest.mark.parametrize("k", [2, 3, 5])
async def test_tied_scores_leave_the_page_as_it_is(k: int) -> None:
    query = np.eye(DIMENSION)[0]
    vectors = np.repeat(vectors_with_cosines(query, [0.9, 0.5, 0.2]), 8, axis=0)
    store = faiss_store(encoder_for(vectors, query), 24, faiss.IndexFlatIP(DIMENSION))
    bare = store.as_retriever(search_kwargs={"k": k})
    wrapped = RecallRetriever(retriever=bare)
    page = wrapped.invoke(QUERY)
    assert plain(page) == plain(bare.invoke(QUERY)) == plain(await wrapped.ainvoke(QUERY))
    for document in page:
        expected = cosine(vectors[document.metadata["n"]], query)
        assert entry(document)["cosine"] == pytest.approx(expected, abs=1e-4)


def test_one_odd_norm_in_thousands_makes_no_wrong_cosine() -> None:
    random = np.random.default_rng(0)
    vectors = random.normal(size=(3000, DIMENSION))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[1234] *= 3.0
    query = vectors[7]
    store = faiss_store(encoder_for(vectors, query), 3000, faiss.IndexFlatIP(DIMENSION))
    response = RecallRetriever.from_vectorstore(store, k=5).recall(QUERY)
    assert response.cosine_source == "vectors"
    for document in response.documents:
        expected = cosine(vectors[document.metadata["n"]], query)
        assert entry(document)["cosine"] == pytest.approx(expected, abs=1e-4)


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


def test_metadata_that_contains_itself_is_handed_on() -> None:
    cyclic: dict[str, Any] = {"n": 1}
    cyclic["self"] = cyclic
    document = Document(page_content="t")
    document.metadata = {"cyclic": cyclic}
    page = RecallRetriever(retriever=RunnableLambda(lambda _: [document])).invoke(QUERY)
    assert page[0].metadata["recall"]["confidence"]["level"] == "unknown"


def test_a_hiccup_of_the_encoder_is_not_remembered() -> None:
    query = np.eye(DIMENSION)[0]
    encoder = encoder_for(vectors_with_cosines(query, [0.9, 0.3, 0.2]), query)
    wrapped = RecallRetriever(retriever=RunnableLambda(lambda _: documents(3)), embeddings=encoder)
    well = encoder.embed_documents
    encoder.embed_documents = lambda texts: [[0.0] * DIMENSION for _ in texts]  # type: ignore
    assert wrapped.recall(QUERY).confidence.level == "unknown"
    encoder.embed_documents = well  # type: ignore[method-assign]
    assert wrapped.recall(QUERY).confidence.top_score == pytest.approx(0.9)


@pytest.mark.filterwarnings("ignore:The `copy` method is deprecated")
def test_a_copy_has_its_own_settings() -> None:
    wrapped = RecallRetriever(retriever=simple_store().as_retriever())
    for copied in (
        wrapped.copy(update={"k": 2, "metadata_key": "signal"}),
        wrapped.model_copy(update={"k": 2, "metadata_key": "signal"}),
    ):
        page = copied.invoke(QUERY)
        assert len(page) == 2
        assert "signal" in page[0].metadata


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
