"""Kinds that only a server knows: asked for once per store, and again where it did not answer."""

import gc

import pytest

from recall_signal import ScoreKind
from recall_signal.stores import asked
from recall_signal.stores.asked import AskedOnce


class Store:
    """Unhashable, as LlamaIndex's stores are."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, *answers: ScoreKind | Exception) -> None:
        self.answers, self.asked = list(answers), 0

    def metric(self) -> ScoreKind:
        self.asked += 1
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_once_per_store() -> None:
    kinds = AskedOnce(Store.metric)
    one, other = Store(ScoreKind.COSINE), Store(ScoreKind.L2)
    for _ in range(3):
        assert kinds.kind(one) is ScoreKind.COSINE
        assert kinds.kind(other) is ScoreKind.L2
    assert (one.asked, other.asked) == (1, 1)


def test_a_failure_is_unknown_and_asked_for_again_after_a_pause(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(asked, "monotonic", lambda: clock[0])
    kinds = AskedOnce(Store.metric)
    store = Store(PermissionError("a secret"), ScoreKind.COSINE)
    assert kinds.waits(store)
    for _ in range(9):  # several looks within one query, and several queries at once
        assert kinds.kind(store) is ScoreKind.UNKNOWN
        assert not kinds.waits(store)
    assert store.asked == 1
    assert "PermissionError" in caplog.text
    assert "secret" not in caplog.text
    clock[0] += 60.0
    assert kinds.waits(store)
    assert kinds.kind(store) is ScoreKind.COSINE
    assert not kinds.waits(store)


def test_unknown_is_an_answer_too() -> None:
    kinds, store = AskedOnce(Store.metric), Store(ScoreKind.UNKNOWN)
    assert [kinds.kind(store) for _ in range(2)] == [ScoreKind.UNKNOWN] * 2


def test_nothing_is_kept_of_stores_that_are_gone() -> None:
    kinds = AskedOnce(Store.metric)
    for _ in range(50):
        kinds.kind(Store(ScoreKind.COSINE))
    gc.collect()
    assert not kinds._known


def test_a_new_store_does_not_inherit_the_kind_of_an_old_one() -> None:
    """Python gives the ids of objects that are gone to new ones."""
    kinds, old, new = AskedOnce(Store.metric), Store(ScoreKind.COSINE), Store(ScoreKind.L2)
    kinds.kind(old)
    kinds._known[id(new)] = kinds._known[id(old)]
    assert kinds.kind(new) is ScoreKind.L2
