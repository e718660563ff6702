from collections.abc import Iterator

import pytest

from tests.selection.fakes import Sleeper


@pytest.fixture
def sleeper() -> Iterator[Sleeper]:
    made = Sleeper()
    yield made
    made.over.set()
