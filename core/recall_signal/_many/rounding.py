"""Rounding whole columns as Python's `round` rounds one number."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["NEAR", "near_ties", "units"]

NEAR = 1e-9
"""Closer than this to a cut or to a rounding boundary, the last bits of a sum could decide."""


def near_ties(scaled: Floats, rounded: Floats, near: float = NEAR) -> NDArray[np.bool_]:
    """Return which values lie so near to half a unit that their last bits decide.

    Args:
        scaled: The values, in units.
        rounded: The same, rounded to whole units.
        near: Relative error of the values.
    """
    import numpy as np

    rest = scaled - rounded
    np.abs(rest, out=rest)
    size = np.abs(scaled)
    size *= near
    rest += size
    ties: NDArray[np.bool_] = rest >= 0.5 - near
    return ties


def units(values: Floats, decimals: int) -> Floats:
    """Return each value in units of its last decimal, rounded as Python rounds the value.

    numpy multiplies before it rounds, so it differs at ties: a tenth of all cosines of four
    decimals lie on one. `units / 10 ** decimals` is `round(value, decimals)`, bit for bit.

    Args:
        values: Exact numbers between -1000 and 1000; others are not rounded well, NaN stays.
        decimals: Kept decimals, at most 4.
    """
    import numpy as np

    unit = 10.0**decimals
    scaled = values * unit
    rounded: Floats = np.rint(scaled)
    rest = scaled - rounded
    np.abs(rest, out=rest)
    ties = np.flatnonzero(rest >= 0.5 - _NEAR_TIE)
    if ties.size:
        rounded[ties] = _settled(values[ties], unit)
    rounded += 0.0  # which makes no difference but to -0.0
    return rounded


def _settled(values: Floats, unit: float) -> Floats:
    """Return values that lie near half a unit in units, as if rounded with all their digits.

    The product of a value and the unit is taken in two parts that together are exact (Dekker,
    1971), and compared with the half; where it is the half, the even neighbour is taken.
    """
    import numpy as np

    product = values * unit
    split = values * _SPLITTER
    high = split - (split - values)
    error = (high * unit - product) + (values - high) * unit
    below = np.floor(product)
    beyond = (product - (below + 0.5)) + error  # neither difference is rounded
    odd = below % 2.0 == 1.0
    made: Floats = below + ((beyond > 0.0) | ((beyond == 0.0) & odd))
    return made


_NEAR_TIE = 1e-6
"""Far more than the error of a product below a million."""

_SPLITTER = 2.0**27 + 1.0
"""Splits a float64 into two halves of its digits."""
