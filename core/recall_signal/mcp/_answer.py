"""The answer of the tool: a text for the model, and the same page as plain JSON."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from recall_signal._text import encodable
from recall_signal._wrapper.response import RecallResponseBase
from recall_signal.agents._tool import tool_answer, tool_failure
from recall_signal.reports import rounded

__all__ = ["Layout", "ToolResult"]

log = logging.getLogger(__name__)

FiguresByRank = Mapping[int | None, Mapping[str, float | None]]
"""Cosine and, with a reranker, score of each result, by its rank."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call.

    Attributes:
        text: For the model: the line of advice, then the quoted texts.
        structured: For the program, by the schema `mcp.v1.json`; None where the call was wrong.
    """

    text: str
    structured: dict[str, object] | None


@dataclass(frozen=True, slots=True)
class Layout:
    """Reads a page, and says what of it is handed out.

    Attributes:
        id_key: Metadata key of the ids, None where results have their own.
        metadata_keys: Metadata that is handed out, where a result has it.
    """

    id_key: str | None
    metadata_keys: Collection[str]

    def answer(self, response: RecallResponseBase) -> ToolResult:
        """Make the answer of a retrieval."""
        text, artifact = tool_answer(response.page_items(), response, self.id_key)
        return self._of(text, artifact, _figures(response))

    def failure(self, error: BaseException) -> ToolResult:
        """Make the answer of a retrieval that raised; only the error's class is named."""
        return self._of(*tool_failure(error), {})

    def _of(self, text: str, artifact: Mapping[str, Any], figures: FiguresByRank) -> ToolResult:
        page = enumerate(artifact["documents"])
        structured: dict[str, object] = {
            "v": 1,
            "recall": artifact["recall"],
            "results": [
                self._result(rank, document, figures.get(rank, {"cosine": None}))
                for rank, document in page
            ],
            "error": artifact["error"],
        }
        return ToolResult(text, structured)

    def _result(
        self, rank: int, document: Mapping[str, Any], figures: Mapping[str, float | None]
    ) -> dict[str, object]:
        metadata, identity = document["metadata"], document["id"]
        result: dict[str, object] = {
            "id": None if identity is None else encodable(identity),
            "text": document["page_content"],
            "rank": rank,
            **figures,
        }
        if self.metadata_keys:
            names = (name for name in self.metadata_keys if name in metadata)
            result["metadata"] = {name: metadata[name] for name in names}
        return result


def _figures(response: RecallResponseBase) -> FiguresByRank:
    """Read the figures from the response: the results carry them only where the owner says so."""
    try:
        figures = {row.rank: {"cosine": rounded(row.cosine)} for row in response.rows}
        if response.rerank is not None:
            for row in response.rows:
                figures[row.rank]["rerank_score"] = rounded(row.rerank_score)
    except Exception as error:  # texts or ids that cannot be read
        log.warning("reading the results' figures failed: %s", type(error).__name__)
        return {}
    return figures
