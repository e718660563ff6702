"""A pool: columns of one length, in rank order."""

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from recall_signal import InvalidInputError, Pool


def test_its_length_is_the_number_of_candidates() -> None:
    assert len(Pool([0.5, None, 0.1])) == 3
    assert len(Pool([])) == 0
    assert len(Pool(np.zeros(4))) == 4


def test_every_column_may_be_there() -> None:
    pool = Pool(
        [0.5, None],
        ids=["a", None],
        texts=["one", "two"],
        scores=[1.0, None],
        query="which of them",
        rerank_scores=[None, 3.0],
    )
    assert pool.ids == ["a", None]
    assert pool.query == "which of them"


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("ids", ["a"]),
        ("texts", ["a", "b", "c"]),
        ("scores", []),
        ("rerank_scores", np.zeros(3)),
    ],
)
def test_a_column_of_another_length_is_refused_by_name(column: str, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=rf"Pool\.{column} has {len(value)} entries for 2"):
        Pool([0.5, 0.4], **{column: value})


def test_a_refusal_quotes_no_text() -> None:
    with pytest.raises(InvalidInputError) as caught:
        Pool([0.5, 0.4], texts=["a secret"])
    assert "secret" not in str(caught.value)


def test_the_query_is_no_column() -> None:
    assert len(Pool([0.5], query="a question of many words")) == 1


def test_it_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Pool([0.5]).cosines = []
