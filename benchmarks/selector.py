"""Measure what a language model does to the pages it selects from, in one table a data set.

    python benchmarks/selector.py DATA [--quick] [--queries 24]

DATA is a folder with `NAME.corpus.jsonl.gz` and `NAME.queries.jsonl.gz`. Every page comes
from the demo encoder and goes to the model three times: with our JSON schema, as plain text, and
with a schema that names the page's labels, which leaves nothing to get wrong but the judgement.
What stays is compared with keeping everything: precision is the share of relevant results among
those left, recall the share of the page's relevant results that are left.

The model is the small one of the tests unless `RECALL_SIGNAL_LLM_URL` and
`RECALL_SIGNAL_LLM_MODEL` name another. It is real and it is weak: the figures show what the
selector costs and how often it steps aside, not what a good judge would achieve.
"""

import argparse
import gzip
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import ChatOpenAI
from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from langchain_recall_signal import DemoEmbeddings, RecallRetriever
from langchain_recall_signal._selector import RunnableSelector
from recall_signal.selection import ANSWER_SCHEMA, SelectionOptions

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "selection"))
from real_llm import Server, running

SETS = ("selqa", "clinc150", "xquad_de")
"""Single sentences, short utterances, and whole paragraphs in another language."""

MODES = ("schema", "text", "labels")
PAGE = 5
OPTIONS = SelectionOptions(timeout=120.0, max_characters=240)
PASSAGES = 1_000
"""Passages of a set that are searched: all relevant ones, and others by the hash of their id."""


@dataclass
class Row:
    """One set in one mode."""

    data: str
    mode: str
    pages: int = 0
    shown: int = 0
    relevant: int = 0
    left: int = 0
    relevant_left: int = 0
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    reasons: Counter[str] = field(default_factory=Counter)
    losses: list[tuple[str, str, list[str]]] = field(default_factory=list)


@dataclass(frozen=True)
class Question:
    """A question with the ids of what answers it."""

    id: str
    text: str
    relevant: frozenset[str]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What a real model does to the pages.")
    parser.add_argument("data", type=Path, help="the folder with the data sets")
    parser.add_argument("--queries", type=int, default=24, help="of each set")
    parser.add_argument("--quick", action="store_true", help="every row, no figure to rely on")
    options = parser.parse_args()
    queries, passages = (2, 40) if options.quick else (options.queries, PASSAGES)
    console = Console()
    with running() as server, Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=len(SETS) * len(MODES) * queries)
        rows = []
        for name in SETS:
            progress.update(task, description=f"{name}: embedding")
            questions, store = load(options.data, name, queries, passages)
            for mode in MODES:
                progress.update(task, description=f"{name}: {mode}")
                retriever = RecallRetriever.from_vectorstore(
                    store, k=PAGE, selector=model(server, mode), selector_options=OPTIONS
                )
                row = Row(name, mode)
                for question in questions:
                    measure(row, question, store, retriever)
                    progress.advance(task)
                rows.append(row)
    show(console, rows, server)
    return 0


def load(
    folder: Path, name: str, queries: int, passages: int
) -> tuple[list[Question], InMemoryVectorStore]:
    """Some answerable questions of a set, and a store with what answers them among others."""
    found = [
        Question(line["id"], line["text"], frozenset(line["relevant"]))
        for line in lines(folder / f"{name}.queries.jsonl.gz")
        if line["relevant"]
    ]
    questions = sorted(found, key=lambda question: digest(question.id))[:queries]
    wanted = frozenset[str]().union(*(question.relevant for question in questions))
    corpus = sorted(
        lines(folder / f"{name}.corpus.jsonl.gz"),
        key=lambda line: (line["id"] not in wanted, digest(line["id"])),
    )
    store = InMemoryVectorStore(DemoEmbeddings())
    texts = corpus[: max(passages, len(wanted))]
    store.add_documents([Document(id=line["id"], page_content=line["text"]) for line in texts])
    return questions, store


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of one file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def digest(text: str) -> str:
    """An order that has nothing to do with the file's."""
    return sha256(text.encode()).hexdigest()


def model(server: Server, mode: str) -> Any:
    """The real client of the server, asked in this mode."""
    chat = ChatOpenAI(
        base_url=server.url,
        model=server.model,
        api_key=server.key,  # type: ignore[arg-type]
        temperature=0,
        max_tokens=96,  # type: ignore[call-arg]
        max_retries=0,
    )
    if mode == "labels":
        return RunnableLambda(partial(ask_by_labels, chat))
    return RunnableSelector(chat, structured=mode == "schema")


def ask_by_labels(chat: ChatOpenAI, prompt: str, config: RunnableConfig) -> Any:
    """The reply under a schema that allows this page's labels and nothing else."""
    labels = re.findall(r"^\[(\w+)\] ", prompt, flags=re.MULTILINE)
    kept = {"type": "array", "items": {"enum": labels}, "minItems": 1, "maxItems": len(labels)}
    schema = {**ANSWER_SCHEMA, "properties": {"keep": kept}}
    return chat.with_structured_output(schema, include_raw=True).invoke(prompt, config)


def measure(
    row: Row, question: Question, store: InMemoryVectorStore, retriever: RecallRetriever
) -> None:
    """Add one page to a row."""
    page = [str(d.id) for d in store.similarity_search(question.text, k=PAGE)]
    usage = Calls()
    start = time.perf_counter()
    response = retriever.recall(question.text, {"callbacks": [usage]})
    row.seconds += time.perf_counter() - start
    left = [str(d.id) for d in response.documents]
    row.pages += 1
    row.shown += len(page)
    row.relevant += sum(id_ in question.relevant for id_ in page)
    row.left += len(left)
    row.relevant_left += sum(id_ in question.relevant for id_ in left)
    row.calls += usage.calls
    row.tokens += sum(used["total_tokens"] for used in usage.usage_metadata.values())
    row.reasons[response.selection.reason or "applied"] += 1
    lost = [id_ for id_ in page if id_ in question.relevant and id_ not in left]
    if lost:
        row.losses.append((question.id, question.text, lost))


class Calls(UsageMetadataCallbackHandler):
    """The tokens of the calls, and how many there were."""

    calls = 0

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        """Count it."""
        self.calls += 1


COLUMNS = ("set", "mode", "pages", "precision", "keep all", "recall", "calls", "tokens", "s")


def show(console: Console, rows: Sequence[Row], server: Server) -> None:
    """The tables; calls, tokens and seconds are per page."""
    title = f"Selector: {Path(server.name).name}, pages of {PAGE}"
    table = Table(*COLUMNS, box=box.SIMPLE, title=title, title_justify="left")
    for row in rows:
        precision, before = share(row.relevant_left, row.left), share(row.relevant, row.shown)
        calls, tokens, seconds = (n / row.pages for n in (row.calls, row.tokens, row.seconds))
        table.add_row(
            row.data,
            row.mode,
            str(row.pages),
            precision,
            before,
            share(row.relevant_left, row.relevant),
            f"{calls:.2f}",
            f"{tokens:.0f}",
            f"{seconds:.1f}",
        )
    console.print(table)
    console.print("[bold]What became of the pages[/bold]")
    for row in rows:
        said = ", ".join(f"{name} {share(n, row.pages)}" for name, n in row.reasons.most_common())
        console.print(f"  {row.data} {row.mode}: {said}")
    console.print("[bold]Pages that lost something relevant[/bold]")
    for row in rows:
        for id_, text, lost in row.losses:
            said = f"  {row.data} {row.mode} {id_}: {text[:60]} lost {', '.join(lost)}"
            console.print(said, markup=False, soft_wrap=True)


def share(part: int, whole: int) -> str:
    """A share with two decimals, a dash of nothing."""
    return f"{part / whole:.2f}" if whole else "-"


if __name__ == "__main__":
    sys.exit(main())
