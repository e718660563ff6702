"""The words of providers for the end of an answer."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage

from recall_signal._wrapper.answer_ends import ends_in, is_cut_off
from tests.selection.fakes import ToolCalling, page, tool_call, wrapped
from tests.selection.langchain.test_selector import Streaming
from tests.selection.prompts import QUESTION, labels_in

WHOLE = (
    "stop", "STOP", "stopstop", "tool_calls", "function_call", "end_turn", "tool_use",
    "stop_sequence", "COMPLETE", "TOOL_CALL", "completed", "eos_token", "eos", 1,
)  # fmt: skip
HALF = (
    "length", "max_tokens", "MAX_TOKENS", "model_length", "incomplete", "content_filter", "SAFETY",
    "RECITATION", "refusal", "pause_turn", "model_context_window_exceeded", "guardrail_intervened",
    "content_filtered", "MALFORMED_FUNCTION_CALL", "ERROR", "ERROR_LIMIT", "TIMEOUT", "failed",
    "cancelled", "in_progress", "stoplength", "unstop", "a word of tomorrow", 2, 11, 128_008,
)  # fmt: skip


@pytest.mark.parametrize("end", HALF)
def test_an_end_that_is_no_known_whole_one_is_half_an_answer(end: Any) -> None:
    for key in ("finish_reason", "finishReason", "stop_reason", "stopReason", "done_reason"):
        assert is_cut_off(ends_in({key: end}.get)), key
    retriever = wrapped(Streaming(reply=lambda _: "", streaming=True, whole=False, end=end))
    response = retriever.recall(QUESTION)
    assert (response.selection.reason, len(response.documents)) == ("invalid_output", len(page()))


@pytest.mark.parametrize("end", WHOLE)
def test_a_whole_end(end: Any) -> None:
    assert not is_cut_off(ends_in({"finish_reason": end}.get))
    retriever = wrapped(Streaming(reply=lambda _: "", streaming=True, whole=True, end=end))
    assert retriever.recall(QUESTION).selection.kept == 1


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"status": "completed", "incomplete_details": None}, None),
        ({"status": "incomplete"}, "invalid_output"),
        ({"status": "failed"}, "invalid_output"),
        ({"finish_reason": "stop", "status": "in_progress"}, "invalid_output"),
        ({"incomplete_details": {"reason": "max_output_tokens"}}, "invalid_output"),
        ({"status": "completed", "incomplete_details": {"reason": "x"}}, "invalid_output"),
        ({"status": 200}, None),  # of HTTP
        ({"finish_reason": "tool_calls", "stop_reason": 128_008}, None),  # a token, of vLLM
        ({"finish_reason": None, "stop_reason": "max_tokens"}, "invalid_output"),
        ({"finish_reason": None}, None),
        ({}, None),
    ],
)
def test_what_a_reply_says_of_its_end(said: dict[str, Any], reason: str | None) -> None:
    def reply(prompt: str) -> AIMessage:
        call = tool_call({"keep": [labels_in(prompt)[0]]})
        return AIMessage("", tool_calls=[call], response_metadata=said)

    response = wrapped(ToolCalling(reply=reply)).recall(QUESTION)
    assert response.selection.reason == reason
