"""Photograph `recall-signal explore` over the notes of the demo: part of `make pictures`."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep
from urllib.request import urlopen

from PIL import Image
from tests.browser import VIEWS, chromium

FOLDER = Path(__file__).parents[1] / "docs/img"
QUESTIONS = ("How many open bookings can one person hold at once?", "best submarine films")


@contextmanager
def served(docs: Path) -> Iterator[str]:
    """Serve the page over a folder."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    command = [sys.executable, "-m", "recall_signal.cli", "explore", "--docs", str(docs)]
    server = subprocess.Popen(
        [*command, "--cache", str(docs.parent), "--port", port, "--no-open", "-k", "3"]
    )
    address = f"http://127.0.0.1:{port}/"
    try:
        while server.poll() is None:
            try:
                with urlopen(address, timeout=5):
                    break
            except OSError:
                sleep(0.2)
        yield address
    finally:
        server.terminate()
        server.wait(20)


def main() -> None:
    """Ask two questions side by side, and photograph the page in each view."""
    with TemporaryDirectory() as scratch:
        docs = Path(scratch) / "notes"
        docs.mkdir()
        lines = (files("recall_signal") / "demo/memories.jsonl").read_text("utf-8").splitlines()
        for note in map(json.loads, lines):
            (docs / f"{note['id']}.md").write_text(note["text"], "utf-8")
        with served(docs) as address, chromium() as browser:
            for name, (scheme, width) in VIEWS.items():
                page = browser.new_page(
                    viewport={"width": width, "height": 900},
                    color_scheme="dark" if scheme == "dark" else "light",
                )
                page.goto(address)
                page.get_by_text("Compare two questions").click()
                for field, question in zip(("Question", "Second question"), QUESTIONS, strict=True):
                    page.get_by_label(field, exact=True).fill(question)
                    page.get_by_label(field, exact=True).press("Enter")
                page.get_by_text("Is the answer stored here?").nth(1).wait_for()
                page.get_by_role("button", name="Yes").first.click()
                page.wait_for_timeout(500)
                page.screenshot(path=FOLDER / f"explore-{name}.png", full_page=True)
                page.close()
                _make_small(FOLDER / f"explore-{name}.png")


def _make_small(path: Path) -> None:
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(48)
    few.save(path, optimize=True)


if __name__ == "__main__":
    main()
