"""A setting means the same in both frameworks, also where its default is given by hand."""

import asyncio
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import RunnableLambda
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from langchain_recall_signal import RecallRetriever as LangChainRetriever
from llama_index_recall_signal import RecallRetriever as LlamaIndexRetriever
from recall_signal import ConfigurationError
from recall_signal.selection import Answer, SelectionOptions, SelectionRequest
from recall_signal.settings import UNSET, WrapperFields


class Listed(BaseRetriever):
    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(text=f"text {n}"), score=None) for n in range(3)]


class Cancelled(Embeddings):
    """An encoder whose own task is cancelled, as by a client that closes its connection."""

    def embed_query(self, text: str) -> list[float]:
        raise NotImplementedError

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise NotImplementedError

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        raise asyncio.CancelledError


class CancelledEmbedding(BaseEmbedding):
    def _get_query_embedding(self, query: str) -> list[float]:
        raise NotImplementedError

    def _get_text_embedding(self, text: str) -> list[float]:
        raise NotImplementedError

    async def _aget_query_embedding(self, query: str) -> list[float]:
        raise NotImplementedError

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        raise asyncio.CancelledError


class Nobody:
    """A selector that is never asked."""

    def select(self, request: SelectionRequest) -> Answer:
        raise NotImplementedError

    async def aselect(self, request: SelectionRequest) -> Answer:
        raise NotImplementedError


def langchain(**settings: Any) -> LangChainRetriever:
    documents = [Document(page_content=f"text {n}") for n in range(3)]
    return LangChainRetriever(retriever=RunnableLambda(lambda _: documents), **settings)


def llama_index(**settings: Any) -> LlamaIndexRetriever:
    return LlamaIndexRetriever(Listed(), **settings)


BOTH = pytest.mark.parametrize("wrap", [langchain, llama_index])


@BOTH
@pytest.mark.parametrize("name", sorted(WrapperFields.model_fields))
def test_a_default_may_be_given_by_hand(wrap: Any, name: str) -> None:
    wrap(**{name: WrapperFields.model_fields[name].get_default()})


@BOTH
def test_a_pool_below_the_page_is_refused_also_where_its_size_is_the_default(wrap: Any) -> None:
    wrap(k=60)
    with pytest.raises(ConfigurationError, match="pool_size=50 is below the page's k=60"):
        wrap(k=60, pool_size=50)


@BOTH
@pytest.mark.parametrize(("given", "seconds"), [({}, 30.0), ({"selector_timeout": 10.0}, 10.0)])
def test_a_timeout_given_beside_the_options_decides(
    wrap: Any, given: dict[str, Any], seconds: float
) -> None:
    options = SelectionOptions(timeout=30.0)
    wrapped = wrap(selector=Nobody(), selector_options=options, **given)
    assert wrapped._parts.settings.selection.timeout == seconds
    again = wrapped.with_calibration(None)
    assert again._parts.settings.selection.timeout == seconds


def test_what_was_not_given_has_a_short_name() -> None:
    assert repr(UNSET) == "UNSET"


@pytest.mark.parametrize(
    "wrapped",
    [langchain(embeddings=Cancelled()), llama_index(embed_model=CancelledEmbedding())],
    ids=["langchain", "llama_index"],
)
async def test_an_encoder_whose_own_call_is_cancelled_does_not_cancel_us(
    wrapped: Any, caplog: pytest.LogCaptureFixture
) -> None:
    response = await wrapped.arecall("question")
    assert response.confidence.reason == "embedding_failed"
    assert len(getattr(response, "documents", None) or response.nodes) == 3
    assert "embedding the candidates again failed: CallCancelled" in caplog.text
