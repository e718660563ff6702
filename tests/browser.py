"""A headless Chromium, and axe-core, which says what a reader with a handicap meets on a page."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any

from playwright.sync_api import Browser, sync_playwright

AXE = "axe-core@4.14.1"
RULES = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"]
VIEWS = {"light": ("light", 1100), "dark": ("dark", 1100), "narrow": ("light", 380)}
"""Colour scheme and width of a window, in pixels."""

CHROMIUM = which("chromium") or which("chromium-browser") or which("google-chrome")
"""The system's browser; None takes the one that the driver has installed."""

PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
"""With the folder where the group `reader` puts node and npm."""

NOTHING_FOREIGN = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's own, which reaches no other machine."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", NOTHING_FOREIGN]
        )
        try:
            yield browser
        finally:
            browser.close()


def axe_source(folder: Path) -> str:
    """Install axe-core into a folder and return its script."""
    npm = which("npm", path=PATH) or "npm"
    command = [npm, "install", "--no-save", "--no-package-lock", "--silent", AXE]
    subprocess.run(command, cwd=folder, check=True, timeout=120, env={**os.environ, "PATH": PATH})
    return (folder / "node_modules/axe-core/axe.min.js").read_text("utf-8")


RUN = "rules => axe.run({runOnly: rules})"
"""Script of a page that has axe-core; takes the rules."""


def faults(page: Any, axe: str, rules: Sequence[str] = RULES) -> list[str]:
    """What axe-core finds on an open page: rule, and the place of each element."""
    page.evaluate(axe)
    return listed(page.evaluate(RUN, list(rules)))


def listed(found: Any) -> list[str]:
    """The faults in an answer of axe-core, one line each."""
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}"
        for one in found["violations"]
        for node in one["nodes"]
    ]
