"""`FAISS` at its edges: nothing stored, no length, no ids, filters, many vectors."""

import subprocess
import sys

import faiss
import numpy as np
import pytest
from langchain_community.docstore.in_memory import InMemoryDocstore
from langchain_community.vectorstores import FAISS
from langchain_core.documents import Document

from recall_signal.testing import vectors_with_cosines
from tests.langchain.fakes import DIMENSION, encoder_for, faiss_store
from tests.langchain.test_stores_faiss import ASKED, COUNT, MIXED, SPREAD, UNIT, check, recall


class LoadedLate(FAISS):
    """Holds its index elsewhere, as a store that loads it at the first search."""

    @property
    def index(self) -> object:
        return self.__dict__["loaded"]

    @index.setter
    def index(self, index: object) -> None:
        self.__dict__["loaded"] = index


class TestEdges:
    def test_an_index_that_its_class_looks_up(self) -> None:
        plain = faiss_store(encoder_for(UNIT, ASKED), COUNT)
        store = LoadedLate(
            plain.embedding_function, plain.index, plain.docstore, plain.index_to_docstore_id
        )
        found, right = recall(store), recall(plain)
        assert [d.id for d in found.documents] == [d.id for d in right.documents]
        assert found.pool.cosines == right.pool.cosines
        assert found.confidence == right.confidence

    def test_empty(self) -> None:
        response = recall(faiss_store(encoder_for(UNIT, ASKED), 0))
        assert response.documents == []
        assert (response.confidence.level, response.confidence.result_count) == ("none", 0)

    @pytest.mark.parametrize("normalize", [False, True])
    @pytest.mark.parametrize("metric", [faiss.METRIC_L2, faiss.METRIC_INNER_PRODUCT])
    def test_a_query_without_length_has_no_cosine(self, metric: int, normalize: bool) -> None:
        index = faiss.IndexFlat(DIMENSION, metric)
        encoder = encoder_for(UNIT, np.zeros(DIMENSION))
        response = recall(faiss_store(encoder, COUNT, index, normalize_L2=normalize))
        assert response.confidence.reason == "no_scores"
        assert response.pool.cosines == [None] * 50

    def test_stored_vectors_without_length_have_none(self) -> None:
        vectors = UNIT.copy()
        vectors[::2] = 0.0
        response = recall(faiss_store(encoder_for(vectors, ASKED), COUNT))
        found = dict(zip(response.pool.ids or [], response.pool.cosines, strict=True))
        assert found["id0"] is None
        assert found["id1"] == pytest.approx(SPREAD[1], abs=1e-4)
        nothing = recall(faiss_store(encoder_for(UNIT * 0.0, ASKED), COUNT))
        assert nothing.confidence.reason == "no_scores"

    @pytest.mark.filterwarnings("ignore::RuntimeWarning")
    @pytest.mark.parametrize("metric", [faiss.METRIC_L2, faiss.METRIC_INNER_PRODUCT])
    def test_a_stored_vector_of_infinite_length_spoils_no_other(self, metric: int) -> None:
        vectors = UNIT.copy()
        vectors[3] = 1e20  # its length overflows in the index' own numbers
        index = faiss.IndexFlat(DIMENSION, metric)
        response = recall(faiss_store(encoder_for(vectors, ASKED), COUNT, index))
        found = dict(zip(response.pool.ids or [], response.pool.cosines, strict=True))
        assert response.cosine_source == "vectors"
        assert found["id0"] == pytest.approx(SPREAD[0], abs=1e-4)

    def test_much_longer_stored_vectors_than_the_query(self) -> None:
        """A spread of norms that does no harm at one scale does at another."""
        vectors = UNIT * np.resize([300.0, 300.002], COUNT)[:, None]
        check(recall(faiss_store(encoder_for(vectors, ASKED), COUNT)), vectors)

    def test_documents_without_ids_cannot_be_found_again(self) -> None:
        store = faiss_store(encoder_for(MIXED, ASKED), COUNT)
        assert isinstance(store.docstore, InMemoryDocstore)
        for document in store.docstore._dict.values():
            document.id = None
        assert recall(store).confidence.reason == "norm_unknown"

    def test_a_filter(self) -> None:
        store = faiss_store(encoder_for(MIXED, ASKED), COUNT)
        search = {"filter": {"n": {"$lt": 40}}, "fetch_k": COUNT}
        response = recall(store, search_kwargs=search)
        assert all(d.metadata["n"] < 40 for d in response.documents)
        assert len(response.pool) == 40
        check(response, MIXED)

    def test_a_function_as_encoder(self) -> None:
        encoder = encoder_for(UNIT, ASKED)
        filled = faiss_store(encoder, COUNT)
        store = FAISS(
            encoder.embed_query, filled.index, filled.docstore, {**filled.index_to_docstore_id}
        )
        check(recall(store), UNIT)

    def test_many_vectors_are_sampled(self) -> None:
        """1,024 of them are looked at; the norm of a few others can go unnoticed."""
        vectors = vectors_with_cosines(ASKED, np.linspace(0.9, -0.9, 5000))
        vectors[::7] *= 2.0
        store = faiss_store(encoder_for(vectors, ASKED), 5000)
        response = recall(store)
        assert response.cosine_source == "vectors"
        check(response, vectors)


def test_our_package_imports_neither_community_nor_faiss() -> None:
    """langchain-community is being retired: its store is known by name only."""
    code = """
import sys
import langchain_recall_signal
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_recall_signal.stores import _faiss as ours
store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
store.add_texts(["a", "b"])
langchain_recall_signal.RecallRetriever.from_vectorstore(store).invoke("a")
ours.FaissAdapter()
print([m for m in sys.modules if m.split(".")[0] in {"langchain_community", "faiss"}])
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_document_store_of_ones_own() -> None:
    """Documents of another class are returned as they are."""

    class Memo(Document):
        pass

    store = faiss_store(encoder_for(UNIT, ASKED), COUNT)
    assert isinstance(store.docstore, InMemoryDocstore)
    held = store.docstore._dict
    held.update({id_: Memo(id=id_, page_content=d.page_content) for id_, d in held.items()})
    response = recall(store)
    assert all(isinstance(d, Memo) for d in response.documents)
    check(response, UNIT)
