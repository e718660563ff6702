"""``Baseline``: the scale of a retriever from the stream of its own queries, without a set-up."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from recall_signal.calibration.labels import sigmoid
from recall_signal.calibration.levels import (
    DEFAULT_CUTS,
    check_prior,
    level_of,
    shift_prior,
    with_probability,
)
from recall_signal.calibration.model import Calibration
from recall_signal.calibration.observe import top_of
from recall_signal.calibration.saved import VERSION, read, write
from recall_signal.calibration.scale import STREAM_SLOPE, stream_scale
from recall_signal.confidence import RecallConfidence
from recall_signal.errors import ConfigurationError

__all__ = ["Baseline", "Listening"]

NEEDED = 30
"""Queries from which a probability is given."""

WINDOW = 500


class Baseline:
    """A rolling window over the top scores of real queries; no labels, no set-up, thread-safe.

    Every query is judged by the ones before it and then joins them. Made for mixed traffic, of
    which a fifth to nine tenths is answerable. Where hardly any of it is, many absent queries
    read as found; where all of it is, the lowest scores are taken for unanswerable all the
    same. Use one baseline for one retriever with its settings.

    Args:
        tops: Top cosines seen earlier, oldest first; what is no cosine is passed over.
        window: How many are kept.
        prior: Expected share of answerable queries, in (0, 1).
    """

    mode: Literal["stream"] = "stream"

    def __init__(
        self, tops: Iterable[float | None] = (), *, window: int = WINDOW, prior: float = 0.5
    ) -> None:
        if type(window) is not int or window < NEEDED:
            raise ConfigurationError(f"window must be a whole number of at least {NEEDED}")
        check_prior(prior)
        self.window = window
        self.prior = prior
        self._tops: deque[float] = deque()
        self._ranked: list[float] = []  # the same, ascending
        self._lock = Lock()
        for top in tops:
            self.observe(top)

    def __len__(self) -> int:
        return len(self._tops)

    def __copy__(self) -> Baseline:
        return self

    def __deepcopy__(self, memo: object) -> Baseline:
        return self  # a retriever's copies share its traffic

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:  # which stays behind: it belongs to this process
            state = {**vars(self), "_tops": self._tops.copy(), "_ranked": list(self._ranked)}
        del state["_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = Lock()

    @property
    def ready(self) -> bool:
        """Whether a probability is given already."""
        return len(self._tops) >= NEEDED

    def apply(self, confidence: RecallConfidence, cosines: Sequence[float]) -> RecallConfidence:
        """Judge a query by the ones before it, and remember its top cosine."""
        top = cosines[0]
        with self._lock:
            seen = len(self._tops)
            scale = stream_scale(self._ranked) if seen >= NEEDED else None
            self._remember(top)
        if scale is None or not scale.usable:
            note = (
                f"{seen} of the {NEEDED} queries that a baseline needs were seen."
                if scale is None
                else f"the last {seen} queries all scored alike."
            )
            rationale = f"{confidence.rationale} Uncalibrated: {note}"
            return confidence.model_copy(update={"rationale": rationale})
        probability = shift_prior(sigmoid(STREAM_SLOPE * scale.of(top)), self.prior)
        text = f"a cut of {scale.cut:.2f} from the last {seen} queries"
        level = level_of(probability, DEFAULT_CUTS)
        return with_probability(confidence, probability, level, "stream", text)

    def observe(self, top: float | None) -> None:
        """Remember a top cosine that was judged elsewhere; what is no cosine is passed over.

        Raises:
            InvalidInputError: It is neither a number nor None.
        """
        cosine = top_of([top])
        if cosine is not None:
            with self._lock:
                self._remember(cosine)

    def _remember(self, top: float) -> None:
        self._tops.append(top)
        insort(self._ranked, top)
        if len(self._tops) > self.window:
            del self._ranked[bisect_left(self._ranked, self._tops.popleft())]

    def save(self, path: str | Path) -> None:
        """Write the window as JSON: top scores only. The file is replaced whole."""
        with self._lock:
            tops = tuple(self._tops)
        values = asdict(_Saved(self.mode, self.window, self.prior, tops))
        write(path, {"v": VERSION, **values})

    @classmethod
    def load(cls, path: str | Path) -> Baseline:
        """Read a saved window.

        Raises:
            CalibrationError: The file is not one, or of another version.
            OSError: The file cannot be read.
        """
        saved = read(path, _Saved, "baseline")
        return cls(saved.tops, window=saved.window, prior=saved.prior)


@dataclass(frozen=True, slots=True)
class _Saved:
    """What is kept of a baseline."""

    mode: Literal["stream"]
    window: int
    prior: float
    tops: tuple[float, ...]

    def __post_init__(self) -> None:
        Baseline(window=self.window, prior=self.prior)  # refuses what it cannot be made with


@dataclass(frozen=True, slots=True)
class Listening:
    """A calibration that decides, and a baseline that remembers what it sees."""

    calibration: Calibration
    baseline: Baseline

    def apply(self, confidence: RecallConfidence, cosines: Sequence[float]) -> RecallConfidence:
        """What the calibration says."""
        self.baseline.observe(cosines[0])
        return self.calibration.apply(confidence, cosines)
