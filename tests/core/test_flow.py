"""The way of a query: what is asked for, what survives a failure, what the caller gets."""

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from recall_signal import Pool, RecallConfidence, Thresholds, assess
from recall_signal._flow.backend import Request
from recall_signal._flow.embedding import Embed, EmbeddingCache, VectorMismatch
from recall_signal._flow.flow import is_optional, recall_flow
from recall_signal._flow.values import (
    Candidates,
    FixedCalibration,
    FlowSettings,
    Outcome,
    SearchFlow,
)
from recall_signal._steps.compute import Compute
from recall_signal._steps.driver import drive, drive_async
from recall_signal.reports import NOT_CONFIGURED, SelectionReport
from recall_signal.reranking import RerankerOptions, Reranking
from recall_signal.selection import (
    Answer,
    Select,
    SelectionOptions,
    collect_selections,
    publish_selection,
)

QUERY = "where is the key?"
VECTORS = {
    QUERY: (1.0, 0.0),
    "near": (0.9, 0.19**0.5),
    "far": (0.5, 0.75**0.5),
    "across": (0.0, 1.0),
    "nothing": (0.0, 0.0),
}


@dataclass
class Item:
    text: str
    id: str | None = None


ITEMS = [Item("near", "n"), Item("far", "f"), Item("across")]


@dataclass(frozen=True)
class Fetch:
    """What stands for the wrapped retriever here. Answered with candidates."""

    name = "retrieve"


@dataclass
class World:
    """Carries out the requests and remembers them; answers may be errors."""

    found: Candidates[Item] | BaseException
    embed: Callable[[Embed], Any] | BaseException | None = None
    select: Callable[[Select], Any] | BaseException | None = None
    requests: list[Request] = field(default_factory=list)

    def perform(self, request: Request) -> Any:
        if isinstance(request, Compute):
            return request.call()
        self.requests.append(request)
        answer: Any = self.found
        if isinstance(request, Select):
            answer = self.select(request) if callable(self.select) else self.select
        if isinstance(request, Embed):
            answer = self.embed(request) if callable(self.embed) else self.embed
            if answer is None:
                answer = VECTORS[request.query], [VECTORS[text] for text in request.texts]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def aperform(self, request: Request) -> Any:
        await asyncio.sleep(0)
        return self.perform(request)

    @property
    def embedded(self) -> list[list[str]]:
        return [request.texts for request in self.requests if isinstance(request, Embed)]


def search() -> SearchFlow[Item]:
    found: Candidates[Item] = yield Fetch()
    return found


def candidates(items: Sequence[Item] = ITEMS, **more: Any) -> Candidates[Item]:
    return Candidates(items=items, page=range(len(items)), **more)


def text(item: Item) -> str:
    return item.text


def settings(**more: Any) -> FlowSettings[Item]:
    readers = {
        "id_of": lambda item: item.id,
        "text_of": text,
        "read_text_of": text,
        "content_of": text,
    }
    return FlowSettings(**{**readers, **more})


def with_cache(**more: Any) -> FlowSettings[Item]:
    return settings(cache=EmbeddingCache(), **more)


def run(world: World, rules: FlowSettings[Item] | None = None) -> Outcome[Item]:
    return drive(recall_flow(QUERY, rules or settings(), search()), world.perform, is_optional)


# With a selection inside the wrapped retriever

NONE = SelectionReport(applied=False, reason="selected_none")
ONE = SelectionReport(applied=True, model="m", kept=1, dropped=1, dropped_memory_ids=["f"])
EMPTIED = SelectionReport(applied=True, model="m", kept=0, dropped=1, dropped_memory_ids=["f"])
NEAR, FAR, ACROSS = ITEMS


@pytest.mark.parametrize(
    ("made", "page", "adopted"),
    [
        ([(NONE, [NEAR, FAR])], [NEAR, FAR], NONE),
        ([(NONE, [NEAR, FAR, ACROSS])], [FAR], NONE),  # cut afterwards
        ([(NONE, [NEAR, FAR])], [NEAR, FAR, ACROSS], NOT_CONFIGURED),
        ([(NONE, [FAR])], [FAR, FAR], NOT_CONFIGURED),  # found by another arm as well
        ([(NONE, [FAR])], [NEAR], NOT_CONFIGURED),
        ([(ONE, [NEAR])], [NEAR], ONE),
        ([(ONE, [NEAR])], [NEAR, FAR], NOT_CONFIGURED),
        ([(ONE, [NEAR])], [], NOT_CONFIGURED),
        ([(EMPTIED, [])], [], EMPTIED),
        ([(EMPTIED, [])], [NEAR], NOT_CONFIGURED),
        ([(EMPTIED, []), (ONE, [NEAR])], [NEAR], ONE),
        ([(ONE, [NEAR]), (EMPTIED, [])], [NEAR], ONE),
        ([(ONE, [NEAR]), (NONE, [NEAR])], [NEAR], NONE),  # one after the other
        ([(NONE, [Item(None)])], [NEAR], NOT_CONFIGURED),  # type: ignore[arg-type]
        ([(NONE, [None])], [NEAR], NOT_CONFIGURED),
    ],
)
def test_a_selection_inside_speaks_for_the_page_that_it_left(
    made: Any, page: list[Item], adopted: SelectionReport
) -> None:
    def searching() -> SearchFlow[Item]:
        for report, left in made:
            publish_selection(report, left)
        yield Fetch()
        return candidates(page)

    world = World(candidates())
    with collect_selections() as published:
        outcome = drive(recall_flow(QUERY, settings(), searching()), world.perform, is_optional)
    assert outcome.selection == adopted
    assert published == ([] if adopted is NOT_CONFIGURED else [adopted])
    assert outcome.report["advice"] == ("undecided" if page and adopted is not NONE else "fallback")


# Without a question


def test_a_question_that_is_not_handed_over_is_not_an_empty_one() -> None:
    world = World(candidates(cosines=[0.9, 0.5, None], source="store"))
    rules = with_cache(selection=SelectionOptions(), reranking=Reranking(RerankerOptions(len)))
    outcome = drive(recall_flow(None, rules, search()), world.perform, is_optional)
    assert world.requests == [Fetch()]
    assert outcome.confidence == assess([0.9, 0.5, None])
    assert outcome.pool.query is None
    assert (outcome.selection, outcome.rerank) == (NOT_CONFIGURED, None)


def test_no_text_is_compared_with_a_question_that_is_not_known() -> None:
    world = World(candidates(reason="no_score_access"))
    outcome = drive(recall_flow(None, with_cache(), search()), world.perform, is_optional)
    assert world.requests == [Fetch()]
    assert outcome.confidence.reason == "no_score_access"


# With cosines at hand


def test_cosines_of_the_retriever_are_used_without_embedding() -> None:
    world = World(candidates(cosines=[0.9, 0.5, None], source="store"))
    outcome = run(world, with_cache())
    assert world.requests == [Fetch()]
    assert outcome.confidence == assess([0.9, 0.5, None])
    assert outcome.cosine_source == "store"
    assert outcome.items == ITEMS
    assert outcome.pool.cosines == [0.9, 0.5, None]
    assert outcome.pool.ids == ["n", "f", None]
    assert outcome.selection is NOT_CONFIGURED


def test_the_thresholds_are_those_of_the_settings() -> None:
    cuts = Thresholds(prominence_high=9)
    outcome = run(World(candidates(cosines=[0.9, 0.5, 0.4])), settings(thresholds=cuts))
    assert outcome.confidence.level == "moderate"


def test_the_page_is_a_part_of_the_pool_in_rank_order() -> None:
    found = Candidates(items=ITEMS, page=[0, 2], cosines=[0.9, 0.5, 0.1])
    outcome = run(World(found))
    assert outcome.items == [ITEMS[0], ITEMS[2]]
    assert outcome.confidence.result_count == 3
    carried = [(entry["rank"], entry["cosine"]) for entry in outcome.entries if entry]
    assert carried == [(0, 0.9), (1, 0.1)]


def test_the_items_are_the_very_ones_that_came() -> None:
    outcome = run(World(candidates(cosines=[0.9, 0.5, 0.1])))
    assert all(mine is theirs for mine, theirs in zip(outcome.items, ITEMS, strict=True))


def test_an_empty_page_embeds_nothing_and_is_none() -> None:
    world = World(candidates([]))
    outcome = run(world, with_cache())
    assert world.requests == [Fetch()]
    assert (outcome.items, outcome.entries) == ([], [])
    assert (outcome.confidence.level, outcome.confidence.result_count) == ("none", 0)


class Fixed:
    """A calibrator with a set answer; an error is raised."""

    def __init__(self, probability: float | BaseException) -> None:
        self.probability = probability

    def apply(self, confidence: RecallConfidence, pool: Pool) -> RecallConfidence:
        if isinstance(self.probability, BaseException):
            raise self.probability
        changes = {"probability": self.probability, "basis": "calibration", "level": "none"}
        return confidence.model_copy(update=changes)


def test_a_calibration_decides_the_level() -> None:
    outcome = run(
        World(candidates(cosines=[0.9, 0.5, 0.1])),
        settings(calibration=FixedCalibration(Fixed(0.1))),
    )
    assert (outcome.confidence.level, outcome.confidence.probability) == ("none", 0.1)
    report: dict[str, Any] = outcome.report
    assert report["confidence"]["basis"] == "calibration"


def test_a_calibration_that_fails_leaves_the_uncalibrated_signal(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rules = settings(calibration=FixedCalibration(Fixed(RuntimeError(QUERY))))
    outcome = run(World(candidates(cosines=[0.9, 0.5, 0.1])), rules)
    assert outcome.items == ITEMS
    assert outcome.confidence == assess([0.9, 0.5, 0.1])
    assert "RuntimeError" in caplog.text
    assert QUERY not in caplog.text


def test_cosines_that_are_no_numbers_are_an_adapters_mistake() -> None:
    outcome = run(World(candidates(cosines=["0.9", "0.5", "0.1"])))
    assert outcome.confidence.reason == "adapter_failed"
    assert len(outcome.items) == 3


def test_the_pool_holds_the_question_and_the_contents() -> None:
    found = candidates(cosines=[0.9, 0.5, 0.1], scores=[3, 2, 1])
    rules = settings(text_of=lambda item: f"with metadata: {item.text}", content_of=text)
    pool = run(World(found), rules).pool
    assert pool.texts == ["near", "far", "across"]
    assert pool.scores == [3, 2, 1]
    assert pool.query == QUERY


class Reading(Fixed):
    """A calibrator that reads the words of a pool."""

    reads_words = True

    def for_pool(self, pool: Pool) -> "Reading":
        assert (pool.query, pool.texts) == (QUERY, ["near", "far", "across"])
        return self


def test_a_calibration_that_reads_words_is_given_them() -> None:
    rules = settings(calibration=FixedCalibration(Reading(0.2)))
    assert run(World(candidates(cosines=[0.9, 0.5, 0.1])), rules).confidence.probability == 0.2


ALIKE = SimpleNamespace(level="high", basis="calibration", term_coverage=None)


@pytest.mark.parametrize("wrong", [None, "high", {}, ALIKE])
def test_a_calibration_that_answers_something_else_has_failed(wrong: Any) -> None:
    """C4: a calibration that returns something else."""
    calibrator: Any = Fixed(0.5)
    calibrator.apply = lambda *_: wrong
    rules = settings(calibration=FixedCalibration(calibrator))
    outcome = run(World(candidates(cosines=[0.9, 0.5, 0.1])), rules)
    assert outcome.confidence == assess([0.9, 0.5, 0.1])


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_a_calibration_cannot_hold_the_end_of_the_program(stop: type[BaseException]) -> None:
    rules = settings(calibration=FixedCalibration(Fixed(stop())))
    with pytest.raises(stop):
        run(World(candidates(cosines=[0.9, 0.5, 0.1])), rules)


def test_values_out_of_range_are_not_passed_on_as_cosines() -> None:
    outcome = run(World(candidates(cosines=[2.0, 0.5, 0.1], source="declared")))
    assert outcome.confidence.reason == "score_out_of_range"
    assert outcome.cosine_source is None
    assert [entry["cosine"] for entry in outcome.entries if entry] == [None] * 3


# Annotation


@pytest.mark.parametrize(("annotate", "carriers"), [("all", 3), ("first", 1), ("none", 0)])
def test_annotate_says_who_carries_the_report(annotate: str, carriers: int) -> None:
    outcome = run(World(candidates(cosines=[0.9, 0.5, 0.1])), settings(annotate=annotate))
    assert [entry is not None for entry in outcome.entries] == [True] * carriers + [False] * (
        3 - carriers
    )


@pytest.mark.parametrize("annotate", ["all", "first", "none"])
def test_an_empty_page_carries_nothing(annotate: str) -> None:
    assert run(World(candidates([])), settings(annotate=annotate)).entries == []


def test_entries_are_independent_of_each_other_and_of_the_report() -> None:
    outcome = run(World(candidates(cosines=[0.9, 0.5, 0.1], source="declared")))
    entries: list[Any] = outcome.entries
    report: dict[str, Any] = outcome.report
    first, second, _ = entries
    assert first is not None
    assert second is not None
    assert second == {**report, "rank": 1, "cosine": 0.5}
    first["confidence"]["level"] = "changed"
    assert second["confidence"]["level"] == report["confidence"]["level"] == "high"


@pytest.mark.parametrize("cosine", [float("nan"), float("inf")])
def test_entries_are_plain_json_whatever_the_store_says(cosine: float) -> None:
    outcome = run(World(candidates(cosines=[0.9, 0.5, cosine])))
    json.dumps(outcome.entries, allow_nan=False)


# Without cosines


def test_without_an_encoder_the_reason_is_reported() -> None:
    world = World(candidates(reason="store_not_recognised"))
    outcome = run(world)
    assert world.requests == [Fetch()]
    assert (outcome.confidence.level, outcome.confidence.reason) == (
        "unknown",
        "store_not_recognised",
    )
    assert outcome.confidence.result_count == 3
    assert outcome.cosine_source is None
    assert outcome.items == ITEMS
    assert outcome.entries[0] is not None
    assert outcome.entries[0]["cosine"] is None


def test_without_any_reason_the_scores_are_missing() -> None:
    assert run(World(candidates())).confidence.reason == "no_scores"


def test_keyword_scores_decide_in_place_of_a_reason() -> None:
    outcome = run(World(candidates(scores=[3.0, 1.0, 1.0], reason="score_not_convertible")))
    assert (outcome.confidence.basis, outcome.confidence.level) == ("separation", "high")
    assert outcome.confidence.reason is None


def test_a_wrong_kind_is_reported_and_not_covered_up_by_embedding() -> None:
    world = World(candidates(reason="score_out_of_range"))
    assert run(world, with_cache()).confidence.reason == "score_out_of_range"
    assert world.embedded == []


def test_texts_are_embedded_when_there_is_an_encoder() -> None:
    world = World(candidates(reason="no_score_access"))
    outcome = run(world, with_cache())
    assert world.requests == [Fetch(), Embed(QUERY, ["near", "far", "across"])]
    assert outcome.pool.cosines == pytest.approx([0.9, 0.5, 0.0])
    assert outcome.cosine_source == "embeddings"
    assert outcome.confidence.level == "high"
    assert outcome.confidence.reason is None


def test_a_text_without_length_has_no_cosine() -> None:
    world = World(candidates([Item("near"), Item("nothing")]))
    assert run(world, with_cache()).pool.cosines == pytest.approx([0.9, None])


def test_no_text_is_embedded_twice() -> None:
    rules = with_cache()
    world = World(candidates([Item("near"), Item("far"), Item("near")]))
    first = run(world, rules)
    world.found = candidates([Item("across"), Item("near")])
    run(world, rules)
    world.found = candidates([Item("near"), Item("far"), Item("near")])
    third = run(world, rules)
    assert world.embedded == [["near", "far"], ["across"], []]
    assert third.pool.cosines == pytest.approx(first.pool.cosines)


def test_at_most_so_many_texts_are_embedded() -> None:
    world = World(candidates())
    outcome = run(world, with_cache(embed_limit=2))
    assert world.embedded == [["near", "far"]]
    assert outcome.pool.cosines == pytest.approx([0.9, 0.5, None])
    assert outcome.confidence.result_count == 3
    assert len(outcome.items) == 3


# Selection


def keep(*positions: int) -> Callable[[Select], Answer]:
    """A selector that keeps these places of the page."""

    def answer(ask: Select) -> Answer:
        kept = [ask.request.labels[at] for at in positions] or [ask.request.none_label]
        return Answer({"keep": kept}, "fake")

    return answer


def selecting(**more: Any) -> FlowSettings[Item]:
    return settings(selection=SelectionOptions(), **more)


def test_a_selection_removes_from_the_page_and_leaves_the_signal_alone() -> None:
    found = Candidates(items=ITEMS, page=[0, 1, 2], cosines=[0.9, 0.5, 0.1])
    world = World(found, select=keep(2, 0))
    outcome = run(world, selecting())
    assert outcome.items == [ITEMS[0], ITEMS[2]]
    assert outcome.confidence == assess([0.9, 0.5, 0.1])
    report = {
        "applied": True,
        "model": "fake",
        "kept": 2,
        "dropped": 1,
        "dropped_memory_ids": ["f"],
    }
    assert outcome.selection.model_dump(mode="json") == outcome.report["selection"] == report
    carried = [(entry["rank"], entry["cosine"]) for entry in outcome.entries if entry]
    assert carried == [(0, 0.9), (1, 0.1)]


def test_a_selection_sees_the_page_and_not_the_pool_behind_it() -> None:
    def select(ask: Select) -> Answer:
        assert ask.request.passages == ("seen: far", "seen: across")
        return keep(1)(ask)

    found = Candidates(items=ITEMS, page=[1, 2], cosines=[0.9, 0.5, 0.1])
    outcome = run(World(found, select=select), selecting(read_text_of=lambda i: f"seen: {i.text}"))
    assert outcome.items == [ITEMS[2]]
    assert outcome.entries[0] is not None
    assert outcome.entries[0]["cosine"] == 0.1


@pytest.mark.parametrize(
    ("select", "reason"),
    [
        (RuntimeError(), "llm_error"),
        (TimeoutError(), "timeout"),
        (lambda ask: Answer("keep all of them", "fake"), "invalid_output"),
        (keep(), "selected_none"),
    ],
    ids=["error", "timeout", "invalid", "nothing"],
)
def test_a_selection_that_is_not_applied_keeps_the_page(select: Any, reason: str) -> None:
    outcome = run(World(candidates(cosines=[0.9, 0.5, 0.1]), select=select), selecting())
    assert outcome.items == ITEMS
    assert outcome.report["selection"] == {"applied": False, "reason": reason}
    assert outcome.confidence.level == "high"


def test_an_empty_page_is_not_sent_to_the_selector() -> None:
    world = World(candidates([]))
    assert run(world, selecting()).selection.reason == "no_results"
    assert world.requests == [Fetch()]


# Failures


@pytest.mark.parametrize("error", [RuntimeError("down"), KeyError("x"), TimeoutError()])
async def test_what_the_retriever_raises_passes_through_unchanged(error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        run(World(error), with_cache())
    assert caught.value is error
    with pytest.raises(type(error)) as caught:
        await drive_async(
            recall_flow(QUERY, settings(), search()), World(error).aperform, is_optional
        )
    assert caught.value is error


FAILURES: dict[str, tuple[Any, str]] = {
    "raises": (RuntimeError(f"quota exceeded for {QUERY}"), "embedding_failed"),
    "no pair": (lambda request: 7, "embedding_failed"),
    "not numbers": (lambda request: ([1.0, 0.0], ["near"] * 3), "embedding_failed"),
    "mismatch raised": (VectorMismatch("other"), "embedding_mismatch"),
    "too few": (lambda request: ([1.0, 0.0], [[1.0, 0.0]]), "embedding_mismatch"),
    "dimension": (lambda request: ([1.0], [[1.0, 0.0]] * 3), "embedding_mismatch"),
    "ragged": (lambda request: ([1.0, 0.0], [[1.0, 0.0], [1.0], [1.0]]), "embedding_mismatch"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_an_encoder_that_fails_costs_the_signal_and_not_the_page(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    embed, reason = FAILURES[name]
    rules = with_cache()
    with caplog.at_level(logging.DEBUG):
        outcome = run(World(candidates(reason="no_score_access"), embed), rules)
    assert outcome.items == ITEMS
    assert (outcome.confidence.level, outcome.confidence.reason) == ("unknown", reason)
    assert outcome.confidence.result_count == 3
    assert outcome.cosine_source is None
    assert rules.cache is not None
    assert rules.cache.lookup(["near", "far", "across"]) == [None] * 3
    (record,) = caplog.records
    assert record.name == "recall_signal._flow.embedding"
    assert "Error" in record.getMessage() or "VectorMismatch" in record.getMessage()
    assert QUERY not in caplog.text
    assert "near" not in caplog.text


def test_candidates_behind_the_scored_ones_have_no_score() -> None:
    outcome = run(World(candidates(scores=[3.0, 1.0])))
    assert outcome.pool.scores == [3.0, 1.0, None]
    assert outcome.confidence.basis == "separation"


def test_keyword_scores_decide_when_the_encoder_fails() -> None:
    world = World(candidates(scores=[3.0, 1.0, 1.0]), RuntimeError())
    assert run(world, with_cache()).confidence.basis == "separation"


def test_a_text_that_cannot_be_read_costs_the_signal_and_not_the_page() -> None:
    def unreadable(item: Item) -> str:
        raise RuntimeError("no text")

    outcome = run(World(candidates()), with_cache(text_of=unreadable))
    assert outcome.items == ITEMS
    assert outcome.confidence.level == "unknown"
    rules = settings(read_text_of=unreadable, selection=SelectionOptions())
    outcome = run(World(candidates(cosines=[0.9, 0.5, 0.1])), rules)
    assert outcome.items == ITEMS
    assert outcome.confidence.level == "high"


class Cancelled(BaseException):
    """What a scheduler throws to stop a task."""


@pytest.mark.parametrize("stop", [Cancelled, KeyboardInterrupt, asyncio.CancelledError])
async def test_what_stops_the_retriever_passes_through(stop: type[BaseException]) -> None:
    error = stop()
    with pytest.raises(stop) as caught:
        run(World(error), with_cache())
    assert caught.value is error
    if stop is not KeyboardInterrupt:  # asyncio re-raises that one out of the loop itself
        flow = recall_flow(QUERY, with_cache(), search())
        with pytest.raises(stop) as caught:
            await drive_async(flow, World(error).aperform, is_optional)
        assert caught.value is error


@pytest.mark.parametrize("stage", ["embed", "select"])
@pytest.mark.parametrize("stop", [Cancelled, asyncio.CancelledError])
async def test_a_panic_of_an_extra_step_is_a_failure(
    stop: type[BaseException], stage: str, caplog: pytest.LogCaptureFixture
) -> None:
    """C3: a `BaseException` that ends no program costs a step only."""
    rules = with_cache(selection=SelectionOptions())
    embed = stop(QUERY) if stage == "embed" else None
    for way in ("sync", "async"):
        world = World(candidates(), embed, stop(QUERY))
        if way == "sync":
            outcome = run(world, rules)
        else:
            flow = recall_flow(QUERY, rules, search())
            outcome = await drive_async(flow, world.aperform, is_optional)
        assert outcome.items == ITEMS
        assert outcome.selection.reason == "llm_error"
        assert (outcome.confidence.reason == "embedding_failed") == (stage == "embed")
    assert QUERY not in caplog.text


@pytest.mark.parametrize("stage", ["embed", "select"])
def test_the_end_of_the_program_is_not_held_up(stage: str) -> None:
    error = KeyboardInterrupt()
    world = World(candidates(), error if stage == "embed" else None, error)
    with pytest.raises(KeyboardInterrupt):
        run(world, with_cache(selection=SelectionOptions()))


@pytest.mark.parametrize("ends", ["returns", "raises", "passes"])
async def test_a_cancellation_that_a_step_swallows_is_raised(ends: str) -> None:
    async def perform(request: Request) -> Any:
        if request.name == "retrieve":
            return candidates()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            if ends == "passes":
                raise
            if ends == "raises":
                raise RuntimeError from None
        return [1.0, 0.0], [[1.0, 0.0]] * 3

    flow = recall_flow(QUERY, with_cache(), search())
    task = asyncio.create_task(drive_async(flow, perform, is_optional))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_clean_up_of_a_cancelled_task_may_ask() -> None:
    async def clean_up() -> Outcome[Item]:
        try:
            await asyncio.sleep(30)
        finally:
            flow = recall_flow(QUERY, with_cache(), search())
            world = World(candidates())
            cleaned.append(await drive_async(flow, world.aperform, is_optional))
        raise AssertionError

    cleaned: list[Outcome[Item]] = []
    task = asyncio.create_task(clean_up())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned[0].confidence.level == "high"


def test_a_stop_iteration_of_the_retriever_is_raised_as_it_is() -> None:
    """C5: not as the `RuntimeError` that a generator makes of it."""
    error = StopIteration("theirs")
    with pytest.raises(StopIteration) as caught:
        run(World(error))
    assert caught.value is error


def test_a_stop_iteration_that_the_flow_handles_ends_nothing() -> None:
    def flow() -> SearchFlow[Item]:
        try:
            yield Fetch()
        except StopIteration:
            raise RuntimeError("of its own") from None
        raise AssertionError

    with pytest.raises(RuntimeError, match="of its own"):
        drive(flow(), World(StopIteration()).perform)
    assert run(World(candidates(), StopIteration())).items == ITEMS


# Parity


PARITY: dict[str, tuple[Candidates[Item], Any]] = {
    "cosines": (candidates(cosines=[0.9, 0.5, None], source="store"), None),
    "embedded": (candidates(), None),
    "embedding fails": (candidates(reason="no_score_access"), RuntimeError()),
    "mismatch": (candidates(), lambda request: ([1.0], [])),
    "keyword": (candidates(scores=[3.0, 1.0, None]), RuntimeError()),
    "empty": (candidates([]), None),
    "out of range": (candidates(cosines=[2.0, 0.5, 0.1]), None),
    "part": (Candidates(items=ITEMS, page=[1]), None),
}


@pytest.mark.parametrize("name", PARITY)
async def test_both_drivers_give_equal_outcomes(name: str) -> None:
    found, embed = PARITY[name]
    sync_world, async_world = World(found, embed), World(found, embed)
    mine = run(sync_world, with_cache())
    theirs = await drive_async(
        recall_flow(QUERY, with_cache(), search()), async_world.aperform, is_optional
    )
    assert sync_world.requests == async_world.requests
    for name in ("items", "entries", "confidence", "selection", "cosine_source", "report"):
        assert getattr(mine, name) == getattr(theirs, name)
    assert (mine.pool.cosines, mine.pool.ids) == (theirs.pool.cosines, theirs.pool.ids)
    json.dumps(mine.report, allow_nan=False)


async def test_concurrent_queries_share_a_cache_and_nothing_else() -> None:
    rules = with_cache()
    pages = [[Item("near"), Item("far")], [Item("across")], [Item("far"), Item("near")]] * 20
    worlds = [World(candidates(page)) for page in pages]
    outcomes = await asyncio.gather(
        *(
            drive_async(recall_flow(QUERY, rules, search()), world.aperform, is_optional)
            for world in worlds
        )
    )
    for page, outcome in zip(pages, outcomes, strict=True):
        assert outcome.items == page
        assert outcome.pool.cosines == pytest.approx([VECTORS[item.text][0] for item in page])


def test_vectors_may_be_arrays() -> None:
    def embed(request: Embed) -> Any:
        return np.array(VECTORS[request.query]), np.array([VECTORS[t] for t in request.texts])

    outcome = run(World(candidates(), embed), with_cache())
    assert outcome.pool.cosines == pytest.approx([0.9, 0.5, 0.0])
    assert all(type(cosine) is float for cosine in outcome.pool.cosines)


@pytest.mark.parametrize("error", [asyncio.CancelledError, GeneratorExit, KeyboardInterrupt])
async def test_a_flow_that_may_not_see_an_error_ends_with_it(error: type[BaseException]) -> None:
    """Left to the collector it would end at any moment: also while CPython sets a variable."""
    ended: list[str] = []

    def flow(name: str) -> SearchFlow[Item]:
        try:
            yield Fetch()
        finally:
            ended.append(name)
        raise AssertionError

    def fail(_: object) -> None:
        raise error

    async def afail(_: object) -> None:
        raise error

    kept = []
    with pytest.raises(error) as stopped:
        drive(flow("sync"), fail)
    kept.append(stopped)  # its traceback holds the flow
    assert ended == ["sync"]
    with pytest.raises(error) as stopped:
        await drive_async(flow("async"), afail)
    kept.append(stopped)
    assert ended == ["sync", "async"]


COLLECTED = """
import gc
from contextvars import ContextVar
from recall_signal._steps.driver import drive
from recall_signal.selection import collect_selections

gc.set_threshold(20, 3, 3)
variables = [ContextVar(str(number)) for number in range(20)]

def flow():
    with collect_selections():
        yield

def fail(_):
    raise GeneratorExit

for number in range(20_000):
    try:
        drive(flow(), fail)
    except GeneratorExit as error:
        cycle = [error]
        cycle.append(cycle)
    for variable in variables:
        variable.set([number])
"""


def test_no_collector_closes_a_flow_while_a_variable_is_set() -> None:
    """CPython 3.11 does not survive that."""
    subprocess.run([sys.executable, "-c", COLLECTED], check=True, timeout=60)


def test_a_collection_may_end_in_another_context() -> None:
    """As where a loop that stopped leaves a coroutine to the collector."""
    block = collect_selections()
    copy_context().run(block.__enter__)
    block.__exit__(None, None, None)
    with collect_selections() as collected:
        publish_selection(NOT_CONFIGURED)
    assert collected == [NOT_CONFIGURED]
