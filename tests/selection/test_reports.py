"""What the report says, and every place where it says it."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import AIMessage

from langchain_recall_signal import RecallResponse
from recall_signal import SelectionReport
from recall_signal.reports import MAX_DROPPED_IDS, SELECTION_REASONS
from recall_signal.selection import Answer, Select, SelectionOptions, select_page
from tests.selection.fakes import (
    AsyncScripted,
    Listener,
    Scripted,
    assert_untouched,
    page,
    report,
    wrapped,
)
from tests.selection.prompts import NAME, QUESTION, keeping


def many(count: int) -> list[Document]:
    return page([f"text number {n}" for n in range(count)])


def applied(documents: list[Document], *kept: int, **more: Any) -> dict[str, Any]:
    response = wrapped(Scripted(reply=keeping(*kept)), documents, **more).recall(QUESTION)
    return report(response)


# What it says


def test_an_applied_report_is_whole() -> None:
    assert applied(page(), 3, 0) == {
        "applied": True,
        "model": NAME,
        "kept": 2,
        "dropped": 3,
        "dropped_memory_ids": ["id1", "id2", "id4"],
    }


def test_a_report_that_drops_nothing_says_so() -> None:
    assert applied(page(), 4, 3, 2, 1, 0) == {
        "applied": True,
        "model": NAME,
        "kept": 5,
        "dropped": 0,
        "dropped_memory_ids": [],
    }


@pytest.mark.parametrize("reason", SELECTION_REASONS)
def test_keys_that_are_not_set_are_left_out(reason: Any) -> None:
    said = SelectionReport(applied=False, reason=reason)
    assert said.model_dump(mode="json") == {"applied": False, "reason": reason}
    assert json.loads(said.model_dump_json()) == {"applied": False, "reason": reason}
    assert SelectionReport.model_validate_json(said.model_dump_json()) == said


def test_at_most_twenty_ids_in_page_order() -> None:
    said = applied(many(50), 49, 0, 7)
    assert (said["kept"], said["dropped"]) == (3, 47)
    dropped = [f"id{n}" for n in range(50) if n not in (0, 7, 49)]
    assert said["dropped_memory_ids"] == dropped[:MAX_DROPPED_IDS]
    assert len(said["dropped_memory_ids"]) == 20


def test_ids_come_from_the_document() -> None:
    documents = page()
    documents[1].id = None
    documents[3].id = ""
    assert applied(documents, 0)["dropped_memory_ids"] == ["#2", "id2", "#4", "id4"]


def test_ids_come_from_the_id_key() -> None:
    documents = page()
    for number, document in enumerate(documents):
        document.metadata["memory"] = [f"m{number}", 7, None, 0, ""][number]
    said = applied(documents, 0, id_key="memory")
    assert said["dropped_memory_ids"] == ["7", "id2", "0", "#5"]
    assert applied(documents, 0, id_key="n")["dropped_memory_ids"] == ["1", "2", "3", "4"]


def test_a_place_is_that_on_the_whole_page() -> None:
    documents = [d.model_copy(update={"id": None}) for d in many(30)]
    said = applied(documents, 0, 1, 2, 29)
    assert said["dropped_memory_ids"] == [f"#{n}" for n in range(4, 24)]


@given(total=st.integers(2, 60), data=st.data())
@settings(max_examples=100, deadline=None)
def test_counts_add_up(total: int, data: st.DataObject) -> None:
    options = SelectionOptions(
        on_empty="drop", max_candidates=data.draw(st.integers(1, 70)), min_results=1
    )
    ids = data.draw(st.lists(st.none() | st.just("same"), min_size=total, max_size=total))
    flow = select_page(QUESTION, ["text"] * total, ids, "unknown", options)
    step = next(flow)
    assert isinstance(step, Select)
    request = step.request
    labels, none = request.labels, request.none_label
    chosen = data.draw(st.lists(st.sampled_from(labels), unique=True))
    with pytest.raises(StopIteration) as ended:
        flow.send(Answer({"keep": chosen or [none]}, "m"))
    kept, said = ended.value.value
    assert list(kept) == sorted(set(kept))
    assert said.applied
    assert said.kept == len(kept) == len(chosen) + total - len(labels)
    assert said.kept + said.dropped == total
    assert len(said.dropped_memory_ids) == min(said.dropped, 20)


# The model's name


@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        ({"model_name": "gpt-x-2026-01-01"}, "gpt-x-2026-01-01"),
        ({"model_name": "", "model": "llama"}, "llama"),
        ({"model_name": None, "model": "llama"}, "llama"),
        ({"model_name": 3}, "Scripted"),
        ({"model_name": None}, "Scripted"),
    ],
)
def test_a_model_is_called_what_it_calls_itself(metadata: dict[str, Any], name: str) -> None:
    def reply(prompt: str) -> Any:
        return AIMessage(keeping(0)(prompt), response_metadata=metadata)

    assert report(wrapped(Scripted(reply=reply)).recall(QUESTION))["model"] == name


class Named(Scripted):
    model: str = "named-7b"


def test_a_model_that_does_not_say_its_name_is_called_by_its_setting() -> None:
    model = Named(reply=keeping(0), name_in_reply=None)
    assert report(wrapped(model).recall(QUESTION))["model"] == "named-7b"


# Where it says it


async def test_every_channel_says_the_same() -> None:
    retriever = wrapped(AsyncScripted(reply=keeping(0, 3)))
    listener = Listener()
    config = {"callbacks": [listener]}
    responses = [
        retriever.recall(QUESTION, config),
        await retriever.arecall(QUESTION, config),
        retriever.as_report_runnable().invoke(QUESTION, config),
        await retriever.as_report_runnable().ainvoke(QUESTION, config),
    ]
    pages = [retriever.invoke(QUESTION, config), await retriever.ainvoke(QUESTION, config)]
    pages += [*retriever.batch([QUESTION], config), *await retriever.abatch([QUESTION], config)]
    said = report(responses[0])
    assert said["kept"] == 2
    assert [report(response) for response in responses] == [said] * 4
    assert [response.to_dict()["selection"] for response in responses] == [said] * 4
    for documents in [*(response.documents for response in responses), *pages]:
        entries = [document.metadata["recall"] for document in documents]
        assert [entry["selection"] for entry in entries] == [said, said]
        assert [entry["rank"] for entry in entries] == [0, 1]
    assert [event["selection"] for event in listener.events] == [said] * 8


@pytest.mark.parametrize(("annotate", "carriers"), [("all", 2), ("first", 1), ("none", 0)])
def test_annotate_decides_who_carries_it(annotate: str, carriers: int) -> None:
    response = wrapped(Scripted(reply=keeping(0, 3)), annotate=annotate).recall(QUESTION)
    assert sum("recall" in d.metadata for d in response.documents) == carriers
    assert report(response)["kept"] == 2


async def test_an_emptied_page_is_told_out_of_band() -> None:
    options = SelectionOptions(on_empty="drop")
    retriever = wrapped(AsyncScripted(reply=keeping()), selector_options=options)
    listener = Listener()
    assert retriever.invoke(QUESTION, {"callbacks": [listener]}) == []
    assert await retriever.ainvoke(QUESTION, {"callbacks": [listener]}) == []
    assert [event["selection"]["kept"] for event in listener.events] == [0, 0]
    assert isinstance(retriever.recall(QUESTION), RecallResponse)


async def test_an_empty_page_is_told_without_a_call() -> None:
    model = AsyncScripted(reply=keeping(0))
    retriever = wrapped(model, [])
    listener = Listener()
    assert_untouched(retriever.recall(QUESTION, {"callbacks": [listener]}), "no_results", [])
    assert_untouched(await retriever.arecall(QUESTION), "no_results", [])
    assert listener.events[0]["selection"] == {"applied": False, "reason": "no_results"}
    assert listener.events[0]["confidence"]["level"] == "none"
    assert model.prompts == []
