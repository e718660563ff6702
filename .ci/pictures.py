"""Draw the pictures of README and documentation again, into docs/img: `make pictures`.

The two witnesses are the demo's main questions under the demo's encoder. The cards and the terminal
are photographed in a headless Chromium.
"""

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from tests.browser import chromium

from langchain_recall_signal import DemoEmbeddings, RecallResponse, RecallRetriever
from recall_signal.display import plot_witnesses
from recall_signal.selection import Answer, SelectionRequest

FOLDER = Path(__file__).parents[1] / "docs/img"
DEMO = files("recall_signal") / "demo"
ASKED = "How many open bookings can one person hold at once?"
NAMES = {
    "stored": "an answer is stored",
    "near_miss": "only the subject is stored",
    "off_topic": "nothing is stored",
}
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><style>:root{{color-scheme:{scheme}}}
body{{font:14px/1.4 sans-serif;margin:0;padding:6px 10px;width:max-content;max-width:{width}px}}
pre{{margin:0;font:13px/1.35 monospace}}</style>{inside}"""


class EveryOther:
    """A selector for the picture: keeps the first result, the third, and so on."""

    def select(self, request: SelectionRequest) -> Answer:
        """Answer with these labels."""
        return Answer({"keep": list(request.labels[::2])}, model="a-small-model")


def load(name: str) -> list[dict[str, str]]:
    """Return the lines of a file of the demo."""
    return [json.loads(line) for line in (DEMO / name).read_text("utf-8").splitlines()]


def build() -> tuple[RecallRetriever, RecallRetriever]:
    """Return the demo's retriever, calibrated, and the same with a selector."""
    store = InMemoryVectorStore(DemoEmbeddings())
    store.add_documents([Document(one["text"], id=one["id"]) for one in load("memories.jsonl")])
    retriever = RecallRetriever.from_vectorstore(store, k=4).calibrated()
    selecting = RecallRetriever.from_vectorstore(store, k=4, selector=EveryOther())
    return retriever, selecting.with_calibration(retriever.calibration)


def draw_witnesses(retriever: RecallRetriever) -> None:
    """Draw the main questions of the demo on both witnesses."""
    asked = [one for one in load("questions.jsonl") if one["section"] == "main"]
    responses = [retriever.recall(one["text"]) for one in asked]
    kinds = [NAMES[one["kind"]] for one in asked]
    ax = plot_witnesses(responses, kinds, calibration=retriever.calibration)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=9, frameon=False)
    ax.figure.savefig(FOLDER / "two-witnesses.png", dpi=110)


def photograph(pages: Sequence[tuple[str, str, str, int]]) -> None:
    """Photograph pieces of HTML: name, markup, colour scheme, width."""
    with chromium() as browser:
        for name, inside, scheme, width in pages:
            page = browser.new_page(
                viewport={"width": width, "height": 200},
                color_scheme="dark" if scheme == "dark" else "light",
            )
            page.set_content(PAGE.format(scheme=scheme, inside=inside, width=width))
            page.locator("body").screenshot(path=FOLDER / f"{name}.png")
            page.close()


def main() -> None:
    """Draw all of them."""
    FOLDER.mkdir(exist_ok=True)
    retriever, selecting = build()
    draw_witnesses(retriever)
    found: RecallResponse = selecting.recall(ASKED)
    calibration = retriever.calibration
    photograph(
        [
            ("card", found._repr_html_(), "light", 700),
            ("card-dark", found._repr_html_(), "dark", 700),
            ("calibration", calibration._repr_html_(), "light", 700),
            ("terminal", f"<pre>{escape(str(found))}</pre>", "dark", 900),
        ]
    )


if __name__ == "__main__":
    main()
