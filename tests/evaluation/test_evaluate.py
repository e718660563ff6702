"""The comparison itself: what is fitted on what, what comes out, and cutting it again."""

import json
from dataclasses import replace

import numpy as np
import pytest

from recall_signal import ConfigurationError, InvalidInputError, Pool, assess
from recall_signal.calibration import Baseline, Calibration
from recall_signal.evaluation import Evaluation, evaluate
from recall_signal.evaluation._evaluate import draw_sample, fit_mode, predict
from recall_signal.evaluation._exact_search import Retriever
from recall_signal.evaluation._result import MODES, Method
from tests.evaluation.fakes import NamedEncoder, World


def figures(evaluation: Evaluation, kind: str) -> dict:
    return {row.method: row for row in evaluation.of_kind(kind).metrics(draws=50)}


def test_what_was_measured(evaluation: Evaluation) -> None:
    assert (evaluation.documents, evaluation.pool_size, evaluation.sample) == (80, 50, 50)
    assert evaluation.absent_kinds == ("near_miss", "off_topic")
    assert len(evaluation.ids) == len(evaluation.kinds) == 80
    assert evaluation.present.sum() == 40
    assert all(len(method.scores) == 80 for method in evaluation.methods)
    assert [method.name for method in evaluation.methods][-len(MODES) :] == list(MODES)


def test_calibration_tells_absence(evaluation: Evaluation) -> None:
    far = figures(evaluation, "off_topic")
    for mode in ("null", "null+past", "stream", "labelled"):
        assert far[mode].auroc == pytest.approx(far["top cosine"].auroc, abs=0.01)
        assert far[mode].balanced_accuracy is not None
        assert far[mode].balanced_accuracy > 0.9
    assert far["top cosine"].balanced_accuracy is None
    assert far["cosine >= 0.5"].brier is None
    assert far["labelled"].brier is not None
    assert far["labelled"].ece is not None
    near = figures(evaluation, "near_miss")
    assert near["null"].balanced_accuracy < far["null"].balanced_accuracy


def test_nothing_reported_is_fitted_on() -> None:
    world = World()
    flipped = [
        replace(q, present=not q.present, kind="off_topic" if q.present else "present")
        if q.split == "test"
        else q
        for q in world.queries
    ]
    one, other = (evaluate(world.corpus, q, world.encoder) for q in (world.queries, flipped))
    for first, second in zip(one.methods, other.methods, strict=True):
        assert first.scores == pytest.approx(second.scores, nan_ok=True)


def test_the_other_split_can_be_reported() -> None:
    world = World()
    dev = evaluate(world.corpus, world.queries, world.encoder, split="dev", sample=12)
    assert dev.ids == tuple(q.id for q in world.queries if q.split == "dev")
    assert dev.sample == 12


def test_groups(evaluation: Evaluation) -> None:
    world = World().grouped()
    grouped = evaluate(world.corpus, world.queries, world.encoder)
    assert figures(grouped, "off_topic")["null"].balanced_accuracy > 0.85
    top, grouped_top = evaluation.methods[0].scores, grouped.methods[0].scores
    assert (grouped_top <= top + 1e-6).all()


def test_latency_is_measured(evaluation: Evaluation) -> None:
    assert evaluation.latency is not None
    assert 0 < evaluation.latency.assess < 5000
    assert 0 < evaluation.latency.calibrated < 5000
    assert evaluation.latency.fit > 0


def test_too_few_to_fit_on_is_said() -> None:
    world = World()
    found = evaluate(world.corpus, world.queries, world.encoder, sample=8)
    notes = {method.name: " ".join(method.notes) for method in found.methods}
    assert notes["stream"] == "only 8 queries were seen, 30 are needed: as uncalibrated"
    assert "8 past queries could be used" in notes["null+past"]
    rows = figures(found, "off_topic")
    assert rows["stream"].brier is None
    assert rows["stream"].auroc == rows["uncalibrated"].auroc


def test_modes_use_what_they_may() -> None:
    world = World()
    retriever = Retriever(world.corpus, world.queries, world.encoder, pool_size=50)
    sample = draw_sample(world.queries, 60, 1)
    fitted = {mode: fit_mode(mode, retriever, world.corpus, sample)[0] for mode in MODES}
    assert fitted["uncalibrated"]() is None
    for mode in ("null", "null+past", "labelled"):
        calibration = fitted[mode]()
        assert isinstance(calibration, Calibration)
        assert calibration.mode == mode
    one, other = fitted["stream"](), fitted["stream"]()
    assert isinstance(one, Baseline)
    assert one is not other
    assert len(one) == 60


def test_predictions_equal_assess() -> None:
    world = World()
    retriever = Retriever(world.corpus, world.queries, world.encoder, pool_size=50)
    fitted, _ = fit_mode("null", retriever, world.corpus, ())
    predictions = predict(retriever.pools(range(len(world.queries))), fitted)
    for row, query in enumerate(world.queries):
        signal = assess(retriever(query.text), calibration=fitted())
        assert predictions.levels[row] == signal.level
        assert predictions.probabilities[row] == pytest.approx(signal.probability, abs=2e-4)
        assert predictions.present[row] == (signal.level in ("moderate", "high"))


def test_labels_that_lie_are_said_and_the_fit_without_them_stays() -> None:
    world = World()
    lying = [replace(q, present=n % 2 == 0) for n, q in enumerate(world.queries)]
    retriever = Retriever(world.corpus, lying, world.encoder, pool_size=50)
    fitted, notes = fit_mode("labelled", retriever, world.corpus, lying[:40])
    without, _ = fit_mode("null", retriever, world.corpus, ())
    predictions = predict(retriever.pools(range(len(world.queries))), fitted)
    assert notes[0] == "labels_do_not_separate"
    assert (
        predictions.levels == predict(retriever.pools(range(len(world.queries))), without).levels
    ).all()


def test_a_fit_without_threshold_is_said_and_levels_stay_uncalibrated() -> None:
    world = World()
    retriever = Retriever(world.corpus, world.queries, world.encoder, pool_size=50)
    fitted, notes = fit_mode("null", lambda query: Pool([0.5, 0.4]), world.corpus, ())
    predictions = predict(retriever.pools(range(len(world.queries))), fitted)
    assert notes[0] == "no_valid_threshold"
    assert np.isnan(predictions.probabilities).all()
    assert (
        predictions.levels
        == predict(retriever.pools(range(len(world.queries))), lambda: None).levels
    ).all()


def test_an_empty_pool_is_unknown() -> None:
    predictions = predict([Pool([None, None])], lambda: None)
    assert predictions.levels.tolist() == ["unknown"]
    assert not predictions.present[0]


def test_draws_do_not_depend_on_the_order() -> None:
    world = World()
    one = draw_sample(world.queries, 20, 5)
    assert one == draw_sample(world.queries[::-1], 20, 5)
    assert one != draw_sample(world.queries, 20, 6)
    assert len(draw_sample(world.queries, 1000, 5)) == 160


def test_of_kind(evaluation: Evaluation) -> None:
    far = evaluation.of_kind("off_topic")
    assert far.absent_kinds == ("off_topic",)
    assert len(far.ids) == 60
    assert far.present.sum() == 40
    with pytest.raises(InvalidInputError, match="there are near_miss, off_topic"):
        evaluation.of_kind("present")


def levels_of(method: Method) -> np.ndarray:
    assert method.levels is not None
    return method.levels


def test_recut(evaluation: Evaluation) -> None:
    def null(found: Evaluation) -> np.ndarray:
        return levels_of(found.methods[-4])

    def count_present(found: Evaluation) -> int:
        predicted = found.methods[-4].predicted_present
        assert predicted is not None
        return int(predicted.sum())

    same = evaluation.recut()
    assert (null(same) == null(evaluation)).all()
    strict = evaluation.recut((0.9, 0.99, 0.999))
    assert (null(strict) == "none").sum() > (null(evaluation) == "none").sum()
    likely = evaluation.recut(prior=0.9)
    assert likely.prior == 0.9
    assert count_present(likely) >= count_present(evaluation)
    back = likely.recut(prior=0.5)
    before = evaluation.methods[-4].probabilities
    assert back.methods[-4].probabilities == pytest.approx(before, abs=2e-6)
    assert likely.methods[0] is evaluation.methods[0]
    with pytest.raises(ConfigurationError, match="prior must be a share"):
        evaluation.recut(prior=1.0)


def test_recut_leaves_levels_without_probability() -> None:
    world = World()
    found = evaluate(world.corpus, world.queries, world.encoder, sample=8)
    stream = found.methods[-2]
    again = found.recut((0.1, 0.2, 0.3), prior=0.7).methods[-2]
    assert stream.name == "stream"
    assert (levels_of(again) == levels_of(stream)).all()


def test_level_table(evaluation: Evaluation) -> None:
    table = evaluation.level_table("null")
    assert next(iter(table)) == "present"
    assert set(table) == {"present", "off_topic", "near_miss"}
    for row in table.values():
        assert sum(row.values()) == pytest.approx(1.0)
    with pytest.raises(InvalidInputError, match="no method named 'top cosine' gives levels"):
        evaluation.level_table("top cosine")


def test_to_dict_is_json_without_texts(evaluation: Evaluation) -> None:
    text = json.dumps(evaluation.to_dict(draws=20), allow_nan=False)
    values = json.loads(text)
    assert values["v"] == 2
    assert set(values["metrics"]) == {"near_miss", "off_topic"}
    assert len(values["queries"]["id"]) == len(values["methods"][0]["scores"]) == 80
    assert set(values["levels"]) >= set(MODES)
    assert "Question" not in text
    assert "Stored text" not in text
    assert replace(evaluation, latency=None).to_dict(draws=5)["latency"] is None


def test_wrong_input() -> None:
    world = World()
    present = [q for q in world.queries if q.present]
    lost = [replace(q, relevant=("x",)) if q.present else q for q in world.queries]
    kept = [replace(q, relevant=("x", "d0")) if q.present else q for q in world.queries]
    cases: list[tuple[list, list, dict, type[Exception], str]] = [
        (world.corpus[:1], world.queries, {}, InvalidInputError, "at least 2 documents, got 1"),
        (world.corpus, present, {}, InvalidInputError, "got 40 and 0"),
        (world.corpus, [], {}, InvalidInputError, "got 0 and 0"),
        (world.corpus, lost, {}, InvalidInputError, "80 present queries name relevant documents"),
        (world.corpus, world.queries, {"pool_size": 1}, ConfigurationError, "at least 2"),
        (world.corpus, world.queries, {"sample": -1}, ConfigurationError, "at least 0"),
        (world.corpus, world.queries, {"pool_size": "5"}, ConfigurationError, "finite number, got"),
        (["a", "b"], world.queries, {}, InvalidInputError, r"load_corpus\), got str"),
        (world.corpus, [None], {}, InvalidInputError, r"load_queries\), got NoneType"),
    ]
    for corpus, queries, options, error, message in cases:
        with pytest.raises(error, match=message):
            evaluate(corpus, queries, NamedEncoder(), **options)
    assert evaluate(world.corpus, kept, world.encoder).documents == 80
