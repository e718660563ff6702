"""What the demo's questions are like, beside the answerable ones of public sets.

    python benchmarks/questions.py [DATA]

One table: questions that are not in English (as four fifths of the demo's notes are), answerable
ones in another language than every text that answers them, keyword questions (no function word
among their words), and how much of a question's terms the text holds that answers it, in
quartiles: `term_coverage` of `assess` without a calibration, of the best of its texts. DATA is the
folder of `benchmarks/detection.py`; without it the demo stands alone.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from detection_sets import language_of, set_names
from detection_show import Table, print_tables
from rich.console import Console

from recall_signal import Pool, assess
from recall_signal._words._text import fold, is_function_word, split

NOTE = (
    "Terms, and languages beside the text's, are counted over the answerable questions. nomiracl "
    "names no passage that answers: the best of the ten that were judged. hint3 and "
    "clinc150: the best of all utterances of the intent."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 2 where something is wrong with the arguments."""
    parser = argparse.ArgumentParser(description="What the demo's questions are like.")
    parser.add_argument("data", type=Path, nargs="?", help="NAME.corpus.jsonl.gz and queries")
    folder = parser.parse_args(arguments).data
    if folder is not None and not folder.is_dir():
        Console(stderr=True).print(f"Error: no folder {folder}", markup=False)
        return 2
    rows = [*demo_rows(), *(() if folder is None else set_rows(folder))]
    head = (
        "",
        "questions",
        "not English",
        "not as its text",
        "keywords",
        "terms held 25 / 50 / 75 %",
    )
    table = Table("Questions of the demo and of public sets", head, rows, NOTE)
    print_tables([table], Console(width=120, highlight=False))
    return 0


def demo_rows() -> list[tuple[str, ...]]:
    """Return one row for each section of the demo."""
    notes = {note["id"]: note for note in _demo("memories")}
    rows: list[tuple[str, ...]] = []
    for section in ("main", "hard"):
        questions = [q for q in _demo("questions") if q["section"] == section]
        stored = [(q, [notes[id_] for id_ in q["answers"]]) for q in questions if q["answers"]]
        foreign = sum(all(n["lang"] != q["lang"] for n in answers) for q, answers in stored)
        rows.append(
            (
                f"demo, {section}",
                str(len(questions)),
                str(sum(q["lang"] != "en" for q in questions)),
                f"{foreign} of {len(stored)}",
                str(sum(is_keywords(q["text"]) for q in questions)),
                _quartiles(share(q["text"], [n["text"] for n in answers]) for q, answers in stored),
            )
        )
    return rows


def set_rows(folder: Path) -> list[tuple[str, ...]]:
    """Return one row for each set: its answerable questions that name a text."""
    rows: list[tuple[str, ...]] = []
    for name in set_names(folder):
        if " on " in name:  # one set's questions on another's texts
            continue
        texts = {row["id"]: row["text"] for row in _lines(folder / f"{name}.corpus.jsonl.gz")}
        questions = [
            (row["text"], [texts[id_] for id_ in named if id_ in texts])
            for row in _lines(folder / f"{name}.queries.jsonl.gz")
            if row["kind"] == "present" and (named := row.get("relevant") or row.get("candidates"))
        ]
        if not questions:
            continue
        keywords = f"{np.mean([is_keywords(text) for text, _ in questions]):.0%}"
        held = _quartiles(share(*question) for question in questions)
        language = language_of(name)
        rows.append((f"{name} ({language})", str(len(questions)), "-", "-", keywords, held))
    return rows


def is_keywords(question: str) -> bool:
    """Return True where no word of a question is a function word; single letters are none."""
    words, pairs = split(fold(question))
    return not pairs and not any(len(word) > 1 and is_function_word(word) for word in words)


def share(question: str, texts: Sequence[str]) -> float | None:
    """Return the share of a question's terms that the best of these texts holds."""
    return assess(Pool([0.5] * len(texts), texts=texts, query=question)).term_coverage


def _quartiles(shares: Iterable[float | None]) -> str:
    known = [one for one in shares if one is not None]
    return " / ".join(f"{value:.2f}" for value in np.quantile(known, (0.25, 0.5, 0.75)))


def _demo(name: str) -> list[dict[str, Any]]:
    text = (files("recall_signal") / "demo" / f"{name}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


if __name__ == "__main__":
    sys.exit(main())
