"""What a calibration learns about a reranker, beside the cosines."""

import json
from dataclasses import replace
from math import exp
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from recall_signal import Calibration, CalibrationError, ConfigurationError, Pool
from recall_signal.calibration._observation import observe
from recall_signal.calibration._reranker import (
    RerankAnchors,
    RerankLine,
    RerankScale,
    fit_line,
    learn,
)

DOCUMENTS = [
    (f"d{n}", " ".join("".join(Random(f"{n} {w}").choices("abcdefgh", k=7)) for w in range(20)))
    for n in range(40)
]
PROBES = [f"general question {n}" for n in range(30)]
LABELLED = [(f"{kind} {n}", kind == "present") for n in range(20) for kind in ("present", "near")]
GENERAL, HIT = -8.0, 6.0


class Reranked:
    """`search` whose cosines tell only stored pieces, and whose reranker tells near-misses."""

    def __init__(self, *, reranks: bool = True, sign: float = 1.0, squash: bool = False) -> None:
        self.reranks, self.sign, self.squash = reranks, sign, squash

    def __call__(self, query: str) -> Pool:
        random = Random(query)
        own = [id_ for id_, text in DOCUMENTS if query in text]
        kind = "hit" if own else query.split()[0]
        middle = {"hit": 0.8, "present": 0.6, "near": 0.6}.get(kind, 0.3)
        best = {"hit": HIT, "present": 2.0, "near": -2.0}.get(kind, GENERAL) + random.gauss(0, 0.5)
        scores = [self.sign * best, self.sign * best - 1.0]
        if self.squash:
            scores = [1.0 / (1.0 + exp(-score)) for score in scores]
        ids = [*own, *(id_ for id_, _ in DOCUMENTS if id_ not in own)][:3]
        return Pool(
            [middle + random.gauss(0, 0.02), 0.3, 0.2],
            ids=ids,
            texts=[dict(DOCUMENTS)[id_] for id_ in ids],
            rerank_scores=[*scores, None] if self.reranks else None,
        )


def fit(search: Any, **given: Any) -> Calibration:
    return Calibration.fit(search, documents=DOCUMENTS, probes=PROBES, **given)


def test_the_cut_lies_between_general_questions_and_stored_pieces() -> None:
    learned = fit(Reranked()).reranker
    assert learned is not None
    assert learned.scale == "unknown"
    assert learned.cut == pytest.approx(GENERAL + 0.35 * (HIT - GENERAL), abs=0.5)
    assert learned.line is None


@pytest.mark.parametrize("scale", ["logit", "probability"])
def test_a_declared_cut_stands_without_labels(scale: Any) -> None:
    calibration = fit(Reranked(squash=scale == "probability"), rerank_scale=scale)
    assert calibration.reranker is None
    assert calibration.warnings == ()
    few = fit(Reranked(), rerank_scale=scale, labelled=LABELLED[:6])
    assert few.reranker is None


def test_a_declared_scale_that_tells_nothing_is_said_to() -> None:
    calibration = fit(Reranked(sign=-1.0), rerank_scale="logit")
    assert calibration.reranker is None
    assert any("look at the scale that is declared" in note for note in calibration.warnings)


def test_probabilities_are_learned_in_logit_space() -> None:
    plain = fit(Reranked(), labelled=LABELLED, rerank_scale="logit").reranker
    squashed = fit(Reranked(squash=True), labelled=LABELLED, rerank_scale="probability").reranker
    assert plain is not None
    assert squashed is not None
    assert plain.line is not None
    assert squashed.line is not None
    assert (squashed.scale, squashed.cut, plain.cut) == ("probability", None, None)
    assert squashed.line.score == pytest.approx(plain.line.score, abs=1e-6)


def test_pieces_that_all_score_alike_are_told_of() -> None:
    warnings: list[str] = []
    learned = learn(RerankAnchors([0.1 + n / 100 for n in range(30)], [1.0] * 30, []), "unknown",
                   warnings)  # fmt: skip
    assert learned is not None
    assert learned.cut is not None
    assert "scores most pieces of stored texts alike" in warnings[0]


def test_labels_make_a_line_that_tells_what_the_cosine_cannot() -> None:
    calibration = fit(Reranked(), labelled=LABELLED, rerank_scale="logit")
    learned = calibration.reranker
    assert learned is not None
    assert learned.line is not None
    assert learned.labels == len(LABELLED)
    assert learned.line.probability(0.6, 2.0) > 0.9
    assert learned.line.probability(0.6, -2.0) < 0.1


def test_the_level_and_its_probability_are_those_without_a_reranker() -> None:
    with_it, without = fit(Reranked()), fit(Reranked(reranks=False))
    assert without.reranker is None
    created = without.created
    assert replace(with_it, reranker=None, created=created) == without


def test_a_reranker_that_tells_nothing_is_said_to() -> None:
    calibration = fit(Reranked(sign=-1.0))
    assert calibration.reranker == RerankScale("unknown")
    assert any("no higher than general questions" in note for note in calibration.warnings)


def test_labels_that_run_against_the_reranker_decide_nothing() -> None:
    swapped = [(query, not relevant) for query, relevant in LABELLED]
    calibration = fit(Reranked(), labelled=swapped)
    assert calibration.reranker == RerankScale("unknown", labels=len(LABELLED))
    assert any("get no higher reranker scores" in note for note in calibration.warnings)


def test_few_labels_leave_the_cut() -> None:
    calibration = fit(Reranked(), labelled=LABELLED[:6])
    assert calibration.reranker is not None
    assert calibration.reranker.line is None
    assert calibration.reranker.cut is not None


def test_a_reranker_seen_too_seldom_leaves_the_declared_scale() -> None:
    warnings: list[str] = []
    assert learn(RerankAnchors([0.0] * 30, [1.0] * 19, []), "logit", warnings) is None
    assert warnings == []
    assert learn(RerankAnchors([0.0] * 30, [1.0] * 19, []), "unknown", warnings) is None
    assert "scored 30 probes and 19 pieces" in warnings[0]
    rows = [(0.5, float(n), n >= 5) for n in range(10)]
    line = learn(RerankAnchors([], [], rows), "logit", warnings)
    assert line is not None
    assert line.cut is None
    assert line.line is not None


def test_the_line_is_that_of_scikit_learn() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    labels = np.arange(200) % 2 == 0
    columns = np.column_stack(
        [0.6 + 0.05 * rng.standard_normal(200), 2.0 * labels + rng.standard_normal(200)]
    )
    rows = [(float(c), float(s), bool(y)) for (c, s), y in zip(columns, labels, strict=True)]
    line = fit_line(rows)
    reference = linear_model.LogisticRegression(C=1e4).fit(columns, labels)
    ours = [line.probability(c, s) for c, s, _ in rows]
    theirs = reference.predict_proba(columns)[:, 1]
    assert np.abs(np.array(ours) - theirs).max() < 0.02  # ours has smoothed targets


def test_the_line_stays_finite_where_the_classes_separate_or_a_column_is_flat() -> None:
    rows = [(0.5, 100.0 if label else -100.0, label) for label in (True, False) * 10]
    line = fit_line(rows)
    assert line.cosine == 0.0
    assert line.probability(0.5, 100.0) > 0.9
    assert 0.0 < line.score < 1.0


def test_a_calibration_keeps_it_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    calibration = fit(Reranked(), labelled=LABELLED, rerank_scale="logit")
    calibration.save(path)
    assert Calibration.load(path) == calibration
    values = json.loads(path.read_text("utf-8"))
    del values["reranker"]
    path.write_text(json.dumps(values), "utf-8")
    assert Calibration.load(path) == replace(calibration, reranker=None)
    values["reranker"] = {"scale": "percent"}
    path.write_text(json.dumps(values), "utf-8")
    with pytest.raises(CalibrationError):
        Calibration.load(path)


def test_the_best_score_is_a_finite_one() -> None:
    scores = [None, 0.5, float("inf"), float("nan"), -1.0]
    assert observe(Pool([0.1] * 5, rerank_scores=scores)).reranked == 0.5
    assert observe(Pool([0.1])).reranked is None
    assert observe(Pool([], rerank_scores=[])).reranked is None


def test_it_is_printed_with_the_calibration() -> None:
    assert "reranker (unknown): cut -3.0" in str(fit(Reranked()))
    labelled = str(fit(Reranked(), labelled=LABELLED, rerank_scale="logit"))
    assert "reranker (logit): a line from 40 labelled queries" in labelled
    assert "reranker (unknown): no cut" in str(fit(Reranked(sign=-1.0)))
    assert "reranker" not in str(fit(Reranked(reranks=False)))


def test_a_line_is_a_logistic_one() -> None:
    assert RerankLine(0.0, 1.0, 1.0).probability(0.5, -0.5) == 0.5


def test_the_line_s_fit_ends_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall_signal.calibration._probability._STEPS", 1)
    rows = [(0.5, float(n), n >= 5) for n in range(10)]
    assert 0.0 < fit_line(rows).score < 1.0


def test_a_line_that_falls_with_the_score_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="must rise with its score"):
        RerankScale("logit", line=RerankLine(0.0, 1.0, -0.5))
