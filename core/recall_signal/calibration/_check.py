"""Does a calibration still fit its retriever: the canaries are asked again and compared.

For each canary that brought a cosine back at the fit and now, `d` is the difference of its top
cosines and `o` the share of its first five candidates that are still among the first five.

* The encoder changed where its fingerprint did (see `recall_signal.calibration._fingerprint`).
* The scores moved where `median |d| > max(0.25 spread, 4 noise, 0.005)`, with `spread` the
  interquartile range of the canaries' tops at the fit and `noise` the median `|d|` of two
  askings then. The median is left alone by an approximate index that misses a few tops.
* The candidates changed where `mean o < 0.35 stability`, with `stability` the mean `o` of two
  askings at the fit. A corpus that grew by the factor g keeps about 1/g of them.
* The corpus grew where its size, estimated from the canaries' pools, is 2.5 times what it was:
  texts on other topics leave the first five candidates alone, but not the rest of the pool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from recall_signal._steps.driver import drive, drive_async
from recall_signal.calibration._canaries import (
    Canaries,
    CanaryPool,
    Sighting,
    canary_pool,
    canary_queries,
    growth,
    overlap,
)
from recall_signal.calibration._fingerprint import FINGERPRINT_TEXTS, fingerprint_of
from recall_signal.calibration._port import RetrieverPort
from recall_signal.calibration._requests import (
    EmbedTexts,
    RequestSteps,
    Search,
    direct,
    direct_async,
)
from recall_signal.errors import ConfigurationError

__all__ = [
    "CheckResult",
    "CheckStatus",
    "acheck",
    "ask_fingerprint",
    "check",
    "check_flow",
    "size_change",
]

CheckStatus = Literal["ok", "encoder_changed", "corpus_changed", "changed", "not_measurable"]

FEWEST = 6
"""Canaries with a cosine on both sides, from which anything is said."""

SHIFT, NOISE_FACTOR, SMALLEST_SHIFT = 0.25, 4.0, 0.005
"""A shift as a share of the spread, as a multiple of the noise, and as a cosine. Five per cent more
texts move the tops of general questions by .002, tenfold by .05 to .11 (half a step to a whole
one); noise of 1e-3 on vectors by .001."""

KEPT = 0.35
"""Share of the candidates that has to remain. With a rough approximate index (HNSW, M = 16,
efSearch = 16) built anew over vectors with noise of 1e-3, .52 was the least of 60 trials; tenfold
texts left .10 on average and .20 at most of 20 trials, threefold .28 and .40."""


GROWN = 2.5
"""Growth of the estimated size that is a change. Of 348 corpora of 50 to 300 texts, grown tenfold
by those of another set, all are found, 318 without it (`make bench-growth`). With 5 % more texts,
or one or three of a hundred candidates missed, in up to 60,000 texts, the most in 1,700 trials was
2.03."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of checking that a calibration still fits.

    Attributes:
        status: `ok`; `encoder_changed`; `corpus_changed` (replaced, or grown several times);
            `changed` where no encoder could be reached to tell which; `not_measurable` where
            the calibration remembers no canaries, or too few bring a cosine back.
        figures: `canaries` (compared), `shift` (median absolute difference of top cosines),
            `tolerated_shift`, `kept` (mean share of the first candidates), `growth` (factor by
            which the estimated size of the corpus has grown), `encoder_distance` (mean squared
            distance of unit vectors); None where there is none.
    """

    status: CheckStatus
    figures: Mapping[str, float | None]

    @property
    def fits(self) -> bool:
        """False where a change was found."""
        return self.finding is None

    @property
    def finding(self) -> str | None:
        """The change that was found, in words; None where none was."""
        return _FINDINGS.get(self.status)


_FINDINGS = {
    "encoder_changed": "the encoder has changed since the calibration was made",
    "corpus_changed": "the stored texts have changed since the calibration was made",
    "changed": "the encoder or the stored texts have changed since the calibration was made",
}


def check(canaries: Canaries | None, port: RetrieverPort) -> CheckResult:
    """Ask the canaries again and compare; at most twelve searches and eight embeddings."""
    return drive(check_flow(canaries), direct(port))


async def acheck(canaries: Canaries | None, port: RetrieverPort) -> CheckResult:
    """`check`, asynchronously."""
    return await drive_async(check_flow(canaries), direct_async(port))


def check_flow(canaries: Canaries | None) -> RequestSteps[CheckResult]:
    """Return the steps of one check."""
    if canaries is None:
        return CheckResult("not_measurable", {"canaries": 0})
    same_encoder, distance = yield from ask_fingerprint(canaries)
    if same_encoder is False:
        return CheckResult("encoder_changed", {"canaries": 0, "encoder_distance": distance})
    pairs, pools = yield from _ask_again(canaries)
    grown = growth(canaries, pools)
    kept = _mean([share for pair in pairs if (share := overlap(*pair)) is not None])
    tolerated = max(SHIFT * canaries.spread, NOISE_FACTOR * (canaries.noise or 0.0), SMALLEST_SHIFT)
    shift = median(abs(now.top - then.top) for then, now in pairs) if pairs else None
    figures = {
        "canaries": len(pairs),
        "shift": shift,
        "tolerated_shift": tolerated,
        "kept": kept,
        "growth": grown,
        "encoder_distance": distance,
    }
    if shift is None or len(pairs) < FEWEST:
        return CheckResult("not_measurable", figures)
    stability = 1.0 if canaries.stability is None else canaries.stability
    is_same = kept is None or kept >= KEPT * stability
    if shift <= tolerated and is_same and (grown is None or grown < GROWN):
        return CheckResult("ok", figures)
    return CheckResult("changed" if same_encoder is None else "corpus_changed", figures)


def ask_fingerprint(
    canaries: Canaries | None,
) -> RequestSteps[tuple[bool | None, float | None]]:
    """Return True for the fit's encoder (None: not known), and its distance if there is one."""
    if canaries is None or canaries.fingerprint is None:
        return None, None
    try:
        now = fingerprint_of((yield EmbedTexts(FINGERPRINT_TEXTS)))
    except Exception:  # an encoder that fails is one that cannot be reached
        return None, None
    if now is None:
        return None, None
    return canaries.fingerprint.is_same_encoder(now), canaries.fingerprint.distance(now)


def _ask_again(
    canaries: Canaries,
) -> RequestSteps[tuple[list[tuple[Sighting, Sighting]], list[CanaryPool]]]:
    """Return the pairs (then, now) of the canaries that bring a cosine back both times.

    And what each of them brings back now.
    """
    then = {sight.query: sight for sight in canaries.seen}
    pairs: list[tuple[Sighting, Sighting]] = []
    pools: list[CanaryPool] = []
    failed = 0
    for query in canary_queries():
        try:
            now = canary_pool(query, (yield Search(query)))
        except ConfigurationError:
            raise
        except Exception:
            failed += 1
            if failed > len(canary_queries()) - FEWEST:
                break
            continue
        if now is not None and now.sighting.query in then:
            pairs.append((then[now.sighting.query], now.sighting))
            pools.append(now)
    return pairs, pools


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def size_change(fitted: int | None, size: int, *, is_estimate: bool) -> str | None:
    """Return why a fit may be out of date for a corpus of this size, else None.

    Args:
        fitted: Documents at the fit; None where their number is not known.
        size: Documents now.
        is_estimate: Whether the number at the fit was estimated from the pools.
    """
    if fitted is None:
        return (
            "growth of the corpus since the fit cannot be noticed: the fit was given no "
            "`documents`, and its pools had neither ids nor texts"
        )
    if not fitted or 0.5 < size / fitted < 2.0:
        return None
    about = "about " if is_estimate else ""
    return f"the corpus has {size} documents and had {about}{fitted} at the fit: calibrate again"
