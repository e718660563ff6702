"""The candidates of one query, as plain columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from recall_signal.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DEFAULT_POOL_SIZE", "Pool", "Values"]

Values: TypeAlias = "Sequence[float | None] | NDArray[Any]"
"""A column of a pool: one number per candidate, None or NaN where there is none."""

DEFAULT_POOL_SIZE = 50
"""Candidates of a pool by default."""


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The candidates of one retrieval, one entry per candidate in every column, in rank order.

    A column that may be read by labels, such as a Series of pandas, is kept as the list of its
    entries.

    Attributes:
        cosines: Raw cosine of query and candidate, or None where there is none.
        ids: The candidates' ids.
        texts: The candidates' texts.
        scores: Scores as the retriever gave them (keyword or hybrid).
        query: The query's text, where it is known.
        rerank_scores: Scores as a reranker gave them, None for candidates it did not score.

    Raises:
        InvalidInputError: A column is no sequence, the columns differ in length, or `query` is no
            text.
    """

    cosines: Values
    ids: Sequence[str | None] | None = None
    texts: Sequence[str | None] | None = None
    scores: Values | None = None
    query: str | None = None
    rerank_scores: Values | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.query, str | None):
            raise InvalidInputError(f"Pool.query must be a text, got {type(self.query).__name__}")
        self._read("cosines", self.cosines)
        count = len(self.cosines)
        for name in ("ids", "texts", "scores", "rerank_scores"):
            column = getattr(self, name)
            if column is None:
                continue
            self._read(name, column)
            if len(column) != count:
                raise InvalidInputError(
                    f"Pool.{name} has {len(column)} entries for {count} cosines; every column "
                    "needs one entry per candidate (None where unknown)"
                )

    def __len__(self) -> int:
        return len(self.cosines)

    def _read(self, name: str, column: object) -> None:
        """Check a column, and keep its entries by their places."""
        if type(column) is list:  # the ordinary case
            return
        _require_column(name, column)
        if not isinstance(column, Sequence) and not hasattr(column, "__array_interface__"):
            object.__setattr__(self, name, list(cast("Iterable[object]", column)))


_NO_COLUMNS = (str, bytes, bytearray, Mapping)
"""Sequences and collections whose entries are no candidates."""


def _require_column(name: str, column: object) -> None:
    """Refuse what does not hold one entry per candidate, in order.

    Raises:
        InvalidInputError: It is a text, a mapping, a set, an iterator, an array of another number
            of dimensions than one, or no collection.
    """
    is_sequence = hasattr(column, "__len__") and hasattr(column, "__getitem__")
    if is_sequence and not isinstance(column, _NO_COLUMNS) and getattr(column, "ndim", 1) == 1:
        return
    raise InvalidInputError(
        f"Pool.{name} must be a sequence with one entry per candidate, such as a list or an array "
        f"of one dimension, got {type(column).__name__}"
    )
