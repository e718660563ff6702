"""The sets of a data folder in a corpus that grows: a set's own texts, then those of the others.

The smaller corpus is always the beginning of the larger one. Above 30,000 the added texts are cut
into overlapping pieces, stored beside the whole: single sentences, and then pairs of neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from detection_sets import CROSS_SETS, GROUPED_SETS, DataSet, language_of, load_set, set_names
from encoders import CachedSides

from recall_signal.errors import ConfigurationError
from recall_signal.evaluation._data import Document, load_corpus

__all__ = ["TEXTS_ALONE", "EncoderMemory", "Union"]

LANGUAGE = "en"
"""The one that every encoder of the benchmark knows."""

KIN = {
    "squad2": ("xquad_", "clinc150", "locomo"),
    "nomiracl_en": ("xquad_", "squad2"),
    "clinc150": ("xquad_", "squad2"),
    "emanual_tv": ("xquad_", "squad2"),
    "xquad_en": ("xquad_", "squad2"),
}
"""Beginnings of the names of sets whose texts may answer absent queries of a set, since these were
taken from there or both have one source. They are never added to it."""

TEXTS_ALONE = 30_000
"""The size up to which a corpus grows by whole texts alone."""

ENOUGH = 0.95
"""Share of a size that a corpus has to reach to count there."""

SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
SHORTEST_PIECE, MOST_OF_TEXT = 30, 0.9
"""Characters of a piece at least, and its share of the text at most."""

EMBED_BATCH = 1024


class Union:
    """All sets in English, each of which can grow by the others' texts.

    Args:
        folder: Where the sets are.
        only: Sets that are measured; all of them where it is empty.
    """

    def __init__(self, folder: Path, only: Sequence[str] = ()) -> None:
        names = [name for name in set_names(folder) if name not in CROSS_SETS]
        names = [name for name in names if language_of(name) == LANGUAGE]
        unknown = sorted(set(only) - set(names))
        if unknown:
            raise ConfigurationError(
                f"no set {unknown[0]} in English; there are {', '.join(names)}"
            )
        self._folder = folder
        self._texts = {
            name: [one.text for one in load_corpus(folder / f"{name}.corpus.jsonl.gz")]
            for name in names
        }
        self.names = [
            name for name in only or names if not name.startswith(GROUPED_SETS)
        ]  # the others are searched within a conversation, which does not grow

    def grown(self, name: str, size: int) -> DataSet | None:
        """A set among so many texts, with its dev queries; None where there are too few texts.

        A set's own texts are all there, so a corpus can be larger than the size.
        """
        data = self._set(name)
        own = list(data.corpus)
        have = {document.text for document in own}
        added: list[Document] = []
        for text in self._others(name, beyond=size > TEXTS_ALONE):
            if len(own) + len(added) >= size:
                break
            if text not in have:
                have.add(text)
                added.append(Document(f"added {len(added)}", text))
        if len(own) + len(added) < ENOUGH * size:
            return None
        queries = [query for query in data.queries if query.split == "dev"]
        return replace(data, corpus=own + added, queries=queries)

    def _others(self, name: str, *, beyond: bool) -> Iterator[str]:
        kin = KIN.get(name, ())
        added = [other for other in self._texts if other != name and not other.startswith(kin)]
        yield from _mixed(self._texts[other] for other in [name, *added])
        if beyond:
            for neighbours in (1, 2):
                yield from _mixed(self._pieces(other, neighbours) for other in added)

    @cache  # noqa: B019  (there is one union in a run)
    def _set(self, name: str) -> DataSet:
        return load_set(self._folder, name)

    @cache  # noqa: B019
    def _pieces(self, name: str, neighbours: int) -> list[str]:
        return [piece for text in self._texts[name] for piece in _pieces_of(text, neighbours)]


class EncoderMemory:
    """An encoder whose vectors are kept as rows of arrays, because all corpora share their texts.

    Args:
        encoder: Gives each vector once.
    """

    def __init__(self, encoder: CachedSides) -> None:
        self.name = encoder.name
        self._encoder = encoder
        self._passages: dict[str, Any] = {}
        self._queries: dict[str, Any] = {}

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question, `[dim]`."""
        return self.embed_queries([text])[0]

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of questions, `[n, dim]`."""
        return _remembered(texts, self._queries, self._encoder.embed_queries)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of passages, `[n, dim]`."""
        return _remembered(texts, self._passages, self._encoder.embed_documents)


def _remembered(
    texts: Sequence[str],
    memory: dict[str, Any],
    embed: Callable[[Sequence[str]], list[list[float]]],
) -> list[list[float]]:
    missing = [text for text in dict.fromkeys(texts) if text not in memory]
    for start in range(0, len(missing), EMBED_BATCH):
        batch = missing[start : start + EMBED_BATCH]
        memory.update(zip(batch, np.asarray(embed(batch), dtype=np.float32), strict=True))
    return [memory[text] for text in texts]


def _pieces_of(text: str, neighbours: int) -> Iterator[str]:
    sentences = SENTENCE_END.split(text)
    for start in range(len(sentences) - neighbours + 1):
        piece = " ".join(sentences[start : start + neighbours])
        if SHORTEST_PIECE <= len(piece) < MOST_OF_TEXT * len(text):
            yield piece


def _mixed(texts: Iterable[Sequence[str]]) -> list[str]:
    return sorted(chain.from_iterable(texts), key=_hash)


@cache
def _hash(text: str) -> str:
    return sha256(f"growth|{text}".encode()).hexdigest()
