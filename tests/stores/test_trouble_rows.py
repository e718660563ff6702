"""What users of stores were burnt by, row by row, and that each row is a test of this folder.

A row's tests are named after it, `test_row_05_...` or `class TestRow05`, and live in the
files `test_*_trouble.py` and in this one. `pytest tests/stores -k "row05 or row_05"`
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from re import search
from typing import Any

import faiss
import pytest
from langchain_community.docstore.in_memory import InMemoryDocstore
from langchain_community.vectorstores import FAISS
from llama_index.vector_stores.faiss import FaissVectorStore

from langchain_recall_signal import RecallRetriever
from langchain_recall_signal.stores import find_adapter
from llama_index_recall_signal import RecallRetriever as LlamaRecall
from llama_index_recall_signal.stores import find_adapter as find_llama_adapter
from recall_signal import to_cosine
from recall_signal.testing import vectors_with_cosines
from tests.stores.langchain_world import Encoder
from tests.stores.llama_store_cases import DIMENSION, QUERY, QUERY_VECTOR, index_with_cosines

ROWS = {
    1: "a relevance below 0 from Chroma and FAISS: the formula for L2 applied to squared L2",
    3: "FAISS by inner product: the best document gets the lowest relevance",
    4: "FAISS: the strategy says cosine, the index measures another thing",
    5: "score_threshold is a largest distance in one call and a least relevance in another",
    7: "a threshold of 0, or a whole number, raises a TypeError",
    8: "a retriever's documents carry no score",
    9: "Chroma's relevance scores by vector are distances",
    10: "Weaviate: every relevance between 0.65 and 0.71",
    11: "LlamaIndex's Elasticsearch: the best score is always 1.0",
    13: "LlamaIndex's Postgres: the direction was turned round in old versions",
    14: "nodes without any score, and neighbours that are added without one",
    15: "a cut by similarity drops nodes without a score, and says nothing",
    17: "the scores of two stores cannot be compared",
    18: "a tracer takes metadata['score'] for a relevance, and nobody can say what it is",
    19: "a rank-fused score of 0.016, taken for a relevance",
    20: "a hybrid score normalised in each list: nothing absolute is left",
    21: "ranks in the place of scores: confidence is gone",
}
"""The numbers are those of the list of public reports that the tests were written from."""


def rows_in(tree: ast.Module) -> Iterator[int]:
    """The rows that the tests of a module name."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            tests = [part.name for part in node.body if isinstance(part, ast.FunctionDef)]
            tests += [part.name for part in node.body if isinstance(part, ast.AsyncFunctionDef)]
            named = search(r"^TestRow(\d+)$", node.name)
            if named and any(name.startswith("test_") for name in tests):
                yield int(named[1])
        else:
            tests = [getattr(node, "name", "")]
        for name in tests:
            if named := search(r"^test_row_(\d+)_", name):
                yield int(named[1])


def rows_tested() -> dict[int, set[str]]:
    """Row -> the files that test it."""
    found: dict[int, set[str]] = {}
    for path in sorted(Path(__file__).parent.rglob("test_*trouble*.py")):
        for row in rows_in(ast.parse(path.read_text("utf-8"))):
            found.setdefault(row, set()).add(path.name)
    return found


@pytest.mark.parametrize("row", ROWS, ids=[f"{row:02} {what}" for row, what in ROWS.items()])
def test_every_row_is_a_test(row: int) -> None:
    assert row in rows_tested()


class TestRow18:
    """Whoever wants the raw score can have it, with its name: from the store, not from us.

    The entry says where the cosine came from and nothing that a tracer could take for it.
    """

    COSINES = (0.9, 0.5, 0.2, -0.4)

    @pytest.mark.parametrize("metric", [faiss.METRIC_L2, faiss.METRIC_INNER_PRODUCT])
    def test_row_18_langchain_kind_source_and_raw_score(self, metric: int) -> None:
        vectors = vectors_with_cosines(QUERY_VECTOR, self.COSINES)
        texts = [f"text {n}" for n in range(len(self.COSINES))]
        encoder = Encoder({QUERY: QUERY_VECTOR, **dict(zip(texts, vectors, strict=True))})
        store = FAISS(encoder, faiss.IndexFlat(DIMENSION, metric), InMemoryDocstore(), {})
        store.add_texts(texts)
        adapter: Any = find_adapter(store)
        kind = adapter.score_kind(store)
        raw = [score for _, score in store.similarity_search_with_score(QUERY)]
        for document, score in zip(
            RecallRetriever.from_vectorstore(store, k=4).invoke(QUERY), raw, strict=True
        ):
            entry = document.metadata["recall"]
            assert entry["cosine_source"] == "store"
            assert entry["cosine"] == pytest.approx(to_cosine(score, kind), abs=1e-5)

    @pytest.mark.parametrize("metric", [faiss.METRIC_L2, faiss.METRIC_INNER_PRODUCT])
    def test_row_18_llama_index_leaves_the_raw_score_where_it_was(self, metric: int) -> None:
        store = FaissVectorStore(faiss.IndexFlat(DIMENSION, metric))
        bare = index_with_cosines(store, self.COSINES).as_retriever(similarity_top_k=4)
        adapter: Any = find_llama_adapter(store)
        kind = adapter.score_kind(store, "default")
        nodes = LlamaRecall(bare).retrieve(QUERY)
        assert [item.score for item in nodes] == [item.score for item in bare.retrieve(QUERY)]
        for item in nodes:
            entry = item.metadata["recall"]
            assert entry["cosine_source"] == "store"
            assert entry["cosine"] == pytest.approx(to_cosine(item.score, kind), abs=1e-5)
