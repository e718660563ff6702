"""OpenSearch under LlamaIndex, read and not run: the mapping names the space."""

from typing import Any, ClassVar
from unittest.mock import patch

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.vector_stores.opensearch import OpensearchVectorClient, OpensearchVectorStore
from llama_store_cases import Embedding
from remote_rows import OTHERS, AsyncTwin, LlamaRemoteConformance, Rows, filled
from test_remote_opensearch import FakeOpenSearch, Serverless

from llama_index_recall_signal import RecallRetriever
from llama_index_recall_signal.stores import find_adapter
from recall_signal import ScoreKind


class LlamaInOpenSearch(LlamaRemoteConformance):
    norms = (1.0, *OTHERS)
    space = "l2"

    def serve(self, rows: Rows) -> Any:
        client = FakeOpenSearch(rows, self.space, "embedding")
        return llama_store(client)


def llama_store(client: FakeOpenSearch, **settings: Any) -> OpensearchVectorStore:
    twin: Any = AsyncClient(client)
    fake: Any = client
    return OpensearchVectorStore(
        OpensearchVectorClient(
            "https://node.example",
            "index",
            16,
            os_client=fake,
            os_async_client=twin,
            search_pipeline="fuse",
            **settings,
        )
    )


class AsyncClient(AsyncTwin):
    """Has asynchronous index calls as well."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.indices = AsyncTwin(client)


class TestLlamaL2(LlamaInOpenSearch):
    norms: ClassVar[Any] = (1.0,)


class TestLlamaL2OfOtherNorms(LlamaInOpenSearch):
    norms: ClassVar[Any] = OTHERS
    source = "vectors"


class TestLlamaCosine(LlamaInOpenSearch):
    space = "cosinesimil"
    source = "vectors"


class TestLlamaInnerProduct(LlamaInOpenSearch):
    space = "innerproduct"
    source = "vectors"


class TestLlamaHybrid(LlamaInOpenSearch):
    mode = "hybrid"
    source = "vectors"

    def test_the_top_hit_has_the_highest_cosine(self) -> None:
        """Not where words have a say."""


def llama_index_over(client: FakeOpenSearch, **settings: Any) -> VectorStoreIndex:
    store = llama_store(client, **settings)
    return VectorStoreIndex.from_vector_store(store, embed_model=Embedding())


def test_llama_keyword_scores_decide_as_such() -> None:
    texts = [f"text {number}" for number in range(20)]
    client = FakeOpenSearch(filled(texts, [[1.0] * 16] * 20), field="embedding")
    bare = llama_index_over(client).as_retriever(
        similarity_top_k=5, vector_store_query_mode="text_search"
    )
    response = RecallRetriever(bare).recall("text 7")
    assert response.confidence.basis == "separation"
    assert response.confidence.top_score == 9.0


def test_llama_asks_for_the_mapping_once() -> None:
    client = FakeOpenSearch(filled(["a"], [[1.0] * 16]), field="embedding")
    wrapped = RecallRetriever(llama_index_over(client).as_retriever())
    for _ in range(3):
        wrapped.recall("q")
    assert client.mapped == 1


def test_llama_without_a_right_to_see_the_mapping_reads_the_vectors() -> None:
    client = FakeOpenSearch(filled(["a", "b"], [[1.0, *[0.0] * 15], [0.6, 0.8, *[0.0] * 14]]))
    client.field = "embedding"
    store = llama_store(client)
    index = VectorStoreIndex.from_vector_store(
        store, embed_model=Embedding({"q": [2.0, *[0.0] * 15]})
    )
    with patch.object(client, "get_mapping", side_effect=PermissionError):
        response = RecallRetriever(index.as_retriever()).recall("q")
    assert response.pool.cosines == pytest.approx([1.0, 0.6])


def test_llama_and_the_serverless_service() -> None:
    client = FakeOpenSearch(Rows(), field="embedding")
    store = llama_store(client, http_auth=Serverless())
    adapter: Any = find_adapter(store)
    assert adapter.vectors(store, None) is None


@pytest.mark.parametrize("where", ["field", "method", "nowhere"])
def test_llama_finds_the_space_in_both_places(where: str) -> None:
    client = FakeOpenSearch(Rows(), field="embedding")
    fields: dict[str, Any] = {
        "field": {"type": "knn_vector", "space_type": "l2"},
        "method": {"type": "knn_vector", "method": {"space_type": "l2"}},
        "nowhere": {"type": "knn_vector"},
    }
    mapping = {"index": {"mappings": {"properties": {"embedding": fields[where]}}}}
    store = llama_store(client)
    adapter: Any = find_adapter(store)
    with patch.object(client, "get_mapping", lambda index: mapping):
        is_l2 = adapter.score_kind(store, "default") is ScoreKind.INVERSE_SQUARED_L2
    assert is_l2 == (where != "nowhere")
