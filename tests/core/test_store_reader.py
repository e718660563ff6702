"""What both frameworks' readers of a store's scores have in common."""

import logging
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from recall_signal import InvalidInputError, ScoreKind
from recall_signal._steps.compute import CallStore
from recall_signal._steps.driver import drive
from recall_signal.stores import ScoreReading, unit_only
from recall_signal.stores._reader import StoreReader
from recall_signal.stores._vectors import NormCheck

FOUR = SimpleNamespace(scores=[0.9, 0.5, 0.4, None])


class Shop:
    """A store."""


class Adapter:
    """An adapter whose answers are set; an error among them is raised."""

    def __init__(self, kind: Any = ScoreKind.COSINE, waits: Any = False, read: Any = None) -> None:
        self.answers = {"kind": kind, "waits": waits, "read": read}
        self.asked: list[Any] = []

    def _answer(self, name: str) -> Any:
        answer = self.answers[name]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def score_kind(self, *asked: Any) -> Any:
        self.asked.append(asked)
        return self._answer("kind")

    def waits(self, store: Any) -> Any:
        return self._answer("waits")

    def read(self, store: Any, hits: Any) -> Any:
        return self._answer("read")


def reader(
    adapter: Adapter | None = None, kind: str | None = None, **more: Any
) -> StoreReader[Any]:
    return StoreReader(None if kind is None else ScoreKind(kind), Shop(), adapter, **more)


@pytest.mark.parametrize(
    ("of", "waits"),
    [
        (reader(), False),
        (reader(Adapter(waits=False)), False),
        (reader(Adapter(waits=True)), True),
        (reader(Adapter(waits=RuntimeError("who knows"))), True),
        (reader(Adapter(waits=True), "cosine"), False),
        (reader(Adapter(waits=True), "rrf"), False),
    ],
)
def test_only_an_undeclared_kind_is_waited_for(of: StoreReader[Any], waits: bool) -> None:
    assert of.waits is waits


@pytest.mark.parametrize(
    ("of", "keeps"),
    [
        (reader(), False),
        (reader(kind="cosine"), True),
        (reader(kind="bm25"), True),
        (reader(kind="rrf"), False),
        (reader(Adapter("minmax"), "l2"), True),
        (reader(Adapter(ScoreKind.SQUARED_L2)), True),
        (reader(Adapter(unit_only(ScoreKind.COSINE_DISTANCE))), True),
        (reader(Adapter("bm25")), True),
        (reader(Adapter(ScoreKind.FUSED_NORMALIZED)), False),
        (reader(Adapter("no such kind")), False),
        (reader(Adapter(RuntimeError("down"))), False),
        (reader(Adapter(RuntimeError("down")), "cosine"), True),
        (reader(Adapter(None)), True),
    ],
)
def test_which_scores_are_looked_at_wider(of: StoreReader[Any], keeps: bool) -> None:
    assert of.is_prefix_stable() is keeps


class ByMode(StoreReader[Any]):
    """The reader of a framework whose kind depends on the search as well."""

    def kind_by_adapter(self, adapter: Any) -> Any:
        return adapter.score_kind(self.store, "hybrid")


def test_a_framework_decides_what_the_kind_depends_on() -> None:
    adapter = Adapter()
    plain, by_mode = reader(adapter), ByMode(None, Shop(), adapter)
    assert plain.is_prefix_stable()
    assert by_mode.is_prefix_stable()
    assert adapter.asked == [(plain.store,), (by_mode.store, "hybrid")]


@pytest.mark.parametrize("fused", ["rrf", "fused_normalized"])
def test_a_declared_kind_does_not_make_a_fused_search_longer(fused: str) -> None:
    assert not reader(Adapter(kind=fused), "cosine").is_prefix_stable()
    assert reader(Adapter(kind="unknown"), "cosine").is_prefix_stable()
    assert reader(Adapter(kind=None), "cosine").is_prefix_stable()
    asked = Adapter(kind=fused, waits=True)
    assert reader(asked, "cosine").is_prefix_stable()  # no server is asked for it
    assert asked.asked == []


def test_a_declared_kind_goes_before_the_adapter() -> None:
    reading = reader(Adapter(read=RuntimeError("never asked")), "half_cosine").read(FOUR)
    assert reading.cosines == pytest.approx([0.8, 0.0, -0.2, None])
    assert reading.source == "declared"


def test_only_a_plain_search_shows_a_kind_that_is_the_other_way_round() -> None:
    rising = SimpleNamespace(scores=[0.1, 0.2, 0.3, 0.4])
    assert reader(kind="cosine").read(rising).reason == "score_inverted"
    assert reader(kind="cosine", ranked=False).read(rising).cosines == rising.scores


def test_what_an_adapter_reads_is_checked() -> None:
    fits = ScoreReading([np.float32(0.9), 0.5, 0.4, None], "store")  # type: ignore[list-item]
    cosines = reader(Adapter(read=fits)).read(FOUR).cosines
    assert cosines == pytest.approx([0.9, 0.5, 0.4, None])
    assert cosines is not None
    assert type(cosines[0]) is float
    nothing = ScoreReading(None, reason="of_its_own")
    assert reader(Adapter(read=nothing)).read(FOUR) is nothing


@pytest.mark.parametrize(
    "read", [RuntimeError("a secret"), [0.9, 0.5, 0.4, 0.3], ScoreReading([0.9], "store")]
)
def test_what_an_adapter_does_wrong_becomes_a_reason(
    read: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """C4: an adapter that returns or raises something else."""
    reading = reader(Adapter(read=read)).read(FOUR)
    assert (reading.cosines, reading.reason) == (None, "adapter_failed")
    assert "reading the store's scores failed" in caplog.text
    assert "secret" not in caplog.text


class Lying(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = str.__hash__


@pytest.mark.parametrize(
    "reason", [Lying("no_scores"), "\x1b[31mred", "two\nlines", "x" * 201, "\ud800", "", 5]
)
def test_c4_a_reason_that_is_no_short_plain_text_is_refused(reason: Any) -> None:
    """C4: it goes into reports and logs as it is."""
    with pytest.raises(InvalidInputError, match="printable str of 1 to 200 characters"):
        ScoreReading(None, reason=reason)


def test_what_nobody_knows_is_not_guessed_at() -> None:
    assert reader().read(FOUR).reason == "store_not_recognised"
    assert reader().read(SimpleNamespace(scores=[None, None])).reason == "no_scores"


def test_a_store_is_waited_for_by_request() -> None:
    of = reader(kind="cosine")

    def perform(request: Any) -> Any:
        assert isinstance(request, CallStore)
        return request.call()

    assert drive(of.read_in_thread(FOUR), perform) == of.read(FOUR)


def test_a_wait_that_fails_becomes_a_reason(caplog: pytest.LogCaptureFixture) -> None:
    def perform(request: Any) -> Any:
        raise RuntimeError("no threads left")

    with caplog.at_level(logging.WARNING):
        assert drive(reader(Adapter()).read_in_thread(FOUR), perform).reason == "adapter_failed"
    assert "RuntimeError" in caplog.text


@pytest.mark.parametrize(
    ("of", "reason"),
    [
        (reader(), "store_not_recognised"),
        (StoreReader[Any](None, None, None), "no_score_access"),
        (reader(Adapter()), "no_score_access"),
        (reader(kind="cosine"), "no_score_access"),
        (reader(kind="bm25"), "no_score_access"),
        (reader(kind="rrf"), "score_not_convertible"),
        (reader(Adapter(), "minmax"), "score_not_convertible"),
    ],
)
def test_why_there_is_nothing_to_read(of: StoreReader[Any], reason: str) -> None:
    assert of.missing_score_reason == reason


def test_the_memory_of_the_wrapper_goes_along() -> None:
    memory, vectors = NormCheck(), list[None]
    access = reader(memory=memory)._access(vectors, "encoder", [1.0])
    assert access.memory is memory
    assert (access.vectors, access.encoder, access.query_vector) == (vectors, "encoder", [1.0])
    assert (access.store, access.count) == ("Shop", None)
    assert reader()._access(vectors, None, None, 3).count == 3
    alone = StoreReader[Any](None, None, None)
    assert alone._access(None, None, None).store == "the retriever"
    assert alone.memory is not reader().memory


@pytest.mark.parametrize(
    ("reading", "enough"),
    [
        (ScoreReading([0.9], "store"), True),
        (ScoreReading(np.array([0.9, 0.1]), "store"), True),  # type: ignore[arg-type]
        (ScoreReading(None, scores=[7.0]), True),
        (ScoreReading(None, scores=np.array([7.0, 2.0])), True),  # type: ignore[arg-type]
        (ScoreReading(None, reason="no_scores"), False),
        (ScoreReading([], "store"), True),
        (ScoreReading([], "store", for_unit_vectors=True), True),
        (ScoreReading([0.9], "store", for_unit_vectors=True), False),
        (ScoreReading(None, reason="score_out_of_range", for_unit_vectors=True), False),
    ],
)
def test_which_reading_is_enough(reading: ScoreReading, enough: bool) -> None:
    assert reading.is_complete is enough
