"""Parse reports from metadata, messages and responses.

A report may have been written by another release, or have come back from a checkpoint: unknown
fields are left alone, and nothing here raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from recall_signal._report_schema import RecallReport
from recall_signal.advice import Advice, advice
from recall_signal.confidence import LEVELS, Level, RecallConfidence, unknown
from recall_signal.reports import NOT_CONFIGURED, ReportsMixin, SelectionReport

__all__ = [
    "KEY",
    "NO_SIGNAL",
    "advice_in",
    "get_field",
    "level_in",
    "parse_confidence",
    "parse_entry",
    "parse_report",
    "report_in",
    "strongest",
]

KEY = "recall"
"""Key of the reports in a state, in a tool's artifact and, by default, in metadata."""

NO_SIGNAL: RecallConfidence = unknown("no_signal", 0)
"""Stands for a signal that cannot be read."""

Holder = TypeVar("Holder")
Model = TypeVar("Model", bound=BaseModel)


def report_in(value: object, key: str = KEY) -> dict[str, Any] | None:
    """Find the report in a value, as `{"confidence": {"level": ...}, ...}`, or None.

    Searches the key `recall`, then metadata, artifact and the like under that key, then the
    value itself; of a list, the first item that has one counts. Only its level is checked.

    Args:
        value: A response, a confidence, an entry of metadata, the artifact of a tool, something
            with metadata, or a list of these; each also as the dict that a checkpoint makes of it.
        key: The key of the reports.
    """
    try:
        items = value if isinstance(value, list | tuple) else (value,)
        return next(filter(None, (_of_item(item, key) for item in items)), None)
    except Exception:  # an object that is no report
        return None


def parse_report(value: object, key: str = KEY) -> RecallReport | None:
    """Read both reports of a retrieval, None where there are none; never raises.

    Fields that are missing or of a wrong type are empty, and a selection that cannot be read is
    `not_configured`. The caller decides whose metadata to trust: whatever stands under the key
    is taken for a report.

    Args:
        value: A mapping (an entry of metadata, a report, an artifact), a document, a node, a
            message, a response, or a list of these; each also as the dict that a checkpoint
            makes of it. Of a tool that came by the Model Context Protocol, its structured content
            counts.
        key: The metadata key of the wrapper.
    """
    report = report_in(value, key)
    if report is None:
        return None
    fields = {name: report[name] for name in _OWN_FIELDS if name in report}
    return _sound(
        RecallReport,
        fields,
        {
            "confidence": parse_confidence(report) or NO_SIGNAL,
            "selection": _sound_selection(report.get("selection")),
            "advice": advice_in(report),
        },
    )


def parse_entry(value: object) -> RecallReport | None:
    """Read the entry of one result; None unless all that its published schema asks for is there.

    What a stored text brought under the key is not mended into a report, as `parse_report` does
    for a caller who trusts it. Keys that the schema does not know are left out.
    """
    try:
        given: Any = value
        known = {name: given["confidence"][name] for name in RecallConfidence.model_fields}
        names = [name for name in RecallReport.model_fields if name in given or name in _ALWAYS]
        return RecallReport(**{name: given[name] for name in names} | {"confidence": known})
    except Exception:  # no entry, or not a whole one
        return None


def parse_confidence(value: object) -> RecallConfidence | None:
    """Read the signal in a value of `report_in`, None where there is none.

    Unknown fields are ignored; missing ones and those of a wrong type are empty.
    """
    report = report_in(value)
    if report is None:
        return None
    given = report["confidence"]
    fields = {name: given[name] for name in RecallConfidence.model_fields if name in given}
    return _sound(RecallConfidence, fields, _EMPTY)


def level_in(value: object) -> Level:
    """Return the level in a value of `report_in`, `unknown` where there is none."""
    return (parse_confidence(value) or NO_SIGNAL).level


def advice_in(value: object) -> Advice:
    """Return the advice in a value of `report_in`; `undecided` without a signal.

    A report without an advice, such as a confidence alone, is judged by its level, by its
    selection where that left nothing, and by its page where that is there and empty.
    """
    report = report_in(value) or {}
    given, selection = report.get("advice"), report.get("selection")
    if type(given) is str and given in get_args(Advice):
        return get_args(Advice)[get_args(Advice).index(given)]  # type: ignore[no-any-return]
    if isinstance(selection, Mapping) and _left_nothing(selection):
        return "fallback"
    if any(isinstance(page := report.get(name), list | tuple) and not page for name in _PAGES):
        return "fallback"
    return advice(parse_confidence(report) or NO_SIGNAL)


def _left_nothing(selection: Mapping[str, object]) -> bool:
    """Return whether a selection left nothing; a value that is no plain one says nothing."""
    try:
        reason, kept = selection.get("reason"), selection.get("kept")
    except Exception:  # of a mapping of somebody's own
        return False
    return (type(reason) is str and reason == "selected_none") or (type(kept) is int and kept == 0)


def strongest(values: Iterable[Holder]) -> Holder | None:
    """Return the value that speaks for all of them; None without values.

    Pages worth reading come first, then the best level, measured ones before unknown.

    Args:
        values: As in `report_in`. Of equally good ones the first is returned.
    """

    def rank(value: Holder) -> tuple[bool, int]:
        return advice_in(value) != "read", LEVELS.index(level_in(value))

    return min(values, key=rank, default=None)


def get_field(value: object, name: str) -> Any:
    """Read a key of a mapping, or an attribute of anything else; None without it.

    Raises:
        Exception: Whatever the value's own class raises.
    """
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


_EMPTY = {"result_count": 0, "rationale": ""}

_PAGES = ("documents", "nodes")
"""Fields of a response that hold its page."""

_ALWAYS = RecallReport.model_fields.keys() - {"calibration", "rerank", "rerank_score"}
"""Keys of every entry."""

_OWN_FIELDS = RecallReport.model_fields.keys() - {"v", "confidence", "selection", "advice"}


def _sound(model: type[Model], fields: Mapping[str, object], base: Mapping[str, object]) -> Model:
    """Make a model from the fields that are valid, over a base that is."""
    try:
        return model(**{**base, **fields})
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False, include_input=False)
        wrong = {each["loc"][0] for each in errors}
        return model(**{**base, **{name: fields[name] for name in fields if name not in wrong}})


def _sound_selection(value: object) -> SelectionReport:
    try:
        return SelectionReport.model_validate(value)
    except Exception:  # a mapping of somebody's own may raise anything
        return NOT_CONFIGURED


_HOLDERS = ("metadata", "artifact", "response_metadata", "raw_output")
"""Attributes of documents, nodes, messages and tool outputs that may hold a report."""

_STRUCTURED = ("structured_content", "structuredContent")
"""Names under which clients of the Model Context Protocol keep what a tool returned. They are read
in results of tools alone: in the metadata of a document they would be somebody else's."""


_DUMPS = {
    "data": {"type"},  # `messages_to_dict` of LangChain
    "kwargs": {"lc", "type", "id"},  # `dumpd` of LangChain
    "node": {"score", "class_name"},  # `NodeWithScore.to_dict` and `.model_dump` of LlamaIndex
}
"""Keys under which the dict of a message, document or node has its fields, and those beside it. The
metadata of a stored document has others as well."""

_ARTIFACTS = ({"v", "documents", "recall", "error"}, {"v", "results", "recall", "error"})
"""Keys of a tool's artifact and of its structured content, which have their report under `KEY`
whatever the key in metadata is."""


def _of_item(item: object, key: str) -> dict[str, Any] | None:
    item = _dumped(item)
    inner = (get_field(get_field(item, name), key) for name in _HOLDERS)
    given = (get_field(item, "artifact"), get_field(item, "raw_output"))
    structured = [
        get_field(result, name) for result in (*given, _tool_result(item)) for name in _STRUCTURED
    ]
    of_tool = (_in_artifact(result) for result in (item, *given, *structured))
    in_structured = (get_field(content, key) for content in structured)
    holders = (get_field(item, key), *inner, *in_structured, *of_tool, item)
    found = next(filter(None, map(_of_holder, holders)), None)
    # A tool that is not ours may give its page itself: documents that carry the report.
    return found or next(
        (report_in(page, key) for page in given if isinstance(page, list | tuple)), None
    )


def _dumped(item: object) -> object:
    """Return the fields of what was dumped; anything else as it is."""
    if isinstance(item, Mapping):
        for name, beside in _DUMPS.items():
            if {name} < item.keys() <= {name, *beside}:
                return item[name]
    return item


def _in_artifact(result: object) -> object:
    return result.get(KEY) if isinstance(result, Mapping) and result.keys() in _ARTIFACTS else None


def _tool_result(item: object) -> object:
    """Return the item where it may be a tool's result itself: metadata has other keys as well."""
    return None if isinstance(item, Mapping) and not item.keys() <= {*_STRUCTURED} else item


def _of_holder(holder: object) -> dict[str, Any] | None:
    """Read a value as a report, or as a confidence."""
    if isinstance(holder, ReportsMixin):
        return holder.to_dict()
    confidence = get_field(holder, "confidence")
    rest = {} if confidence is None or not isinstance(holder, Mapping) else holder
    fields = _fields(holder if confidence is None else confidence)
    level = fields.get("level")
    if not isinstance(level, str) or level not in LEVELS:
        return None
    fields["level"] = LEVELS[LEVELS.index(level)]  # a member of an enum is a text as well
    return {**rest, "confidence": fields}


def _fields(confidence: object) -> dict[str, Any]:
    if isinstance(confidence, RecallConfidence):
        return {**vars(confidence)}
    # Other objects have levels of their own, such as the structured answer of a query engine.
    return dict(confidence) if isinstance(confidence, Mapping) else {}
