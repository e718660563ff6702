"""The notebook views: nothing hostile survives in them, and every signal and pool has one."""

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_signal import (
    ADVICE_TEXTS,
    InvalidInputError,
    MissingDependencyError,
    Pool,
    RecallConfidence,
    SelectionReport,
    Thresholds,
    advice,
    assess,
)
from recall_signal._cards import Mark, strip
from recall_signal._cards._parts import short_id
from recall_signal._display_words import LEVEL_ADVICE, LEVEL_COLOURS, LEVEL_STYLES, SELECTION_TEXTS
from recall_signal._safe_text import html_text, plain_text
from recall_signal.confidence import LEVELS, unknown
from recall_signal.display import PageRow, confidence_html, plot_pool, plot_pools, response_html
from recall_signal.display._html import TEXT_LIMIT
from recall_signal.display._page import ROWS_SHOWN
from recall_signal.reasons import REASONS
from recall_signal.reports import SELECTION_REASONS, RerankReport
from tests.core.shown import hand_made

PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
DASH = "\u2013"

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</td></tr></table></div><h1>out</h1>",
    "<!-- comment",
    "&lt;b&gt; &amp; &#60;i&#62;",
    "javascript:alert(1)",
    "\u202egnp.exe",
    "a\u2066b\u2069c",
    "nul\x00 bell\x07 escape\x1b[31m delete\x7f c1\x9b",
    "surrogate \ud800",
    "tag \U000e0041",
    "line\u2028paragraph\u2029",
    "{colour} %s {0}",
    "x" * 1_000_000,
    "\n" * 1_000_000,
]


class Parsed(HTMLParser):
    """The tags, attribute names and text of a piece of HTML, checked for balance."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.chunks: list[str] = []
        self.open: list[str] = []
        self.feed(markup)
        self.close()
        assert self.open == []

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.chunks).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.chunks.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment")


OWN_TAGS = {"div", "span", "strong", "code", "table", "thead", "tbody", "tr", "th", "td"}
OWN_TAGS |= {"del", "svg", "path", "line", "text", "rect"}
OWN_ATTRIBUTES = {"style", "scope", "dir", "title", "role", "aria-label", "aria-hidden"}
OWN_ATTRIBUTES |= {"width", "height", "viewbox", "preserveaspectratio", "overflow", "vector-effect"}
OWN_ATTRIBUTES |= {"d", "x", "y", "x1", "x2", "y1", "y2", "dx", "text-anchor", "font-size"}
OWN_ATTRIBUTES |= {"fill", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray"}
OWN_ATTRIBUTES |= {"fill-opacity", "transform"}


def signal(**fields: Any) -> RecallConfidence:
    return RecallConfidence(**{"level": "low", "result_count": 3, "rationale": "why", **fields})


# --- text ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\n\tlines  here ", "two lines here"),
        ("\u202eabc", "[U+202E]abc"),
        ("a\x00b\x1bc\x7f\x9b", "a[U+0000]b[U+001B]c[U+007F][U+009B]"),
        ("\ufeff\u200b\u2028", "[U+FEFF][U+200B][U+2028]"),
        ("\ud800", "[U+D800]"),
        ("\U000e0041", "[U+E0041]"),
        (PERSIAN, PERSIAN),
        ("👩\u200d🚀", "👩\u200d🚀"),
        ("", ""),
        (None, "None"),
        (12, "12"),
    ],
)
def test_plain_text(text: Any, shown: str) -> None:
    assert plain_text(text, 40) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [("abcde", "abcde"), ("abcdef", "abcde…"), ("abcd efgh", "abcd…"), (" " * 50 + "abc", "…")],
)
def test_plain_text_is_shortened(text: str, shown: str) -> None:
    assert plain_text(text, 5) == shown


def test_html_text_escapes_both_quotes() -> None:
    assert html_text("<a b='c' d=\"e\">&", 40) == "&lt;a b=&#x27;c&#x27; d=&quot;e&quot;&gt;&amp;"


@given(st.text(st.characters(codec=None)), st.integers(1, 50))
def test_html_text_of_anything(text: str, limit: int) -> None:
    shown = html_text(text, limit)
    shown.encode()
    assert not set(shown) & set("<>\"'\x00\x1b\u202e\u2066\n")
    assert len(shown) <= 10 * limit + 1  # the longest stand-in, [U+10FFFF], has ten characters


# --- the card -----------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_has_its_word_and_its_advice(level: Any) -> None:
    confidence = signal(level=level)
    parsed = Parsed(confidence_html(confidence))
    assert parsed.text.startswith(f"{level} advice: {advice(confidence)} witness value")
    assert advice(confidence) in ADVICE_TEXTS
    assert parsed.tags <= OWN_TAGS
    assert parsed.attributes <= OWN_ATTRIBUTES
    assert LEVEL_COLOURS[level] in confidence_html(confidence)


def test_every_level_and_reason_is_in_the_vocabulary() -> None:
    for table in (LEVEL_ADVICE, LEVEL_COLOURS, LEVEL_STYLES):
        assert tuple(table) == LEVELS
    assert tuple(SELECTION_TEXTS) == SELECTION_REASONS


@pytest.mark.parametrize("colour", LEVEL_COLOURS.values(), ids=LEVEL_COLOURS)
def test_white_words_are_readable_on_every_colour(colour: str) -> None:
    """Contrast ratio of WCAG 2.1."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    assert 1.05 / (luminance + 0.05) >= 4.5


def test_missing_figures_are_dashes_or_left_out() -> None:
    text = Parsed(confidence_html(signal(result_count=0))).text
    assert text.endswith(f"top cosine {DASH} why candidates 0")


def test_figures() -> None:
    confidence = signal(
        top_score=0.5,
        prominence=-0.25,
        relative_margin=12.3456,
        probability=0.9312,
        term_coverage=0.72,
        basis="calibration",
    )
    text = Parsed(confidence_html(confidence)).text
    assert "top cosine 0.500 term coverage 0.720 ███████░░░ probability 0.931 why" in text
    assert text.endswith(
        "prominence -0.250, relative margin 12.346, candidates 3, decided by calibration"
    )


def test_what_a_reranker_says_is_shown_where_it_is_set() -> None:
    assert "rerank" not in confidence_html(signal())
    text = Parsed(confidence_html(signal(rerank_score=-1.25))).text
    assert "rerank score -1.250, candidates" in text
    assert "match" not in text
    both = signal(level="high", rerank_score=2.5, match="near_miss")
    assert "match (a hint) near_miss" in Parsed(confidence_html(both)).text


def test_a_huge_keyword_score_stays_short() -> None:
    markup = confidence_html(signal(top_score=1.23456e150, basis="separation"))
    assert "top score 1.23e+150" in Parsed(markup).text


@pytest.mark.parametrize("reason", REASONS)
def test_unknown_names_its_reason(reason: str) -> None:
    confidence = unknown(reason, 5)
    text = Parsed(confidence_html(confidence)).text
    assert confidence.rationale in text
    assert text.endswith(f"reason: {reason}")


def test_the_signal_shows_itself_as_the_card() -> None:
    confidence = assess([0.9, 0.4, 0.4])
    assert confidence._repr_html_() == confidence_html(confidence)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_in_a_signal(text: str) -> None:
    markup = confidence_html(signal(rationale=text, reason=text))
    check_harmless(markup)


@given(st.lists(st.one_of(st.none(), st.floats())))
def test_every_assessment_has_a_card(cosines: list[float | None]) -> None:
    Parsed(confidence_html(assess(cosines)))


def check_harmless(markup: str) -> None:
    parsed = Parsed(markup)
    assert parsed.tags <= OWN_TAGS
    assert parsed.attributes <= OWN_ATTRIBUTES
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", markup)
    assert len(markup.encode()) < 30_000


# --- the response -------------------------------------------------------------------------------


def shown(**given: Any) -> str:
    return Parsed(response_html(hand_made(**given))).text


def test_response_shows_card_pool_and_page() -> None:
    confidence = assess([0.9, 0.4, 0.4])
    text = shown(confidence=confidence, cut=0.7)
    assert text.startswith("high advice: read 2 results on this topic: read.")
    assert "▲ at or above the cut of 0.700" in text
    assert confidence.rationale in text
    assert "Selection" not in text
    assert "cosines of 3 candidates from 0.400 to 0.900, 2 on the page (long ticks)" in text
    assert "1 at or above the cut of 0.700 (dashed)." in text
    assert text.endswith(
        f"rank cosine id and text 0 0.900 m1 first text 1 0.400 {DASH} second text"
    )


def test_below_the_cut() -> None:
    assert "▼ below the cut of 0.950" in shown(confidence=assess([0.9, 0.4]), cut=0.95)


def test_what_a_selector_left_out_is_struck_through() -> None:
    rows = [PageRow(0, "m1", "first", 0.9), PageRow(None, "m2", "second", 0.8)]
    selection = SelectionReport(
        applied=True, model="m-1", kept=1, dropped=1, dropped_memory_ids=["m2"]
    )
    markup = response_html(hand_made(rows=rows, selection=selection))
    assert "<del>second</del>" in markup
    assert markup.count("<del>") == 1
    text = Parsed(markup).text
    assert "Selection: m-1 kept 1 of 2." in text
    assert "left out 0.800 m2 second" in text
    assert "1 left out by the selector (crosses)" in text


def test_what_a_reranker_did_is_shown() -> None:
    rows = [PageRow(0, "m1", "first", 0.9, 2.5), PageRow(1, "m2", "second", 0.8, None)]
    report = RerankReport(applied=True, scale="logit", scored=1, reordered=True)
    text = shown(rows=rows, rerank=report)
    assert "Reranking: 1 results scored, the page is in its order." in text
    assert text.endswith(f"rank cosine rerank id and text 0 0.900 2.500 m1 first 1 0.800 {DASH} "
                         "m2 second")  # fmt: skip
    kept = report.model_copy(update={"reordered": False})
    assert "the page keeps its order" in shown(rows=rows, rerank=kept)
    failed = RerankReport(applied=False, reason="timeout")
    assert "Reranking: not applied (timeout)." in shown(rerank=failed)


def test_long_ids_are_shortened() -> None:
    rows = [PageRow(0, "3f2a9c1d-0000-4000-8000-00000000abcd", "text", 0.9)]
    markup = response_html(hand_made(rows=rows))
    assert "3f2a9c…abcd text" in Parsed(markup).text
    assert 'title="3f2a9c1d-0000-4000-8000-00000000abcd"' in markup


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_in_a_response(text: str) -> None:
    selection = SelectionReport(
        applied=True, model=text, kept=1, dropped=2, dropped_memory_ids=[text, text]
    )
    rows = [PageRow(0, text, text, 0.5), PageRow(1, None, text, None)]
    for some in (rows, [PageRow(None, text, text, 0.5)], []):
        markup = response_html(
            hand_made(confidence=signal(rationale=text), selection=selection, rows=some)
        )
        check_harmless(markup)


def test_hostile_characters_are_shown_not_dropped() -> None:
    text = shown(rows=[PageRow(0, "id", "<b>\u202e\x00")])
    assert text.endswith(f"0 {DASH} id <b>[U+202E][U+0000]")


def test_long_texts_and_long_pages_are_cut() -> None:
    rows = [PageRow(n, str(n), "word " * 1000) for n in range(ROWS_SHOWN + 5)]
    text = shown(rows=rows)
    assert text.count("…") == ROWS_SHOWN
    assert text.endswith("and 5 more")
    assert len(text) < ROWS_SHOWN * (TEXT_LIMIT + 20) + 500


def test_an_empty_page() -> None:
    text = shown(confidence=signal(level="high"), rows=[])
    assert text.startswith("high advice: fallback")
    assert text.endswith("The page is empty.")


def test_a_page_that_is_not_kept_is_counted() -> None:
    assert shown(rows=[], shown=4).endswith("Results on the page: 4.")


def test_a_page_that_the_selector_found_useless() -> None:
    selection = SelectionReport(applied=False, reason="selected_none")
    text = shown(confidence=signal(level="high"), selection=selection)
    assert text.startswith("high advice: fallback")


def test_a_signal_that_rests_on_no_cosine_shows_none() -> None:
    assert "Pool" not in shown(confidence=unknown("empty_query", 3))
    assert "<svg" not in response_html(hand_made(cosines=[None, None], rows=[]))


@pytest.mark.parametrize("reason", list(SELECTION_REASONS[1:]))
def test_every_reason_of_a_selection_is_in_words(reason: Any) -> None:
    text = shown(selection=SelectionReport(applied=False, reason=reason))
    words = text.split("Selection: ")[1].split(".")[0]
    assert " " in words
    assert "not applied" not in words
    assert reason not in words


def test_a_reason_of_a_later_release() -> None:
    selection = SimpleNamespace(applied=False, reason="<new>", dropped_memory_ids=None)
    assert "not applied (<new>)." in shown(selection=selection)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"model": "m-1", "kept": 5, "dropped": 0, "dropped_memory_ids": []}, "m-1 kept 5 of 5."),
        (
            {"model": "m-1", "kept": 4, "dropped": 2, "dropped_memory_ids": ["a", "b"]},
            "m-1 kept 4 of 6, leaving out a, b.",
        ),
        (
            {"model": "m", "kept": 1, "dropped": 30, "dropped_memory_ids": ["a"] * 20},
            f"m kept 1 of 31, leaving out {', '.join('a' * 20)} and 10 more.",
        ),
    ],
)
def test_an_applied_selection(fields: dict[str, Any], words: str) -> None:
    """Its ids are named where the page does not show what was left out."""
    assert f"Selection: {words}" in shown(selection=SelectionReport(applied=True, **fields))


# --- the strip ----------------------------------------------------------------------------------


def places(markup: str) -> list[float]:
    return [float(x) for x in re.findall(r'x1?="([-\d.]+)%"', markup)]


@given(
    st.lists(st.floats(-1.001, 1.001), min_size=1, max_size=60),
    st.one_of(st.none(), st.floats(-1.001, 1.001)),
)
def test_every_strip_stays_inside(cosines: list[float], cut: float | None) -> None:
    markup = strip([Mark(cosine) for cosine in cosines], cut)
    Parsed(markup)
    assert all(0 <= x <= 100 for x in places(markup))
    assert len(markup) < 6000


def test_a_strip_of_one_cosine() -> None:
    text = Parsed(strip([Mark(0.5)], None)).text
    assert text.endswith("Pool: cosine of one candidate, 0.500.")


def test_there_is_no_strip_without_a_cosine() -> None:
    assert strip([], 0.5) == ""


def test_the_strip_has_the_cut_to_the_left_of_what_is_above_it() -> None:
    markup = strip([Mark(0.2), Mark(0.9, "page"), Mark(0.4, "left_out")], 0.6)
    (cut,) = re.findall(r'<line x1="([\d.]+)%"', markup)
    cross, top = re.findall(r'<svg x="([\d.]+)%"', markup)
    assert float(cross) < float(cut) < float(top)


# --- pictures -----------------------------------------------------------------------------------

LONG = [0.7, *(0.4 - 0.001 * n for n in range(199))]


@pytest.fixture
def state() -> Iterator[None]:
    """matplotlib's global settings stay as they were."""
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    yield
    assert dict(mpl.rcParams) == before


def texts(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def points(ax: Any) -> list[tuple[float, float]]:
    """Every marked point, the top one last."""
    marked = [line for line in ax.lines if line.get_marker() != "None"]
    return [(x, y) for line in marked for x, y in line.get_xydata().tolist()]


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize("thresholds", [None, Thresholds()])
@pytest.mark.parametrize(
    "cosines",
    [
        [],
        [0.4],
        [0.6, 0.4],
        LONG,
        [None],
        [None, None, 0.5],
        [float("nan"), float("inf"), 0.3, 0.2],
        [0.0, 0.0],
        [-0.5, -0.6, -0.9],
        [1.0, 1.0, 1.0],
        [7.0, 5.0],
        [0.1, 0.2, 0.9],
    ],
    ids=str,
)
def test_every_pool_has_a_picture(cosines: Any, thresholds: Any) -> None:
    ax = plot_pool(Pool(cosines), thresholds=thresholds)
    ax.figure.canvas.draw()
    assert ax.get_title() == ""
    assert ax.get_xlabel().startswith("rank (0 = first)")
    assert ax.get_ylabel() == "cosine with the query (-1 to 1)"
    scored = [(n, c) for n, c in enumerate(cosines) if c is not None and abs(c) < 10]
    assert sorted(points(ax)) == scored
    if scored:
        top = max(cosine for _, cosine in scored)
        assert points(ax)[-1][1] == top
        assert f"top {top:.2f}" in texts(ax)
        low, high = ax.get_ylim()
        assert low < min(0, *(c for _, c in scored), 0) + 1e-9
        assert high > top


def test_the_background_and_its_band() -> None:
    ax: Any = plot_pool([0.6, 0.4, 0.2])
    assert "mean background 0.30 ± 0.10" in texts(ax)
    (band,) = ax.patches
    heights = band.get_path().transformed(band.get_patch_transform()).vertices[:, 1]
    assert (min(heights), max(heights)) == pytest.approx((0.2, 0.4))
    (stem,) = ax.collections
    assert stem.get_segments()[0].ravel().tolist() == pytest.approx([0, 0.3, 0, 0.6])


def test_one_cosine_has_no_background() -> None:
    ax = plot_pool([0.6])
    assert texts(ax) == ["top 0.60"]
    assert not ax.patches


def test_unscored_candidates_are_counted() -> None:
    label = plot_pool([None, 0.5, float("nan")]).get_xlabel()
    assert label.endswith("\n2 of 3 candidates without a cosine")
    assert "without" not in plot_pool([0.5]).get_xlabel()


def test_pools_without_cosines_say_so() -> None:
    assert texts(plot_pool([])) == ["no candidates"]
    assert texts(plot_pool([None])) == ["no cosines"]


def test_a_pool_out_of_order_is_drawn_in_its_own_order() -> None:
    ax = plot_pool(Pool([0.2, 0.5, 0.9, 0.1]))
    assert points(ax) == [(0, 0.2), (1, 0.5), (3, 0.1), (2, 0.9)]


def test_arrays_are_pools_too() -> None:
    import numpy as np

    assert len(points(plot_pool(np.array([0.5, 0.25], dtype=np.float32)))) == 2


def levels(ax: Any) -> list[str]:
    return [text for text in texts(ax) if " from " in text]


@pytest.mark.parametrize(
    ("cosines", "lines"),
    [
        ([0.6, 0.4], ["low from 0.45", "moderate from 0.50", "high from 0.56"]),
        ([0.6, 0.0], ["low from 0.30", "moderate from 0.50", "high from 0.85"]),
        ([0.9, 0.8], ["moderate from 0.85"]),  # the near-duplicate floor; high is beyond 1
        ([0.6], ["moderate from 0.85"]),
        ([5.0, 5.0], []),
        ([], []),
    ],
)
def test_how_high_the_top_must_reach(cosines: list[float], lines: list[str]) -> None:
    assert levels(plot_pool(cosines, thresholds=Thresholds())) == lines
    assert levels(plot_pool(cosines)) == []


def test_the_lines_follow_the_cuts() -> None:
    ax = plot_pool([0.6, 0.4], thresholds=Thresholds(prominence_high=1.0, cosine_moderate=0.7))
    assert levels(ax)[-1] == "high from 0.80"


def test_into_given_axes() -> None:
    from matplotlib.figure import Figure

    left, right = Figure().subplots(1, 2)
    right.set_ylim(-3, 3)
    assert plot_pool([0.5, 0.4], ax=left) is left
    assert plot_pool([], ax=right) is right
    assert right.get_ylim() == (-3, 3)


@pytest.mark.usefixtures("state")
def test_pools_side_by_side() -> None:
    figure = plot_pools([Pool([0.6, 0.3]), Pool(LONG), Pool([])], ["a", "b", "c"])
    figure.canvas.draw()
    first, second, third = figure.axes
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["a", "b", "c"]
    assert first.get_ylim() == second.get_ylim() == third.get_ylim()
    assert first.get_ylim()[1] > 0.7
    assert [bool(ax.get_ylabel()) for ax in figure.axes] == [True, False, False]
    assert texts(third) == ["no candidates"]
    assert not levels(first)


def test_side_by_side_with_thresholds() -> None:
    figure = plot_pools([[0.6, 0.4], [0.9, 0.8]], "ab", thresholds=Thresholds())
    assert [len(levels(ax)) for ax in figure.axes] == [3, 1]


def test_only_empty_pools() -> None:
    figure = plot_pools([[], [None]], ["a", "b"])
    assert [ax.get_ylim() for ax in figure.axes] == [(0, 1), (0, 1)]


@pytest.mark.parametrize("label", ["from $5 to $\\frac6$", "a\x00b\u202e", "word " * 100, ""])
def test_labels_are_drawn_as_they_are(label: str) -> None:
    figure = plot_pools([[0.6, 0.4]], [label])
    figure.canvas.draw()
    title = figure.axes[0].get_title(loc="left")
    assert len(title) <= 130
    assert "\x00" not in title
    assert "\u202e" not in title


@pytest.mark.parametrize(("pools", "labels"), [([], []), ([[0.5]], []), ([], ["a"])])
def test_labels_and_pools_must_fit(pools: Any, labels: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"{len(pools)} pools and {len(labels)} labels"):
        plot_pools(pools, labels)


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"recall-signal\[eval\]") as caught:
        plot_pool([0.5, 0.4])
    assert caught.value.extra == "eval"


def test_pictures_leave_pyplot_alone() -> None:
    code = (
        "import sys; from recall_signal.display import plot_pool, plot_pools\n"
        "assert 'matplotlib' not in sys.modules\n"
        "plot_pool([.5, .4]).figure.canvas.draw(); plot_pools([[.5, .4]], ['a'])\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("m7", "m7"),
        ("0b9c2f4e-1111-2222-3333-9f21", "0b9c2f…9f21"),
        ("/home/somebody/notes/kiln.md#3", "…/kiln.md#3"),
        ("/home/somebody/" + "k" * 40, "/home/…kkkk"),
        ("/home/somebody/notes/", "/home/…tes/"),
    ],
)
def test_long_ids_are_shortened_where_they_say_least(name: str, shown: str) -> None:
    assert short_id(name) == shown
