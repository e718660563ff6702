"""Names of parametrised cases that are the same in every process."""

import re
from typing import Any

__all__ = ["stable_repr"]


def stable_repr(value: Any) -> str:
    """Return the repr without memory addresses: parallel workers must collect equal names."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
