"""The encoder of a fit: which others are not it."""

from __future__ import annotations

from typing import NamedTuple

from recall_signal._names import without_secrets
from recall_signal.errors import CalibrationError

__all__ = ["FittedEncoder"]


class FittedEncoder(NamedTuple):
    """What a calibration knows of its encoder; None for what it does not know.

    Attributes:
        name: Its name.
        dimension: The length of its vectors.
    """

    name: str | None
    dimension: int | None

    def fits(self, name: str | None, dimension: int | None = None) -> bool:
        """Return False where names or dimensions are known and differ."""
        return (None in (self.name, name) or name == self.name) and (
            None in (self.dimension, dimension) or dimension == self.dimension
        )

    def require(self, name: str | None, dimension: int | None = None) -> None:
        """Refuse another encoder.

        Raises:
            CalibrationError: Both names are known and differ, or both lengths.
        """
        name = name and without_secrets(name)
        if self.fits(name, dimension):
            return
        fitted, other = f"the encoder {self.name!r}", repr(name)
        if self.fits(name):
            fitted, other = "vectors of another length", f"vectors of length {dimension}"
        raise CalibrationError(
            f"this calibration was fitted with {fitted} and cannot be used with {other}: cosines "
            "of two encoders have different scales; fit anew"
        )
