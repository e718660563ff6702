"""Whatever is wrapped: same items, same order, nothing of the store changed, nothing shared."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_community.vectorstores.utils import DistanceStrategy
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import VectorStore

from langchain_recall_signal import RecallRetriever
from tests.langchain.fakes import (
    QUERY,
    contents,
    encoder_for,
    faiss_store,
    in_memory,
    plain,
    simple_store,
    spoil,
)

FEW = settings(max_examples=60, deadline=None)
ANNOTATE = st.sampled_from(["all", "first", "none"])
THRESHOLDS = st.floats(-1.0, 2.0) | st.integers(0, 9)


@dataclass
class World:
    store: VectorStore
    k: int
    pool_size: int


@st.composite
def worlds(draw: st.DrawFn, kinds: tuple[str, ...] = ("memory", "l2", "ip")) -> World:
    """A store of 0 to 60 documents, many of them with the very same vector."""
    kind = draw(st.sampled_from(kinds))
    random = np.random.default_rng(draw(st.integers(0, 2**16)))
    count = draw(st.integers(0, 60))
    vectors = random.standard_normal((draw(st.integers(1, 60)), 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    copies = random.integers(0, len(vectors), count)
    encoder = encoder_for(vectors[copies], random.standard_normal(4))
    if kind == "memory":
        store: VectorStore = in_memory(encoder, count)
    elif kind == "l2":
        store = faiss_store(encoder, count)
    else:
        inner_product = DistanceStrategy.MAX_INNER_PRODUCT
        index = faiss.IndexFlatIP(4)
        store = faiss_store(encoder, count, index, distance_strategy=inner_product)
    k = draw(st.integers(1, 60))
    return World(store, k, max(k, draw(st.integers(1, 70))))


def with_warnings(retriever: BaseRetriever) -> tuple[list[Document], set[str]]:
    """Return the page, and what LangChain says of relevances, which names the hits it looked at."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        page = retriever.invoke(QUERY)
    return page, {str(warning.message) for warning in caught}


def check(world: World, annotate: Any, search_type: str, search_kwargs: dict[str, Any]) -> None:
    before = contents(world.store)
    bare = world.store.as_retriever(
        search_type=search_type, search_kwargs={"k": world.k, **search_kwargs}
    )
    wrapped = RecallRetriever(retriever=bare, pool_size=world.pool_size, annotate=annotate)
    expected, warned = with_warnings(bare)
    page, warned_by_wrapper = with_warnings(wrapped)
    assert plain(page) == plain(expected)
    assert warned <= warned_by_wrapper  # of a tie, LangChain speaks twice
    assert all(message.count("Document(") <= world.k for message in warned_by_wrapper)
    carriers = {"all": len(page), "first": min(1, len(page)), "none": 0}[annotate]
    assert ["recall" in d.metadata for d in page] == [n < carriers for n in range(len(page))]
    spoil([document.metadata for document in page])
    assert contents(world.store) == before


@given(worlds(), ANNOTATE)
@FEW
def test_similarity(world: World, annotate: Any) -> None:
    check(world, annotate, "similarity", {})


@given(worlds(("l2", "ip")), ANNOTATE, THRESHOLDS)
@FEW
def test_score_threshold(world: World, annotate: Any, threshold: float | int) -> None:
    if isinstance(threshold, int):  # the relevance of one of the hits: cuts within the page
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            hits = world.store.similarity_search_with_relevance_scores(QUERY, k=world.k)
        threshold = float(hits[threshold % len(hits)][1]) if hits else 0.5
    check(world, annotate, "similarity_score_threshold", {"score_threshold": threshold})


@given(worlds(), ANNOTATE, st.floats(0.0, 1.0))
@FEW
def test_mmr(world: World, annotate: Any, diversity: float) -> None:
    check(world, annotate, "mmr", {"lambda_mult": diversity, "fetch_k": 30})


@pytest.mark.parametrize("kind", ["memory", "l2", "ip"])
@pytest.mark.parametrize("search_type", ["similarity", "mmr"])
@given(data=st.data())
@settings(max_examples=15, deadline=None)
async def test_async_returns_the_same(kind: str, search_type: str, data: st.DataObject) -> None:
    world = data.draw(worlds((kind,)))
    bare = world.store.as_retriever(search_type=search_type, search_kwargs={"k": world.k})
    wrapped = RecallRetriever(retriever=bare, pool_size=world.pool_size)
    assert await wrapped.ainvoke(QUERY) == wrapped.invoke(QUERY)
    assert plain(await wrapped.ainvoke(QUERY)) == plain(await bare.ainvoke(QUERY))


@given(worlds(), st.integers(1, 60))
@FEW
def test_k_at_the_call(world: World, k: int) -> None:
    bare = world.store.as_retriever(search_kwargs={"k": world.k})
    wrapped = RecallRetriever(retriever=bare, pool_size=world.pool_size)
    assert plain(wrapped.invoke(QUERY, k=k)) == plain(bare.invoke(QUERY, k=k))
    (batched,) = wrapped.batch([QUERY], k=k)
    assert plain(batched) == plain(bare.invoke(QUERY, k=k))


@pytest.mark.parametrize("annotate", ["all", "first", "none"])
def test_two_calls_share_nothing(annotate: Any) -> None:
    wrapped = RecallRetriever(retriever=simple_store().as_retriever(), annotate=annotate)
    first = wrapped.recall(QUERY)
    documents, report = deepcopy(first.documents), first.to_dict()
    for document in first.documents:
        spoil(document.metadata)
        document.page_content = "spoiled"
    first.documents.clear()
    second = wrapped.recall(QUERY)
    assert second.documents == documents
    assert second.to_dict() == report


def test_the_same_document_twice_on_a_page_becomes_two() -> None:
    document = Document(page_content="one", metadata={"tags": [1]})
    wrapped = RecallRetriever(retriever=RunnableLambda(lambda query: [document, document]))
    one, other = wrapped.invoke(QUERY)
    assert one is not other
    assert (one.metadata["recall"]["rank"], other.metadata["recall"]["rank"]) == (0, 1)
    assert document.metadata == {"tags": [1]}


def test_a_subclass_of_document_survives() -> None:
    class Page(Document):
        number: int = 0

    original = Page(id="p", page_content="text", number=7)
    (copy,) = RecallRetriever(retriever=RunnableLambda(lambda query: [original])).invoke(QUERY)
    assert isinstance(copy, Page)
    assert copy is not original
    assert (copy.id, copy.number) == ("p", 7)


def test_an_entry_that_is_already_there_is_replaced_in_the_copy() -> None:
    original = Document(page_content="text", metadata={"recall": "theirs"})
    inner: RunnableLambda[str, list[Document]] = RunnableLambda(lambda query: [original])
    (copy,) = RecallRetriever(retriever=inner).invoke(QUERY)
    assert copy.metadata["recall"]["v"] == 1
    assert original.metadata == {"recall": "theirs"}
    (kept,) = RecallRetriever(retriever=inner, annotate="none").invoke(QUERY)
    assert kept.metadata == {}, "what somebody else stored under our key is not taken for ours"


@given(worlds(), st.integers(0, 2**16))
@settings(max_examples=8, deadline=None)
def test_eight_threads_at_once(world: World, seed: int) -> None:
    random = np.random.default_rng(seed)
    queries = [f"query {n}" for n in range(64)]
    store: Any = world.store
    store.embeddings.vectors |= {query: random.standard_normal(4) for query in queries}
    bare = store.as_retriever(search_kwargs={"k": world.k})
    wrapped = RecallRetriever(retriever=bare, pool_size=world.pool_size)
    before = contents(store)
    with ThreadPoolExecutor(8) as threads:
        responses = list(threads.map(wrapped.recall, queries * 2))
    for query, response in zip(queries * 2, responses, strict=True):
        alone = wrapped.recall(query)
        assert response.documents == alone.documents
        assert response.pool.cosines == alone.pool.cosines
        assert plain(response.documents) == plain(bare.invoke(query))
    assert contents(store) == before
