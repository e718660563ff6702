"""``embeddings=``: cosines from the texts, where the search itself gives none."""

import asyncio
import logging
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_fakes import (
    DIMENSION,
    QUERY,
    Encoder,
    documents,
    encoder_for,
    entry,
    faiss_store,
    plain,
    simple_store,
)

from langchain_recall_signal import RecallResponse, RecallRetriever
from recall_signal.testing import vectors_with_cosines

COSINES = [0.9, -0.2, 0.5, 0.1]
ASKED = np.eye(DIMENSION)[3] * 2.0
BOTH = pytest.mark.parametrize("way", ["recall", "arecall"])


def encoder() -> Encoder:
    return encoder_for(vectors_with_cosines(ASKED, COSINES, norm=3.0), ASKED)


def around(embeddings: Any, count: int = 4, **settings: Any) -> RecallRetriever:
    inner = RunnableLambda(lambda query: documents(count))
    return RecallRetriever(retriever=inner, embeddings=embeddings, **settings)


async def ask(retriever: RecallRetriever, way: str) -> RecallResponse:
    answer = getattr(retriever, way)(QUERY)
    response: RecallResponse = await answer if way == "arecall" else answer
    return response


@BOTH
async def test_a_plain_runnable(way: str) -> None:
    response = await ask(around(encoder()), way)
    assert response.cosine_source == "embeddings"
    assert response.pool.cosines == pytest.approx(COSINES, abs=1e-6)
    assert [entry(d)["cosine"] for d in response.documents] == pytest.approx(COSINES, abs=1e-6)
    assert plain(response.documents) == plain(documents(4))


@BOTH
async def test_maximal_marginal_relevance(way: str) -> None:
    known = encoder()
    bare = faiss_store(known, 4).as_retriever(search_type="mmr", search_kwargs={"k": 3})
    response = await ask(RecallRetriever(retriever=bare, embeddings=known), way)
    assert plain(response.documents) == plain(bare.invoke(QUERY))
    for document in response.documents:
        exact = COSINES[document.metadata["n"]]
        assert entry(document)["cosine"] == pytest.approx(exact, abs=1e-6)
    without = await ask(RecallRetriever(retriever=bare), way)
    assert without.cosine_source == response.cosine_source == "vectors"


def test_a_known_store_is_not_embedded_again() -> None:
    known = encoder()
    store = simple_store()
    assert RecallRetriever.from_vectorstore(store, embeddings=known).recall(QUERY).cosine_source
    assert known.calls == 0


@BOTH
async def test_texts_are_embedded_once(way: str) -> None:
    known = encoder()
    retriever = around(known)
    first, second = await ask(retriever, way), await ask(retriever, way)
    assert known.batches == [["t0", "t1", "t2", "t3"]]
    assert known.queries == [QUERY, QUERY]
    assert first.pool.cosines == second.pool.cosines


def test_only_new_texts_are_embedded() -> None:
    known = encoder()
    pages = [documents(2), documents(3), documents(3)[::-1]]
    inner = RunnableLambda(lambda query: pages.pop(0))
    retriever = RecallRetriever(retriever=inner, embeddings=known)
    responses = [retriever.recall(QUERY) for _ in range(3)]
    assert known.batches == [["t0", "t1"], ["t2"]]
    assert responses[2].pool.cosines == pytest.approx(COSINES[2::-1], abs=1e-6)


def test_the_same_text_twice_is_embedded_once() -> None:
    known = encoder()
    inner = RunnableLambda(lambda query: documents(1) * 3)
    response = RecallRetriever(retriever=inner, embeddings=known).recall(QUERY)
    assert known.batches == [["t0"]]
    assert response.pool.cosines == pytest.approx([0.9] * 3, abs=1e-6)


def test_two_wrappers_share_no_cache() -> None:
    known = encoder()
    around(known).recall(QUERY)
    around(known).recall(QUERY)
    assert len(known.batches) == 2


def test_at_most_the_pool_size_is_embedded() -> None:
    known = encoder()
    response = around(known, count=4, pool_size=2).recall(QUERY)
    assert known.batches == [["t0", "t1"]]
    assert response.pool.cosines[:2] == pytest.approx(COSINES[:2], abs=1e-6)
    assert response.pool.cosines[2:] == [None, None]
    assert len(response.documents) == 4


def test_nothing_to_embed() -> None:
    known = encoder()
    response = around(known, count=0).recall(QUERY)
    assert (response.confidence.level, known.calls) == ("none", 0)


@BOTH
async def test_an_encoder_of_another_dimension(way: str) -> None:
    known = encoder()
    known.vectors[QUERY] = [1.0, 0.0]
    response = await ask(around(known), way)
    assert response.confidence.level == "unknown"
    assert response.confidence.reason == "embedding_mismatch"
    assert response.cosine_source is None
    assert plain(response.documents) == plain(documents(4))
    known.vectors[QUERY] = ASKED
    assert (await ask(around(known), way)).confidence.reason is None


@pytest.mark.parametrize("answer", [[[1.0, 0.0]], [[1.0], [1.0, 2.0], [1.0], [1.0]], [1.0] * 4])
def test_vectors_that_do_not_fit(answer: Any) -> None:
    class Odd(Encoder):
        def embed_documents(self, texts: Any) -> Any:
            return answer

    assert around(Odd()).recall(QUERY).confidence.reason == "embedding_mismatch"


@BOTH
@pytest.mark.parametrize("method", ["embed_query", "embed_documents"])
async def test_an_encoder_that_fails(
    way: str, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> Any:
        raise ConnectionError("key sk-secret refused")

    known = encoder()
    setattr(known, method, fail)
    with caplog.at_level(logging.DEBUG):
        response = await ask(around(known), way)
    assert response.confidence.reason == "embedding_failed"
    assert plain(response.documents) == plain(documents(4))
    assert "ConnectionError" in caplog.text
    assert not any(text in caplog.text for text in ("sk-secret", QUERY, "t0"))


def test_a_failure_is_not_kept() -> None:
    known = encoder()
    retriever = around(known)
    known.vectors[QUERY] = [1.0]
    assert retriever.recall(QUERY).confidence.reason == "embedding_mismatch"
    known.vectors[QUERY] = ASKED
    assert retriever.recall(QUERY).pool.cosines == pytest.approx(COSINES, abs=1e-6)


async def test_the_encoders_own_async_methods_are_used() -> None:
    class Async(Encoder):
        async def aembed_query(self, text: str) -> list[float]:
            return super().embed_query(text)

        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            return super().embed_documents(texts)

        def embed_query(self, text: str) -> list[float]:
            raise AssertionError

        def embed_documents(self, texts: Any) -> list[list[float]]:
            raise AssertionError

    retriever = around(Async(encoder().vectors))
    for _ in range(2):
        response = await retriever.arecall(QUERY)
        assert response.pool.cosines == pytest.approx(COSINES, abs=1e-6)


async def test_cancelling_while_embedding_is_not_swallowed() -> None:
    started = asyncio.Event()

    class Slow(Encoder):
        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            started.set()
            await asyncio.sleep(60)
            return []

    task = asyncio.create_task(around(Slow()).ainvoke(QUERY))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_text_that_no_encoding_holds() -> None:
    inner = RunnableLambda(lambda query: [Document(page_content="half a pair \ud800")])
    response = RecallRetriever(retriever=inner, embeddings=Encoder()).recall(QUERY)
    assert response.confidence.reason is None


def test_numpy_vectors() -> None:
    class Arrays(Encoder):
        def embed_documents(self, texts: Any) -> Any:
            return np.asarray(super().embed_documents(texts), np.float32)

    response = around(Arrays(encoder().vectors)).recall(QUERY)
    assert all(type(cosine) is float for cosine in response.pool.cosines)
