"""A short name for a calibration, by which reports and logs can be matched to it."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import lru_cache
from hashlib import blake2b

from recall_signal.calibration._calibration import Calibration

__all__ = ["calibration_id"]


@lru_cache(maxsize=64)
def calibration_id(calibration: Calibration) -> str:
    """Return twelve hex digits of a hash of all its values; equal values have the same."""
    text = json.dumps(asdict(calibration), sort_keys=True)
    return blake2b(text.encode(), digest_size=6).hexdigest()
