"""The reports that travel with the results, the selector's and the reranker's reasons among them.

And the entry in each item's metadata, which is made of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue

from recall_signal._text import encodable
from recall_signal.advice import Advice, PageAdvice, advise
from recall_signal.confidence import Level, RecallConfidence

__all__ = [
    "MAX_DROPPED_IDS",
    "CosineSource",
    "ReportsMixin",
    "RerankReason",
    "RerankReport",
    "RerankerScale",
    "SelectionReason",
    "SelectionReport",
    "are_large",
    "copy_nested",
    "metadata_entry",
    "report_dict",
    "rounded",
]

CosineSource = Literal["declared", "store", "vectors", "embeddings"]
"""Origin of the cosines: the declared score kind, a known store's own score, vectors that the
store gave back, or the texts embedded again. None where there are no cosines."""

SelectionReason = Literal[
    "not_configured",
    "no_results",
    "too_few_results",
    "skipped_by_level",
    "timeout",
    "llm_error",
    "invalid_output",
    "selected_none",
]
"""Why the selector was not applied; after `selected_none` the page is left as it was."""

SELECTION_REASONS: tuple[SelectionReason, ...] = get_args(SelectionReason)

MAX_DROPPED_IDS = 20
"""Ids of removed results that a report names; a longer list would outweigh the page."""

RESULT_DECIMALS = 6
"""A float32 store is exact to about seven digits; more would only be noise."""


def _integer(value: object) -> object:
    """Return 2 for 2.0: to a JSON schema both are integers, and some writers have floats only."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Count = Annotated[int, Field(ge=0), BeforeValidator(_integer)]
Text = Annotated[
    str, BeforeValidator(lambda value: encodable(value) if isinstance(value, str) else value)
]
Name = Annotated[Text, Field(min_length=1)]


class _Shape(BaseModel):
    """One of the two shapes of a step's report, for its JSON schema."""

    model_config = ConfigDict(extra="forbid")


class _StepReport(BaseModel):
    """Report of an optional step, in one of two shapes: applied, or not applied with a reason.

    Serialises without the keys that are not set, so each shape has its own keys. What the JSON
    schema refuses, the type does: nothing is converted, and no key of the other shape is given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    shapes: ClassVar[tuple[type[_Shape], type[_Shape]]]
    """The two shapes: not applied, applied."""

    applied: bool

    @model_validator(mode="after")
    def _has_one_shape(self) -> Self:
        expected = set(self.shapes[self.applied].model_fields)
        given = self.model_fields_set
        unset = {name for name in given if getattr(self, name) is None}
        if unset or given != expected:
            raise ValueError(
                f"a report with applied={self.applied} has exactly the fields "
                f"{', '.join(sorted(expected))}; got {', '.join(sorted(given))}"
                f"{', with None for ' + ', '.join(sorted(unset)) if unset else ''}"
            )
        return self

    @model_serializer(mode="wrap")
    def _without_unset(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return _set_only(handler(self))

    @classmethod
    def __get_pydantic_json_schema__(
        cls,
        core_schema: Any,
        handler: GetJsonSchemaHandler,
    ) -> JsonSchemaValue:
        shapes = (handler(shape.__pydantic_core_schema__) for shape in reversed(cls.shapes))
        return {"title": cls.__name__, "oneOf": [*map(handler.resolve_ref_schema, shapes)]}


def _ids_of(dropped: int) -> dict[str, Any]:
    """Return the rule that as many ids as dropped results are named, up to the most."""
    is_most = dropped == MAX_DROPPED_IDS
    count = {"type": "integer", "minimum": dropped} if is_most else {"const": dropped}
    ids = {"type": "array", "minItems": dropped, "maxItems": dropped}
    return {
        "if": {"properties": {"dropped": count}},
        "then": {"properties": {"dropped_memory_ids": ids}},
    }


class _SelectionApplied(
    _Shape,
    title="Applied selection",
    json_schema_extra={"allOf": [_ids_of(dropped) for dropped in range(MAX_DROPPED_IDS + 1)]},
):
    applied: Literal[True]
    model: Name
    kept: Count
    dropped: Count
    dropped_memory_ids: Annotated[list[Text], Field(max_length=MAX_DROPPED_IDS)]


class _SelectionNotApplied(_Shape, title="Selection not applied"):
    applied: Literal[False]
    reason: SelectionReason


class SelectionReport(_StepReport):
    """Outcome of the optional selector.

    One of two shapes: `applied=True` with every field but `reason`, or `applied=False` with
    `reason` alone, which then serialises as `{"applied": false, "reason": "timeout"}`.

    Attributes:
        applied: True where the page is the selected one.
        reason: Why the page is the unselected one (`SelectionReason`).
        model: Name of the selecting model, never empty.
        kept: Results left.
        dropped: Results removed.
        dropped_memory_ids: Ids of removed results, in page order: of all of them, or of the first
            20. Results that share an id give it more than once.

    Raises:
        ValidationError: The fields contradict each other.
    """

    shapes: ClassVar[tuple[type[_Shape], type[_Shape]]] = (_SelectionNotApplied, _SelectionApplied)

    reason: SelectionReason | None = None
    model: Name | None = None
    kept: Count | None = None
    dropped: Count | None = None
    dropped_memory_ids: list[Text] | None = Field(default=None, max_length=MAX_DROPPED_IDS)

    @model_validator(mode="after")
    def _ids_are_of_dropped_results(self) -> Self:
        named, expected = (
            len(self.dropped_memory_ids or ()),
            min(self.dropped or 0, MAX_DROPPED_IDS),
        )
        if named != expected:
            raise ValueError(
                f"dropped_memory_ids must hold one id per dropped result, {MAX_DROPPED_IDS} at "
                f"most: {expected} with dropped={self.dropped}; got {named}"
            )
        return self


RerankReason = Literal["no_results", "timeout", "reranker_error", "invalid_scores"]

RerankerScale = Literal["logit", "probability", "unknown"]
"""Scale of a reranker's score: log-odds, a probability in [0, 1], or some number that rises."""


class _RerankApplied(_Shape, title="Applied reranking"):
    applied: Literal[True]
    scale: RerankerScale
    scored: Count
    reordered: bool


class _RerankNotApplied(_Shape, title="Reranking not applied"):
    applied: Literal[False]
    reason: RerankReason


class RerankReport(_StepReport):
    """Outcome of the optional reranker, in the two shapes of `SelectionReport`.

    Attributes:
        applied: True where its scores were used; otherwise the page is as it was.
        reason: Why its scores were not used (`RerankReason`).
        scale: Declared scale of its scores.
        scored: Results of the page that have a score.
        reordered: True where the page is in the reranker's order.

    Raises:
        ValidationError: The fields contradict each other.
    """

    shapes: ClassVar[tuple[type[_Shape], type[_Shape]]] = (_RerankNotApplied, _RerankApplied)

    reason: RerankReason | None = None
    scale: RerankerScale | None = None
    scored: Count | None = None
    reordered: bool | None = None


class ReportsMixin:
    """Common part of every response that carries the reports."""

    __slots__ = ()

    confidence: RecallConfidence
    selection: SelectionReport
    cosine_source: CosineSource | None
    rerank: RerankReport | None = None
    calibration: Mapping[str, str | None] | None = None

    @property
    @abstractmethod
    def shown(self) -> int:
        """Number of results on the page."""

    @property
    def level(self) -> Level:
        """The signal's level: `confidence.level`."""
        return self.confidence.level

    @property
    def advice(self) -> Advice:
        """`read`, `fallback` or `undecided`: from the level and what is left to read."""
        return self._page_advice.advice

    @property
    def advice_text(self) -> str:
        """The advice in one or two sentences for a person or a model."""
        return self._page_advice.text

    @property
    def _page_advice(self) -> PageAdvice:
        return advise(self.confidence, self.selection, self.shown)

    def to_dict(self) -> dict[str, Any]:
        """Return all reports as plain JSON values, without any text of query or documents."""
        return report_dict(
            self.confidence,
            self.selection,
            self.cosine_source,
            self.rerank,
            advice=self.advice,
            calibration=self.calibration,
        )


NOT_CONFIGURED = SelectionReport(applied=False, reason="not_configured")

_SOMETIMES = frozenset({"rerank", "calibration"})
"""Parts of a report that are there only where something is in use."""


def report_dict(
    confidence: RecallConfidence,
    selection: SelectionReport,
    cosine_source: CosineSource | None,
    rerank: RerankReport | None = None,
    *,
    advice: Advice,
    calibration: Mapping[str, str | None] | None = None,
) -> dict[str, Any]:
    """Return the reports of one retrieval as plain JSON values, with the format's version.

    The key `rerank` is there only where a reranker is in use, and `calibration` (`id`,
    `created`, `status`; both None until it is learned) only where there is one.
    """
    report = {
        "v": 1,
        "confidence": vars(confidence).copy(),  # all of its fields are plain JSON values
        "selection": _set_only(vars(selection)),
        "cosine_source": cosine_source,
        "advice": advice,
    }
    if rerank is not None:
        report["rerank"] = _set_only(vars(rerank))
    if calibration is not None:
        report["calibration"] = dict(calibration)
    return report


def metadata_entry(report: Mapping[str, Any], rank: int, cosine: float | None) -> dict[str, Any]:
    """Return one item's own copy of a report, with its rank on the page (from 0) and its cosine."""
    entry = {**report}
    entry["confidence"] = report["confidence"].copy()
    selection = report["selection"]
    nested = "dropped_memory_ids" in selection
    entry["selection"] = copy_nested(selection) if nested else selection.copy()
    for name in _SOMETIMES & entry.keys():
        entry[name] = entry[name].copy()
    entry["rank"] = rank
    entry["cosine"] = rounded(cosine)
    return entry


def rounded(number: float | None) -> float | None:
    """Return one result's cosine or score as reports carry it, None for one that is no number."""
    return None if number is None or not isfinite(number) else round(number, RESULT_DECIMALS)


def copy_nested(value: Mapping[str, Any] | None) -> dict[str, Any]:
    """Copy a mapping with its nested dicts and lists; other values are shared. None is empty.

    Metadata is plain JSON almost everywhere, so this is as good as a deep copy, several times
    faster, and cannot fail on a value that does not support copying. Another thread may change
    `value` meanwhile.
    """
    if value is None:
        return {}
    copy = dict(value)
    try:
        for key, item in copy.items():
            if type(item) in _NESTED:
                copy[key] = _fresh(item)
    except RecursionError:  # cyclic, or deeper than anybody reads: shared from the top on
        return dict(value)
    return copy


def _fresh(value: Any) -> Any:
    copy = value.copy()
    if type(copy) is list and _NESTED_TYPES.isdisjoint(map(type, copy)):  # a vector, mostly
        return copy
    for key, item in copy.items() if type(copy) is dict else enumerate(copy):
        if type(item) in _NESTED:
            copy[key] = _fresh(item)
    return copy


def are_large(values: Sequence[object]) -> bool:
    """Return whether the dicts among these hold so many values that copying them takes long."""
    room, left = LARGE, list[Any](value for value in values if type(value) in _NESTED)
    while left and room > 0:
        value = left.pop()
        room -= len(value)
        if room > 0:
            items = value.values() if type(value) is dict else value
            left += [item for item in items if type(item) in _NESTED]
    return room <= 0


_NESTED = (dict, list)
_NESTED_TYPES = frozenset(_NESTED)

LARGE = 20_000
"""Values in the metadata of a page from which it is copied in a thread: fewer take 2 ms."""


def _set_only(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: [*value] if type(value) is list else value
        for key, value in values.items()
        if value is not None
    }
