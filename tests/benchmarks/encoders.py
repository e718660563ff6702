"""An encoder of a test in the place of those that benchmarks install."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest


def use_encoder(monkeypatch: pytest.MonkeyPatch, embed: Callable[[str], Sequence[float]]) -> None:
    """Add the encoder `fake`; the folder of the benchmarks must be on the path already."""
    from encoders import ENCODERS, ModelEncoder

    class Fake(ModelEncoder):
        name = "fake"
        pip = "nothing"
        modules = ()

        def load(self) -> Any:
            return lambda texts, _side: [embed(text) for text in texts]

    monkeypatch.setitem(ENCODERS, "fake", Fake)
