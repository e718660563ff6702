"""The bundled probes: general questions that have nothing to do with what a user has stored."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random

__all__ = ["Probe", "bundled_probes", "choose_probes"]


@dataclass(frozen=True, slots=True)
class Probe:
    """One general question.

    Attributes:
        text: The question as a person would type it.
        topic: Its subject, one of about 80.
        style: `keyword`, `question`, `statement`, `chat` or `imperative`.
        lang: ISO code of its language.
    """

    text: str
    topic: str
    style: str
    lang: str


@cache
def bundled_probes() -> tuple[Probe, ...]:
    """Return all probes that ship with the package."""
    lines = (files("recall_signal") / "calibration" / "probes.jsonl").read_text("utf-8")
    rows = map(json.loads, lines.splitlines())
    return tuple(Probe(r["text"], r["topic"], r["style"], r["lang"]) for r in rows)


def choose_probes(count: int, seed: int, among: Sequence[Probe] | None = None) -> list[Probe]:
    """Sample the bundled probes so that languages and styles keep their shares.

    Args:
        count: Largest number of probes; all of them where there are fewer.
        seed: The same seed gives the same probes.
        among: Only these; all bundled ones by default.
    """
    random = Random(seed)  # noqa: S311  (a sample, not a secret)
    strata: dict[tuple[str, str], list[Probe]] = defaultdict(list)
    for probe in bundled_probes() if among is None else among:
        strata[probe.lang, probe.style].append(probe)
    # Each stratum is spread evenly over the unit interval; the first `count` keep the shares.
    placed: list[tuple[float, Probe]] = []
    for key in sorted(strata):
        members = strata[key]
        random.shuffle(members)
        placed += [
            ((at + random.random()) / len(members), probe) for at, probe in enumerate(members)
        ]
    placed.sort(key=lambda item: item[0])
    return [probe for _, probe in placed[:count]]
