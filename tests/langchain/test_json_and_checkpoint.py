"""Everything that travels is plain JSON, and comes back from a checkpoint as it went in."""

import json
from collections.abc import Iterator
from typing import Annotated, Any, TypedDict

import numpy as np
import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import MemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from langchain_recall_signal import RecallRetriever
from tests.langchain.fakes import (
    QUERY,
    encoder_for,
    entry,
    faiss_store,
    in_memory,
    simple_store,
)

VECTORS = np.random.default_rng(3).standard_normal((12, 6))
UNIT = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
PLAIN = (dict, list, str, int, float, bool, type(None))


def retrievers() -> dict[str, RecallRetriever]:
    encoder = encoder_for(UNIT, UNIT[0])
    mixed = encoder_for(VECTORS, VECTORS[0])
    return {
        "in memory": RecallRetriever.from_vectorstore(in_memory(encoder, 12)),
        "faiss scores": RecallRetriever.from_vectorstore(faiss_store(encoder, 12)),
        "faiss vectors": RecallRetriever.from_vectorstore(faiss_store(mixed, 12)),
        "declared": RecallRetriever.from_vectorstore(
            faiss_store(encoder, 12), score_kind="squared_l2"
        ),
        "keyword": RecallRetriever.from_vectorstore(faiss_store(encoder, 12), score_kind="bm25"),
        "one": RecallRetriever.from_vectorstore(faiss_store(encoder, 1)),
        "embedded": RecallRetriever(
            retriever=RunnableLambda(lambda q: [Document(page_content="t0", id="id0")]),
            embeddings=encoder,
        ),
        "unknown": RecallRetriever(
            retriever=RunnableLambda(lambda q: [Document(page_content="t0")])
        ),
        "empty": RecallRetriever.from_vectorstore(simple_store(0, [])),
    }


def assert_plain(value: Any) -> None:
    assert type(value) in PLAIN, f"{type(value)} in a report"
    for inner in (
        value.values() if isinstance(value, dict) else value if type(value) is list else ()
    ):
        assert_plain(inner)


@pytest.mark.parametrize("name", retrievers())
async def test_reports_are_plain_json(name: str) -> None:
    retriever = retrievers()[name]
    for response in (retriever.recall(QUERY), await retriever.arecall(QUERY)):
        for document in response.documents:
            assert_plain(entry(document))
            assert json.loads(json.dumps(document.metadata, allow_nan=False)) == document.metadata
            assert json.loads(document.model_dump_json())["metadata"] == document.metadata
        assert_plain(response.to_dict())
        assert_plain(response.pool.cosines)
        if response.pool.scores is not None:
            assert_plain(response.pool.scores)


class Heard(BaseCallbackHandler):
    def __init__(self) -> None:
        self.payloads: list[Any] = []

    def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
        self.payloads.append(data)


class State(TypedDict, total=False):
    question: str
    documents: list[Document]
    recall: dict[str, Any]
    heard: Annotated[list[Any], lambda old, new: new]


def graph(retriever: RecallRetriever, saver: BaseCheckpointSaver[Any]) -> Any:
    def retrieve(state: State, config: RunnableConfig) -> State:
        heard = Heard()
        response = retriever.recall(state["question"], {"callbacks": [heard]})
        return {
            "documents": response.documents,
            "recall": response.to_dict(),
            "heard": heard.payloads,
        }

    builder = StateGraph(State)
    builder.add_node("retrieve", retrieve)
    builder.add_edge(START, "retrieve")
    builder.add_edge("retrieve", END)
    return builder.compile(checkpointer=saver)


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[BaseCheckpointSaver[Any]]:
    if request.param == "memory":
        yield MemorySaver()
    else:
        with SqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")) as sqlite:
            yield sqlite


@pytest.mark.parametrize("name", retrievers())
def test_a_checkpoint_round_trip(name: str, saver: BaseCheckpointSaver[Any]) -> None:
    retriever = retrievers()[name]
    config: RunnableConfig = {"configurable": {"thread_id": name}}
    graph(retriever, saver).invoke({"question": QUERY}, config)
    kept = graph(retriever, saver).get_state(config).values
    expected = retriever.recall(QUERY)
    assert kept["documents"] == expected.documents
    assert all(isinstance(document, Document) for document in kept["documents"])
    assert kept["recall"] == expected.to_dict()
    assert kept["heard"] == [expected.to_dict()]


def test_a_store_that_gives_numpy_metadata_keeps_it() -> None:
    """What was in the metadata before is the caller's affair: it is not converted."""

    class Fixed(Embeddings):
        def embed_query(self, text: str) -> list[float]:
            return [1.0]

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[1.0] for _ in texts]

    value = np.float32(0.5)
    found = [Document(page_content="a", metadata={"weight": value})]
    inner: RunnableLambda[str, list[Document]] = RunnableLambda(lambda _: found)
    (document,) = RecallRetriever(retriever=inner, embeddings=Fixed()).invoke(QUERY)
    assert document.metadata["weight"] is value
    assert_plain(entry(document))
