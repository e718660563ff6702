"""How the command line reaches a framework that the core never imports.

An integration offers one function in the entry point group ``recall_signal.frameworks``, under
the name of the extra that installs its framework::

    [project.entry-points."recall_signal.frameworks"]
    langchain = "langchain_recall_signal.workbench:build"

``build(passages, encoder, k, pool_size)`` embeds the passages with ``encoder.embed_documents``
(one call), puts them into the framework's own in-memory store, wraps its retriever, and returns
an object with ``recall(question) -> Answer`` and ``calibrate() -> Calibration``; it passes a
selector and a calibration on to the retriever. Nothing else is asked of it: options are checked,
files are read and answers are shown here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Protocol

from recall_signal.calibration import Calibration
from recall_signal.confidence import RecallConfidence
from recall_signal.encoders import Encoder
from recall_signal.errors import ConfigurationError, MissingDependencyError
from recall_signal.reports import NOT_CONFIGURED, SelectionReport
from recall_signal.selection import SelectionOptions, Selector

__all__ = ["EXTRAS", "Answer", "Build", "Hit", "Passage", "Workbench", "load_framework"]

GROUP = "recall_signal.frameworks"

EXTRAS = {"langchain": "LangChain", "llama-index": "LlamaIndex"}
"""Frameworks that have an extra to be installed with, and how they write their names."""


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
    """The page for one question, in rank order, its signal, and what a selector did."""

    confidence: RecallConfidence
    hits: Sequence[Hit]
    selection: SelectionReport = NOT_CONFIGURED


class Workbench(Protocol):
    """Passages in a store of some framework, behind its ``RecallRetriever``."""

    def recall(self, question: str) -> Answer:
        """Search, and judge the pool."""

    def calibrate(self, **given: Any) -> Calibration:
        """Learn the scale of the retriever, with the arguments of ``Calibration.fit``."""


class Build(Protocol):
    """What an entry point of the group names."""

    def __call__(
        self,
        passages: Sequence[Passage],
        encoder: Encoder,
        k: int,
        pool_size: int,
        *,
        selector: Selector | None = None,
        selector_options: SelectionOptions | None = None,
        calibration: Calibration | None = None,
    ) -> Workbench:
        """Embed and store the passages.

        Args:
            passages: At least one.
            encoder: Embeds the passages now and the questions later.
            k: Page size, at least 1.
            pool_size: Candidates looked at, at least ``k``; there may be fewer passages.
            selector: May drop results of the page.
            selector_options: How it is asked.
            calibration: The scale of this retriever, learnt earlier.

        Raises:
            CalibrationError: The calibration was fitted with another encoder.
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
