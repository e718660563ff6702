"""What of a text can be seen."""

import pytest

from recall_signal._text import is_blank, visible_line

BLANK = (
    "", " \t\n", "\u200b", "\ufeff\u2060 \u3164", "\x00\x1f", "\ue000\n", "\u0378", "\ud800",
    "\U000e0041", "\U0001d159", "\u200b" * 150_000, " " * 300_000,
)  # fmt: skip


@pytest.mark.parametrize("text", BLANK, ids=range(len(BLANK)))
def test_nothing_is_seen(text: str) -> None:
    assert is_blank(text)
    assert visible_line(text, 9) == ""


@pytest.mark.parametrize(
    "text", ["?", "\u200b.", "\u0378 x", "\U0001f600", "e\u0301", " " * 300_000 + "x"]
)
def test_something_is_seen(text: str) -> None:
    assert not is_blank(text)
    assert visible_line(text, 9)


def test_a_huge_text_is_looked_at_for_spaces_alone() -> None:
    assert not is_blank("\u200b" * 300_000)


@pytest.mark.parametrize("gap", ["\u200b" * 9_000, "\u0378" * 9_000])
def test_what_is_invisible_parts_no_words(gap: str) -> None:
    assert visible_line(f"one{gap}two", 9) == "onetwo"
    assert visible_line(f"one{gap}\n{gap}two", 9) == "one two"
    assert visible_line(f"{gap} one", 2) == "on"
