"""The sets of a data folder, cut to a size that slow encoders can do, and what they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeAlias

from recall_signal.errors import ConfigurationError
from recall_signal.evaluation._data import (
    Document,
    Query,
    parse_document,
    parse_query,
    read_json_lines,
)

__all__ = ["FAMILIES", "DataSet", "Family", "family_of", "language_of", "load_set", "set_names"]

Family: TypeAlias = Literal["far", "near", "hard", "cross"]
FAMILIES: tuple[Family, ...] = ("far", "near", "hard", "cross")

Row: TypeAlias = Mapping[str, Any]

MOST_DOCUMENTS, MOST_QUERIES = 1500, 400
MOST_RELEVANT = 10
"""Relevant documents of a query that must be kept; a set of paraphrases has hundreds."""

NEAR_SETS = ("clinc150", "hint3_powerplay11", "selqa", "xquad_", "jaquad")
"""Sets whose near misses ask for what is not stored; everywhere else the topic is stored."""

CROSS_SETS = {
    "xquad_de on en": ("xquad_de", "xquad_en"),
    "xquad_es on en": ("xquad_es", "xquad_en"),
}
"""Questions in one language on passages in another, by name: the sets of the two. A family of their
own: words that both languages share are few, so they must do no harm."""

GROUPED_SETS = ("locomo",)
"""Sets that are searched within a conversation, so whole conversations are kept."""


@dataclass(frozen=True)
class DataSet:
    """One set.

    Attributes:
        name: As its files are named.
        corpus: Its documents.
        queries: Its queries.
        language: ISO code.
    """

    name: str
    corpus: list[Document]
    queries: list[Query]
    language: str

    @property
    def root(self) -> str:
        """Return the mark of sets made from one source; they are left out together."""
        return self.name.partition("_")[0]


def set_names(folder: Path) -> list[str]:
    """The sets of a data folder, sorted.

    Raises:
        ConfigurationError: There are none.
    """
    names = sorted(path.name.partition(".")[0] for path in folder.glob("*.queries.jsonl.gz"))
    if not names:
        raise ConfigurationError(
            f"{folder} holds no NAME.queries.jsonl.gz; give a folder with that and "
            "NAME.corpus.jsonl.gz for each set"
        )
    crossed = [name for name, parts in CROSS_SETS.items() if set(parts) <= set(names)]
    return names + crossed


def load_set(folder: Path, name: str) -> DataSet:
    """A set, cut down deterministically: the same rows on every machine.

    Queries are taken in the order of a hash while what they need fits in; then the corpus is
    filled up in the order of a hash.
    """
    asked, stored = CROSS_SETS.get(name, (name, name))
    documents = _rows(folder / f"{stored}.corpus.jsonl.gz")
    queries = _rows(folder / f"{asked}.queries.jsonl.gz")
    grouped = name.startswith(GROUPED_SETS)
    if grouped:
        kept_groups = _choose_groups(documents)
        documents = [row for row in documents if row["group"] in kept_groups]
        queries = [row for row in queries if row.get("group") in kept_groups]
    queries, wanted = _choose_queries(queries, bounded=not grouped)
    if not grouped:
        documents = _choose_documents(documents, wanted)
    # Outside the grouped sets a group is only a note of the source.
    drop = {} if grouped else {"group": None}
    return DataSet(
        name,
        [parse_document({**row, **drop}, name) for row in documents],
        [parse_query({**row, **drop}, name) for row in queries],
        language_of(asked),
    )


def family_of(name: str, kind: str) -> Family:
    """Return the meaning of a kind of absent queries in this set."""
    if name in CROSS_SETS:
        return "cross"
    if kind == "off_topic":
        return "far"
    return "near" if name.startswith(NEAR_SETS) else "hard"


def language_of(name: str) -> str:
    """ISO code of the language of a set's queries, from its name."""
    ending = name.rpartition("_")[2]
    if ending in ("de", "es", "fr", "ko", "ru", "zh"):
        return ending
    return "ja" if name == "jaquad" else "en"


def _rows(path: Path) -> list[Row]:
    return [row for _, row in read_json_lines(path)]


def _hash(text: str) -> str:
    return sha256(f"bench|{text}".encode()).hexdigest()


def _by_id(row: Row) -> str:
    return _hash(row["id"])


def _choose_groups(documents: list[Row]) -> set[str]:
    """Whole groups in the order of a hash, the first one whatever its size."""
    sizes: dict[str, int] = {}
    for row in documents:
        sizes[row["group"]] = sizes.get(row["group"], 0) + 1
    kept: set[str] = set()
    total = 0
    for group in sorted(sizes, key=_hash):
        if not kept or total + sizes[group] <= MOST_DOCUMENTS:
            kept.add(group)
            total += sizes[group]
    return kept


def _choose_queries(queries: list[Row], *, bounded: bool) -> tuple[list[Row], set[str]]:
    """Queries and the documents that they need."""
    wanted: set[str] = set()
    kept: list[Row] = []
    for row in sorted(queries, key=_by_id):
        needed = set(sorted(row.get("relevant") or [], key=_hash)[:MOST_RELEVANT])
        needed |= set(row.get("candidates") or []) | set(row.get("distractor") or [])
        fits = not bounded or len(wanted | needed) <= MOST_DOCUMENTS
        if len(kept) < MOST_QUERIES and fits:
            kept.append(row)
            wanted |= needed
    return kept, wanted


def _choose_documents(documents: list[Row], wanted: set[str]) -> list[Row]:
    needed = [row for row in documents if row["id"] in wanted]
    others = sorted((row for row in documents if row["id"] not in wanted), key=_by_id)
    return needed + others[: max(0, MOST_DOCUMENTS - len(needed))]
