"""Azure AI Search, read and not run: vector, hybrid and semantic searches, and who tells what."""

import json
import warnings
from typing import Any
from unittest.mock import patch

import pytest
from langchain_community.vectorstores import azuresearch
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStoreRetriever
from langchain_world import Encoder
from remote_rows import (
    OTHERS,
    Fused,
    Metric,
    RemoteConformance,
    Rows,
    Shape,
    inverse,
    inverse_cosine_distance,
    product,
)

from langchain_recall_signal import RecallRetriever
from langchain_recall_signal.stores import find_adapter
from recall_signal import ConfigurationError

with warnings.catch_warnings():  # their sources hold escapes that Python retires
    warnings.simplefilter("ignore")

with warnings.catch_warnings():  # its sources hold escapes that Python retires
    warnings.simplefilter("ignore")
    import azure.search.documents.indexes.models  # noqa: F401  (as the store does, when made)

METRICS: dict[str, Metric] = {
    "cosine": inverse_cosine_distance,
    "euclidean": inverse,
    "dotProduct": product,
}


class Answer(list[dict[str, Any]]):
    """What a search returns: an iterable with extras."""

    def get_answers(self) -> None:
        """No answers were extracted."""


class FakeSearch:
    """One index, with a vector field that can be read unless it is hidden."""

    def __init__(self, rows: Rows, metric: str = "cosine", hidden: bool = False) -> None:
        self.rows, self.metric, self.hidden = rows, metric, hidden
        self.read_by_id = 0
        policy = Shape(user_agent="agent", add_user_agent=lambda agent: None)
        self._client = Shape(_config=Shape(user_agent_policy=policy))

    def search(
        self,
        search_text: str | None,
        vector_queries: Any = None,
        filter: str | None = None,  # noqa: A002  (its name in the service's client)
        select: list[str] | None = None,
        top: int = 50,
        query_type: str | None = None,
        **rest: Any,
    ) -> Answer:
        if vector_queries is None and filter is not None:
            self.read_by_id += 1
            key, ids = filter.removeprefix("search.in(").split(", '")[:2]
            assert key == "id"
            found: Any = [(row, 1.0) for row in self.rows.of(ids.rstrip("'").split(","))[:top]]
        elif vector_queries is None:
            found = self.rows.by_words(search_text or "", top)
        elif search_text in (None, "", "*"):
            metric = METRICS[self.metric]
            found = self.rows.nearest(vector_queries[0].vector, metric, top)
        else:
            found = self.rows.by_ranks(search_text, vector_queries[0].vector, top)
        sent = [self._sent(row, score, query_type) for row, score in found]
        names = set(select or ()) | {name for name in (sent[0] if sent else ()) if "@" in name}
        return Answer([{k: v for k, v in d.items() if not select or k in names} for d in sent])

    def _sent(self, row: Any, score: float, query_type: str | None) -> dict[str, Any]:
        document = {
            "id": row.id,
            "content": row.text,
            "chunk": row.text,
            "doc_id": None,
            "metadata": json.dumps(row.metadata),
            "@search.score": score,
        }
        if not self.hidden:
            document["content_vector"] = document["embedding"] = list(row.vector)
        if query_type == "semantic":
            document["@search.reranker_score"] = 4.0 - 1.0 / (1.0 + score)
        return document


class FakeAsyncSearch:
    """The same answers, asynchronously."""

    def __init__(self, client: FakeSearch) -> None:
        self._search, self._client = client.search, client._client

    async def search(self, **asked: Any) -> Any:
        return AsyncAnswer(self._search(**asked))


class AsyncAnswer:
    def __init__(self, found: Answer) -> None:
        self._found = iter(found)

    async def get_answers(self) -> None:
        """No answers were extracted."""

    def __aiter__(self) -> "AsyncAnswer":
        return self

    async def __anext__(self) -> dict[str, Any]:
        try:
            return next(self._found)
        except StopIteration:
            raise StopAsyncIteration from None


def store_over(client: FakeSearch, encoder: Embeddings, **settings: Any) -> Any:
    def connect(*args: Any, async_: bool = False, **rest: Any) -> Any:
        return FakeAsyncSearch(client) if async_ else client

    with (
        patch.object(azuresearch, "_get_search_client", connect),
        patch.object(azuresearch.AzureSearch, "__del__", lambda self: None),
    ):
        return AzureSearch("https://node.example", None, "index", encoder, **settings)


class AzureSearch(azuresearch.AzureSearch):
    """Closes nothing when it goes, since nothing was opened."""

    def __del__(self) -> None:
        """Nothing to close."""


class InAzure(RemoteConformance):
    """By LangChain's plain retriever; the store keeps no metric, so that vectors are read."""

    norms = (1.0, *OTHERS)
    metric = "cosine"
    kind = "similarity"
    hidden = False
    source = "vectors"

    def serve(self, rows: Rows, encoder: Embeddings) -> Any:
        client = FakeSearch(rows, self.metric, self.hidden)
        return store_over(client, encoder, search_type=self.kind)

    def build(
        self, texts: list[str], vectors: Any, encoder: Any, k: int, pool_size: int
    ) -> tuple[Any, Any]:
        wrapped, bare = super().build(texts, vectors, encoder, k, pool_size)
        bare = VectorStoreRetriever(vectorstore=bare.vectorstore, search_kwargs={"k": k})
        return wrapped.model_copy(update={"retriever": bare}), bare


class TestVectorSearch(InAzure):
    pass


class TestEuclidean(InAzure):
    metric = "euclidean"


class TestDotProduct(InAzure):
    metric = "dotProduct"


class TestHybrid(Fused, InAzure):
    kind = "hybrid"


class TestSemantic(Fused, InAzure):
    kind = "semantic_hybrid"


class TestVectorsThatAreHidden(InAzure):
    hidden = True
    expected_reason = "score_not_convertible"


class TestDeclared(InAzure):
    """Who knows that the index measures the cosine can say so, and saves a request."""

    source = "declared"

    def build(
        self, texts: list[str], vectors: Any, encoder: Any, k: int, pool_size: int
    ) -> tuple[Any, Any]:
        _, bare = super().build(texts, vectors, encoder, k, pool_size)
        declared = {"score_kind": "azure", "pool_size": pool_size}
        return RecallRetriever(retriever=bare, **declared), bare


class TestItsOwnRetriever(InAzure):
    """``as_retriever`` gives a class that shows neither scores nor its store."""

    expected_reason = "no_score_access"

    def build(
        self, texts: list[str], vectors: Any, encoder: Any, k: int, pool_size: int
    ) -> tuple[Any, Any]:
        _, bare = super().build(texts, vectors, encoder, k, pool_size)
        bare = bare.vectorstore.as_retriever(k=k)
        assert type(bare) is azuresearch.AzureSearchVectorStoreRetriever
        return RecallRetriever(retriever=bare), bare


def test_the_short_way_says_what_to_wrap_instead() -> None:
    """The store's own retriever would take ``k`` twice, and only when it is asked."""
    rows = Rows()
    for number, vector in enumerate([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]):
        rows.add(f"id{number}", f"text {number}", {}, vector)
    store = store_over(FakeSearch(rows), Encoder({"q": [1.0, 0.0]}, dimension=2))
    with pytest.raises(TypeError, match="multiple values"):
        store.as_retriever(search_kwargs={"k": 2}).invoke("q")
    with pytest.raises(ConfigurationError) as caught:
        RecallRetriever.from_vectorstore(store, k=2)
    assert 'VectorStoreRetriever(vectorstore=store, search_kwargs={"k": 5})' in str(caught.value)
    plain = VectorStoreRetriever(vectorstore=store, search_kwargs={"k": 2})
    response = RecallRetriever(retriever=plain).recall("q")
    assert [document.page_content for document in response.documents] == ["text 0", "text 1"]
    assert response.cosine_source == "vectors"
    assert response.pool.cosines[:2] == pytest.approx([1.0, 0.6])


def test_the_maintained_copy_is_read_alike() -> None:
    """langchain-azure-ai holds the same class; a class by its name stands for it."""
    own = {"__module__": "langchain_azure_ai.vectorstores.azuresearch"}
    copied = type("AzureSearch", (), own)
    adapter = find_adapter(copied())
    assert type(adapter).__name__ == "AzureSearchAdapter"
    with pytest.raises(LookupError):  # which the wrapper turns into a reason
        adapter.vectors(copied(), [])  # type: ignore[union-attr]


@pytest.mark.parametrize("key", [None, 7, "it's"])
def test_documents_without_a_usable_key(key: Any) -> None:
    client = FakeSearch(Rows())
    store = store_over(client, Encoder(dimension=2))
    adapter: Any = find_adapter(store)
    assert adapter.vectors(store, [Document(page_content="a", metadata={"id": key})]) is None
    assert client.read_by_id == 0


def test_metadata_of_ones_own_under_the_keys_name() -> None:
    client = FakeSearch(Rows())
    client.rows.add("a", "its text", {}, [1.0, 0.0])
    client.rows.add("b", "another", {}, [0.0, 1.0])
    store = store_over(client, Encoder(dimension=2))
    adapter: Any = find_adapter(store)
    hits = [Document(page_content="its text", metadata={"id": id_}) for id_ in ("a", "b", None)]
    assert adapter.vectors(store, hits) == [[1.0, 0.0], None, None]
