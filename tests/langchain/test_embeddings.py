"""`embeddings=` in LangChain: the methods of an encoder that are called, and needless calls."""

import asyncio
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from langchain_recall_signal import RecallRetriever
from recall_signal.testing import vectors_with_cosines
from tests.langchain.fakes import (
    DIMENSION,
    QUERY,
    Encoder,
    Scored,
    documents,
    encoder_for,
    entry,
    faiss_store,
    plain,
    simple_store,
)

COSINES = [0.9, -0.2, 0.5, 0.1]
ASKED = np.eye(DIMENSION)[3] * 2.0


def encoder() -> Encoder:
    return encoder_for(vectors_with_cosines(ASKED, COSINES, norm=3.0), ASKED)


def around(embeddings: Any) -> RecallRetriever:
    inner: RunnableLambda[str, list[Document]] = RunnableLambda(lambda query: documents(4))
    return RecallRetriever(retriever=inner, embeddings=embeddings)


async def test_maximal_marginal_relevance_is_measured_by_the_stored_vectors() -> None:
    known = encoder()
    bare = faiss_store(known, 4).as_retriever(search_type="mmr", search_kwargs={"k": 3})
    for given in (known, None):
        wrapped = RecallRetriever(retriever=bare, embeddings=given)
        for response in (wrapped.recall(QUERY), await wrapped.arecall(QUERY)):
            assert response.cosine_source == "vectors"
            assert plain(response.documents) == plain(bare.invoke(QUERY))
            for document in response.documents:
                exact = COSINES[document.metadata["n"]]
                assert entry(document)["cosine"] == pytest.approx(exact, abs=1e-6)


def test_a_known_store_is_not_embedded_again() -> None:
    known = encoder()
    store = simple_store()
    assert RecallRetriever.from_vectorstore(store, embeddings=known).recall(QUERY).cosine_source
    assert known.calls == 0


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
    found = [Document(page_content="half a pair \ud800")]
    inner: RunnableLambda[str, list[Document]] = RunnableLambda(lambda query: found)
    response = RecallRetriever(retriever=inner, embeddings=Encoder()).recall(QUERY)
    assert response.confidence.reason is None


def test_a_score_that_is_no_number_costs_no_page(caplog: pytest.LogCaptureFixture) -> None:
    store = Scored(["best", "worst"])
    for kind in ("cosine", "bm25"):
        response = RecallRetriever.from_vectorstore(store, score_kind=kind).recall(QUERY)
        assert response.confidence.reason == "adapter_failed"
        assert plain(response.documents) == plain(documents(2))
    assert "best" not in caplog.text
