"""The published schemas: those of the types, and every channel keeps to them."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from recall_signal import RecallReport, assess, parse_report
from recall_signal._report_schema import RecallArtifact, json_schemas
from recall_signal.reports import NOT_CONFIGURED
from recall_signal.reranking import RerankerOptions
from recall_signal.selection import SelectionOptions
from tests.frameworks import STRONG, Framework, Keeping, LlamaIndex
from tests.schemas import published

# Every agent of LlamaIndex looks at all of its attributes, pydantic's retired ones included.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::workflows.context.state_store.UnserializableKeyWarning"),
]

ENTRY, ARTIFACT = (
    Draft202012Validator(published(name)) for name in ("entry.v1.json", "artifact.v1.json")
)
REPORT = Draft202012Validator(
    {**ARTIFACT.schema["$defs"]["RecallReport"], "$defs": ARTIFACT.schema["$defs"]}
)


def test_the_published_files_are_those_of_the_types() -> None:
    """Written by `python -m tests.schemas`."""
    assert {name: published(name) for name in json_schemas()} == json_schemas()
    for validator in (ENTRY, ARTIFACT):
        Draft202012Validator.check_schema(validator.schema)


def test_a_schema_bounds_the_figures_of_a_signal() -> None:
    confidence = assess([0.7, 0.3, 0.2]).model_dump(mode="json")
    sound = {"v": 1, "confidence": confidence, "selection": NOT_CONFIGURED.model_dump()}
    sound |= {"cosine_source": "store", "advice": "read"}
    REPORT.validate(sound)
    for wrong in ({"probability": 1.5}, {"term_coverage": -0.1}, {"result_count": -1}):
        with pytest.raises(ValidationError):
            REPORT.validate({**sound, "confidence": {**confidence, **wrong}})


def lengths(query: str, texts: list[str]) -> list[float]:
    return [float(len(text)) for text in texts]


SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "selected": {"selector": Keeping(0, 2)},
    "selected none": {"selector": Keeping()},
    "emptied": {"selector": Keeping(), "selector_options": SelectionOptions(on_empty="drop")},
    "reranked": {"reranker": RerankerOptions(lengths, scale="logit"), "use_rerank": True},
    "not reranked": {"reranker": RerankerOptions(lambda query, texts: []), "use_rerank": True},
}


def fail() -> list[str]:
    raise OSError("secret")


@pytest.fixture(params=[*SETTINGS, "empty", "unmeasured", "failed"])
def retriever(request: pytest.FixtureRequest, framework: Framework) -> Any:
    if request.param in SETTINGS:
        return framework.over(STRONG, **SETTINGS[request.param])
    searches = {"empty": list, "unmeasured": lambda: ["a", "b"], "failed": fail}
    return framework.around(searches[request.param])


async def test_every_channel_keeps_to_them(framework: Framework, way: str, retriever: Any) -> None:
    tool = framework.package.create_recall_tool(retriever, "memory", "x")
    _, artifact = await framework.call_tool(tool, way)
    ARTIFACT.validate(artifact)
    _, kept = await framework.run_agent(retriever, way)
    REPORT.validate(kept)
    for document in artifact["documents"]:
        ENTRY.validate(document["metadata"]["recall"])
    if artifact["error"]:
        return
    with framework.events() as (call, events):
        response = await framework.recall(retriever, way, **call)
    REPORT.validate(response.to_dict())
    REPORT.validate(events[-1])
    REPORT.validate((await framework.run_corrective(retriever, way))["recall"])
    REPORT.validate((await framework.answer(retriever, way)).report)
    for item in framework.page(response):
        ENTRY.validate(json.loads(json.dumps(item.entry, allow_nan=False)))
        assert RecallReport(**item.entry) == parse_report(item.metadata)
    if isinstance(framework, LlamaIndex):
        REPORT.validate(await framework.run_engine(retriever, way, router=True))


@pytest.mark.parametrize(
    "change",
    [
        {"v": 2},
        {"advice": "go"},
        {"selection": {"applied": True, "reason": "timeout"}},
        {"selection": {"applied": False}},
        {"rank": -1},
        {"rank": None},
        {"confidence": {"level": "high"}},
        {"cosine": "0.9"},
        {"calibration": None},
    ],
)
def test_what_the_schema_refuses(framework: Framework, change: dict[str, Any]) -> None:
    entry = framework.page(framework.over(STRONG).recall("what is asked"))[0].entry
    ENTRY.validate({**entry, "a key of a later release": 1})
    calibration = {"id": "a", "created": "2026-01-01T00:00:00+00:00", "status": "ready"}
    ENTRY.validate({**entry, "calibration": calibration})
    with pytest.raises(ValidationError):
        ENTRY.validate({**entry, **change})


async def test_reading_back(framework: Framework, way: str) -> None:
    response = await framework.recall(framework.over(STRONG, selector=Keeping(0, 2)), way)
    tool = framework.package.create_recall_tool(framework.over(STRONG), "memory", "x")
    _, artifact = await framework.call_tool(tool, way)
    whole = parse_report(response)
    assert whole is not None
    assert (whole.confidence, whole.selection) == (response.confidence, response.selection)
    assert (whole.advice, whole.rank, whole.cosine) == ("read", None, None)
    page = response.documents if framework.name == "langchain" else response.nodes
    first = parse_report(page[0])
    assert first is not None
    assert (first.rank, first.cosine, first.selection.kept) == (0, 0.9, 2)
    assert parse_report(page) == first
    assert parse_report(artifact) == parse_report({"artifact": artifact})
    assert RecallArtifact(**artifact).recall == parse_report(artifact)
    assert parse_report({"response_metadata": {"recall": whole.model_dump()}}) == whole
    assert parse_report(page[0], key="other") is None
    assert parse_report(None) is None


@pytest.mark.parametrize(
    ("damage", "reads"),
    [
        ({"selection": {"applied": True}}, {"selection": "not_configured"}),
        ({"rank": "first", "cosine": "much"}, {"rank": None, "cosine": None}),
        ({"rerank": {"applied": 5}, "calibration": 7}, {"rerank": None, "calibration": None}),
        ({"cosine_source": "somewhere"}, {"cosine_source": None}),
    ],
)
def test_a_damaged_report_is_read_as_far_as_it_goes(damage: Any, reads: Any) -> None:
    report = parse_report({"confidence": {"level": "low"}, "rank": 1, "cosine": 0.5, **damage})
    assert report is not None
    assert (report.confidence.level, report.advice) == ("low", "fallback")
    for name, expected in reads.items():
        given = getattr(report, name)
        assert (given.reason if name == "selection" else given) == expected
