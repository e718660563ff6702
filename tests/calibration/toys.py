"""A retriever without an encoder: its cosines are drawn by rule from the query's own text."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from hypothesis import HealthCheck, settings

from recall_signal import Calibration, Pool, RecallConfidence
from recall_signal._words import Vocabulary
from recall_signal._words._text import hash_of
from recall_signal.calibration._probability import Platt
from recall_signal.calibration._scale import Scale
from recall_signal.calibration._word_scale import WordLine, WordScale
from recall_signal.calibration._words_estimate import Words

UNHURRIED = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])

MIDDLES = {"present": 0.60, "absent": 0.42}
GENERAL, HIT, BESIDE = 0.30, 0.80, 0.45


def make_documents(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Documents of twenty words that no other document has."""
    random = Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [
        (f"d{n}", " ".join("".join(random.choices(letters, k=7)) for _ in range(20)))
        for n in range(count)
    ]


DOCUMENTS = make_documents(40)
PAST = [f"{kind} past {n}" for n in range(20) for kind in ("present", "absent")]
LABELLED = [(f"{kind} {n}", kind == "present") for n in range(25) for kind in MIDDLES]
MANY_LABELLED = [(f"{kind} {n}", kind == "present") for n in range(60) for kind in MIDDLES]
PROBES = [f"general question {n}" for n in range(30)]


@dataclass
class Toy:
    """`search` for `Calibration.fit`; every search is noted in `asked`."""

    documents: list[tuple[Any, str]] = field(default_factory=lambda: DOCUMENTS)
    size: int = 20
    offset: float = 0.0
    factor: float = 1.0
    order: int | None = None
    ids: bool = True
    texts: bool = True
    fails_at: int | None = None
    asked: list[str] = field(default_factory=list)
    spread: float = 0.05

    def __call__(self, query: str) -> Pool:
        if len(self.asked) == self.fails_at:
            raise ConnectionError("the store is away")
        self.asked.append(query)
        random = Random(query)
        count = len(self.documents)
        own = next((at for at, (_, text) in enumerate(self.documents) if query in text), None)
        first = random.randrange(count)
        places = [(first + n) % count for n in range(min(self.size + 1, count))]
        middle = MIDDLES.get(query.split()[0], GENERAL) if own is None else BESIDE
        cosines = [random.gauss(middle, self.spread)]
        hit = random.gauss(HIT, self.spread)
        cosines += (cosines[0] - 0.01 * n * random.random() for n in range(1, len(places)))
        if own is not None:
            places = [own, *(place for place in places if place != own)]
            cosines.insert(0, hit)
        rows = list(zip(cosines, places, strict=False))[: self.size]
        if self.order is not None:
            Random(self.order).shuffle(rows)
        kept = [self.documents[place] for _, place in rows]
        return Pool(
            [self.offset + self.factor * min(max(cosine, 0.0), 1.0) for cosine, _ in rows],
            ids=[id_ for id_, _ in kept] if self.ids else None,
            texts=[text for _, text in kept] if self.texts else None,
        )


def fit(search: Callable[[str], Any], **given: Any) -> Calibration:
    """A quick fit: few probes, few documents."""
    return Calibration.fit(search, **{"documents": DOCUMENTS, "probes": PROBES, **given})


MODES: dict[str, dict[str, Any]] = {
    "null": {},
    "null+past": {"past_queries": PAST},
    "labelled": {"labelled": LABELLED},
    "many labels": {"labelled": MANY_LABELLED},
}


def timeless(calibration: Calibration) -> Calibration:
    return replace(calibration, created="")


WORDS = Words(
    Vocabulary(
        function_words=tuple(sorted(hash_of(word) for word in ("the", "what", "is"))), length=200.0
    ),
    WordScale(step=0.1, weight=2.4, cut=6.0, spread=1.0, low=5.6, high=7.0),
    WordLine(intercept=-12.6, per_cosine=21.0, per_coverage=5.04),
)
"""Words of a made-up corpus: the cut lies at 0.6 without coverage and at 0.36 with all of it."""


def calibration(**given: Any) -> Calibration:
    """One that was never fitted: cut at 0.5, so that 0.6 is one step above it."""
    return Calibration(
        **{
            "mode": "null",
            "status": "ok",
            "scale": Scale(0.5, 0.1),
            "platt": Platt(0.0, 2.0),
            "overlap": 0.0,
            "created": "2026-11-30T08:00:00+00:00",
            **given,
        }
    )


def cosines_of(pool: Pool) -> list[float]:
    """Of a pool in which every candidate has one."""
    known = [cosine for cosine in pool.cosines if cosine is not None]
    assert len(known) == len(pool)
    return known


def values(confidence: RecallConfidence, *names: str) -> tuple[Any, ...]:
    return tuple(getattr(confidence, name) for name in names)
