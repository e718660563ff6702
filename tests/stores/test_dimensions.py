"""A store that says the length of its vectors is compared with a calibration when it is wrapped."""

from __future__ import annotations

from typing import Any

import faiss
import pytest
from langchain_community.vectorstores import FAISS
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.schema import TextNode
from llama_index.vector_stores.faiss import FaissVectorStore

import langchain_recall_signal as lc
import llama_index_recall_signal as li
from recall_signal import CalibrationError
from tests.llama_index.fakes import Embedding
from tests.llama_index.test_auto_parity import TEXTS, ByWords, LangChainByWords


def embedding(dimension: int) -> Embedding:
    made = Embedding()
    made._encoder = ByWords(dimension=dimension)
    return made


def langchain(dimension: int, **settings: Any) -> lc.RecallRetriever:
    store = FAISS.from_texts(TEXTS, LangChainByWords(dimension=dimension))
    return lc.RecallRetriever.from_vectorstore(store, k=3, **settings)


def llama_index(dimension: int, **settings: Any) -> li.RecallRetriever:
    store = FaissVectorStore(faiss.IndexFlatIP(dimension))
    context = StorageContext.from_defaults(vector_store=store)
    nodes = [TextNode(id_=f"id{n}", text=text) for n, text in enumerate(TEXTS)]
    index = VectorStoreIndex(nodes, storage_context=context, embed_model=embedding(dimension))
    return li.RecallRetriever(index.as_retriever(similarity_top_k=3), **settings)


@pytest.mark.parametrize(
    ("make", "own"),
    [
        (langchain, {"embeddings": LangChainByWords(dimension=64)}),
        (llama_index, {"embed_model": embedding(64)}),
    ],
    ids=["langchain", "llama_index"],
)
def test_a_store_that_says_its_length_is_compared_at_construction(
    make: Any, own: dict[str, Any]
) -> None:
    fitted = make(64).calibrate()
    assert make(64, calibration=fitted).calibration_status == "ready"
    with pytest.raises(CalibrationError, match="cannot be used with vectors of length 32"):
        make(32, calibration=fitted)
    # Where the wrapper embeds the texts again, its own encoder's cosines are judged.
    assert make(32, calibration=fitted, **own).calibration_status == "ready"
