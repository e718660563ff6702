"""One small collection, an encoder, selectors and rerankers: all of them known beforehand."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

from recall_signal.reranking import RerankerOptions
from recall_signal.selection import Answer, SelectionRequest, Selector

DIMENSION = 192

TEXTS = {
    "n01": "The kiln is fired on Saturdays, and unloaded on Sunday afternoon.",
    "n02": "Glaze firings take 22 hours, of which 14 are cooling.",
    "n03": "Bisque firings take 16 hours and reach 1000 degrees.",
    "n04": "Odile keeps the key to the glaze cupboard.",
    "n05": "The studio is closed in the second week of August.",
    "n06": "Clay is ordered on the first Monday of each month.",
    "n07": "The pug mill must be cleaned after red clay.",
    "n08": "Members pay twelve euros for a shelf in the kiln.",
    "n09": "Wheel number three wobbles and waits for a new bearing.",
    "n10": "Visitors may watch the raku firing from behind the rope.",
    "n11": "The spray booth needs a fresh filter every six weeks.",
    "n12": "Lost tools are kept in the blue crate next to the sink.",
    "n13": "Copper red glazes are only fired in reduction.",
    "n14": "The window on the north side does not close properly.",
    "n15": "Hugo teaches throwing on Tuesday evenings at seven.",
    "n16": "Plaster must never get into the recycling bucket.",
    "n17": "The oven thermometer reads eleven degrees too low.",
    "n18": "Beginners get four lessons and five kilos of stoneware.",
    "n19": "Cobalt carbonate is locked away because of its dust.",
    "n20": "The winter market is on the second Sunday of Advent.",
    "n21": "Bicycles belong into the yard, not into the corridor.",
    "n22": "Rubbish is collected on Thursday before eight o'clock.",
    "n23": "The landlord agreed to a second power line in spring.",
    "n24": "Porcelain shrinks by fourteen percent, stoneware by eleven.",
}
"""Id to text."""

QUESTIONS = {
    "stored": "Glaze firings take 22 hours?",
    "near": "How long does a bisque firing take?",
    "beside": "Who pays for the broken window?",
    "absent": "best submarine films",
    "symbols": "?!",
}
"""A short name of each question that is asked, and the question."""

PAGE, POOL = 3, 12

FULLY = ("uncalibrated", "calibrated", "empty store", "no scores", "reranker signal only")
"""The scenarios in which all of the questions are asked."""

TWICE = ("selector applied", "reranker", "everything", "annotate first", "embedded again")
"""Those in which two are asked; in the others it is one."""


class Trigrams:
    """A hashed bag of character trigrams, of unit norm."""

    name = "trigrams-1"

    def vector(self, text: str) -> list[float]:
        """The vector, `[DIMENSION]`; the same one on every machine."""
        return [*_vector(text)]


@cache
def _vector(text: str) -> tuple[float, ...]:
    counts = [0.0] * DIMENSION
    padded = f"  {text.lower()}  "
    for at in range(len(padded) - 2):
        counts[number(padded[at : at + 3]) % DIMENSION] += 1.0
    norm = sum(count * count for count in counts) ** 0.5
    return tuple(count / norm for count in counts)


def asked_in(scenario: str) -> dict[str, str]:
    """The questions of a scenario."""
    names = [*QUESTIONS] if scenario in FULLY else ["stored"]
    return {name: QUESTIONS[name] for name in [*names, *(["absent"] if scenario in TWICE else [])]}


def shortened(metadata: Sequence[dict[str, Any]], key: str = "recall") -> list[dict[str, Any]]:
    """The metadata of a page: the first entry as a whole, and of the others what differs."""
    short: list[dict[str, Any]] = []
    for own in metadata:
        entry, first = own.get(key), metadata[0].get(key, {})
        if short and entry is not None:
            entry = {name: unless_as("first", first.get(name), entry[name]) for name in entry}
            short.append({**own, key: entry})
        else:
            short.append(own)
    return short


def artifact(made: dict[str, Any], key: str) -> dict[str, Any]:
    """What a tool hands to the program, with shortened metadata."""
    documents = made["documents"]
    metadata = shortened([document["metadata"] for document in documents], key)
    short = [{**d, "metadata": m} for d, m in zip(documents, metadata, strict=True)]
    return {**made, "documents": short}


def unless_as(name: str, other: Any, value: Any) -> Any:
    """The value; where it is the same as another one, only that it is, to keep the file short."""
    return f"as {name}" if value == other else value


def number(text: str) -> int:
    """A large number that this text always has."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


class Keeping:
    """A `Selector` that keeps these places of every page."""

    def __init__(self, *places: int) -> None:
        self.places = places

    def select(self, request: SelectionRequest) -> Answer:
        """Ask synchronously."""
        labels = [request.labels[at] for at in self.places if at < len(request.labels)]
        return Answer({"keep": labels or [request.none_label]}, "scripted-1")

    async def aselect(self, request: SelectionRequest) -> Answer:
        """Ask asynchronously."""
        return self.select(request)


class Saying(Keeping):
    """One that says the same to everything."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.content = content

    def select(self, request: SelectionRequest) -> Answer:
        """Ask synchronously."""
        return Answer(self.content, "scripted-1")


class Raising(Keeping):
    """One that fails with this."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def select(self, request: SelectionRequest) -> Answer:
        """Ask synchronously."""
        raise self.error


class Overlap:
    """A reranker with `score(pairs)`: the share of a question's words that a text has."""

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """One probability a pair."""
        return [_overlap(question, text) for question, text in pairs]


class BrokenReranker:
    """One that fails."""

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Never."""
        raise RuntimeError("out of memory")


def _overlap(question: str, text: str) -> float:
    asked, stored = (set(re.findall(r"\w+", part.lower())) for part in (question, text))
    return (1 + 8 * len(asked & stored) / max(len(asked), 1)) / 10


def overlap_of_function(question: str, texts: list[str]) -> list[float]:
    """The same reranker as a function."""
    return [_overlap(question, text) for text in texts]


SELECTORS: dict[str, Callable[[], Selector]] = {
    "selector applied": lambda: Keeping(0, 2),
    "selector keeps none": Keeping,
    "selector invalid": lambda: Saying("sure: A and B"),
    "selector unknown label": lambda: Saying('{"keep": ["nobody"]}'),
    "selector failing": lambda: Raising(RuntimeError("no quota")),
    "selector timeout": lambda: Raising(TimeoutError()),
}

RERANKERS: dict[str, dict[str, Any]] = {
    "reranker": {"reranker": Overlap(), "use_rerank": True},
    "reranker function": {"reranker": overlap_of_function, "use_rerank": True},
    "reranker probability": {
        "reranker": RerankerOptions(Overlap(), scale="probability"),
        "use_rerank": True,
    },
    "reranker signal only": {
        "reranker": RerankerOptions(Overlap(), scale="probability", cut=0.7),
        "use_rerank": True,
        "reorder": False,
    },
    "reranker failing": {"reranker": BrokenReranker(), "use_rerank": True},
    "reranker unused": {"reranker": Overlap()},
}


def scenarios(calibration: Any) -> dict[str, dict[str, Any]]:
    """The settings of a wrapper, by the name of the scenario."""
    return {
        "uncalibrated": {},
        "calibrated": {"calibration": calibration},
        **{name: {"selector": make()} for name, make in SELECTORS.items()},
        **RERANKERS,
        "everything": {
            "calibration": calibration,
            "selector": Keeping(1),
            **RERANKERS["reranker probability"],
        },
        "annotate first": {"annotate": "first", "metadata_key": "signal"},
        "annotate none": {"annotate": "none"},
    }
