"""`recall-signal explore` as a person has it: a server of its own, and a browser."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from time import monotonic, sleep
from urllib.request import urlopen

import pytest
from playwright.async_api import Browser, Page, async_playwright

from tests.browser import CHROMIUM, NOTHING_FOREIGN, RULES, RUN, VIEWS, axe_source, listed
from tests.cli.fakes import TOPICS
from tests.cli.ports import free_port

pytestmark = pytest.mark.xdist_group("browser")

START_SECONDS = 120
HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=1</script> kiln'


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page over three kinds of texts and a hostile one."""
    folder = tmp_path_factory.mktemp("explore")
    docs = folder / "docs"
    docs.mkdir()
    for topic, text in TOPICS.items():
        for number in range(12):
            (docs / f"{topic}{number}.md").write_text(text.format(n=number * 7))
    (docs / "hostile.md").write_text(HOSTILE)
    port = free_port()
    command = [sys.executable, "-m", "recall_signal.cli", "explore", "--docs", str(docs)]
    command += ["--cache", str(folder / "cache"), "--port", str(port), "--no-open"]
    command += ["--encoder", "tests.cli.fakes:QuietWordEncoder"]
    here = Path(__file__).parents[2]
    # NiceGUI would take the server for a test of itself.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    server = subprocess.Popen(command, cwd=here, env=env, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    with server:
        try:
            for line in server.stderr:
                if line.startswith("Open "):
                    break
            url = f"http://127.0.0.1:{port}/"
            _wait_for(url, server)
            yield url
        finally:
            server.terminate()
            server.stderr.close()


def _wait_for(url: str, server: subprocess.Popen[str]) -> None:
    end = monotonic() + START_SECONDS
    while server.poll() is None and monotonic() < end:
        try:
            with urlopen(url, timeout=5):
                return
        except OSError:
            sleep(0.1)
    raise AssertionError(f"no page at {url}")


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", NOTHING_FOREIGN]
        )
        yield browser
        await browser.close()


async def ask(page: Page, question: str, field: str = "Question") -> None:
    await page.get_by_label(field, exact=True).fill(question)
    await page.get_by_label(field, exact=True).press("Enter")
    await page.get_by_text("Is the answer stored here?").first.wait_for()


async def test_ask_and_mark_by_keyboard_alone(address: str, browser: Browser) -> None:
    page = await browser.new_page(viewport={"width": 380, "height": 900})
    failed: list[str] = []
    page.on("requestfailed", lambda request: failed.append(request.url))
    await page.goto(address)
    await ask(page, "the 7 kiln fires stoneware glaze on monday")
    await page.get_by_role("status").get_by_text("read").wait_for()
    await page.get_by_role("button", name="Yes").first.focus()
    await page.keyboard.press("Enter")
    await page.get_by_text("Marked as stored.").wait_for()
    wide = await page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    assert not wide, "the page scrolls sideways at 380 pixels"
    assert failed == []


async def test_tabs_are_apart_and_hostile_text_is_shown_as_text(
    address: str, browser: Browser
) -> None:
    first, second = await browser.new_page(), await browser.new_page()
    title = None
    for page, question in ((first, HOSTILE), (second, "boat leaves harbour")):
        await page.goto(address)
        title = title or await page.title()
        await ask(page, question)
    await first.get_by_text("onerror").first.wait_for()
    assert await first.title() == title
    assert await second.get_by_label("Question", exact=True).input_value() == "boat leaves harbour"
    await first.close()
    await ask(second, "rye bread rises overnight")
    await second.get_by_text("bakery").first.wait_for()


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core."""
    return axe_source(tmp_path_factory.mktemp("axe"))


@pytest.mark.parametrize("view", VIEWS)
async def test_nothing_keeps_a_reader_with_a_handicap_out(
    address: str, browser: Browser, axe: str, view: str
) -> None:
    scheme, width = VIEWS[view]
    page = await browser.new_page(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    await page.goto(address)
    await page.get_by_text("Compare two questions").click()
    await ask(page, "the 7 kiln fires stoneware glaze on monday")
    await ask(page, "who wrote this opera", "Second question")
    await page.get_by_text("Is the answer stored here?").nth(1).wait_for()
    await page.get_by_role("button", name="No").first.click()
    await page.get_by_text("Marked as not stored.").wait_for()
    await page.wait_for_timeout(400)  # colours change slowly
    await page.evaluate(axe)
    assert listed(await page.evaluate(RUN, RULES)) == []
    assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
