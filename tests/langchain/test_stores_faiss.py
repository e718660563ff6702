"""`FAISS`: the index decides what the number is, and the norms what can be made of it."""

from collections.abc import Callable
from typing import Any

import faiss
import numpy as np
import pytest
from langchain_community.docstore.in_memory import InMemoryDocstore
from langchain_community.vectorstores import FAISS
from langchain_community.vectorstores.utils import DistanceStrategy

from langchain_recall_signal import RecallResponse, RecallRetriever
from langchain_recall_signal.stores import find_adapter
from recall_signal import ScoreKind
from recall_signal.testing import vectors_with_cosines
from tests.langchain.fakes import DIMENSION, QUERY, cosine, documents, encoder_for, faiss_store

COUNT = 60
ASKED = np.eye(DIMENSION)[0]
SPREAD = np.linspace(0.95, -0.6, COUNT)
UNIT = vectors_with_cosines(ASKED, SPREAD)
MIXED = UNIT * np.resize([1.0, 2.5, 0.4], COUNT)[:, None]
NORMS = {"unit": UNIT, "one": UNIT * 3.0, "mixed": MIXED}


def recall(store: FAISS, k: int = 10, **settings: Any) -> RecallResponse:
    return RecallRetriever.from_vectorstore(store, k=k, **settings).recall(QUERY)


def check(
    response: RecallResponse, vectors: Any, query: Any = ASKED, tolerance: float = 1e-4
) -> None:
    """Every cosine of the pool is numpy's."""
    assert response.pool.ids
    for id_, reported in zip(response.pool.ids, response.pool.cosines, strict=True):
        assert id_ is not None
        assert reported == pytest.approx(cosine(query, vectors[int(id_[2:])]), abs=tolerance)


def trained(name: str, metric: int = faiss.METRIC_L2) -> Any:
    index = faiss.index_factory(DIMENSION, name, metric)
    random = np.random.default_rng(2).standard_normal((700, DIMENSION), np.float32)
    index.train(random / np.linalg.norm(random, axis=1, keepdims=True))
    return index


class TestStrategies:
    @pytest.mark.parametrize("normalize", [False, True])
    @pytest.mark.parametrize("strategy", list(DistanceStrategy))
    @pytest.mark.parametrize("norm", NORMS)
    @pytest.mark.parametrize("metric", [faiss.METRIC_L2, faiss.METRIC_INNER_PRODUCT])
    @pytest.mark.filterwarnings("ignore:Normalizing L2 is not applicable")
    def test_the_index_decides(
        self, metric: int, norm: str, strategy: DistanceStrategy, normalize: bool
    ) -> None:
        vectors = NORMS[norm]
        query = ASKED * np.linalg.norm(vectors[0])
        store = faiss_store(
            encoder_for(vectors, query),
            COUNT,
            faiss.IndexFlat(DIMENSION, metric),
            distance_strategy=strategy,
            normalize_L2=normalize,
        )
        response = recall(store)
        check(response, vectors, query)
        read_back = norm == "mixed" and not normalize
        assert response.cosine_source == ("vectors" if read_back else "store")
        kind = ScoreKind.SQUARED_L2 if metric == faiss.METRIC_L2 else ScoreKind.INNER_PRODUCT
        adapter = find_adapter(store)
        assert adapter
        assert adapter.score_kind(store) is kind

    def test_from_texts(self) -> None:
        encoder = encoder_for(UNIT, ASKED)
        texts = [d.page_content for d in documents(COUNT)]
        ids = [f"id{n}" for n in range(COUNT)]
        store = FAISS.from_texts(texts, encoder, ids=ids)
        check(recall(store), UNIT)

    def test_the_private_setting_that_is_read_is_still_there(self) -> None:
        """Without `_normalize_L2` the adapter would take a scaled query for the given one."""
        for normalize in (True, False):
            store = faiss_store(encoder_for(UNIT, ASKED), 1, normalize_L2=normalize)
            assert store._normalize_L2 is normalize, (
                "FAISS keeps normalize_L2 elsewhere: change _query_norm in stores/faiss.py"
            )


class TestIndexTypes:
    @pytest.mark.parametrize("norm", NORMS)
    @pytest.mark.parametrize("metric", [faiss.METRIC_L2, faiss.METRIC_INNER_PRODUCT])
    @pytest.mark.parametrize("name", ["Flat", "HNSW32", "Flat,RFlat", "IVF4,Flat"])
    def test_exact_ones(self, name: str, metric: int, norm: str) -> None:
        vectors = NORMS[norm]
        store = faiss_store(encoder_for(vectors, ASKED), COUNT, trained(name, metric))
        response = recall(store)
        if norm == "mixed" and name.startswith("IVF"):
            assert response.confidence.reason == "norm_unknown"
        else:
            check(response, vectors)

    @pytest.mark.parametrize("norm", NORMS)
    @pytest.mark.parametrize("metric", [faiss.METRIC_L2, faiss.METRIC_INNER_PRODUCT])
    @pytest.mark.parametrize("name", ["SQ8", "SQfp16", "SQ4", "PQ4x4", "HNSW16_SQ8", "RQ2x4"])
    def test_quantised_ones_give_the_cosine_with_the_vector_as_stored(
        self, name: str, metric: int, norm: str
    ) -> None:
        store = faiss_store(encoder_for(NORMS[norm], ASKED), COUNT, trained(name, metric))
        decoded = store.index.reconstruct_n(0, COUNT)
        check(recall(store), decoded)

    @pytest.mark.parametrize("name", ["IVF4,PQ4x4", "IVF4,SQ8"])
    def test_quantised_inverted_files_are_not_readable(self, name: str) -> None:
        store = faiss_store(encoder_for(UNIT, ASKED), COUNT, trained(name))
        response = recall(store)
        assert (response.confidence.level, response.confidence.reason) == (
            "unknown",
            "norm_unknown",
        )
        assert len(response.documents) == 10

    def test_an_inverted_file_with_a_direct_map_is(self) -> None:
        index = trained("IVF4,Flat")
        index.set_direct_map_type(faiss.DirectMap.Array)  # type: ignore[attr-defined]
        store = faiss_store(encoder_for(MIXED, ASKED), COUNT, index)
        check(recall(store), MIXED)

    @pytest.mark.parametrize(
        "make",
        [
            lambda: faiss.IndexLSH(DIMENSION, 64),
            lambda: trained("PCA8,Flat"),
            lambda: trained("RR8,Flat"),
            lambda: trained("L2norm,Flat"),
            lambda: faiss.IndexFlat(DIMENSION, faiss.METRIC_L1),
            lambda: faiss.IndexFlat(DIMENSION, faiss.METRIC_Linf),
            lambda: faiss.IndexFlat(DIMENSION, faiss.METRIC_Lp),
            lambda: faiss.IndexFlat(DIMENSION, faiss.METRIC_Canberra),
            lambda: faiss.IndexFlat(DIMENSION, faiss.METRIC_BrayCurtis),
            lambda: faiss.IndexFlat(DIMENSION, faiss.METRIC_Jaccard),
        ],
    )
    def test_other_numbers_are_refused(self, make: Callable[[], Any]) -> None:
        encoder = encoder_for(UNIT, ASKED)
        store = faiss_store(encoder, COUNT, make())
        response = recall(store)
        assert response.confidence.level == "unknown"
        assert response.confidence.reason == "score_not_convertible"
        assert response.pool.cosines == [None] * 10
        again = recall(store, embeddings=encoder)
        assert again.cosine_source == "embeddings"
        check(again, UNIT)

    def test_an_id_map_gives_nothing_back_and_the_process_lives(self) -> None:
        """FAISS ends the process when a range is read from such an index."""
        index = faiss.IndexIDMap(faiss.IndexFlatL2(DIMENSION))
        index.add_with_ids(UNIT.astype(np.float32), np.arange(COUNT))
        response = recall(with_index(index))
        assert response.confidence.reason == "norm_unknown"
        assert len(response.documents) == 10

    def test_an_id_map_with_a_way_back(self) -> None:
        index = faiss.IndexIDMap2(faiss.IndexFlatL2(DIMENSION))
        index.add_with_ids(UNIT.astype(np.float32), np.arange(COUNT))
        check(recall(with_index(index)), UNIT)


def with_index(index: Any) -> FAISS:
    """A store around an index that was filled elsewhere: LangChain cannot add to an id map."""
    stored = InMemoryDocstore({f"id{n}": d for n, d in enumerate(documents(COUNT))})
    return FAISS(encoder_for(UNIT, ASKED), index, stored, {n: f"id{n}" for n in range(COUNT)})


class TestChanges:
    """What was read from an index is forgotten as soon as the store has changed."""

    def test_longer_vectors_added_later(self) -> None:
        store = faiss_store(encoder_for(np.concatenate([UNIT[:30], MIXED[30:]]), ASKED), 30)
        retriever = RecallRetriever.from_vectorstore(store)
        assert retriever.recall(QUERY).cosine_source == "store"
        store.add_documents(documents(30, start=30))
        response = retriever.recall(QUERY)
        assert response.cosine_source == "vectors"
        check(response, UNIT)

    @pytest.mark.parametrize("norm", NORMS)
    def test_as_many_added_as_deleted(self, norm: str) -> None:
        vectors = np.concatenate([UNIT[:30], NORMS[norm][30:]])
        store = faiss_store(encoder_for(vectors, ASKED), 40)
        retriever = RecallRetriever.from_vectorstore(store)
        check(retriever.recall(QUERY), vectors)
        store.delete([f"id{n}" for n in range(5, 15)])
        store.add_documents(documents(10, start=40))
        check(retriever.recall(QUERY), vectors)

    def test_deleted(self) -> None:
        store = faiss_store(encoder_for(MIXED, ASKED), COUNT)
        retriever = RecallRetriever.from_vectorstore(store)
        retriever.recall(QUERY)
        store.delete(["id0", "id7"])
        response = retriever.recall(QUERY)
        assert response.pool.ids
        assert "id0" not in response.pool.ids
        check(response, MIXED)

    def test_another_index(self) -> None:
        store = faiss_store(encoder_for(MIXED, ASKED), COUNT)
        retriever = RecallRetriever.from_vectorstore(store)
        retriever.recall(QUERY)
        store.index = faiss.IndexFlatL2(DIMENSION)
        store.index.add(UNIT.astype(np.float32))
        response = retriever.recall(QUERY)
        assert response.cosine_source == "store"
        check(response, UNIT)

    def test_saved_and_loaded(self, tmp_path: Any) -> None:
        encoder = encoder_for(MIXED, ASKED)
        faiss_store(encoder, COUNT).save_local(str(tmp_path))
        loaded = FAISS.load_local(str(tmp_path), encoder, allow_dangerous_deserialization=True)
        check(recall(loaded), MIXED)
