"""What a caller can set about the selection, and what each setting does."""

from typing import Any

import pytest
from pydantic import ValidationError

from recall_signal import ConfigurationError
from recall_signal.confidence import LEVELS
from recall_signal.selection import SelectionOptions, select_page
from recall_signal.selection._options import DEFAULT_TIMEOUT
from tests.selection.fakes import AsyncScripted, Scripted, assert_untouched, page, report, wrapped
from tests.selection.prompts import QUESTION, TEXTS, keeping

# Validation

WRONG: list[tuple[str, Any]] = [
    ("timeout", 0),
    ("timeout", -1.0),
    ("timeout", float("nan")),
    ("timeout", float("inf")),
    ("timeout", True),
    ("timeout", "10"),
    ("min_results", 0),
    ("min_results", "2"),
    ("max_candidates", 0),
    ("max_candidates", -5),
    ("max_characters", 0),
    ("max_characters", None),
    ("max_total", 0),
    ("max_total", False),
    ("skip_levels", "none"),
    ("skip_levels", {"None"}),
    ("skip_levels", ["none", 3]),
    ("skip_levels", [["none"]]),
    ("skip_levels", 5),
    ("skip_levels", None),
    ("on_empty", "empty"),
    ("on_empty", None),
    ("on_empty", ["keep"]),
    ("prompt", ""),
    ("prompt", "no place for the candidates"),
    ("prompt", "{candidates} {candidates}"),
    ("prompt", None),
    ("prompt", b"{candidates}"),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_setting_is_refused_where_it_is_given(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"SelectionOptions: {name}: "):
        SelectionOptions(**{name: value})


def test_a_message_shows_numbers_and_no_text() -> None:
    with pytest.raises(ConfigurationError, match="got -3"):
        SelectionOptions(min_results=-3)
    with pytest.raises(ConfigurationError) as caught:
        SelectionOptions(prompt="our secret prompt")
    assert "secret" not in str(caught.value)


def test_a_setting_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="SelectionOptions: retries: there is no such"):
        SelectionOptions(retries=3)  # type: ignore[call-arg]


def test_the_defaults_drop_nothing_silently() -> None:
    options = SelectionOptions()
    assert (options.timeout, options.min_results) == (DEFAULT_TIMEOUT, 2)
    assert (options.on_empty, options.skip_levels) == ("keep", frozenset())


def test_options_are_a_frozen_value() -> None:
    options = SelectionOptions(skip_levels=["none", "low", "none"])
    assert options.skip_levels == frozenset({"none", "low"})
    assert options == SelectionOptions(skip_levels=frozenset({"low", "none"}))
    assert hash(options) == hash(SelectionOptions(skip_levels=frozenset({"low", "none"})))
    with pytest.raises(ValidationError):
        options.min_results = 1  # type: ignore[misc]
    assert options.replace(min_results=1).skip_levels == options.skip_levels
    with pytest.raises(ConfigurationError, match="min_results"):
        options.replace(min_results=0)


@pytest.mark.parametrize("seconds", [None, 0.5, 3, 1e10, 1e300])
async def test_any_time_can_be_allowed(seconds: float | None) -> None:
    retriever = wrapped(Scripted(reply=keeping(0)), selector_timeout=seconds)
    assert retriever.recall(QUESTION).selection.applied
    assert (await retriever.arecall(QUESTION)).selection.applied


# When no call is spent


def run(options: SelectionOptions, texts: Any = TEXTS, level: Any = "unknown") -> Any:
    """The report where nobody is asked, or None where somebody is."""
    flow = select_page(QUESTION, texts, [None] * len(texts), level, options)
    try:
        next(flow)
    except StopIteration as ended:
        kept, said = ended.value
        assert list(kept) == list(range(len(texts)))
        return said.model_dump(mode="json")
    return None


@pytest.mark.parametrize("level", LEVELS)
def test_skip_levels(level: str) -> None:
    skipped = {"applied": False, "reason": "skipped_by_level"}
    assert run(SelectionOptions(skip_levels=frozenset({level})), level=level) == skipped
    others = frozenset(LEVELS) - {level}
    assert run(SelectionOptions(skip_levels=others), level=level) is None


def test_a_wrapper_skips_by_its_own_level() -> None:
    model = Scripted(reply=keeping(0))
    options = SelectionOptions(skip_levels=frozenset({"unknown"}))
    assert_untouched(
        wrapped(model, selector_options=options).recall(QUESTION), "skipped_by_level", page()
    )
    assert model.prompts == []


@pytest.mark.parametrize(
    ("results", "least", "reason"),
    [
        (0, 1, "no_results"),
        (0, 3, "no_results"),
        (1, 2, "too_few_results"),
        (4, 5, "too_few_results"),
        (1, 1, None),
        (5, 5, None),
    ],
)
def test_min_results(results: int, least: int, reason: str | None) -> None:
    said = run(SelectionOptions(min_results=least), TEXTS[:results])
    assert said == ({"applied": False, "reason": reason} if reason else None)


def test_a_page_that_is_too_short_goes_before_its_level() -> None:
    options = SelectionOptions(skip_levels=frozenset(LEVELS))
    assert run(options, ())["reason"] == "no_results"
    assert run(options, TEXTS[:1])["reason"] == "too_few_results"


def test_without_a_selector_the_report_says_so() -> None:
    assert_untouched(wrapped(None).recall(QUESTION), "not_configured", page())


# An empty choice


async def test_on_empty_keep_leaves_the_page() -> None:
    retriever = wrapped(AsyncScripted(reply=keeping()))
    assert_untouched(retriever.recall(QUESTION), "selected_none", page())
    assert_untouched(await retriever.arecall(QUESTION), "selected_none", page())


async def test_on_empty_drop_is_an_applied_selection() -> None:
    options = SelectionOptions(on_empty="drop")
    retriever = wrapped(AsyncScripted(reply=keeping()), selector_options=options)
    for response in (retriever.recall(QUESTION), await retriever.arecall(QUESTION)):
        assert response.documents == []
        assert report(response) == {
            "applied": True,
            "model": "scripted-1",
            "kept": 0,
            "dropped": 5,
            "dropped_memory_ids": ["id0", "id1", "id2", "id3", "id4"],
        }
