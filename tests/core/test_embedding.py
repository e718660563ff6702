"""Cosines from vectors, and the memory of vectors that were made before."""

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy, deepcopy
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recall_signal._flow.embedding import (
    CACHED_TEXTS,
    EmbeddingCache,
    VectorMismatch,
    as_vectors,
    cosines_of,
)


def vector(*values: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.array(values, dtype=np.float32)


def known(cache: EmbeddingCache, texts: list[str]) -> list[str]:
    return [t for t, v in zip(texts, cache.lookup(texts), strict=True) if v is not None]


def test_what_was_stored_is_found_in_the_order_of_the_question() -> None:
    cache = EmbeddingCache()
    cache.store(["a", "b"], [vector(1), vector(2)])
    b, missing, a = cache.lookup(["b", "c", "a"])
    assert (b, missing, a) == (vector(2), None, vector(1))


def test_the_text_unused_for_longest_is_forgotten_first() -> None:
    cache = EmbeddingCache(size=2)
    cache.store(["a", "b"], [vector(1), vector(2)])
    cache.lookup(["a"])
    cache.store(["c"], [vector(3)])
    assert known(cache, ["a", "b", "c"]) == ["a", "c"]


def test_storing_a_text_again_counts_as_use() -> None:
    cache = EmbeddingCache(size=2)
    cache.store(["a", "b"], [vector(1), vector(2)])
    cache.store(["a"], [vector(1)])
    cache.store(["c"], [vector(3)])
    assert known(cache, ["a", "b", "c"]) == ["a", "c"]


def test_it_never_grows_beyond_its_size() -> None:
    texts = [str(number) for number in range(10)]
    cache = EmbeddingCache(size=3)
    cache.store(texts, [vector(1)] * 10)
    assert known(cache, texts) == ["7", "8", "9"]
    assert CACHED_TEXTS == 2048


@pytest.mark.parametrize("make", [copy, deepcopy, lambda cache: pickle.loads(pickle.dumps(cache))])
def test_a_copy_is_empty_and_independent(make: Callable[[Any], Any]) -> None:
    cache = EmbeddingCache(size=1)
    cache.store(["a"], [vector(1)])
    other = make(cache)
    assert known(other, ["a"]) == []
    other.store(["x", "y"], [vector(1), vector(2)])
    assert known(other, ["x", "y"]) == ["y"]
    assert known(cache, ["a", "y"]) == ["a"]


@pytest.mark.parametrize("text", ["", "\ud800 half a pair", "日本語", "\x00", "e\u0301", "🙂" * 99])
def test_any_text_is_a_key(text: str) -> None:
    cache = EmbeddingCache()
    cache.store([text], [vector(1)])
    assert known(cache, [text, text + "!"]) == [text]


def test_texts_that_only_look_alike_are_different() -> None:
    cache = EmbeddingCache()
    cache.store(["\u00e9"], [vector(1)])
    assert known(cache, ["e\u0301"]) == []


def test_threads_never_see_a_wrong_vector() -> None:
    cache = EmbeddingCache(size=20)

    def work(seed: int) -> bool:
        for step in range(200):
            number = (seed * 7 + step) % 40
            cache.store([str(number)], [vector(number)])
            found = cache.lookup([str(number), str((number + 1) % 40)])
            for expected, row in zip((number, (number + 1) % 40), found, strict=True):
                if row is not None and row[0] != expected:
                    return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
    assert len(known(cache, [str(number) for number in range(40)])) == 20


@pytest.mark.parametrize(
    "vectors",
    [
        [[1, 2], [3, 4]],
        [vector(1, 2), vector(3, 4)],
        np.array([[1.0, 2], [3, 4]]),
        ((1, 2), (3, 4)),
    ],
    ids=["lists", "rows", "array", "tuples"],
)
def test_vectors_of_any_kind_become_float32_rows(vectors: Any) -> None:
    rows = as_vectors(vectors, 2)
    assert [row.dtype for row in rows] == [np.float32, np.float32]
    assert np.array_equal(rows, [[1, 2], [3, 4]])


def test_no_vectors_for_no_texts() -> None:
    assert as_vectors([], 0) == []


@pytest.mark.parametrize(
    ("vectors", "count"),
    [
        ([[1.0, 2.0]], 2),
        ([[1.0, 2.0]], 0),
        ([], 1),
        ([[1.0, 2.0], [1.0]], 2),
        ([1.0, 2.0], 2),
        ([[[1.0]], [[2.0]]], 2),
    ],
    ids=["few", "many", "none", "ragged", "flat", "deep"],
)
def test_vectors_that_do_not_fit_are_refused(vectors: Any, count: int) -> None:
    with pytest.raises(VectorMismatch, match=f"expected {count} vectors of one dimension"):
        as_vectors(vectors, count)


def test_cosines_are_built_in_floats() -> None:
    cosines = cosines_of([2.0, 0.0], [[3.0, 0.0], [0.0, 5.0], [-1.0, 0.0], [1.0, 1.0]])
    assert cosines == pytest.approx([1.0, 0.0, -1.0, 0.5**0.5])
    assert all(type(cosine) is float for cosine in cosines)


def test_a_vector_without_length_has_no_cosine() -> None:
    assert cosines_of([1.0, 0.0], [[0.0, 0.0], [2.0, 0.0]]) == [None, 1.0]
    assert cosines_of([0.0, 0.0], [[1.0, 0.0]]) == [None]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_vector_with_a_bad_number_has_no_cosine(value: float) -> None:
    assert cosines_of([1.0, 0.0], [[value, 0.0], [2.0, 0.0]]) == [None, 1.0]
    assert cosines_of([value, 0.0], [[1.0, 0.0]]) == [None]


def test_no_candidates_have_no_cosines() -> None:
    assert cosines_of([1.0], []) == []
    assert cosines_of([1.0], np.zeros((0, 1))) == []


@pytest.mark.parametrize(
    ("query", "vectors"),
    [
        ([1.0], [[1.0, 2.0]]),
        ([[1.0, 2.0]], [[1.0, 2.0]]),
        ([1.0, 2.0], [1.0, 2.0]),
        ([1.0, 2.0], [[1.0, 2.0], [1.0]]),
        (None, [[1.0, 2.0]]),
    ],
    ids=["dimension", "query 2-d", "rows 1-d", "ragged", "no query"],
)
def test_dimensions_that_differ_are_refused(query: Any, vectors: Any) -> None:
    with pytest.raises(VectorMismatch):
        cosines_of(query, vectors)


UNHURRIED = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])

NUMBERS = st.floats(-1e6, 1e6, width=32)


@UNHURRIED
@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=8), st.tuples(*[NUMBERS] * 3))
def test_a_cosine_is_within_range_or_absent(
    vectors: list[tuple[float, ...]], query: tuple[float, ...]
) -> None:
    cosines = cosines_of(query, vectors)
    assert len(cosines) == len(vectors)
    assert all(cosine is None or abs(cosine) <= 1.001 for cosine in cosines)
