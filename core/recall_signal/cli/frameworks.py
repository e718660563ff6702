"""How the command line reaches a framework that the core never imports.

An integration offers one function in the entry point group ``recall_signal.frameworks``, under
the name of the extra that installs its framework::

    [project.entry-points."recall_signal.frameworks"]
    langchain = "langchain_recall_signal.workbench:build"

``build(passages, encoder, k, pool_size)`` embeds the passages with ``encoder.embed_documents``
(one call), puts them into the framework's own in-memory store, wraps its retriever, and returns
an object with ``recall(question) -> Answer``. Nothing else is asked of it: options are checked,
files are read and answers are shown here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Protocol

from recall_signal.confidence import RecallConfidence
from recall_signal.encoders import Encoder
from recall_signal.errors import ConfigurationError, MissingDependencyError

__all__ = ["Answer", "Build", "Hit", "Passage", "Workbench", "load_framework"]

GROUP = "recall_signal.frameworks"

EXTRAS = ("langchain", "llama-index")
"""Frameworks that have an extra to be installed with."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One text to be searched.

    Attributes:
        id: Unique among the passages.
        text: What is embedded and shown.
        source: Where it comes from, as a person would look it up.
    """

    id: str
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One result on the page: a passage, and its cosine where there is one."""

    id: str
    text: str
    source: str
    cosine: float | None


@dataclass(frozen=True, slots=True)
class Answer:
    """The page for one question, in rank order, and its signal."""

    confidence: RecallConfidence
    hits: Sequence[Hit]


class Workbench(Protocol):
    """Passages in a store of some framework, behind its ``RecallRetriever``."""

    def recall(self, question: str) -> Answer:
        """Search, and judge the pool."""


class Build(Protocol):
    """What an entry point of the group names."""

    def __call__(
        self, passages: Sequence[Passage], encoder: Encoder, k: int, pool_size: int
    ) -> Workbench:
        """Embed and store the passages.

        Args:
            passages: At least one.
            encoder: Embeds the passages now and the questions later.
            k: Page size, at least 1.
            pool_size: Candidates looked at, at least ``k``; there may be fewer passages.
        """


def load_framework(name: str) -> Build:
    """The integration of that name.

    Raises:
        ConfigurationError: There is none.
        MissingDependencyError: Its framework is not installed.
    """
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in found:
        if name in EXTRAS:
            raise MissingDependencyError(f"--framework {name}", name)
        raise ConfigurationError(f"--framework must be one of {', '.join(found)}, got {name!r}")
    try:
        build: Build = found[name].load()
    except ImportError as error:
        raise MissingDependencyError(f"--framework {name}", name) from error
    return build
