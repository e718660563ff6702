"""Faults A5: an empty question over stores and encoders that take no empty text."""

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import Document as LlamaDocument
from llama_index.core import VectorStoreIndex

import langchain_recall_signal as langchain
import llama_index_recall_signal as llama_index

TEXTS = ("a kiln fires", "we open at nine", "boats leave at noon")


class Strict(langchain.DemoEmbeddings):
    """An encoder that refuses what is empty, as many services do."""

    def embed_query(self, text: str) -> list[float]:
        if not text:
            raise ValueError("input must not be empty")
        return super().embed_query(text)


def through_langchain() -> Any:
    store = InMemoryVectorStore(Strict())
    store.add_documents([Document(text) for text in TEXTS])
    return langchain.RecallRetriever.from_vectorstore(store, k=2)


def through_llama_index() -> Any:
    documents = [LlamaDocument(text=text) for text in TEXTS]
    index = VectorStoreIndex.from_documents(documents, embed_model=llama_index.DemoEmbedding())
    return llama_index.RecallRetriever(index.as_retriever(similarity_top_k=2))


@pytest.mark.parametrize("make", [through_langchain, through_llama_index])
@pytest.mark.parametrize("question", ["", "  \n", "\u200b", "\ufeff \ue000\u3164"])
async def test_it_is_unknown_and_nothing_is_raised(make: Any, question: str) -> None:
    retriever = make()
    for response in (retriever.recall(question), await retriever.arecall(question)):
        confidence = response.confidence
        assert (confidence.level, confidence.reason) == ("unknown", "empty_query")


@pytest.mark.parametrize("make", [through_langchain, through_llama_index])
@pytest.mark.parametrize("question", ["", "  \n"])
async def test_the_advice_says_so_whether_or_not_it_could_be_searched(
    make: Any, question: str
) -> None:
    """An encoder that takes no empty text has searched nothing, and so found no store empty."""
    retriever = make()
    for response in (retriever.recall(question), await retriever.arecall(question)):
        assert "empty question" in response.advice_text or (
            "The question is empty" in response.advice_text
        )
        assert "found nothing, or left nothing" not in response.advice_text
        assert response.advice_text.endswith("Ask again, in words.")


async def test_a_batch_of_llama_index_searches_as_a_single_question_does() -> None:
    retriever = through_llama_index()
    questions = ["", "kiln", " ", "boats"]
    alone = [[node.node_id for node in retriever.retrieve(one)] for one in questions]
    assert [bool(ids) for ids in alone] == [False, True, True, True]
    for pages in (retriever.batch(questions), await retriever.abatch(questions)):
        assert [[node.node_id for node in page] for page in pages] == alone


async def test_in_a_batch() -> None:
    retriever = through_langchain()
    questions = ["kiln", "\u200b", ""]
    for pages in (retriever.batch(questions), await retriever.abatch(questions)):
        reasons = [page[0].metadata["recall"]["confidence"]["reason"] for page in pages if page]
        assert reasons[0] is None
        assert {*reasons[1:]} <= {"empty_query"}


@pytest.mark.parametrize("make", [through_langchain, through_llama_index])
def test_a_tool_says_so(make: Any) -> None:
    module = langchain if make is through_langchain else llama_index
    tool = module.create_recall_tool(make(), "notes", "Notes of a pottery.")
    said = tool.invoke("") if module is langchain else tool.call("").content
    assert "unknown" in str(said)
    assert "TypeError" not in str(said)
