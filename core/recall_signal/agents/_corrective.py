"""Corrective retrieval without a framework: its decisions, its state, and its texts.

Retrieve, look at the signal, then answer, or rewrite at most n times, or search the web. A
framework carries out the steps; each step's result comes here and becomes an update of the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, get_args

from recall_signal._text import encodable
from recall_signal.agents._prompts import UNMEASURED, answer_warning
from recall_signal.agents._tool import ToolItem, identified, tool_artifact
from recall_signal.errors import ConfigurationError, InvalidInputError, InvalidResultError
from recall_signal.report_parsing import advice_in
from recall_signal.reports import ReportsMixin

__all__ = [
    "CorrectivePolicy",
    "Decision",
    "Source",
    "web_items",
]

Decision = Literal["answer", "rewrite", "web_search"]
Source = Literal["memory", "web"]

MAX_REWRITES = 5
"""Each costs a model call and a search. In LangGraph the longest way, 3 steps a round and 5 around
them, also stays below the limit of 25 steps that it once had."""

TEXT_KEYS = ("page_content", "content", "snippet", "text")
"""Keys under which search services put the text of a hit, the best one first."""

MAX_HITS = 20
"""Hits of a web search that are kept. Search services give 5 to 20 a page."""

MAX_READ = 1000
"""Hits that are looked at: a search may give blank ones without an end."""

MAX_CHARACTERS = 20_000
"""Of one hit's text, and of each text in its metadata: some ten printed pages. All of it goes into
a state, and into a prompt."""

NOTHING_ELSE = "Likely nothing relevant is stored, and {problem}."

Update = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CorrectivePolicy:
    """Settings and decisions of a corrective retrieval.

    Attributes:
        can_rewrite: True where something can rewrite a query.
        max_rewrites: Most rewrites for one question, 0 to 5.
        on_unknown: Step after a search whose match could not be measured.

    Raises:
        ConfigurationError: A setting is wrong, or they do not go together.
    """

    can_rewrite: bool
    max_rewrites: int
    on_unknown: Decision

    def __post_init__(self) -> None:
        given = self.max_rewrites
        if type(given) is not int or not 0 <= given <= MAX_REWRITES:
            raise ConfigurationError(
                f"max_rewrites must be from 0 to {MAX_REWRITES}, got {given!r}"
            )
        if self.on_unknown not in get_args(Decision):
            raise ConfigurationError(
                f"on_unknown must be one of {', '.join(get_args(Decision))}, "
                f"got {self.on_unknown!r}"
            )
        if self.on_unknown == "rewrite" and not self.rewrites:
            raise ConfigurationError(
                "on_unknown='rewrite' needs rewrite= and max_rewrites of at least 1"
            )

    @property
    def rewrites(self) -> int:
        """Most rewrites that can happen."""
        return self.max_rewrites if self.can_rewrite else 0

    def begin(self, question: object) -> Update:
        """Return the state of a new question, also on a thread that has answered one before.

        Raises:
            InvalidInputError: It is no text.
        """
        if not isinstance(question, str):
            raise InvalidInputError(
                "a corrective graph takes a mapping with a text under 'question', got a question "
                f"of type {type(question).__name__}"
            )
        return {
            "query": question,
            "documents": [],
            "recall": None,
            "rewrites": 0,
            "source": "memory",
            "web_error": None,
            "caution": None,
        }

    def retrieved(
        self, items: Iterable[ToolItem], reports: ReportsMixin, id_key: str | None = None
    ) -> Update:
        """Return the update after a search of the store.

        Args:
            items: The page, in order.
            reports: The response of the search.
            id_key: The wrapper's metadata key of the ids.
        """
        artifact = tool_artifact(identified(items, id_key), reports.to_dict())
        return {"documents": artifact["documents"], "recall": artifact["recall"]}

    def decide(self, recall: Mapping[str, Any] | None, rewrites: int) -> Update:
        """Return the next step, and what the reader of an answer from the store has to know.

        Args:
            recall: Both reports of the search, which may have come back from a checkpoint.
            rewrites: Rewritten queries so far.
        """
        choices: dict[str, Decision] = {
            "read": "answer",
            "fallback": "rewrite",
            "undecided": self.on_unknown,
        }
        decision = choices[advice_in(recall)]
        if decision == "rewrite" and rewrites >= self.rewrites:
            decision = "web_search"
        return {"decision": decision, "caution": answer_warning(recall)}

    def rewritten(self, given: str, query: str, rewrites: int) -> Update:
        """Return the update after a rewrite: it counts even if failed, and no query is repeated.

        Args:
            given: The new query, empty where the rewrite failed.
            query: The query so far.
            rewrites: Rewritten queries so far.
        """
        new = encodable(given).strip()
        if not new or new == query:
            return {"rewrites": rewrites + 1, "decision": "web_search"}
        return {"rewrites": rewrites + 1, "decision": "retrieve", "query": new}

    def searched_web(
        self, items: list[ToolItem], error: str | None, recall: Mapping[str, Any] | None
    ) -> Update:
        """Return the update after a web search; without hits the stored documents are left.

        Args:
            items: The hits.
            error: Class name of the web search's error, None where it did not raise.
            recall: Both reports of the search of the store.
        """
        if items:
            documents = tool_artifact(items, {})["documents"]
            return {"documents": documents, "source": "web", "caution": None}
        problem = f"the web search failed ({error})" if error else "the web search found nothing"
        caution = NOTHING_ELSE.format(problem=problem)
        if advice_in(recall) == "undecided":
            caution = f"{UNMEASURED} Also, {problem}."
        return {"web_error": error, "caution": caution}


def web_items(found: Any, own: Callable[[Any], ToolItem | None]) -> list[ToolItem]:
    """Read the hits of a web search, in order, without those that have no text.

    Of the first `MAX_READ`, at most `MAX_HITS` are kept, and `MAX_CHARACTERS` of each.

    Args:
        found: A text, a document of the framework, a mapping with a text under one of
            `TEXT_KEYS`, a list of these, or a mapping with such a list under `results`.
        own: Reads a document of the framework as an item, None for anything else.

    Raises:
        InvalidResultError: It is something else throughout.
    """
    hits = found.get("results", found) if isinstance(found, Mapping) else found
    single = isinstance(hits, str | Mapping) or own(hits) or not isinstance(hits, Iterable)
    items: list[ToolItem] = []
    strange = None
    for hit in islice([hits] if single else hits, MAX_READ):
        item = own(hit) or _item(hit)
        if item is None:
            strange = type(hit).__name__
        elif item[1].strip():
            items.append(_shortened(item))
        if len(items) == MAX_HITS:
            break
    if strange is not None and not items:
        raise InvalidResultError(
            "a web search must return texts, documents, or mappings with a text under one of "
            f"{', '.join(TEXT_KEYS)}; got {strange}"
        )
    return items


def _item(hit: Any) -> ToolItem | None:
    """Read a hit that is no document of the framework, None where it has no text of any kind."""
    if isinstance(hit, str):
        return None, hit, {}
    given = [hit[key] for key in TEXT_KEYS if key in hit] if isinstance(hit, Mapping) else []
    texts = [text for text in given if isinstance(text, str)]
    if not texts and (not given or any(text is not None for text in given)):
        return None
    rest = {name: value for name, value in hit.items() if name not in (*TEXT_KEYS, "metadata")}
    inner = hit.get("metadata")
    metadata = {**rest, **(inner if isinstance(inner, Mapping) else {})}
    return None, next(filter(str.strip, texts), ""), metadata


def _shortened(item: ToolItem) -> ToolItem:
    id_, text, metadata = item
    kept = {
        name: value[:MAX_CHARACTERS] if isinstance(value, str) else value
        for name, value in metadata.items()
    }
    return id_, text[:MAX_CHARACTERS], kept
