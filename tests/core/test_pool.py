"""A pool: columns of one length, in rank order."""

from array import array
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from recall_signal import InvalidInputError, Pool
from recall_signal._words import term_coverage
from tests.ids import stable_repr


def kind(value: object) -> str:
    return type(value).__name__


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


WRONG = [
    "abc",
    b"abc",
    {0: 0.5, 1: 0.4},
    {0.5, 0.4},
    (x for x in [0.5, 0.4]),
    5,
    np.zeros((2, 2)),
    np.array(0.5),
]


@pytest.mark.parametrize("value", [*WRONG, None], ids=stable_repr)
def test_cosines_that_are_no_sequence_are_refused_by_their_type(value: Any) -> None:
    with pytest.raises(InvalidInputError, match=rf"cosines must be a seq.* got {kind(value)}$"):
        Pool(value)


@pytest.mark.parametrize("column", ["ids", "texts", "scores", "rerank_scores"])
@pytest.mark.parametrize("value", WRONG, ids=stable_repr)
def test_so_is_any_other_column(column: str, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=rf"{column} must be a seq.* got {kind(value)}$"):
        Pool([0.5, 0.4], **{column: value})


@pytest.mark.parametrize(
    "value", [(0.5, 0.4), np.array([0.5, 0.4]), range(2), array("d", [0.5, 0.4])], ids=stable_repr
)
def test_any_sequence_is_a_column(value: Any) -> None:
    assert len(Pool(value, ids=value, texts=value, scores=value, rerank_scores=value)) == 2


class Labelled:
    """A column as pandas has them: a key is a label, and the order is another thing."""

    ndim = 1

    def __init__(self, **entries: Any) -> None:
        self._by_label = {int(label[1:]): entry for label, entry in entries.items()}

    def __len__(self) -> int:
        return len(self._by_label)

    def __getitem__(self, label: int) -> Any:
        return self._by_label[label]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._by_label.values())


@pytest.mark.parametrize("labels", [("_2", "_0", "_1"), ("_7", "_8", "_9")], ids=["sorted", "cut"])
def test_a_column_with_labels_is_read_by_its_places(labels: tuple[str, ...]) -> None:
    columns: dict[str, list[Any]] = {
        "cosines": [0.1, 0.3, 0.12],
        "ids": ["a", "b", "c"],
        "texts": ["Rain on the coast.", "The tide table of the harbour.", "A recipe for bread."],
        "scores": [1.0, 3.0, 2.0],
        "rerank_scores": [None, 2.0, 1.0],
    }
    labelled: dict[str, Any] = {
        name: Labelled(**dict(zip(labels, x, strict=True))) for name, x in columns.items()
    }
    pool: Any = Pool(**labelled, query="harbour tide table")
    assert {name: getattr(pool, name) for name in columns} == columns
    assert term_coverage(pool.query, pool.texts, pool.cosines) == 1.0


def test_a_series_is_read_by_its_places() -> None:
    """Sorted by cosine, a frame keeps the labels of its rows."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"cosine": [0.1, 0.3], "text": ["one", "two"]})
    frame = frame.sort_values("cosine", ascending=False)
    pool = Pool(frame["cosine"], texts=frame["text"])
    assert (pool.cosines, pool.texts) == ([0.3, 0.1], ["two", "one"])


def test_an_array_stays_one() -> None:
    cosines = np.array([0.5, 0.4])
    assert Pool(cosines).cosines is cosines


def test_a_refusal_quotes_no_text() -> None:
    with pytest.raises(InvalidInputError) as caught:
        Pool([0.5, 0.4], texts=["a secret"])
    assert "secret" not in str(caught.value)


def test_the_query_is_no_column() -> None:
    assert len(Pool([0.5], query="a question of many words")) == 1


def test_it_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Pool([0.5]).cosines = []  # type: ignore[misc]
