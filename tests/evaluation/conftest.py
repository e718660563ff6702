"""One evaluation for all tests that look at it."""

import pytest

from recall_signal.evaluation import Evaluation, evaluate
from tests.evaluation.fakes import World


@pytest.fixture(scope="session")
def evaluation() -> Evaluation:
    """Everything measured on the small world."""
    world = World()
    return evaluate(world.corpus, world.queries, world.encoder)
