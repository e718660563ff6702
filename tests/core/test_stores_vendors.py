"""The kinds that servers' own settings decide, from payloads as the vendors document them."""

from types import SimpleNamespace
from typing import Any

import faiss
import pytest

from recall_signal import ScoreKind, to_cosine
from recall_signal.stores import UnitOnlyKind, read_scores, unit_only
from recall_signal.stores._vendors import (
    faiss_kind,
    mongodb_kind,
    pinecone_kind,
    qdrant_kind,
    qdrant_vector,
)


def vector_params(distance: str, several: Any = None) -> Any:
    return SimpleNamespace(
        distance=SimpleNamespace(value=distance), multivector_config=several, size=4
    )


def collection(vectors: Any) -> Any:
    params = SimpleNamespace(vectors=vectors)
    answer = SimpleNamespace(config=SimpleNamespace(params=params))
    return SimpleNamespace(get_collection=lambda name: answer)


@pytest.mark.parametrize(
    ("vectors", "kind"),
    [
        (vector_params("Cosine"), "cosine"),
        (vector_params("Dot"), "inner_product"),
        (vector_params("Euclid"), "l2"),
        (vector_params("Manhattan"), "unknown"),
        (vector_params("Cosine", several="max_sim"), "unknown"),
        ({"dense": vector_params("Dot"), "image": vector_params("Cosine")}, "inner_product"),
        ({"image": vector_params("Cosine")}, "unknown"),
        (None, "unknown"),
    ],
)
def test_qdrant(vectors: Any, kind: str) -> None:
    assert qdrant_kind(collection(vectors), "texts", "dense") == kind


def test_a_point_of_qdrant_may_hold_several_vectors() -> None:
    assert qdrant_vector([1.0], "dense") == [1.0]
    assert qdrant_vector({"dense": [1.0], "image": [2.0]}, "dense") == [1.0]
    assert qdrant_vector({"image": [2.0]}, "dense") is None


@pytest.mark.parametrize(
    ("index", "kind"),
    [
        (faiss.IndexFlatIP(4), "inner_product"),
        (faiss.IndexFlatL2(4), "squared_l2"),
        (faiss.IndexFlat(4, faiss.METRIC_L1), "unknown"),
        (faiss.IndexLSH(4, 8), "unknown"),
        (faiss.IndexIDMap2(faiss.IndexFlatIP(4)), "inner_product"),
        (faiss.index_factory(4, "IDMap,PCA2,Flat"), "unknown"),
    ],
)
def test_faiss(index: Any, kind: str) -> None:
    assert faiss_kind(index) == kind


@pytest.mark.parametrize(
    ("statistics", "kind"),
    [
        ({"metric": "cosine"}, "cosine"),
        ({"metric": "dotproduct"}, "inner_product"),
        ({"metric": "euclidean"}, "squared_l2"),
        ({"metric": "hamming"}, "unknown"),
        ({}, "unknown"),
    ],
)
def test_pinecone(statistics: dict[str, str], kind: str) -> None:
    answer = SimpleNamespace(dimension=16, vector_type="dense", **statistics)
    assert pinecone_kind(SimpleNamespace(describe_index_stats=lambda: answer)) == kind


VECTOR = {"type": "vector", "path": "embedding", "numDimensions": 16}


@pytest.mark.parametrize(
    ("fields", "kind", "unit"),
    [
        ([{"type": "filter", "path": "year"}, VECTOR | {"similarity": "cosine"}], "half_cosine", 0),
        ([VECTOR | {"similarity": "dotProduct"}], "half_cosine", 1),
        ([VECTOR | {"similarity": "euclidean"}], "unknown", 0),
        ([VECTOR | {"similarity": "manhattan"}], "unknown", 0),
        ([VECTOR | {"similarity": "cosine", "path": "another"}], "unknown", 0),
        ([VECTOR | {"similarity": "cosine", "type": "autoEmbed"}], "unknown", 0),
        ([VECTOR], "unknown", 0),
        ([], "unknown", 0),
    ],
)
def test_mongodb(fields: list[dict[str, Any]], kind: str, unit: bool) -> None:
    indexes = [{"name": "s", "latestDefinition": {"fields": fields}}]
    searched = SimpleNamespace(list_search_indexes=lambda name: indexes if name == "s" else [])
    found = mongodb_kind(searched, "s", "embedding")
    assert found == kind
    assert isinstance(found, UnitOnlyKind) is bool(unit)
    assert mongodb_kind(searched, "none of this name", "embedding") is ScoreKind.UNKNOWN


UNIT_ONLY = [k for k in ScoreKind if k.convertible and not k.needs_unit_norm]


@pytest.mark.parametrize("kind", UNIT_ONLY)
def test_the_mark_changes_the_check_and_not_the_formula(kind: ScoreKind) -> None:
    marked, scores = unit_only(kind), [0.75]
    assert marked == kind  # type: ignore[comparison-overlap]
    assert to_cosine(0.75, marked) == to_cosine(0.75, kind)
    plain, checked = read_scores(scores, kind, "store"), read_scores(scores, marked, "store")
    assert plain.cosines == checked.cosines
    assert (plain.for_unit_vectors, checked.for_unit_vectors) == (False, True)
    assert not checked.is_complete
    assert not read_scores(scores, marked, "declared").for_unit_vectors


@pytest.mark.parametrize("scores", [[7.0], [0.01, 0.02, 0.03, 0.9], [None]])
def test_a_reason_that_holds_for_unit_vectors_only_says_so(scores: list[float | None]) -> None:
    reading = read_scores(scores, unit_only(ScoreKind.COSINE), "store", ranked=True)
    assert reading.reason in {"score_out_of_range", "score_inverted", "no_scores"}
    assert reading.for_unit_vectors
