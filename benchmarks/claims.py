"""Test what the signal's origin claims about its figures, on real sets with real encoders.

    python benchmarks/claims.py DATA --cache FOLDER

Four questions, one table each: how the figures of stored and of off-topic questions are
distributed; how well each figure ranks them; how often the uncalibrated level is right; and what
remains of each figure when a constant is added to every cosine, as another encoder would do.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported
os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from detection_sets import load_set, set_names
from detection_show import Table, print_tables, to_markdown
from encoders import ENCODERS, CachedSides
from numpy.typing import NDArray
from rich.console import Console

from recall_signal import Assessments, assess_many
from recall_signal.errors import RecallSignalError

Floats = NDArray[np.float64]

POOL = 50
PAGES = (5, 10, POOL)
OFFSETS = (0.0, 0.2, 0.5)
FIGURES = ("top_score", "prominence", "relative_margin")
MARGIN = 2.0
"""A relative margin from which the origin calls a keyword match high."""


@dataclass(frozen=True, eq=False)
class Searched:
    """Cosines of one encoder on one set, `[Q, 50]`, highest first, NaN where there is none.

    Attributes:
        stored: Rows of the questions whose answer is stored.
        off_topic: Rows of the questions of another data set.
    """

    name: str
    stored: Floats
    off_topic: Floats


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; 2 where something is wrong with the arguments."""
    parser = argparse.ArgumentParser(description="Test the claims of the signal's origin.")
    parser.add_argument("data", type=Path, help="folder with NAME.corpus.jsonl.gz and queries")
    parser.add_argument("--encoders", default=",".join(ENCODERS), help="names, comma-separated")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/recall-signal-bench")
    parser.add_argument("--markdown", type=Path, help="write the tables")
    parser.add_argument("--embedded", action="store_true", help="only sets with cached vectors")
    options = parser.parse_args(arguments)
    errors = Console(stderr=True)
    try:
        searched = {
            name: search_all(options.data, name, options.cache, embedded=options.embedded)
            for name in options.encoders.split(",")
        }
    except (KeyError, RecallSignalError) as error:
        errors.print(f"Error: {error}", markup=False)
        return 2
    tables = tables_of({name: pools for name, pools in searched.items() if pools})
    print_tables(tables, Console(width=150, highlight=False))
    if options.markdown:
        options.markdown.write_text(to_markdown(tables), "utf-8")
    return 0


def search_all(folder: Path, encoder_name: str, cache: Path, *, embedded: bool) -> list[Searched]:
    """Search every set that has off-topic questions in a language the encoder knows."""
    encoder = CachedSides(ENCODERS[encoder_name](), cache)
    found = []
    for name in set_names(folder):
        data = load_set(folder, name)
        kinds = [query.kind for query in data.queries]
        if "off_topic" not in kinds or data.language not in encoder.languages:
            continue
        texts = [document.text for document in data.corpus]
        if embedded and not encoder.holds(texts):
            continue
        vectors = _unit(encoder.embed_documents(texts))
        questions = _unit(encoder.embed_queries([query.text for query in data.queries]))
        cosines = questions @ vectors.T
        if any(query.group for query in data.queries):
            groups = np.array([document.group or "" for document in data.corpus])
            own = np.array([query.group or "" for query in data.queries])
            cosines = np.where(own[:, None] == groups[None, :], cosines, np.nan)
        pools = -np.sort(-cosines, axis=1)[:, :POOL]
        rows = np.array(kinds)
        found.append(Searched(name, pools[rows == "present"], pools[rows == "off_topic"]))
    return found


def tables_of(searched: dict[str, list[Searched]]) -> list[Table]:
    """Build the four tables, one row an encoder (and a page size or an offset)."""
    return [
        Table(
            "Quartiles of each figure, pools of 50",
            ("encoder", "questions", *(f"{f} 25 / 50 / 75 %" for f in FIGURES), "margin >= 2"),
            [
                _distribution(name, kind, pools)
                for name, pools in searched.items()
                for kind in ("stored", "off_topic")
            ],
            "relative_margin reads high for off-topic questions too: it is no evidence.",
        ),
        Table(
            "AUROC of each figure, mean over sets, by candidates looked at",
            ("encoder", "candidates", *FIGURES),
            [
                (name, str(size), *(f"{_mean_auroc(pools, f, size):.3f}" for f in FIGURES))
                for name, pools in searched.items()
                for size in PAGES
            ],
            ".5 is a coin. Each figure is computed from the first so many candidates.",
        ),
        Table(
            "The uncalibrated level, by candidates looked at",
            ("encoder", "candidates", "stored read", "off-topic read"),
            [
                (name, str(size), *(f"{100 * share:.0f} %" for share in _shares(pools, size)))
                for name, pools in searched.items()
                for size in PAGES
            ],
            "Read means high or moderate.",
        ),
        Table(
            "The same level after an offset on every cosine, pools of 50",
            ("encoder", "offset", "stored read", "off-topic read"),
            [
                (name, f"{offset:.1f}", *(f"{100 * s:.0f} %" for s in _shares(pools, POOL, offset)))
                for name, pools in searched.items()
                for offset in OFFSETS
            ],
            "Cosines c become c + offset (1 - c), so that 1 stays 1; no rank changes.",
        ),
    ]


def auroc(higher: Floats, lower: Floats) -> float:
    """Return the share of pairs in the right order, ties counted half; NaN values are last."""
    higher, lower = (np.nan_to_num(values, nan=-np.inf) for values in (higher, lower))
    ranked = np.sort(lower)
    won = np.searchsorted(ranked, higher, "left") + np.searchsorted(ranked, higher, "right")
    return float(won.mean() / (2 * len(ranked)))


def _distribution(encoder: str, kind: str, pools: list[Searched]) -> tuple[str, ...]:
    assessed = [assess_many(getattr(pool, kind)) for pool in pools]
    columns = [np.concatenate([getattr(one, f) for one in assessed]) for f in FIGURES]
    quartiles = [
        " / ".join(f"{q:.2f}" for q in np.nanquantile(c, (0.25, 0.5, 0.75))) for c in columns
    ]
    share = float((columns[2] >= MARGIN).mean())
    return encoder, kind.replace("_", "-"), *quartiles, f"{100 * share:.0f} %"


def _quartiles(values: Floats) -> str:
    return " / ".join(f"{value:.2f}" for value in np.nanquantile(values, (0.25, 0.5, 0.75)))


def _mean_auroc(pools: list[Searched], figure: str, size: int) -> float:
    def column(cosines: Floats) -> Floats:
        values: Floats = getattr(assess_many(cosines[:, :size]), figure)
        return values

    return float(np.mean([auroc(column(p.stored), column(p.off_topic)) for p in pools]))


def _shares(pools: list[Searched], size: int, offset: float = 0.0) -> tuple[float, float]:
    def read(cosines: Floats) -> float:
        moved = cosines[:, :size] + offset * (1.0 - cosines[:, :size])
        return _read(assess_many(np.clip(moved, -1.0, 1.0)))

    stored = float(np.mean([read(pool.stored) for pool in pools]))
    return stored, float(np.mean([read(pool.off_topic) for pool in pools]))


def _read(assessed: Assessments) -> float:
    return float(np.isin(np.asarray(assessed.level), ("high", "moderate")).mean())


def _unit(rows: Sequence[Sequence[float]]) -> Floats:
    vectors = np.asarray(rows, dtype=np.float64)
    unit: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return unit


if __name__ == "__main__":
    sys.exit(main())
