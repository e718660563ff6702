"""The cards in a real Chromium: readable in light, dark and narrow, and nothing in them runs."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from recall_signal import SelectionReport, assess
from recall_signal.confidence import LEVELS, unknown
from recall_signal.display import PageRow, confidence_html, response_html
from tests.browser import VIEWS, axe_source, chromium, faults
from tests.calibration.toys import WORDS, calibration
from tests.core.shown import hand_made
from tests.core.test_display import HOSTILE, signal
from tests.core.test_display_witnesses import QUARTILES

pytestmark = pytest.mark.xdist_group("browser")

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>cards</title>
<meta name="viewport" content="width=device-width"><style>:root{{color-scheme:light dark}}
body{{font:14px/1.4 sans-serif;margin:8px}}</style></head><body><main><h1>cards</h1>{cards}</main>
</body></html>"""


def cards() -> str:
    """One of each kind, and what a hostile store can bring along."""
    rows = [PageRow(n, text, text, 0.5 - n / 50, float(n)) for n, text in enumerate(HOSTILE)]
    rows[1] = replace(rows[1], rank=None)
    selection = SelectionReport(
        applied=True, model=HOSTILE[0], kept=15, dropped=1, dropped_memory_ids=[HOSTILE[1]]
    )
    drawn = calibration(words=WORDS, quartiles=QUARTILES, encoder=HOSTILE[1])
    found = assess([0.9, 0.4, 0.3], term_coverage=0.5)
    return "".join(
        [
            *(confidence_html(signal(level=level)) for level in LEVELS),
            response_html(hand_made(confidence=found, cut=0.6)),
            response_html(hand_made(confidence=unknown("no_scores", 3), cosines=[None] * 3)),
            response_html(hand_made(confidence=found, cut=0.3, rows=rows, selection=selection)),
            drawn._repr_html_(),
        ]
    )


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    return axe_source(tmp_path_factory.mktemp("axe"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.mark.parametrize("view", VIEWS)
def test_cards_are_readable_and_harmless(view: str, browser: Any, axe: str) -> None:
    scheme, width = VIEWS[view]
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    alerts: list[str] = []

    def dismiss(dialog: Any) -> None:
        alerts.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    page.set_content(PAGE.format(cards=cards()))
    assert faults(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("script, img, a, iframe, style + *").count() == 0
    assert page.locator("svg[role=img]").count() == 3
    assert page.get_by_text("<script>alert(1)</script>").count() > 0
    assert alerts == []
    page.close()
