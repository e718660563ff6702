"""`Chroma` in its three spaces."""

from typing import Any, ClassVar, Literal
from uuid import uuid4

import chromadb
import numpy as np
import pytest
from langchain_chroma import Chroma
from langchain_core.embeddings import Embeddings

from langchain_recall_signal import RecallRetriever
from tests.langchain.fakes import Encoder as Known
from tests.stores.cases import conformance
from tests.stores.langchain_world import MMR, Encoder, FlatMetadata, StoreConformance

CLIENT = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))


class InChroma(FlatMetadata, StoreConformance):
    space: ClassVar[Literal["l2", "cosine", "ip"]] = "l2"

    def store(self, encoder: Embeddings) -> Any:
        return Chroma(
            f"c{uuid4().hex}",
            encoder,
            client=CLIENT,
            collection_configuration={"hnsw": {"space": self.space}},
        )


CASES: dict[str, dict[str, Any]] = {
    "L2": {"unit_only": True},
    "Cosine": {"space": "cosine"},
    "InnerProduct": {"space": "ip", "unit_only": True},
    "Mmr": MMR,
}
globals().update(conformance(InChroma, CASES))


@pytest.mark.parametrize("space", ["l2", "cosine", "ip"])
@pytest.mark.parametrize("said_in", ["collection_configuration", "collection_metadata"])
def test_the_space_is_read_wherever_it_was_set(space: str, said_in: str) -> None:
    """If this fails, Chroma keeps its configuration elsewhere: change `_space` in the adapter."""
    settings: dict[str, Any] = {
        "collection_configuration": {"hnsw": {"space": space}},
        "collection_metadata": {"hnsw:space": space},
    }
    store = Chroma(f"c{uuid4().hex}", Encoder(), client=CLIENT, **{said_in: settings[said_in]})
    store.add_texts(["one", "two"])
    response = RecallRetriever.from_vectorstore(store).recall("a query")
    encoder = Encoder()
    exact = [
        float(np.dot(encoder.embed_query("a query"), encoder.embed_query(text)))
        for text in (document.page_content for document in response.documents)
    ]
    assert response.pool.cosines == pytest.approx(exact, abs=1e-4)
    assert response.cosine_source == "store"


async def test_a_record_without_text_leaves_the_page_as_it_is() -> None:
    """Chroma drops such hits after its limit: a wider search must not fill the page up."""
    texts = {f"t{n}": [1.0, n / 10] for n in range(6)}
    name = f"without-text-{uuid4().hex}"
    encoder = Known(texts | {"a question": [1.0, 0.0]})
    store = Chroma(name, encoder, client=CLIENT, collection_metadata={"hnsw:space": "cosine"})
    kinds = [{"kind": "memo"}] * 5
    store.add_texts([f"t{n}" for n in range(1, 6)], kinds, [f"id{n}" for n in range(1, 6)])
    collection: Any = store._collection
    collection.add(ids=["bare"], embeddings=[[1.0, 0.0]], metadatas=kinds[:1])
    for chosen in ({}, {"filter": {"kind": "memo"}}, {"ids": ["bare", "id1", "id2"]}):
        bare = store.as_retriever(search_kwargs={"k": 2, **chosen})
        wrapped = RecallRetriever(retriever=bare)
        expected = [document.id for document in bare.invoke("a question")]
        assert expected == ["id1"]
        for response in (wrapped.recall("a question"), await wrapped.arecall("a question")):
            assert [document.id for document in response.documents] == expected
            assert response.confidence.result_count == (2 if "ids" in chosen else 5)
    CLIENT.delete_collection(name)


PART: Any = {"filter": {"tenant": "3"}}


@pytest.mark.parametrize(
    ("of_retriever", "bound", "of_call"),
    [
        (PART, {}, {}),
        ({}, PART, {}),
        ({}, {}, PART),
        ({"filter": {"tenant": "none"}}, PART, {}),
        ({"where_document": {"$contains": "1"}}, {}, PART),
        ({"filter": {"tenant": "none"}}, {}, {}),
        ({"ids": ["id3", "id4"]}, {}, {}),
    ],
)
async def test_a_filter_that_leaves_few_records_costs_one_search(
    of_retriever: dict[str, Any], bound: dict[str, Any], of_call: dict[str, Any]
) -> None:
    encoder = Encoder()
    space: Any = {"hnsw": {"space": "cosine"}}
    name = f"c{uuid4().hex}"
    store = Chroma(name, encoder, client=CLIENT, collection_configuration=space)
    numbers = range(70)
    store.add_texts(
        [f"text {n}" for n in numbers],
        [{"tenant": str(n % 10)} for n in numbers],
        [f"id{n}" for n in numbers],
    )
    bare = store.as_retriever(search_kwargs={"k": 4, **of_retriever}).bind(**bound)
    wrapped = RecallRetriever(retriever=bare)
    for question in ("one", "another"):
        expected = bare.invoke(question, **of_call)
        encoder.queries.clear()
        response = wrapped.recall(question, **of_call)
        assert [document.id for document in response.documents] == [d.id for d in expected]
        assert len(response.pool) < 50
        await wrapped.arecall(question, **of_call)
        assert encoder.queries == [question] * 2
