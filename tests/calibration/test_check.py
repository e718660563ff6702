"""A change of encoder or corpus is found, and noise is not taken for one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recall_signal import Calibration, CalibrationError, ConfigurationError, Pool
from recall_signal.calibration._canaries import (
    AGAIN,
    Canaries,
    CanaryPool,
    Sighting,
    canary_pool,
    canary_queries,
    overlap,
    sighting,
    summarise,
)
from recall_signal.calibration._check import acheck, check
from recall_signal.calibration._fingerprint import FINGERPRINT_TEXTS, fingerprint_of
from recall_signal.calibration._port import SearchPort, port_of
from tests.calibration.stores import HashEncoder, VectorStore, texts
from tests.calibration.toys import Toy, calibration, fit

SIZE = 400


def pool_of(query: str, found: Pool) -> CanaryPool:
    pool = canary_pool(query, found)
    assert pool is not None
    return pool


def seen(store: VectorStore) -> Canaries:
    """The canaries of a fit, without the fit."""
    first = {query: pool_of(query, store.search(query)) for query in canary_queries()}
    again = {query: pool_of(query, store.search(query)) for query in canary_queries()[:AGAIN]}
    vectors = store.embed_texts(FINGERPRINT_TEXTS)
    return summarise(first, again, fingerprint_of(vectors))


def store(count: int = SIZE, kind: str = "text", **given: Any) -> VectorStore:
    return VectorStore(texts(count, kind), **given)


def test_no_false_alarm_in_two_hundred() -> None:
    """An approximate index, noise of 1e-3 on every vector, five per cent more texts."""
    grown = texts(SIZE) + texts(SIZE // 20, "new")
    alarms = []
    for trial in range(200):
        noisy = HashEncoder(noise=1e-3, seed=trial)
        before = VectorStore(texts(SIZE), noisy, missed=0.05, seed=trial)
        after = VectorStore(grown, noisy, missed=0.05, seed=1000 + trial)
        result = check(seen(before), after)
        if result.status != "ok":
            alarms.append(result)
    assert not alarms


CHANGES = {
    "common direction": (store(encoder=HashEncoder(added=0.4)), "encoder_changed"),
    "other dimensions": (store(encoder=HashEncoder(dimensions=32)), "encoder_changed"),
    "another model": (store(encoder=HashEncoder(model="second")), "encoder_changed"),
    "replaced": (store(kind="other"), "corpus_changed"),
    "grown tenfold": (
        VectorStore(texts(SIZE) + texts(9 * SIZE, "more")),
        "corpus_changed",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("missed", [0.0, 0.05])
async def test_a_change_is_found(name: str, missed: float) -> None:
    after, status = CHANGES[name]
    before = seen(store(missed=missed))
    result = check(before, after)
    assert (result.status, result.fits) == (status, False)
    assert (await acheck(before, after)).status == status


@pytest.mark.parametrize("name", CHANGES)
def test_without_an_encoder_a_change_is_a_change(name: str) -> None:
    after, _ = CHANGES[name]
    before = seen(store())
    for known in (before, replace(before, fingerprint=None)):
        assert check(known, replace(after, reachable=False)).status == "changed"


def test_scores_alone_show_a_change() -> None:
    """A search that returns cosines without ids or texts."""
    before, after = store(), store(kind="other")
    canaries = seen(before)
    bare = replace(canaries, seen=tuple(replace(s, first=()) for s in canaries.seen))
    assert check(bare, SearchPort(lambda query: before.search(query).cosines)).status == "ok"
    assert check(bare, SearchPort(lambda query: after.search(query).cosines)).status == "changed"


def test_too_little_to_compare_is_said() -> None:
    assert check(None, store()).status == "not_measurable"
    empty = check(seen(store()), SearchPort(lambda _: []))
    assert (empty.status, empty.figures["canaries"], empty.fits) == ("not_measurable", 0, True)
    assert calibration().check(store()).status == "not_measurable"


def test_a_store_that_is_away_is_not_asked_for_long() -> None:
    asked: list[str] = []

    def away(query: str) -> Pool:
        asked.append(query)
        raise ConnectionError

    assert check(seen(store()), SearchPort(away)).status == "not_measurable"
    assert len(asked) == 7


def test_some_searches_may_fail() -> None:
    sound = store()

    def flaky(query: str) -> Pool:
        if query in canary_queries()[::3]:
            raise ConnectionError
        return sound.search(query)

    result = check(seen(sound), SearchPort(flaky))
    assert (result.status, result.figures["canaries"]) == ("ok", 8)


@pytest.mark.parametrize("answer", [None, "text", [[1.0]], [[0.0]] * 8, [[float("nan")]] * 8])
def test_an_encoder_that_answers_nonsense_cannot_be_reached(
    answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fingerprint_of(answer) is None
    sound = store()
    port = replace(sound)
    monkeypatch.setattr(port, "embed_texts", lambda _: answer)
    result = check(seen(sound), port)
    assert (result.status, result.figures["encoder_distance"]) == ("ok", None)


def test_an_encoder_that_fails_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = store()
    port = replace(sound)

    def fails(_: Any) -> Any:
        raise ConnectionError

    monkeypatch.setattr(port, "embed_texts", fails)
    assert check(seen(sound), port).status == "ok"


@pytest.mark.parametrize("dimensions", [2, 384, 3072])
def test_a_fingerprint_measures_the_distance_of_two_encoders(dimensions: int) -> None:
    random = np.random.default_rng(dimensions)
    vectors = random.normal(size=(len(FINGERPRINT_TEXTS), dimensions))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    noisy = vectors + 1e-3 * random.normal(size=vectors.shape)
    turned = vectors + 0.5 * np.eye(dimensions)[0]
    first = fingerprint_of(vectors)
    assert first is not None
    assert len(first.projections) == 128
    for other, same in ((noisy, True), (3.0 * vectors, True), (turned, False)):
        second = fingerprint_of(other)
        assert second is not None
        assert first.is_same_encoder(second) is same
        if not same and dimensions > 2:
            true = np.sum((vectors - other / np.linalg.norm(other, axis=1)[:, None]) ** 2, axis=1)
            assert second.distance(first) == pytest.approx(true.mean(), rel=0.5)


def test_candidates_are_known_by_text_else_by_id() -> None:
    by_text, by_id, bare = (
        sighting("q", Pool([0.2, 0.9, None, 0.1], **columns))
        for columns in (
            {"texts": ["b", "a", "c", "d"], "ids": ["1", "2", "3", "4"]},
            {"ids": ["2", "1", "3", None]},
            {},
        )
    )
    assert by_text is not None
    assert by_id is not None
    assert bare is not None
    assert (len(by_text.first), len(by_id.first), bare.first) == (3, 2, ())
    assert overlap(by_text, by_text) == 1.0
    assert overlap(by_text, by_id) == 0.0
    assert overlap(by_text, bare) is None
    assert sighting("q", Pool([])) is None
    assert sighting("q", {"no": "pool"}) is None


def test_a_fit_remembers_its_canaries() -> None:
    toy = Toy()
    fitted = fit(toy)
    assert fitted.canaries is not None
    assert len(fitted.canaries.seen) == 12
    assert (fitted.canaries.noise, fitted.canaries.stability) == (0.0, 1.0)
    assert fitted.check(toy).status == "ok"
    assert fitted.check(Toy(offset=0.1)).status == "changed"


async def test_a_fit_by_awaiting_remembers_the_same() -> None:
    async def search(query: str) -> Pool:
        return Toy()(query)

    given: dict[str, Any] = {"documents": Toy().documents}
    fitted = await Calibration.afit(search, **given)
    assert fitted.canaries == Calibration.fit(Toy(), **given).canaries
    assert (await fitted.acheck(search)).status == "ok"


def test_canaries_survive_a_file(tmp_path: Any) -> None:
    fitted = replace(fit(Toy()), canaries=seen(store()))
    fitted.save(tmp_path / "c.json")
    assert Calibration.load(tmp_path / "c.json") == fitted
    assert not any(query in (tmp_path / "c.json").read_text() for query in canary_queries())


def test_a_canary_whose_search_fails_is_left_out() -> None:
    lost = canary_queries()[3]

    def search(query: str) -> Pool:
        if query == lost:
            raise ConnectionError
        return Toy()(query)

    fitted = fit(search)
    assert fitted.canaries is not None
    assert len(fitted.canaries.seen) == 11


def test_a_wrong_setting_is_no_failed_search() -> None:
    later: list[str] = []

    def search(query: str) -> Pool:
        later.append(query)
        if len(later) > 70:  # the fit is done, and the canaries are asked
            raise ConfigurationError("a wrong setting")
        return Toy()(query)

    with pytest.raises(ConfigurationError, match="a wrong setting"):
        fit(search)


def test_a_failed_canary_of_the_fit_is_asked_again() -> None:
    failed: list[str] = []

    def search(query: str) -> Pool:
        if query == canary_queries()[5] and not failed:
            failed.append(query)
            raise ConnectionError
        return Toy()(query)

    fitted = Calibration.fit(search)
    assert failed
    assert fitted.canaries is not None
    assert len(fitted.canaries.seen) == 12


def test_a_spread_of_nothing_is_none() -> None:
    assert Canaries(()).spread == 0.0
    assert Canaries((Sighting(1, 0.3),)).spread == 0.0


async def test_whatever_is_checked_has_a_port() -> None:
    class Wrapper:
        calibration_port = store()

    assert port_of(Wrapper()) is Wrapper.calibration_port
    plain = port_of(lambda _: [0.5])
    assert plain.search("q").cosines == [0.5]
    assert (await plain.asearch("q")).cosines == [0.5]
    assert plain.embed_texts(["q"]) is None
    assert await plain.aembed_texts(["q"]) is None
    with pytest.raises(ConfigurationError, match="got int"):
        port_of(3)  # type: ignore[arg-type]


def pools_over(count: int, depth: int = 50) -> Any:
    """A search with the same best five for each query, over so many other texts."""

    def search(query: str) -> Pool:
        random = np.random.default_rng([*query.encode()])
        own = [f"near {n}" for n in random.permutation(20)[:5]]
        others = random.permutation(count)[: depth - 5]
        cosines = np.linspace(0.6, 0.2, depth)[: 5 + len(others)]
        return Pool(cosines.tolist(), texts=own + [f"other {n}" for n in others])

    return search


def canaries_over(count: int, depth: int = 50) -> Canaries:
    search = pools_over(count, depth)
    return summarise({query: pool_of(query, search(query)) for query in canary_queries()}, {}, None)


@pytest.mark.parametrize("size", [60, 500])
def test_texts_that_leave_the_best_candidates_alone_are_growth(size: int) -> None:
    before = canaries_over(size)
    result = check(before, SearchPort(pools_over(10 * size)))
    assert (result.figures["kept"], result.figures["shift"]) == (1.0, 0.0)
    growth = result.figures["growth"]
    assert growth is not None
    assert growth > 2.5
    assert result.status == "changed"
    assert check(before, SearchPort(pools_over(size))).status == "ok"
    older = replace(before, size=None, depth=None)  # as saved before sizes were
    assert check(older, SearchPort(pools_over(10 * size))).figures["growth"] is None


@pytest.mark.parametrize(("then", "now"), [(10, 50), (50, 10)])
def test_pools_of_another_size_are_no_growth(then: int, now: int) -> None:
    result = check(canaries_over(400, then), SearchPort(pools_over(400, now)))
    assert result.status == "ok"
    growth = result.figures["growth"]
    assert growth is not None
    assert growth < 1.5


def test_a_size_that_rests_on_little_is_not_compared() -> None:
    before = replace(canaries_over(400, 10), size=1000)  # of 120 candidates 7 stood in two pools
    result = check(before, SearchPort(pools_over(20_000, 10)))
    assert (result.status, result.figures["growth"]) == ("ok", None)


@pytest.mark.parametrize("wrong", [0, -5, 10**400, "12", 3.0, True])
@pytest.mark.parametrize("name", ["size", "depth"])
def test_an_edited_size_is_refused(name: str, wrong: Any, tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    replace(calibration(), canaries=canaries_over(60)).save(path)
    values = json.loads(path.read_text())
    values["canaries"][name] = wrong
    path.write_text(json.dumps(values))
    with pytest.raises(CalibrationError):
        Calibration.load(path)
