"""What adapters of both frameworks have in common."""

from typing import Any

import numpy as np
import pytest

from recall_signal import ConfigurationError, InvalidInputError, InvalidResultError, ScoreKind
from recall_signal._flow.values import validate_page
from recall_signal.stores import AdapterRegistry, ScoreReading, read_scores, validated

RISING = [0.1, 0.2, 0.4, 0.9]


def test_a_distance_declared_as_a_cosine_is_noticed() -> None:
    assert read_scores(RISING, ScoreKind.COSINE, "declared", ranked=True).reason == "score_inverted"
    assert read_scores(RISING, ScoreKind.COSINE_DISTANCE, "declared", ranked=True).cosines


@pytest.mark.parametrize("scores", [RISING[:3], [0.5, 0.5000001, 0.5000002, 0.5000003]])
def test_a_short_or_flat_list_proves_nothing(scores: list[float]) -> None:
    assert read_scores(scores, ScoreKind.COSINE, "declared", ranked=True).cosines == scores


def test_what_is_not_one_plain_search_may_rise() -> None:
    assert read_scores(RISING, ScoreKind.COSINE, "declared").cosines == RISING


@pytest.mark.parametrize(
    ("reading", "message"),
    [
        ("text", "must return a ScoreReading, got str"),
        (None, "must return a ScoreReading, got NoneType"),
        ([0.5], "must return a ScoreReading, got list"),
        (ScoreReading([0.5, 0.4]), "one value for each of 1 hits, got 2"),
        (ScoreReading(None, scores=[]), "one value for each of 1 hits, got 0"),
        (ScoreReading(None, scores=["7"]), "a score must be a number"),  # type: ignore[list-item]
    ],
)
def test_an_adapter_must_read_one_number_for_each_hit(reading: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        validated(reading, 1)


@pytest.mark.parametrize("fields", [{"reason": 5}, {"source": 5}, {"source": "elsewhere"}])
def test_a_reading_of_other_types_is_refused_where_it_is_made(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=f"the {next(iter(fields))} of a ScoreReading"):
        ScoreReading(None, **fields)


@pytest.mark.parametrize("given", ["a", "0.9", True, b"1"])
def test_what_float_would_take_is_no_number_all_the_same(given: Any) -> None:
    with pytest.raises(InvalidInputError, match="a score must be a number or None, got "):
        validated(ScoreReading([given]), 1)
    with pytest.raises(InvalidInputError, match="a score must be a number or None, got "):
        read_scores([given], ScoreKind.BM25, "declared")


def test_numbers_of_other_libraries_become_plain() -> None:
    read = validated(ScoreReading([np.float32(0.5), None]), 2).cosines  # type: ignore[list-item]
    assert read is not None
    assert [type(value) for value in read] == [float, type(None)]
    plain = ScoreReading([0.5, None])
    assert validated(plain, 2) is plain


def test_items_of_another_class_are_no_page() -> None:
    assert validate_page(("a", "b"), str) == ["a", "b"]
    assert validate_page([True, 2], int) == [True, 2]
    for returned in (None, "a", ["a", 1]):
        with pytest.raises(InvalidResultError, match="list of str"):
            validate_page(returned, str)


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
    ("own", "is_altered"),
    [
        ((), False),
        (("add", "has_own"), False),
        (("part_of_search",), True),
        (("_part",), True),
        (("_scale",), False),
        (("_new",), False),
        (("_setting",), False),
    ],
)
def test_a_class_with_a_part_of_its_own_is_noticed(own: tuple[str, ...], is_altered: bool) -> None:
    def method(self: object) -> None: ...

    parts = dict.fromkeys(("search", "part_of_search", "_part", "_scale", "add"), method)
    known = type("Known", (), {**parts, "_setting": 1, "__module__": __name__})
    registry = AdapterRegistry(Reader, ["search"], {}, pure={"_scale"})
    registry.register(f"{__name__}.Known", Reader())
    derived = type("Derived", (type("Between", (known,), dict.fromkeys(own, method)),), {})
    assert registry.is_altered(derived()) is is_altered
    assert registry.is_altered(known()) is registry.is_altered(object()) is False


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
    """C4: something that is no adapter is refused where it enters."""
    with pytest.raises(ConfigurationError, match=said):
        AdapterRegistry(Reader, ["search"], {}).register(store_class, adapter)


def refuse(adapter: Reader) -> None:
    raise ConfigurationError("its settings are wrong")


@pytest.mark.parametrize(
    ("place", "check"),
    [
        ("no_such_module:Reader", type),
        (f"{__name__}:NoSuchReader", type),
        (f"{__name__}:Store", type),
        (f"{__name__}:Reader", refuse),
    ],
)
def test_an_adapter_that_cannot_be_loaded_reads_no_scores(
    place: str, check: Any, caplog: pytest.LogCaptureFixture
) -> None:
    registry = AdapterRegistry(Reader, ["search"], {NAME: place}, check)
    found = registry.find(Store())
    assert type(found) is Reader
    assert f"loading the store adapter {place} failed" in caplog.text
    assert registry.find(Store()) is found


def test_wrong_settings_are_refused_at_registration() -> None:
    with pytest.raises(ConfigurationError, match="its settings are wrong"):
        AdapterRegistry(Reader, ["search"], {}, refuse).register(NAME, Reader())
