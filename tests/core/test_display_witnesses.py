"""The pictures of two witnesses: every query has its place, every line is where levels change."""

import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from matplotlib.figure import Figure

from recall_signal import Calibration, InvalidInputError, MissingDependencyError, Pool, assess
from recall_signal.calibration._card import level_lines
from recall_signal.display import plot_witnesses
from tests.calibration.toys import calibration as fitted
from tests.core.test_display import check_harmless

QUARTILES = (("probes", (0.17, 0.21, 0.25)), ("pseudo_query", (0.25, 0.33, 0.37)))


def response(**given: Any) -> Any:
    found = assess([0.5, 0.3]).model_copy(update=given)
    return SimpleNamespace(confidence=found)


def points(ax: Any) -> dict[str, list[tuple[float, float]]]:
    """Kind -> the places of its marks, read ones first."""
    found: dict[str, list[tuple[float, float]]] = {}
    label = ""
    for line in ax.lines:
        if line.get_marker() != "None":
            label = label if line.get_label().startswith("_") else line.get_label()
            found.setdefault(label, []).extend(map(tuple, line.get_xydata().tolist()))
    return found


def test_every_query_has_its_place() -> None:
    responses = [
        response(level="high", top_score=0.8, term_coverage=0.9),
        response(level="none", top_score=0.1, term_coverage=0.0),
        response(level="low", top_score=0.2, term_coverage=None),
        response(level="high", top_score=7.0, basis="separation"),
        response(level="unknown", top_score=None),
    ]
    ax: Any = plot_witnesses(responses, ["stored", "absent", "absent", "stored", "stored"])
    ax.figure.canvas.draw()
    assert points(ax) == {"stored": [(0.9, 0.8)], "absent": [(0.0, 0.1), (-0.06, 0.2)]}
    hollow = [line for line in ax.lines if line.get_markerfacecolor() == "none"]
    assert [len(line.get_xdata()) for line in hollow] == [0, 2]
    assert not ax.texts


def test_without_kinds_and_into_given_axes() -> None:
    mine = Figure().subplots()
    assert plot_witnesses([response(term_coverage=0.5)], ax=mine) is mine
    assert points(mine) == {"queries": [(0.5, 0.5)]}


def test_one_kind_for_each() -> None:
    with pytest.raises(InvalidInputError, match="got 2 kinds and 1 responses"):
        plot_witnesses([response()], ["a", "b"])


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"recall-signal\[eval\]"):
        plot_witnesses([])


@pytest.mark.parametrize("prior", [0.5, 0.1])
@pytest.mark.parametrize("cuts", [(0.2, 0.5, 0.8), (0.3, 0.6, 0.9)])
def test_lines_are_where_the_levels_change(prior: float, cuts: tuple[float, float, float]) -> None:
    given = fitted().with_prior(prior).with_cuts(*cuts)
    lines = level_lines(given)
    (cut,) = [line for line in lines if line.is_cut]
    assert (cut.at_none, cut.at_full) == (given.cut_at(0.0), given.cut_at(1.0))
    below = "none"
    for line in lines:
        if line.name.startswith("probability"):
            continue
        for coverage, top in ((0.0, line.at_none), (1.0, line.at_full)):
            judged = [given.judge("none", top + step, coverage).level for step in (-1e-6, 1e-6)]
            assert judged == [below, line.name]
        below = line.name
    assert below == "high"
    ax = plot_witnesses([], calibration=given)
    assert [text.get_text() for text in ax.texts] == [f"{line.name} above" for line in lines]


def test_a_calibration_shows_itself() -> None:
    given = replace(fitted(), quartiles=QUARTILES, answerable=(0.4, 0.5, 0.6))
    markup = given._repr_html_()
    check_harmless(markup)
    even = (given.cut_at(0.0), given.cut_at(1.0))
    assert "of {:.2f} at term coverage 0 and of {:.2f} at 1".format(*even) in markup
    for name in ("none", "low", "moderate", "high"):
        assert f">{name}</text>" in markup
    assert "A: general questions (not stored); B: " in markup
    assert "C: labelled queries" in markup
    assert str(given).splitlines()[-1] in markup
    written: list[str] = []
    given._repr_pretty_(SimpleNamespace(text=written.append), False)
    assert written == [str(given)]


def test_a_calibration_that_decides_nothing_says_so() -> None:
    given = replace(fitted(), status="no_valid_threshold")
    markup = given._repr_html_()
    assert "No line: levels do not follow this calibration." in markup
    bare = replace(given, quartiles=(), answerable=())
    assert "<svg" not in bare._repr_html_()
    assert "Boxes" not in bare._repr_html_()


def test_hostile_names_in_a_calibration() -> None:
    check_harmless(replace(fitted(), encoder='"><script>\u202e\x1b')._repr_html_())


def test_steep_and_flat_lines_keep_their_names_apart() -> None:
    given = replace(fitted(), quartiles=QUARTILES)
    close = given.with_cuts(0.49, 0.5, 0.51)
    assert close._repr_html_().count("<text") == given._repr_html_().count("<text") - 2


def test_the_cut_in_force_is_that_of_the_pool() -> None:
    given: Calibration = fitted()
    assert given.cut_for(Pool([])) is None
    assert given.cut_for(Pool([0.5, 0.3])) == given.cut_at()
