"""Exit with what axe-core finds on the built site: `site_access.py [FOLDER]`, after `make docs`.

One page of each kind in light and dark at 1100 pixels and in light at 380; nothing may be loaded
from another machine, and nothing but wide content of its own may scroll sideways.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from tests.browser import VIEWS, axe_source, chromium, faults

ROOT = Path(__file__).parents[1]
PAGES = (
    "",
    "calibration",
    "detection",
    "examples",
    "notebooks/01_first_look",
    "reference/llama-index",
)
"""The start, prose, wide tables, long code, a notebook with cards, a reference."""

SETTLED = 600
"""Milliseconds until a page's own script has looked at it."""


class Quiet(SimpleHTTPRequestHandler):
    """Serves without a word for each request."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def look(page: Any, address: str, axe: str) -> list[str]:
    """Return the faults of one page in one view."""
    failed: list[str] = []
    page.on("requestfailed", lambda request: failed.append(f"not loaded: {request.url}"))
    page.goto(address)
    page.wait_for_timeout(SETTLED)
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return [*failed, *faults(page, axe), *([f"{wide} pixels too wide"] if wide > 0 else [])]


def main(folder: Path) -> str | None:
    """Return the faults, if any."""
    found: list[str] = []
    with TemporaryDirectory() as scratch, served(folder) as address, chromium() as browser:
        axe = axe_source(Path(scratch))
        for view, (scheme, width) in VIEWS.items():
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme
            )
            for name in PAGES:
                page = context.new_page()
                found += [f"{name} ({view}): {one}" for one in look(page, f"{address}/{name}", axe)]
                page.close()
            context.close()
    return "\n".join(found) or None


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"))
