"""One evaluation for all tests that look at it."""

import pytest
from evaluation_fakes import World

from recall_signal.evaluation import Evaluation, evaluate


@pytest.fixture(scope="session")
def evaluation() -> Evaluation:
    """Everything measured on the small world."""
    world = World()
    return evaluate(world.corpus, world.queries, world.encoder)
