"""The hub correction: what it computes, when it is used, and what happens without vectors."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from calibration_toys import DOCUMENTS, PAST, PROBES, Toy, fit, timeless
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from recall_signal import (
    Calibration,
    CalibrationError,
    ConfigurationError,
    InvalidInputError,
    Pool,
    assess,
)
from recall_signal.calibration import hub
from recall_signal.calibration.hub import Bank, HubCorrection, pays
from recall_signal.calibration.labels import Platt
from recall_signal.calibration.scale import Scale

DIM = 64
LABELLED = [(f"{kind} {n}", kind == "present") for n in range(30) for kind in ("present", "absent")]


def direction(text: str) -> NDArray[np.float64]:
    seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
    drawn = np.random.default_rng(seed).normal(size=DIM)
    unit: NDArray[np.float64] = drawn / np.linalg.norm(drawn)
    return unit


@dataclass
class Crowded:
    """Exact search among vectors in a cone, some of them near to everything.

    Present queries lie near one document; all others are near to nothing but the middle.
    """

    vectors: bool = True
    hubs: float = 1.0
    near: float = 1.2
    fails_at: int | None = None
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        middle = direction("middle")
        rows = [
            (0.4 + self.hubs * (n % 4 == 0)) * middle + direction(id_)
            for n, (id_, _) in enumerate(DOCUMENTS)
        ]
        self.table = np.array([row / np.linalg.norm(row) for row in rows])

    def vector(self, query: str) -> NDArray[np.float64]:
        own = next((at for at, (_, text) in enumerate(DOCUMENTS) if query in text), None)
        if query.startswith("present"):
            own = 1 + 4 * (int(query.split()[-1]) % 9)  # none of the near ones
        row = direction("middle") + direction(query)
        if own is not None:
            row = row + self.near * self.table[own]
        unit: NDArray[np.float64] = row / np.linalg.norm(row)
        return unit

    def __call__(self, query: str) -> Pool:
        if len(self.asked) == self.fails_at:
            raise ConnectionError("the store is away")
        self.asked.append(query)
        row = self.vector(query)
        cosines = self.table @ row
        best = np.argsort(-cosines)[:20]
        return Pool(
            cosines[best].tolist(),
            ids=[DOCUMENTS[at][0] for at in best],
            texts=[DOCUMENTS[at][1] for at in best],
            vectors=self.table[best] if self.vectors else None,
            query_vector=row if self.vectors else None,
        )


def by_hand(cosines: list[float], rows: NDArray[Any], bank: NDArray[Any]) -> float:
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    questions = bank / np.linalg.norm(bank, axis=1, keepdims=True)
    near = np.sort(units @ questions.T, axis=1)[:, -hub.NEAREST :].mean(axis=1)
    best = np.argsort(cosines)[::-1][: hub.CANDIDATES]
    return float(max(cosines[at] - near[at] / 2 for at in best))


# What it computes


@given(st.integers(1, 40), st.integers(1, 30), st.integers(0, 1000))
def test_the_corrected_top_is_the_formula(questions: int, candidates: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bank, rows = rng.normal(size=(questions, DIM)), rng.normal(size=(candidates, DIM))
    cosines = rng.uniform(-1, 1, candidates).tolist()
    found = Bank.of(bank.tolist()).top(Pool(cosines, vectors=rows.tolist()))
    assert found == pytest.approx(by_hand(cosines, rows, bank), abs=2e-3)


def test_what_has_no_cosine_or_is_left_out_does_not_count() -> None:
    rng = np.random.default_rng(0)
    rows, bank = rng.normal(size=(6, DIM)), Bank.of(rng.normal(size=(20, DIM)))
    whole = Pool([0.9, 0.5, 0.4], vectors=rows[[0, 2, 3]])
    holes = Pool([None, 0.9, float("nan"), 0.5, 0.4, 0.95], vectors=rows[[5, 0, 1, 2, 3, 4]])
    left_out = [False] * 5 + [True]
    assert bank.top(holes, left_out) == pytest.approx(bank.top(whole), abs=1e-6)
    assert bank.top(holes) != bank.top(holes, left_out)
    assert bank.top(Pool([None, 0.4], vectors=rows[:2]), [False, True]) is None


@pytest.mark.parametrize(
    "vectors",
    [
        None,
        [[1.0, 2.0], [3.0, 4.0]],
        [[0.0] * DIM] * 2,
        [[float("nan")] * DIM] * 2,
        [None, None],
        ["a", "b"],
        [[1.0] * DIM, [1.0]],
    ],
)
def test_vectors_that_do_not_fit_give_none(vectors: Any) -> None:
    bank = Bank.of(np.random.default_rng(0).normal(size=(20, DIM)))
    assert bank.top(Pool([0.5, 0.4], vectors=vectors)) is None


@pytest.mark.parametrize("vectors", [[[0.0, 0.0]], [[1.0], [1.0, 2.0]], ["a"], [[None]]])
def test_no_bank_is_made_of_what_has_no_direction(vectors: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        Bank.of(vectors)


@pytest.mark.parametrize(("packed", "questions"), [("", 1), ("AAAA", 1), ("AAAAAAAA", 0)])
def test_what_is_no_bank_is_refused(packed: str, questions: int) -> None:
    with pytest.raises(ConfigurationError, match="no vectors"):
        Bank(packed, questions)


def test_a_step_of_nothing_is_no_scale() -> None:
    with pytest.raises(ConfigurationError, match="no scale"):
        HubCorrection(Bank.of([[1.0, 0.0]]), Scale(0.3, 0.0), Platt(0.0, 1.0))


# Whether it pays


def test_it_pays_where_labelled_queries_are_ranked_better_beyond_chance() -> None:
    rng = np.random.default_rng(0)
    labels = [True, False] * 25
    good, bad = ([n * label for label in labels] + rng.normal(size=50) for n in (3.0, 0.5))
    assert pays(bad, good, labels)
    assert not pays(good, bad, labels)
    assert not pays(bad, bad, labels)
    assert not pays(good, [3.0 * top + 1.0 for top in good], labels)


def test_chance_alone_seldom_pays() -> None:
    rng = np.random.default_rng(1)
    labels = [True, False] * 25
    signal = np.array(labels) * 1.5
    found = [pays(*(signal + rng.normal(size=(2, 50))), labels) for _ in range(400)]
    assert 0.01 < np.mean(found) < 0.1


# When it is used


def crowded(search: Callable[[str], Any] | None = None, **given: Any) -> Calibration:
    given = {"probes": None, **given}
    return fit(search or Crowded(), **given)


def test_it_is_off_by_default() -> None:
    assert crowded().hub is None


def test_where_vectors_crowd_it_tells_present_from_absent() -> None:
    search = Crowded()
    plain, corrected = crowded(), crowded(hub_correction=True)
    assert timeless(replace(corrected, hub=None)) == timeless(plain)
    right = {
        name: sum(
            (assess(search(query), calibration=used).level in ("moderate", "high")) is present
            for query, present in LABELLED
        )
        for name, used in (("plain", plain), ("corrected", corrected))
    }
    assert right["corrected"] > right["plain"] + 4
    assert "hub-corrected: cut" in str(corrected)


def test_a_pool_with_vectors_is_judged_by_the_corrected_line() -> None:
    search, fitted = Crowded(), crowded(hub_correction=True)
    correction = fitted.hub
    assert correction is not None
    pool = search("present 3")
    top = correction.bank.top(pool)
    assert top is not None
    confidence = assess(pool, calibration=fitted)
    expected = correction.line.probability(correction.scale.of(top))
    assert confidence.probability == round(expected, 4)
    assert f"(mode null, hub-corrected to {top:.2f})" in confidence.rationale
    assert f"a cut of {correction.scale.cut:.2f}" in confidence.rationale
    assert confidence.top_score == round(max(pool.cosines), 3)  # type: ignore[type-var]


@pytest.mark.parametrize("given", ["cosines", "a pool", "other vectors"])
def test_a_pool_without_vectors_is_judged_by_the_raw_line_and_says_so(given: str) -> None:
    fitted, plain = crowded(hub_correction=True), crowded()
    cosines = Crowded()("present 3").cosines
    pool: Any = {
        "cosines": cosines,
        "a pool": Pool(cosines),
        "other vectors": Pool(cosines, vectors=np.ones((len(cosines), 3))),
    }[given]
    here, there = assess(pool, calibration=fitted), assess(pool, calibration=plain)
    assert (here.level, here.probability) == (there.level, there.probability)
    assert "without its hub correction because the pool brought no vectors" in here.rationale


def test_vectors_without_a_correction_change_nothing() -> None:
    pool, plain = Crowded()("present 3"), crowded()
    assert assess(pool, calibration=plain) == assess(pool.cosines, calibration=plain)


def test_labels_decide_under_auto() -> None:
    used = crowded(hub_correction="auto", labelled=LABELLED)
    assert used.hub is not None
    assert (used.mode, used.warnings) == ("labelled", ())
    forced = crowded(hub_correction=np.True_, labelled=LABELLED)
    assert timeless(used) == timeless(forced)


@pytest.mark.parametrize("labelled", [None, LABELLED[:8]])
def test_without_labels_auto_does_without(labelled: Any) -> None:
    fitted = crowded(hub_correction="auto", labelled=labelled)
    assert fitted.hub is None
    assert "no hub correction: it takes labelled queries" in fitted.warnings[-1]


def test_where_nothing_is_gained_auto_does_without() -> None:
    fitted = crowded(Crowded(hubs=0.0), hub_correction="auto", labelled=LABELLED)
    assert (fitted.mode, fitted.hub) == ("labelled", None)


def test_many_labels_have_a_free_form_of_their_own() -> None:
    many = [(f"{kind} {n}", kind == "present") for n in range(60) for kind in ("present", "absent")]
    fitted = crowded(hub_correction=True, labelled=many)
    assert fitted.hub is not None
    assert fitted.hub.free_form is not None
    assert fitted.hub.free_form != fitted.free_form
    assert assess(Crowded()("present 4"), calibration=fitted).basis == "labels"


def test_a_bound_stays_one_on_the_raw_top_cosine() -> None:
    search = Crowded()
    fitted = crowded(hub_correction=True, labelled=LABELLED, max_false_none=0.1)
    levels = [assess(search(query), calibration=fitted).level for query, yes in LABELLED if yes]
    assert levels.count("none") <= 3


def test_past_queries_move_the_corrected_line_too() -> None:
    plain = crowded(hub_correction=True)
    fitted = crowded(hub_correction=True, past_queries=[query for query, _ in LABELLED])
    assert fitted.mode == "null+past"
    assert fitted.hub is not None
    assert plain.hub is not None
    assert fitted.hub.scale != plain.hub.scale


def test_own_probes_are_halved() -> None:
    fitted = crowded(probes=PROBES, hub_correction=True)
    assert fitted.hub is not None
    assert fitted.hub.bank.questions == 15
    few = crowded(probes=PROBES[:12], hub_correction=True)
    assert few.hub is None
    assert "too few probes beside its bank" in few.warnings[-1]


def test_where_nothing_separates_there_is_no_corrected_line() -> None:
    fitted = crowded(Crowded(near=0.2), hub_correction=True)
    assert (fitted.status, fitted.hub) == ("no_valid_threshold", None)
    assert "or nothing separates with it" in fitted.warnings[-1]


# Without vectors at the fit


def test_without_vectors_it_is_refused_after_one_search() -> None:
    search = Crowded(vectors=False)
    with pytest.raises(CalibrationError, match=r"vectors=\.\.\., query_vector="):
        crowded(search, hub_correction=True)
    assert len(search.asked) == 1


def test_without_vectors_auto_does_without_and_says_so() -> None:
    fitted = crowded(Crowded(vectors=False), hub_correction="auto", labelled=LABELLED)
    assert fitted.hub is None
    assert fitted.warnings[-1] == "no hub correction: the search returned no vectors"


def test_vectors_of_several_lengths_are_no_bank() -> None:
    search = Crowded()

    def uneven(query: str) -> Pool:
        return replace(search(query), query_vector=[1.0] * (2 + len(query) % 3))

    with pytest.raises(CalibrationError, match="of one dimension"):
        crowded(uneven, hub_correction=True)
    assert crowded(uneven, hub_correction="auto", labelled=LABELLED).hub is None


@pytest.mark.parametrize("wrong", ["yes", None, 2])
def test_another_setting_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="hub_correction must be True, False or 'auto'"):
        fit(Toy(), hub_correction=wrong)


# Saved, loaded, gone on with


def test_a_loaded_one_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    saved = crowded(hub_correction=True)
    saved.save(path)
    loaded = Calibration.load(path)
    assert loaded == saved
    assert path.stat().st_size < 60 * DIM * 3 + 5000
    pool = Crowded()("absent 5")
    assert assess(pool, calibration=loaded) == assess(pool, calibration=saved)
    text = path.read_text()
    for old, new in (('"questions": 60', '"questions": 7'), ('"packed": "', '"packed": "?')):
        assert old in text
        path.write_text(text.replace(old, new))
        with pytest.raises(CalibrationError, match="is not a saved calibration"):
            Calibration.load(path)


@pytest.mark.parametrize("fails_at", [0, 30, 61, 100, 200])
def test_an_interrupted_fit_asks_the_bank_again_and_goes_on(fails_at: int, tmp_path: Path) -> None:
    given: dict[str, Any] = {"past_queries": PAST, "hub_correction": True, "labelled": LABELLED}
    path = tmp_path / "fit.jsonl"
    with pytest.raises(ConnectionError):
        crowded(Crowded(fails_at=fails_at), resume=path, **given)
    whole, mended = Crowded(), Crowded()
    expected = crowded(whole, **given)
    assert timeless(crowded(mended, resume=path, **given)) == timeless(expected)
    assert len(mended.asked) == len(whole.asked) - max(fails_at - 60, 0)


def test_a_search_that_returns_something_else_is_told() -> None:
    with pytest.raises(InvalidInputError, match="must return a Pool"):
        crowded(lambda query: "text", hub_correction=True)
