"""`Baseline`: the scale of a retriever from the stream of its own queries, without a set-up."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, Literal, cast

from pydantic import ConfigDict

from recall_signal._fork_safe import ForkSafeLock
from recall_signal._numbers import require_share
from recall_signal._pydantic import copy_with
from recall_signal.calibration._calibration import Calibration
from recall_signal.calibration._fit_input import items_of
from recall_signal.calibration._levels import DEFAULT_CUTS, level_of, with_probability
from recall_signal.calibration._observation import top_of
from recall_signal.calibration._persistence import read, write
from recall_signal.calibration._probability import Platt, log_odds, shift_prior
from recall_signal.calibration._scale import STREAM_SLOPE, stream_scale_of_sorted
from recall_signal.confidence import RecallConfidence
from recall_signal.errors import ConfigurationError
from recall_signal.pool import Pool

__all__ = ["Baseline", "CalibrationWithBaseline"]

MIN_QUERIES = 30
"""Queries from which a probability is given."""

WINDOW = 500

VERSION = 1
"""Of the file format."""

_LINE = Platt(0.0, STREAM_SLOPE)


class Baseline:
    """A rolling window over the top cosines of real queries; no labels, no set-up, thread-safe.

    Every query is judged by the ones before it and then joins them. Made for mixed traffic, of
    which a fifth to nine tenths is answerable. Where hardly any of it is, many absent queries
    read as found; where all of it is, the lowest scores are still taken for unanswerable. It
    follows any stream: whoever sends many queries that copy stored texts, or many nonsense ones,
    moves the cut. Use one baseline for one retriever with its settings.

    Args:
        tops: Top cosines seen earlier, oldest first; values that are no cosine are skipped.
        window: Number of cosines kept.
        prior: Expected share of answerable queries, in (0, 1).

    Raises:
        ConfigurationError: `window` or `prior` is out of its range.
        InvalidInputError: `tops` holds something else than numbers.
    """

    mode: Literal["stream"] = "stream"

    def __init__(
        self, tops: Iterable[float | None] = (), *, window: int = WINDOW, prior: float = 0.5
    ) -> None:
        if type(window) is not int or window < MIN_QUERIES:
            raise ConfigurationError(
                f"window must be a whole number of at least {MIN_QUERIES}, got {window!r:.40}"
            )
        self.window = window
        self.prior = require_share("prior", prior)
        self._tops: deque[float] = deque()
        self._ranked: list[float] = []  # the same, ascending
        self._lock = ForkSafeLock()
        for top in items_of(tops, "tops"):
            self.observe(cast("float | None", top))

    def __len__(self) -> int:
        return len(self._tops)

    def __copy__(self) -> Baseline:
        return self

    def __deepcopy__(self, memo: object) -> Baseline:
        return self  # a retriever's copies share its traffic

    def __getstate__(self) -> dict[str, object]:
        with self._lock:  # which stays behind: it belongs to this process
            state: dict[str, object] = {
                **vars(self),
                "_tops": self._tops.copy(),
                "_ranked": list(self._ranked),
            }
        del state["_lock"]
        return state

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self._lock = ForkSafeLock()

    @property
    def ready(self) -> bool:
        """True once a probability is given."""
        return len(self._tops) >= MIN_QUERIES

    def apply(self, confidence: RecallConfidence, pool: Pool) -> RecallConfidence:
        """Judge a query by the ones before it, and remember its top cosine."""
        top = top_of(pool.cosines)
        if top is None:
            return confidence
        with self._lock:
            seen = len(self._tops)
            scale = stream_scale_of_sorted(self._ranked) if seen >= MIN_QUERIES else None
            self._remember(top)
        if scale is None or not scale.usable:
            note = (
                f"{seen} of the {MIN_QUERIES} queries that a baseline needs were seen."
                if scale is None
                else f"the last {seen} queries all scored alike."
            )
            rationale = f"{confidence.rationale} Uncalibrated: {note}"
            return copy_with(confidence, {"rationale": rationale})
        probability = shift_prior(_LINE.probability(scale.standardize(top)), self.prior)
        cut = scale.cut - scale.unit * log_odds(self.prior) / STREAM_SLOPE
        text = f"against a cut of {cut:.2f} from the last {seen} queries"
        level = level_of(probability, DEFAULT_CUTS)
        return with_probability(
            confidence,
            probability,
            level,
            "stream",
            text,
            term_coverage=confidence.term_coverage,
        )

    def observe(self, top: float | None) -> None:
        """Remember a top cosine that was judged elsewhere; a value that is no cosine is skipped.

        Raises:
            InvalidInputError: The value is neither a number nor None.
        """
        cosine = top_of([top])
        if cosine is not None:
            with self._lock:
                self._remember(cosine)

    def _remember(self, top: float) -> None:
        if len(self._ranked) != len(self._tops):  # a fork came between the next two lines
            self._ranked = sorted(self._tops)
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
            CalibrationError: The file does not hold one, or one of another version.
            OSError: The file cannot be read.
        """
        saved = read(path, _Saved, "baseline", VERSION)
        return cls(saved.tops, window=saved.window, prior=saved.prior)


@dataclass(frozen=True, slots=True)
class _Saved:
    """The saved fields of a baseline."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False
    )

    mode: Literal["stream"]
    window: int
    prior: float
    tops: tuple[float, ...]

    def __post_init__(self) -> None:
        Baseline(window=self.window, prior=self.prior)  # refuses wrong settings


@dataclass(frozen=True, slots=True)
class CalibrationWithBaseline:
    """A calibration that decides, and a baseline that remembers what it sees."""

    calibration: Calibration
    baseline: Baseline

    @property
    def reads_words(self) -> bool:
        """True where the calibration reads them."""
        return self.calibration.reads_words

    def apply(self, confidence: RecallConfidence, pool: Pool) -> RecallConfidence:
        """Return the calibration's signal."""
        self.baseline.observe(top_of(pool.cosines))
        return self.calibration.apply(confidence, pool)

    def cut_for(self, pool: Pool) -> float | None:
        """Return the calibration's cut in force for this pool."""
        return self.calibration.cut_for(pool)
