"""All candidates that were looked at for one query, as plain columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from recall_signal.errors import InvalidInputError

__all__ = ["DEFAULT_POOL_SIZE", "Pool"]

DEFAULT_POOL_SIZE = 50
"""Candidates looked at where nothing else is asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The candidates of one retrieval, one entry per candidate in every column, in rank order.

    Attributes:
        cosines: Raw cosine of query and candidate, or None where there is none.
        ids: The candidates' ids.
        texts: The candidates' texts.
        scores: Scores as the retriever gave them (keyword or hybrid).
        vectors: The candidates' vectors, ``[n, dim]``.
        query_vector: The query's vector, ``[dim]``.
        rerank_scores: Scores as a reranker gave them, None for what it was not asked about.

    Raises:
        InvalidInputError: The columns differ in length.
    """

    cosines: Sequence[float | None]
    ids: Sequence[str | None] | None = None
    texts: Sequence[str] | None = None
    scores: Sequence[float | None] | None = None
    vectors: Sequence[Sequence[float]] | Any | None = None
    query_vector: Sequence[float] | Any | None = None
    rerank_scores: Sequence[float | None] | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            column = getattr(self, field.name)
            if field.name == "query_vector" or column is None:
                continue
            if len(column) != len(self.cosines):
                raise InvalidInputError(
                    f"Pool.{field.name} has {len(column)} entries for {len(self.cosines)} "
                    "cosines; every column needs one entry per candidate (None where unknown)"
                )

    def __len__(self) -> int:
        return len(self.cosines)
