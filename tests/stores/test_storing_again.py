"""What a wrapper returned is stored again as it was, once its report is taken off."""

from typing import Any
from uuid import uuid4

import chromadb
import pytest
from langchain_chroma import Chroma
from langchain_classic.indexes import SQLRecordManager, index
from langchain_core.documents import Document
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.schema import MetadataMode, TextNode
from llama_index.vector_stores.chroma import ChromaVectorStore

import langchain_recall_signal as in_langchain
import llama_index_recall_signal as in_llama_index
from tests.langchain.fakes import Encoder
from tests.llama_index.fakes import Embedding

TEXTS = ["the kiln", "the hours", "the glaze"]
QUERY = "what is asked"


def client() -> Any:
    return chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))


@pytest.fixture
def store() -> Chroma:
    return Chroma(f"c{uuid4().hex}", Encoder(), client=client())


def documents() -> list[Document]:
    return [Document(id=text, page_content=text, metadata={"source": text}) for text in TEXTS]


@pytest.mark.parametrize("key", ["recall", "signal"])
def test_documents_go_back_into_chroma(store: Chroma, key: str) -> None:
    store.add_documents(documents())
    retriever = in_langchain.RecallRetriever.from_vectorstore(store, k=3, metadata_key=key)
    found = retriever.invoke(QUERY)
    with pytest.raises(ValueError, match="metadata"):
        store.add_documents(found)
    bare = in_langchain.without_report(found, metadata_key=key)
    store.add_documents(bare)
    assert sorted(store.get()["ids"]) == sorted(TEXTS)
    assert store.get()["metadatas"] == [{"source": text} for text in store.get()["ids"]]
    assert sorted(bare, key=lambda document: TEXTS.index(document.id or "")) == documents()
    assert all(key in document.metadata for document in found)


def test_indexing_knows_the_documents_again(store: Chroma) -> None:
    records = SQLRecordManager("notes", db_url="sqlite://")
    records.create_schema()
    given: dict[str, Any] = {"cleanup": "incremental", "source_id_key": "source"}
    given["key_encoder"] = "blake2b"

    def indexed(some: list[Document]) -> Any:
        return index([d.model_copy(update={"id": None}) for d in some], records, store, **given)

    assert indexed(documents())["num_added"] == 3
    retriever = in_langchain.RecallRetriever.from_vectorstore(store, k=3)
    again = indexed(in_langchain.without_report(retriever.invoke(QUERY)))
    assert (again["num_added"], again["num_skipped"]) == (0, 3)
    records.engine.dispose()


@pytest.fixture
def nodes() -> list[TextNode]:
    return [
        TextNode(
            id_=text,
            text=text,
            metadata={"source": text},
            excluded_llm_metadata_keys=["source"],
            excluded_embed_metadata_keys=["other"],
        )
        for text in TEXTS
    ]


@pytest.mark.parametrize("key", ["recall", "signal"])
def test_nodes_are_what_they_were(nodes: list[TextNode], key: str) -> None:
    made = VectorStoreIndex(nodes, embed_model=Embedding({}))
    retriever = in_llama_index.RecallRetriever(made.as_retriever(), metadata_key=key)
    found = retriever.retrieve(QUERY)
    bare = in_llama_index.without_report(found, metadata_key=key)
    known = {node.node_id: node for node in nodes}
    for before, after in zip(found, bare, strict=True):
        stored = known[after.node_id]
        assert after.score == before.score
        assert after.node.hash == stored.hash != before.node.hash
        assert after.node.metadata == stored.metadata
        assert after.node.excluded_llm_metadata_keys == ["source"]
        assert after.node.excluded_embed_metadata_keys == ["other"]
        assert after.node.get_content(MetadataMode.ALL) == stored.get_content(MetadataMode.ALL)
        assert key in before.node.metadata
        assert key in before.node.excluded_llm_metadata_keys
    only_nodes = in_llama_index.without_report([item.node for item in found], metadata_key=key)
    assert only_nodes == [item.node for item in bare]


def test_nodes_go_back_into_chroma(nodes: list[TextNode]) -> None:
    vectors = ChromaVectorStore(chroma_collection=client().create_collection(f"c{uuid4().hex}"))
    storage = StorageContext.from_defaults(vector_store=vectors)
    made = VectorStoreIndex(nodes, storage_context=storage, embed_model=Embedding({}))
    retriever = in_llama_index.RecallRetriever(made.as_retriever(similarity_top_k=3))
    found = [item.node for item in retriever.retrieve(QUERY)]
    with pytest.raises(ValueError, match="metadata"):
        made.insert_nodes(found)
    made.insert_nodes(in_llama_index.without_report(found))
    again = retriever.retrieve(QUERY)
    assert len(again) == 3
