"""`print(response)`: level, advice, figures and page within 80 columns, whatever the texts hold."""

from typing import Any
from unicodedata import category

import pytest

from recall_signal import SelectionReport, assess
from recall_signal.confidence import unknown
from recall_signal.display import PageRow, response_text
from recall_signal.display._page import ROWS_SHOWN
from recall_signal.display._text import _columns
from tests.core.shown import hand_made


def lines(**given: Any) -> list[str]:
    return response_text(hand_made(**given)).splitlines()


def test_the_whole_of_it() -> None:
    found = assess([0.9, 0.4, 0.4], term_coverage=0.5).model_copy(update={"probability": 0.98})
    assert lines(confidence=found, cut=0.7) == [
        "high, advice: read",
        "2 results on this topic: read. Whether they hold the exact fact is not verified.",
        "",
        "  top cosine     0.900  at or above the cut of 0.700",
        "  term coverage  0.500",
        "  probability    0.980",
        f"  pool of 3      0.40 o{'-' * 30}|{'-' * 20}* 0.90",
        "  . pool, o page, * top, | cut",
        "",
        "Top cosine 0.90, prominence 1.25 over a mean background of 0.40: a strong match,",
        "clearly separated; the exact fact is not verified.",
        "",
        "rank  cosine  id  text",
        "   0   0.900  m1  first text",
        "   1   0.400  -   second text",
    ]


def test_a_selection() -> None:
    rows = [PageRow(0, "m1", "first", 0.9), PageRow(None, "m2", "second", None)]
    selection = SelectionReport(
        applied=True, model="m-1", kept=1, dropped=1, dropped_memory_ids=["m2"]
    )
    found = lines(rows=rows, selection=selection)
    assert found[-4:] == [
        "",
        "rank  cosine  id  text",
        "   0   0.900  m1  first",
        " out       -  m2  second",
    ]
    assert found[-5] == "Selection: m-1 kept 1 of 2."


def test_left_out_on_the_strip() -> None:
    rows = [PageRow(0, "m1", "first", 0.9), PageRow(None, "m2", "second", 0.4)]
    assert "  . pool, o page, * top, x left out" in lines(rows=rows)


def test_below_the_cut() -> None:
    assert "  top cosine     0.900  below the cut of 0.950" in lines(cut=0.95)


def test_equal_cosines() -> None:
    assert f"  pool of 2      0.40 *{'-' * 52} 0.40" in lines(cosines=[0.4, 0.4], rows=[], shown=2)


@pytest.mark.parametrize(
    ("given", "last"),
    [
        ({"rows": []}, "The page is empty."),
        ({"rows": [], "shown": 4}, "results on the page: 4"),
        ({"rows": [PageRow(n, "m", "text") for n in range(ROWS_SHOWN + 2)]}, "and 2 more"),
    ],
)
def test_the_end(given: dict[str, Any], last: str) -> None:
    assert lines(**given)[-1] == last


def test_unknown_names_its_reason() -> None:
    found = lines(confidence=unknown("no_scores", 3))
    assert found[0] == "unknown, advice: undecided"
    assert "  reason         no_scores" in found
    assert not [line for line in found if "pool" in line]


def test_keyword_scores() -> None:
    found = lines(confidence=assess([None, None], scores=[1e9, 1.0]), cosines=[None, None])
    assert "  top score      1e+09" in found


TEXTS = [
    "word " * 1000,
    "\u7aaf\u306e\u4e88\u7d04" * 100,
    "\u0643\u0645 " * 100,
    "e\u0301" * 100,
    "x" * 10_000,
    "\x1b[31mred\x1b[0m \u202eevil\x00 \x9b \ud800",
    "\n" * 1000,
    "",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("width", [1, 40, 80, 132])
def test_it_fits_and_obeys_nothing(text: str, width: int) -> None:
    selection = SelectionReport(
        applied=True, model=text or "m", kept=1, dropped=2, dropped_memory_ids=[text, text]
    )
    rows = [PageRow(0, text, text, 0.5), PageRow(1, None, text)]
    shown = response_text(hand_made(rows=rows, selection=selection), width=width)
    assert max(map(_columns, shown.split("\n"))) <= max(width, 40)
    assert {category(one) for one in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"} <= {"Cc"}
    assert not [one for one in shown if category(one) == "Cc" and one != "\n"]
