"""Reach a framework that the core never imports.

An integration offers one function in the entry point group `recall_signal.frameworks`, under
the name of the extra that installs its framework::

    [project.entry-points."recall_signal.frameworks"]
    langchain = "langchain_recall_signal._workbench:build"

The function is a `BackendFactory`. It embeds the passages with `encoder.embed_documents`
(one call), puts them into the framework's own in-memory store, wraps its retriever, and returns a
`SearchBackend`. Options are checked, files are read and results are shown by the command
line alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Protocol, Self

from recall_signal.advice import Advice, advice_on_page
from recall_signal.calibration import Calibration
from recall_signal.confidence import RecallConfidence
from recall_signal.encoders import Encoder
from recall_signal.errors import ConfigurationError, MissingDependencyError
from recall_signal.mcp import RecallSource
from recall_signal.reports import NOT_CONFIGURED, CosineSource, SelectionReport, report_dict
from recall_signal.selection import SelectionOptions

__all__ = [
    "EXTRAS",
    "BackendFactory",
    "Hit",
    "Passage",
    "SearchBackend",
    "SearchResult",
    "load_framework",
]

GROUP = "recall_signal.frameworks"

EXTRAS = {"langchain": "LangChain", "llama-index": "LlamaIndex"}
"""Frameworks with an extra of their own -> how they write their names."""


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
class SearchResult:
    """The page for one question, in rank order, its signal, and the report of the selection."""

    confidence: RecallConfidence
    hits: Sequence[Hit]
    selection: SelectionReport = NOT_CONFIGURED
    cosine_source: CosineSource | None = None
    calibration: Mapping[str, str | None] | None = None
    card: Callable[[], str] = field(default=str, compare=False)
    """Makes the response's card as HTML, with every text escaped."""

    @property
    def advice(self) -> Advice:
        """The advice for the page."""
        return advice_on_page(self.confidence, self.selection, len(self.hits))

    @property
    def report(self) -> dict[str, object]:
        """The reports as plain JSON values, as in every other channel."""
        return report_dict(
            self.confidence,
            self.selection,
            self.cosine_source,
            advice=self.advice,
            calibration=self.calibration,
        )


class SearchBackend(Protocol):
    """Passages in a store of some framework, behind its `RecallRetriever`."""

    @property
    def retriever(self) -> RecallSource:
        """The retriever itself."""

    def recall(self, question: str, *, use_rerank: bool = False) -> SearchResult:
        """Search, and assess the pool; `use_rerank` needs a reranker."""

    def calibrate(
        self,
        *,
        documents: Iterable[tuple[str, str]] | None = None,
        past_queries: Iterable[str] | None = None,
        labelled: Iterable[tuple[str, bool]] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Calibration:
        """Learn the scale of the retriever; the arguments are those of `Calibration.fit`."""

    def with_calibration(self, calibration: Calibration | None) -> Self:
        """Return the same passages behind a retriever with this calibration.

        Raises:
            CalibrationError: The calibration was fitted with another encoder.
        """

    def with_pool_size(self, pool_size: int) -> Self:
        """Return the same passages behind a retriever that looks at another number of them."""


class BackendFactory(Protocol):
    """The function named by an entry point of the group."""

    def __call__(
        self,
        passages: Sequence[Passage],
        encoder: Encoder,
        k: int,
        pool_size: int,
        *,
        selector: object | None = None,
        selector_options: SelectionOptions | None = None,
        reranker: object | None = None,
    ) -> SearchBackend:
        """Embed and store the passages.

        Args:
            passages: At least one.
            encoder: Embeds the passages now and the questions later.
            k: Page size, at least 1.
            pool_size: Candidates per question, at least `k`; there may be fewer passages.
            selector: May drop results of the page.
            selector_options: How the selector is called.
            reranker: Used by the questions that ask for it.

        Raises:
            ConfigurationError: The framework does not take the selector or the reranker.
        """


def load_framework(name: str) -> BackendFactory:
    """Return the integration of that name.

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
        build: BackendFactory = found[name].load()
    except ImportError as error:
        raise MissingDependencyError(f"--framework {name}", name) from error
    return build
