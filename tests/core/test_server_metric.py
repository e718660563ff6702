"""Kinds that only a server knows: fetched once per store, and again after a failure."""

import gc

import pytest

from recall_signal import ScoreKind
from recall_signal.stores import _server_metric
from recall_signal.stores._server_metric import CachedServerMetric


class Store:
    """Unhashable, as LlamaIndex's stores are."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, *answers: ScoreKind | Exception) -> None:
        self.answers, self.requests = list(answers), 0

    def metric(self) -> ScoreKind:
        self.requests += 1
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_once_per_store() -> None:
    metrics = CachedServerMetric(Store.metric)
    one, other = Store(ScoreKind.COSINE), Store(ScoreKind.L2)
    for _ in range(3):
        assert metrics.kind(one) is ScoreKind.COSINE
        assert metrics.kind(other) is ScoreKind.L2
    assert (one.requests, other.requests) == (1, 1)


def test_a_failure_is_unknown_and_fetched_again_after_a_pause(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(_server_metric, "monotonic", lambda: clock[0])
    metrics = CachedServerMetric(Store.metric)
    store = Store(PermissionError("a secret"), ScoreKind.COSINE)
    assert metrics.waits(store)
    for _ in range(9):  # several reads within one query, and several queries at once
        assert metrics.kind(store) is ScoreKind.UNKNOWN
        assert not metrics.waits(store)
    assert store.requests == 1
    assert "PermissionError" in caplog.text
    assert "secret" not in caplog.text
    clock[0] += 60.0
    assert metrics.waits(store)
    assert metrics.kind(store) is ScoreKind.COSINE
    assert not metrics.waits(store)


def test_unknown_is_an_answer_too() -> None:
    metrics, store = CachedServerMetric(Store.metric), Store(ScoreKind.UNKNOWN)
    assert [metrics.kind(store) for _ in range(2)] == [ScoreKind.UNKNOWN] * 2


def test_nothing_is_kept_of_stores_that_are_gone() -> None:
    metrics = CachedServerMetric(Store.metric)
    for _ in range(50):
        metrics.kind(Store(ScoreKind.COSINE))
    gc.collect()
    assert not metrics._entries


def test_a_new_store_does_not_inherit_the_kind_of_an_old_one() -> None:
    """Python gives the ids of objects that are gone to new ones."""
    metrics = CachedServerMetric(Store.metric)
    old, new = Store(ScoreKind.COSINE), Store(ScoreKind.L2)
    metrics.kind(old)
    metrics._entries[id(new)] = metrics._entries[id(old)]
    assert metrics.kind(new) is ScoreKind.L2
