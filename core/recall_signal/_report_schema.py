"""The JSON formats that leave the library, as types: report, entry, artifact and MCP's answer."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from recall_signal.advice import Advice
from recall_signal.confidence import RecallConfidence
from recall_signal.reports import CosineSource, RerankReport, SelectionReport

__all__ = [
    "CalibrationInUse",
    "McpAnswer",
    "McpResult",
    "RecallArtifact",
    "RecallReport",
    "ToolDocument",
    "answer_schema",
    "compact_schema",
    "json_schemas",
]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_LEFT_OUT = frozenset({"calibration", "rank", "cosine", "rerank", "rerank_score"})
"""Keys that a report has only where they mean something."""


def _optional_keys(schema: dict[str, Any]) -> None:
    schema["required"] = [name for name in schema["required"] if name not in _LEFT_OUT]
    for name in ("calibration", "rank", "rerank"):  # there or left out, and never null
        schema["properties"][name] = schema["properties"][name]["anyOf"][0]


class CalibrationInUse(BaseModel):
    """The calibration behind a report.

    Attributes:
        id: Names one fit; None until there is one.
        created: When it was fitted, ISO 8601; None until then.
        status: As in `calibration_status`.
    """

    model_config = ConfigDict(frozen=True)

    id: str | None
    created: str | None
    status: str


class RecallReport(BaseModel):
    """Both reports of one retrieval, as plain JSON in every channel.

    Attributes:
        v: Version of the format.
        confidence: The recall signal of the whole pool.
        selection: Outcome of the selector.
        cosine_source: Origin of the cosines, None where there are none.
        advice: From the level and what is left to read.
        rerank: Outcome of the reranker, where one is in use.
        calibration: The calibration in use, where there is one.
        rank: Place of this result on the page, from 0; in the entry of a result only.
        cosine: Cosine of this result, 6 decimals; in the entry of a result only.
        rerank_score: This result's own score from the reranker, where one is in use.
    """

    model_config = ConfigDict(
        allow_inf_nan=False,
        frozen=True,
        json_schema_serialization_defaults_required=True,
        json_schema_extra=_optional_keys,
    )

    v: Literal[1] = 1
    confidence: RecallConfidence
    selection: SelectionReport
    cosine_source: CosineSource | None = None
    advice: Advice
    rerank: RerankReport | None = None
    calibration: CalibrationInUse | None = None
    rank: int | None = Field(default=None, ge=0)
    cosine: float | None = None
    rerank_score: float | None = None


class ToolDocument(BaseModel):
    """One result in the artifact of a tool."""

    model_config = ConfigDict(frozen=True)

    id: str | None
    page_content: str
    metadata: dict[str, JsonValue]


class RecallArtifact(BaseModel):
    """The artifact of a recall tool, also of an empty or failed retrieval.

    Attributes:
        v: Version of the format.
        documents: The page, in order.
        recall: Both reports.
        error: Class name of the retriever's error, None where it did not raise.
    """

    model_config = ConfigDict(frozen=True, json_schema_serialization_defaults_required=True)

    v: Literal[1] = 1
    documents: list[ToolDocument]
    recall: RecallReport
    error: str | None


_SOMETIMES = frozenset({"rerank_score", "metadata"})
"""Keys of a result that are there only where they mean something."""


def _sometimes(schema: dict[str, Any]) -> None:
    schema["required"] = [name for name in schema["required"] if name not in _SOMETIMES]
    metadata = schema["properties"]["metadata"]
    schema["properties"]["metadata"] = metadata["anyOf"][0]  # there or left out, and never null


class McpResult(BaseModel):
    """One result in the structured answer of the MCP tool.

    Attributes:
        id: Its id, None where it has none.
        text: Its whole text.
        rank: Place on the page, from 0.
        cosine: Its cosine, 6 decimals; None where it has none.
        rerank_score: Its score from the reranker, where one is in use.
        metadata: The metadata that the server hands out, where it does.
    """

    model_config = ConfigDict(
        frozen=True,
        json_schema_serialization_defaults_required=True,
        json_schema_extra=_sometimes,
    )

    id: str | None
    text: str
    rank: int = Field(ge=0)
    cosine: float | None
    rerank_score: float | None = None
    metadata: dict[str, JsonValue] | None = None


class McpAnswer(BaseModel):
    """The structured answer of the MCP tool, also of an empty or failed retrieval.

    `recall` with the `rank` and `cosine` of a result is that result's entry.

    Attributes:
        v: Version of the format.
        recall: Both reports.
        results: The page, in order.
        error: Class name of the retriever's error, None where it did not raise.
    """

    model_config = ConfigDict(frozen=True, json_schema_serialization_defaults_required=True)

    v: Literal[1] = 1
    recall: RecallReport
    results: list[McpResult]
    error: str | None


def json_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of each format by the name of its file.

    A reader ignores keys that it does not know; a change that a reader has to know of comes with
    another `v`.
    """
    entry = RecallReport.model_json_schema(mode="serialization")
    entry["required"] = [*entry["required"], "rank", "cosine"]
    artifact = RecallArtifact.model_json_schema(mode="serialization")
    for schema in (entry, artifact):
        _open(schema)
    return {
        "entry.v1.json": {"$schema": DIALECT, **entry, "title": "RecallEntry"},
        "artifact.v1.json": {"$schema": DIALECT, **artifact},
        "mcp.v1.json": {"$schema": DIALECT, **answer_schema()},
    }


def answer_schema() -> dict[str, object]:
    """Return the schema of the MCP tool's answer, as small as it can be said.

    It names no dialect: clients whose validator knows an older one by default would refuse it. That
    as many ids are named as results were dropped is left to the other schemas: it takes a rule for
    each number.
    """
    schema = McpAnswer.model_json_schema(mode="serialization")
    _open(schema)
    report = schema["$defs"]["RecallReport"]["properties"]
    for name in ("rank", "cosine", "rerank_score"):  # of a result, and said there
        del report[name]
    del schema["$defs"]["SelectionReport"]["oneOf"][0]["allOf"]
    small: dict[str, object] = _compact(schema)
    return small


def compact_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a model without titles, descriptions and defaults."""
    small: dict[str, Any] = _compact(model.model_json_schema())
    return small


def _open(schema: dict[str, Any]) -> None:
    """Let a later release add a figure."""
    del schema["$defs"]["RecallConfidence"]["additionalProperties"]


_NOTES = frozenset({"title", "description", "default"})
_NAMED = ("properties", "$defs")
"""Keywords whose keys are names and not keywords."""


def _compact(part: Any, *, holds_names: bool = False) -> Any:
    """Return a part of a JSON Schema without titles, descriptions and defaults, all for people.

    A client may put the schema of an answer into a model's context with every request.
    """
    if isinstance(part, list):
        return [_compact(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {
        key: _compact(value, holds_names=key in _NAMED and not holds_names)
        for key, value in part.items()
        if holds_names or key not in _NOTES
    }
