"""Calibrations on a toy search, and the functions that need no framework."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from recall_signal import (
    ADVICE_TEXTS,
    NOT_CONVERTIBLE,
    REASONS,
    Baseline,
    Calibration,
    Pool,
    RecallConfidence,
    ScoreKind,
    Thresholds,
    advice,
    assess,
    assess_many,
    to_cosine,
)

from .world import number

MIDDLES = {"present": 0.60, "absent": 0.42}
GENERAL, HIT, BESIDE, SPREAD = 0.30, 0.80, 0.45, 0.05
POOL = 20
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven", "inlet", "jetty")

DOCUMENTS = [
    (f"d{n}", " ".join(f"{WORDS[number(f'{n} {at}') % len(WORDS)]}{n}x{at}" for at in range(20)))
    for n in range(40)
]
PAST = [f"{kind} past {n}" for n in range(20) for kind in MIDDLES]
LABELLED = [(f"{kind} {n}", kind == "present") for n in range(25) for kind in MIDDLES]
MANY_LABELLED = [(f"{kind} {n}", kind == "present") for n in range(60) for kind in MIDDLES]
CONFUSED = [(query, not relevant) for query, relevant in LABELLED]
TOPS = (-0.2, 0.1, 0.3, 0.36, 0.4, 0.44, 0.47, 0.5, 0.53, 0.56, 0.62, 0.85, 1.0)

Search = Callable[[str], Pool]


def toy(*, flat: bool = False, reranked: bool = False) -> Search:
    """A search whose cosines are drawn from a hash of the query."""

    def search(query: str) -> Pool:
        random = Random(number(query))
        own = next((at for at, (_, text) in enumerate(DOCUMENTS) if query in text), None)
        first = random.randrange(len(DOCUMENTS))
        places = [(first + n) % len(DOCUMENTS) for n in range(POOL)]
        middle = MIDDLES.get(query.split()[0], GENERAL) if own is None else BESIDE
        if flat and own is not None:
            middle = GENERAL - 0.1
        top = random.gauss(middle, SPREAD)
        cosines = [top - 0.01 * n for n in range(POOL)]
        if own is not None:
            places = [own, *(place for place in places if place != own)][:POOL]
            cosines = [random.gauss(middle if flat else HIT, SPREAD), *cosines][:POOL]
        cosines = cosines[: len(places)]
        kept = [DOCUMENTS[place] for place in places]
        return Pool(
            [min(max(cosine, 0.0), 1.0) for cosine in cosines],
            ids=[id_ for id_, _ in kept],
            texts=[text for _, text in kept],
            rerank_scores=[12 * cosine - 6 for cosine in cosines] if reranked else None,
        )

    return search


FITS: dict[str, tuple[Search, dict[str, Any]]] = {
    "null": (toy(), {}),
    "null, given documents": (toy(), {"documents": DOCUMENTS, "encoder": "toy"}),
    "null, other prior": (toy(), {"prior": 0.8}),
    "null, own probes": (toy(), {"probes": [f"general {n}" for n in range(30)]}),
    "null, reranker": (toy(reranked=True), {"rerank_scale": "logit"}),
    "null+past": (toy(), {"past_queries": PAST}),
    "labelled": (toy(), {"labelled": LABELLED}),
    "labelled, bounded": (toy(), {"labelled": LABELLED, "max_false_none": 0.1}),
    "labelled, many": (toy(), {"labelled": MANY_LABELLED}),
    "labelled, groups": (toy(), {"labelled": MANY_LABELLED, "max_false_none": 0.05}),
    "labelled, confused": (toy(), {"labelled": CONFUSED}),
    "few documents": (toy(), {"documents": DOCUMENTS[:5]}),
    "no threshold": (toy(flat=True), {"documents": DOCUMENTS}),
}


def dumped(confidence: RecallConfidence) -> dict[str, Any]:
    """Its plain values, and what to do with it."""
    return {**confidence.model_dump(mode="json"), "advice": advice(confidence)}


def calibrations() -> dict[str, Any]:
    """Every kind of fit, as it is saved, as it judges, and as it is printed."""
    return {name: _fitted(*fit) for name, fit in FITS.items()}


def printed(calibration: Calibration) -> str:
    """A print-out without its date and without the words, which came later."""
    lines = str(calibration).replace(calibration.created, "CREATED").split("\n")
    return "\n".join(line for line in lines if not line.startswith("  with words:"))


def _fitted(search: Search, given: dict[str, Any]) -> dict[str, Any]:
    calibration = Calibration.fit(search, **given)
    saved = _saved(calibration.save)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "calibration.json"
        calibration.save(path)
        again = Calibration.load(path)
    assert again == calibration
    assert again.created == saved.pop("created")
    pools = [[top - 0.012 * n for n in range(8)] for top in TOPS]
    found: dict[str, Any] = {
        "saved": saved,
        "decides": again.decides,
        "printed": printed(again),
        "judged": [dumped(assess(pool, calibration=again)) for pool in pools],
        "other prior": [
            dumped(assess(pool, calibration=again.with_prior(0.9))).get("probability")
            for pool in pools
        ],
    }
    return found


def _saved(save: Callable[[Path], None]) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "saved.json"
        save(path)
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return values


POOLS: dict[str, Any] = {
    "empty": [],
    "one": [0.4],
    "one weak": [0.05],
    "strong": [0.9, 0.5, 0.45, 0.4],
    "plausible": [0.47, 0.2, 0.18, 0.15, 0.12],
    "weak": [0.34, 0.3, 0.3, 0.29],
    "flat": [0.2, 0.195, 0.19, 0.185],
    "negative": [-0.1, -0.2, -0.3],
    "no background": [0.3, -0.1, 0.05, -0.2],
    "some unscored": [0.8, None, 0.2, float("nan"), 0.1],
    "none scored": [None, None],
    "out of range": [1.4, 0.2],
    "keyword": Pool([None, None, None], scores=[12.0, 3.0, 2.5]),
    "keyword flat": Pool([None, None, None], scores=[3.1, 3.0, 2.9]),
    "keyword one": Pool([None], scores=[3.1]),
}


def core() -> dict[str, Any]:
    """Everything else that takes numbers and gives numbers or words."""
    numbers = (-1.5, -0.5, 0.0, 0.25, 0.5, 0.9, 1.0, 1.9, 3.0)
    rows = [[top - 0.02 * n for n in range(6)] for top in TOPS]
    return {
        "assess": {name: dumped(assess(pool)) for name, pool in POOLS.items()},
        "assess_many": {
            name: column.tolist() for name, column in assess_many(rows).to_dict().items()
        },
        "thresholds": {name: repr(value) for name, value in vars_of(Thresholds()).items()},
        "to_cosine": {str(kind): [_cosine(value, kind) for value in numbers] for kind in ScoreKind},
        "not convertible": sorted(map(str, NOT_CONVERTIBLE)),
        "reasons": dict(REASONS),
        "advice texts": {str(key): text for key, text in ADVICE_TEXTS.items()},
        "baseline": _baseline(),
    }


def vars_of(value: Any) -> dict[str, Any]:
    """The fields of a dataclass, with or without slots."""
    return {name: getattr(value, name) for name in type(value).__dataclass_fields__}


def _cosine(value: float, kind: ScoreKind) -> Any:
    try:
        return to_cosine(value, kind)
    except ValueError as error:
        return type(error).__name__


def _baseline() -> dict[str, Any]:
    baseline, search = Baseline(), toy()
    heard = []
    for n in range(60):
        confidence = assess(search(f"{'present' if n % 3 else 'absent'} stream {n}"))
        cosines = sorted(
            (c for c in search(f"{'present' if n % 3 else 'absent'} stream {n}").cosines if c),
            reverse=True,
        )
        heard.append(dumped(baseline.apply(confidence, Pool(cosines))))
    return {"heard": heard[25:], "saved": _saved(baseline.save), "ready": baseline.ready}
