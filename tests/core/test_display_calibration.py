"""The picture of a calibration: every kind has its box, levels begin where they really do."""

import sys
from typing import Any

import pytest
from matplotlib.figure import Figure

from recall_signal import Calibration, MissingDependencyError, assess
from recall_signal.calibration._probability import Platt
from recall_signal.calibration._scale import NULL_SLOPE, Scale
from recall_signal.confidence import LEVELS
from recall_signal.display._calibration_plot import KIND_NAMES, plot_calibration

ANCHORS = (
    ("probes", (0.17, 0.21, 0.25)),
    ("pseudo_query", (0.25, 0.33, 0.37)),
    ("self_retrieval", (0.46, 0.61, 0.67)),
    ("past", (0.2, 0.3, 0.4)),
)


def calibration(**changed: Any) -> Calibration:
    given: dict[str, Any] = {
        "mode": "null",
        "status": "ok",
        "scale": Scale(0.28, 0.07),
        "platt": Platt(0.0, NULL_SLOPE),
        "overlap": 0.0,
        "created": "2026-01-01T00:00:00+00:00",
        "quartiles": ANCHORS,
        "answerable": (0.3, 0.4, 0.5, 0.6, 0.7),
    }
    return Calibration(**{**given, **changed})


def texts(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def boxes(ax: Any) -> list[tuple[float, float]]:
    bars = [bar for container in ax.containers for bar in container]
    return [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars]


def test_every_kind_has_its_box() -> None:
    ax: Any = plot_calibration(calibration())
    ax.figure.canvas.draw()
    assert [label.get_text() for label in ax.get_yticklabels()] == list(KIND_NAMES.values())
    expected = [(0.17, 0.25), (0.25, 0.37), (0.2, 0.4), (0.4, 0.6), (0.46, 0.67)]
    assert boxes(ax) == [pytest.approx(box) for box in expected]
    medians = [line.get_xdata()[0] for line in ax.lines]
    assert medians == pytest.approx([0.21, 0.33, 0.3, 0.5, 0.61, 0.28])
    assert "cut 0.28" in texts(ax)
    assert ax.get_title() == ""


def test_only_what_is_there_is_drawn() -> None:
    ax = plot_calibration(calibration(quartiles=ANCHORS[:1], answerable=()))
    assert [label.get_text() for label in ax.get_yticklabels()] == [KIND_NAMES["probes"]]
    bare = plot_calibration(calibration(quartiles=(), answerable=()))
    bare.figure.canvas.draw()
    low, high = bare.get_xlim()
    assert low < 0.28 < high


def bands(ax: Any) -> list[tuple[float, float]]:
    spans = [patch for patch in ax.patches if patch.get_alpha() == 0.12]
    paths = [span.get_path().transformed(span.get_patch_transform()) for span in spans]
    return [(min(path.vertices[:, 0]), max(path.vertices[:, 0])) for path in paths]


@pytest.mark.parametrize("cuts", [(0.2, 0.5, 0.8), (0.48, 0.5, 0.52)])
def test_levels_begin_where_the_calibration_says(cuts: tuple[float, float, float]) -> None:
    given = calibration(cuts=cuts)
    ax: Any = plot_calibration(given)
    names = [text for text in texts(ax) if text in LEVELS]
    assert names == ["none", "low", "moderate", "high"]
    for name, (start, end) in zip(names, bands(ax), strict=True):
        assert assess([(start + end) / 2], calibration=given).level == name
    heights = [a.xyann[1] for a in ax.texts if a.get_text() in LEVELS]
    assert len(set(heights)) == 2


def test_wide_bands_have_their_names_on_one_line() -> None:
    ax: Any = plot_calibration(calibration(scale=Scale(0.4, 0.15)))
    heights = [a.xyann[1] for a in ax.texts if a.get_text() in LEVELS]
    assert set(heights) == {2}


def test_values_at_the_end_of_the_scale_stay_cosines() -> None:
    wide = (("probes", (-1.0, -0.9, -0.8)), ("self_retrieval", (0.9, 1.0, 1.0)))
    ax = plot_calibration(calibration(quartiles=wide))
    assert ax.get_xlim() == (-1.0, 1.0)
    assert "unknown" not in texts(ax)


def test_no_threshold_is_said() -> None:
    ax = plot_calibration(calibration(status="no_valid_threshold"))
    assert ax.get_title(loc="left").startswith("no threshold separates these")
    assert bands(ax) == []
    assert texts(ax) == []


def test_given_axes_are_used() -> None:
    mine = Figure().subplots()
    assert plot_calibration(calibration(), ax=mine) is mine


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"recall-signal\[eval\]"):
        plot_calibration(calibration())
