"""``Baseline``: the scale of a retriever from the stream of its own queries, without a set-up."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from recall_signal.calibration.labels import sigmoid
from recall_signal.calibration.model import (
    DEFAULT_CUTS,
    VERSION,
    Calibration,
    check_prior,
    level_of,
    shift_prior,
    with_probability,
)
from recall_signal.calibration.scale import STREAM_SLOPE, Scale, stream_scale
from recall_signal.confidence import RecallConfidence
from recall_signal.errors import CalibrationError, ConfigurationError

__all__ = ["Baseline", "Listening"]

NEEDED = 30
"""Queries from which a probability is given."""

WINDOW = 500


class Baseline:
    """A rolling window over the top scores of real queries; no labels, no set-up, thread-safe.

    Every query is judged by the ones before it and then joins them. Works for traffic of which
    a fifth to nineteen twentieths are answerable; where all of it is, the lowest scores are
    taken for unanswerable all the same. Use one baseline for one retriever with its settings.

    Args:
        tops: Top cosines seen earlier, oldest first.
        window: How many are kept.
        prior: Expected share of answerable queries, in (0, 1).
    """

    mode = "stream"

    def __init__(
        self, tops: Iterable[float] = (), *, window: int = WINDOW, prior: float = 0.5
    ) -> None:
        if type(window) is not int or window < NEEDED:
            raise ConfigurationError(f"window must be a whole number of at least {NEEDED}")
        check_prior(prior)
        self.window = window
        self.prior = prior
        self._tops: deque[float] = deque(tops, maxlen=window)
        self._lock = Lock()
        self._scale: tuple[int, Scale] | None = None
        self._seen = len(self._tops)

    def __len__(self) -> int:
        return len(self._tops)

    def __deepcopy__(self, memo: object) -> Baseline:
        return self  # a retriever's copies share its traffic

    @property
    def ready(self) -> bool:
        """Whether a probability is given already."""
        return len(self._tops) >= NEEDED

    def apply(self, confidence: RecallConfidence, cosines: Sequence[float]) -> RecallConfidence:
        """Judge a query by the ones before it, and remember its top cosine."""
        top = cosines[0]
        with self._lock:
            seen, scale = len(self._tops), self._current_scale()
            self._tops.append(top)
            self._seen += 1
        if scale is None:
            note = f" Uncalibrated: {seen} of the {NEEDED} queries that a baseline needs were seen."
            return confidence.model_copy(update={"rationale": confidence.rationale + note})
        probability = shift_prior(sigmoid(STREAM_SLOPE * scale.of(top)), self.prior)
        text = f"a cut of {scale.cut:.2f} from the last {seen} queries"
        level = level_of(probability, DEFAULT_CUTS)
        return with_probability(confidence, probability, level, "stream", text)

    def observe(self, top: float) -> None:
        """Remember a top cosine that was judged elsewhere."""
        with self._lock:
            self._tops.append(float(top))
            self._seen += 1

    def save(self, path: str | Path) -> None:
        """Write the window as JSON: top scores only."""
        with self._lock:
            tops = list(self._tops)
        values = {"v": VERSION, "mode": self.mode, "window": self.window, "prior": self.prior}
        Path(path).write_text(json.dumps({**values, "tops": tops}) + "\n", "utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Baseline:
        """Read a saved window.

        Raises:
            CalibrationError: The file is not one, or of another version.
            OSError: The file cannot be read.
        """
        try:
            values = json.loads(Path(path).read_text("utf-8"))
            if values["v"] != VERSION or values["mode"] != cls.mode:
                raise ValueError("another version or another kind of file")
            tops = [float(top) for top in values["tops"]]
            return cls(tops, window=values["window"], prior=values["prior"])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CalibrationError(
                f"{Path(path).name} is not a saved baseline ({type(error).__name__}); write one "
                "with Baseline.save"
            ) from None

    def _current_scale(self) -> Scale | None:
        """The scale of the window; computed anew when a thirtieth of it is new."""
        if len(self._tops) < NEEDED:
            return None
        if self._scale is None or self._seen - self._scale[0] >= max(1, len(self._tops) // 30):
            scale = stream_scale(self._tops)
            self._scale = (self._seen, scale)
        scale = self._scale[1]
        return scale if scale.step > 0.0 else None


@dataclass(frozen=True, slots=True)
class Listening:
    """A calibration that decides, and a baseline that remembers what it sees."""

    calibration: Calibration
    baseline: Baseline

    def apply(self, confidence: RecallConfidence, cosines: Sequence[float]) -> RecallConfidence:
        """What the calibration says."""
        self.baseline.observe(cosines[0])
        return self.calibration.apply(confidence, cosines)
