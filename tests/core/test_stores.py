"""What adapters of both frameworks have in common."""

from typing import Any

import numpy as np
import pytest

from recall_signal import ConfigurationError, InvalidInputError, InvalidResultError, ScoreKind
from recall_signal.items import checked_items
from recall_signal.stores import AdapterRegistry, Reading, checked, read_scores

RISING = [0.1, 0.2, 0.4, 0.9]


def test_a_distance_declared_as_a_cosine_is_noticed() -> None:
    assert read_scores(RISING, ScoreKind.COSINE, "declared", ranked=True).reason == "score_inverted"
    assert read_scores(RISING, ScoreKind.COSINE_DISTANCE, "declared", ranked=True).cosines


@pytest.mark.parametrize("scores", [RISING[:3], [0.5, 0.5000001, 0.5000002, 0.5000003]])
def test_a_short_or_flat_list_proves_nothing(scores: list[float]) -> None:
    assert read_scores(scores, ScoreKind.COSINE, "declared", ranked=True).cosines == scores


def test_what_is_not_one_plain_search_may_rise() -> None:
    assert read_scores(RISING, ScoreKind.COSINE, "declared").cosines == RISING


@pytest.mark.parametrize("reading", ["text", None, [0.5], Reading([0.5, 0.4])])
def test_an_adapter_must_read_one_number_for_each_hit(reading: Any) -> None:
    with pytest.raises(ValueError, match="adapter"):
        checked(reading, 1)


@pytest.mark.parametrize("given", ["a", "0.9", True, b"1"])
def test_what_float_would_take_is_no_number_all_the_same(given: Any) -> None:
    with pytest.raises(InvalidInputError, match="a score must be a number or None, got "):
        checked(Reading([given]), 1)
    with pytest.raises(InvalidInputError, match="a score must be a number or None, got "):
        read_scores([given], ScoreKind.BM25, "declared")


def test_numbers_of_other_libraries_become_plain() -> None:
    read = checked(Reading([np.float32(0.5), None]), 2).cosines
    assert read is not None
    assert [type(value) for value in read] == [float, type(None)]


def test_items_of_another_class_are_no_page() -> None:
    assert checked_items(("a", "b"), str) == ["a", "b"]
    assert checked_items([True, 2], int) == [True, 2]
    for returned in (None, "a", ["a", 1]):
        with pytest.raises(InvalidResultError, match="list of str"):
            checked_items(returned, str)


def test_hits_without_any_cosine_have_no_scores() -> None:
    reading = read_scores([None, None], ScoreKind.COSINE, "declared")
    assert (reading.cosines, reading.reason) == (None, "no_scores")


class Reader:
    """An adapter."""


class Store:
    def search(self) -> None: ...


class Inheriting(Store):
    """Is read like its store."""


class Overriding(Store):
    def search(self) -> None: ...


NAME = f"{__name__}.Store"


@pytest.mark.parametrize("adapter", [Reader(), f"{__name__}:Reader"])
def test_an_adapter_is_found_along_the_class_hierarchy(adapter: Any) -> None:
    registry = AdapterRegistry(Reader, ["search"], {})
    assert registry.find(Store()) is None
    registry.register(NAME, adapter)
    found = registry.find(Store())
    assert type(found).__name__ == "Reader"
    assert registry.find(Inheriting()) is found
    assert registry.find(Overriding()) is None
    assert registry.find(object()) is None


@pytest.mark.parametrize(
    ("store_class", "adapter", "said"),
    [
        ("Store", "a:B", "like 'package.module.Class', got 'Store'"),
        (Store, "a:B", "got type"),
        (NAME, "no colon", "must be a Reader or a text like 'package.module:Class', got str"),
        (NAME, object(), "got object"),
    ],
)
def test_registering_anything_else_is_refused(store_class: Any, adapter: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        AdapterRegistry(Reader, ["search"], {}).register(store_class, adapter)
