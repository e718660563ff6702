"""The cuts of the uncalibrated rules, in one frozen object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from recall_signal._names import MAX_NAME, is_plain, without_secrets
from recall_signal._numbers import require_number
from recall_signal.errors import ConfigurationError

__all__ = [
    "DEFAULT_THRESHOLDS",
    "FLAT_STD",
    "MIN_BACKGROUND",
    "RANGE_TOLERANCE",
    "Thresholds",
    "thresholds_in_force",
]

MIN_BACKGROUND = 1e-3
"""Prominence divides by the mean background, so that must be strictly above this."""

MAX_PROMINENCE = (1.0 - MIN_BACKGROUND) / MIN_BACKGROUND
"""The largest prominence that cosines can have."""

FLAT_STD = 1e-9
"""A population standard deviation at or below this counts as flat."""

RANGE_TOLERANCE = 1.001
"""|cosine| beyond this is not float32 noise: the score kind or the norm is wrong."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The cuts behind a level. All comparisons are inclusive and use unrounded figures.

    The defaults come from one live memory corpus (398 memories, one encoder): on-topic queries
    had prominence 0.58 to 0.95 and top cosines 0.89 to 0.96, off-topic ones 0.08 to 0.21 and
    0.52 to 0.65. Prominence is scale-free; the cosine cuts belong to the encoder.

    Attributes:
        prominence_high: Prominence for high (the top must also reach `cosine_moderate`).
        prominence_moderate: Prominence for moderate (the top must also reach `cosine_low`).
        prominence_low: Prominence for low.
        cosine_high: Top cosine for high where there is no usable background; at or above it a
            near-duplicate is at least moderate, also as the only candidate.
        cosine_moderate: Top cosine for moderate without a background; the guard of high.
        cosine_low: Top cosine for low without a background; the guard of moderate.
        separation_high: Standard deviations above the background for high (keyword scores).
        separation_moderate: The same for moderate.
        separation_low: The same for low.
        encoder: The name of the encoder these cuts were chosen for, where that is known; a
            wrapper with another one refuses them.

    Raises:
        ConfigurationError: A cut is not a finite number, a higher level has the lower cut, or a
            cut lies where no cosine can reach it, or where every cosine passes it.
    """

    prominence_high: float = 0.40
    prominence_moderate: float = 0.25
    prominence_low: float = 0.12
    cosine_high: float = 0.85
    cosine_moderate: float = 0.50
    cosine_low: float = 0.30
    separation_high: float = 2.0
    separation_moderate: float = 1.0
    separation_low: float = 0.3
    encoder: str | None = None

    def __post_init__(self) -> None:
        if self.encoder is not None and not isinstance(self.encoder, str):
            raise ConfigurationError(
                f"Thresholds.encoder must be a name or None, got {type(self.encoder).__name__}"
            )
        if self.encoder is not None and not is_plain(self.encoder):
            raise ConfigurationError(
                f"Thresholds.encoder must be a printable name of 1 to {MAX_NAME} characters, got "
                f"{len(self.encoder)}"
            )
        object.__setattr__(self, "encoder", self.encoder and without_secrets(self.encoder))
        for name in _CUTS:
            number = require_number(f"Thresholds.{name}", getattr(self, name))
            object.__setattr__(self, name, number)
        for group in ("prominence", "cosine", "separation"):
            low, moderate, high = (
                getattr(self, f"{group}_{level}") for level in ("low", "moderate", "high")
            )
            if not low <= moderate <= high:
                raise ConfigurationError(
                    f"Thresholds.{group}_* must rise from low to high, got low={low}, "
                    f"moderate={moderate}, high={high}"
                )
        # The best is never below the mean of the others: a cut of 0 is one that every pool passes.
        if self.prominence_low <= 0.0 or self.prominence_high > MAX_PROMINENCE:
            raise self._unreachable("prominence", f"above 0 and not above {MAX_PROMINENCE:g}")
        if self.separation_low <= 0.0:
            raise self._unreachable("separation", "above 0")
        if self.cosine_low <= -1.0 or self.cosine_high > 1.0:
            raise self._unreachable("cosine", "above -1 and not above 1")

    def _unreachable(self, group: str, expected: str) -> ConfigurationError:
        low, high = getattr(self, f"{group}_low"), getattr(self, f"{group}_high")
        return ConfigurationError(
            f"Thresholds.{group}_* must lie {expected}, got low={low}, high={high}: beyond that "
            "no pool reaches a cut, or every pool does"
        )

    def require_encoder(self, encoder: str | None) -> None:
        """Refuse another encoder than the one these cuts were chosen for.

        Raises:
            ConfigurationError: Both names are known and differ.
        """
        encoder = encoder and without_secrets(encoder)
        if self.encoder is not None and encoder is not None and encoder != self.encoder:
            raise ConfigurationError(
                f"these thresholds were chosen for the encoder {self.encoder!r} and cannot be "
                f"used with {encoder!r}: cosines of two encoders have different scales; choose "
                "others, or leave Thresholds.encoder out"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return all cuts as plain JSON values, with the format's version under `v`."""
        return {"v": 1, **asdict(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Thresholds:
        """Read the result of `to_dict`; absent cuts keep their defaults.

        Raises:
            ConfigurationError: It is no mapping, or has unknown keys, another version or wrong
                values.
        """
        if not isinstance(data, Mapping):
            raise ConfigurationError(
                "Thresholds.from_dict needs a mapping as to_dict returns it, got "
                f"{type(data).__name__}"
            )
        values = dict(data)
        version = values.pop("v", 1)
        if type(version) is not int or version != 1:  # true is no version
            raise ConfigurationError(
                f"Thresholds of version {version!r} cannot be read: this release knows version 1"
            )
        unknown = sorted(map(repr, set(values) - {field.name for field in fields(cls)}))
        if unknown:
            known = ", ".join(field.name for field in fields(cls))
            raise ConfigurationError(
                f"Thresholds has no field {', '.join(unknown)}; its fields are {known}"
            )
        return cls(**values)


_CUTS = tuple(field.name for field in fields(Thresholds) if field.name != "encoder")


DEFAULT_THRESHOLDS = Thresholds()


def thresholds_in_force(given: object) -> Thresholds:
    """Return the given cuts, or the default ones.

    Raises:
        ConfigurationError: It is something else.
    """
    if given is None:
        return DEFAULT_THRESHOLDS
    if isinstance(given, Thresholds):
        return given
    raise ConfigurationError(
        f"thresholds must be a Thresholds or None, got {type(given).__name__}; write "
        "Thresholds(prominence_high=0.5), or read a mapping with Thresholds.from_dict"
    )
