"""Rebuild a retriever on views of its stores and parts, for one call.

The retriever itself is left alone: each part on the way to a view is a copy, and what such a
copy is assigned while it runs (a counter, a cache) is handed back to the original after the call.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from operator import is_
from typing import TypeVar, cast

from langchain_core.documents import Document
from langchain_core.language_models import BaseLanguageModel
from langchain_core.runnables import Runnable
from langchain_core.runnables.configurable import RunnableConfigurableAlternatives
from langchain_core.vectorstores import VectorStore

from langchain_recall_signal._arms.parts import seen_parts
from langchain_recall_signal._arms.record import Arm, ArmReader, CallRecord
from langchain_recall_signal._arms.views import store_view
from langchain_recall_signal.stores import find_adapter
from recall_signal import ScoreKind
from recall_signal._wrapper.settings import RetrieverSettings

__all__ = ["ArmReaders", "ArmTree", "first_store"]

log = logging.getLogger(__name__)

_LONGEST, _DEEPEST, _MOST = 64, 12, 500
"""Collections entered, levels and parts: a keyword retriever holds its whole corpus in a list."""

_CLOSED = (BaseLanguageModel, RetrieverSettings)
"""Parts that are not entered: models, and wrappers, whose calibration is of their retriever."""

_PARTS = (VectorStore, Runnable, list, tuple, dict)

_PRIVATE = "__pydantic_private__"
_NOTHING = object()


@cache
def _may_hold_a_part(part_class: type) -> bool:
    return issubclass(part_class, _PARTS) and not issubclass(part_class, _CLOSED)


Part = TypeVar("Part")
Key = TypeVar("Key")


class ArmReaders:
    """The readers of a wrapper's stores; each remembers the check of its store's vectors.

    Args:
        kind: The declared kind; None to go by the stores.
    """

    def __init__(self, kind: ScoreKind | None) -> None:
        self._kind = kind
        self._known: dict[int, ArmReader] = {}

    def of(self, store: VectorStore) -> ArmReader:
        """Return the reader of a store."""
        known = self._known.get(id(store))
        if known is not None and known.store is store:
            return known
        return ArmReader(self._kind, store, find_adapter(store))

    def keep(self, arms: list[Arm]) -> None:
        """Keep the readers of the stores that the retriever has now, and no others."""
        self._known = {id(arm.reader.store): arm.reader for arm in arms}


@dataclass(frozen=True, slots=True)
class _Copied:
    """The attributes of a part, and of its copy.

    Attributes:
        original: Those of the part.
        copied: Those of its copy.
        held: What the copy held at first.
    """

    original: dict[str, object]
    copied: dict[str, object]
    held: dict[str, object]

    def give_back(self) -> None:
        """Assign to the original what was assigned to the copy."""
        for name, value in self.copied.items():
            if value is not self.held.get(name, _NOTHING) and not _holds_a_part(value):
                self.original[name] = value


class ArmTree:
    """The parts of a retriever in one call.

    Args:
        readers: The wrapper's readers of stores.

    Attributes:
        record: What the parts do in this call.
        arms: The stores.
        has_keywords: Whether there is a keyword index whose scores are seen.
        is_open: Whether some parts are made at the call only.
    """

    def __init__(self, readers: ArmReaders) -> None:
        self._readers = readers
        self.record = CallRecord()
        self.arms: list[Arm] = []
        self.has_keywords = self.is_open = False
        self._memo: dict[int, tuple[object, object]] = {}
        self._copies: list[_Copied] = []

    def rebuilt(self, retriever: Runnable[str, list[Document]]) -> Runnable[str, list[Document]]:
        """Return the retriever on views; itself where nothing can be seen, or that fails."""
        try:
            made = self._seen(retriever, 0)
        except Exception as error:
            log.warning("looking into the retriever failed: %s", type(error).__name__)
            self.arms = []
            return retriever
        self._readers.keep(self.arms)
        return made

    def finish(self) -> None:
        """End the call: record nothing more, and hand back what copies were assigned."""
        self.record.close()
        for part in self._copies:
            try:
                part.give_back()
            except Exception as error:  # such as a list that holds itself
                log.warning("a part could not be handed back: %s", type(error).__name__)

    def _seen(self, part: Part, depth: int) -> Part:
        """Return a part on views; one and the same for each place where it stands."""
        part_class: type = type(part)
        if not _may_hold_a_part(part_class) or depth > _DEEPEST or len(self._memo) > _MOST:
            return part
        known = self._memo.get(id(part))
        if known is None:
            self._memo[id(part)] = part, part  # a circle ends here
            known = self._memo[id(part)] = part, self._made(part, depth + 1)
        return cast("Part", known[1])

    def _made(self, part: object, depth: int) -> object:
        if type(part) is dict:
            return self._dict(part, depth)
        if type(part) is list or type(part) is tuple:
            return self._row(part, depth)
        if isinstance(part, VectorStore):
            return self._store(part)
        return self._runnable(part, depth) if hasattr(part, "__dict__") else part

    def _dict(self, part: dict[object, object], depth: int) -> dict[object, object]:
        if len(part) > _LONGEST:
            return part
        made = {key: self._seen(value, depth) for key, value in part.items()}
        return part if _same(made, part) else made

    def _row(
        self, part: list[object] | tuple[object, ...], depth: int
    ) -> list[object] | tuple[object, ...]:
        if len(part) > _LONGEST:
            return part
        made = [self._seen(item, depth) for item in part]
        return part if all(map(is_, made, part)) else type(part)(made)

    def _store(self, store: VectorStore) -> VectorStore:
        arm = Arm(self._readers.of(store), self.record, len(self.arms))
        try:
            view = store_view(store, arm)
        except Exception as error:  # a class that allows no subclass, or fixes its layout
            log.warning("a store could not be looked into: %s", type(error).__name__)
            return store
        self.arms.append(arm)
        return view

    def _runnable(self, part: Part, depth: int) -> Part:
        held = dict(vars(part))
        made = {name: self._seen(value, depth) for name, value in held.items()}
        made |= self._own_parts(part)
        made |= self._factories(part, made)
        private: dict[str, object] = getattr(part, _PRIVATE, None) or {}
        hidden = {name: self._seen(value, depth) for name, value in private.items()}
        if _same(made, held) and _same(hidden, private):
            return part
        copied = copy(part)
        vars(copied).update(made)
        self._copies.append(_Copied(vars(part), vars(copied), made))
        if private:
            object.__setattr__(copied, _PRIVATE, dict(hidden))
            self._copies.append(_Copied(private, getattr(copied, _PRIVATE), hidden))
        return copied

    def _own_parts(self, part: object) -> dict[str, object]:
        """Return the recording ones of LangChain's own parts."""
        try:
            own = seen_parts(part, self.record)
        except Exception as error:
            log.warning("a part could not be looked into: %s", type(error).__name__)
            return {}
        self.has_keywords = self.has_keywords or "vectorizer" in own
        return own

    def _factories(self, part: object, made: dict[str, object]) -> dict[str, object]:
        """Return alternatives that are made at the call, made on views as well."""
        if not isinstance(part, RunnableConfigurableAlternatives):
            return {}
        given = cast("dict[str, object]", made["alternatives"])
        later = {name: self._later(one) for name, one in given.items() if _is_factory(one)}
        self.is_open = self.is_open or bool(later)
        return {"alternatives": {**given, **later}} if later else {}

    def _later(self, factory: object) -> Callable[[], object]:
        def make() -> object:
            return self._seen(cast("Callable[[], object]", factory)(), 0)

        return make


def first_store(retriever: object) -> VectorStore | None:
    """Return the store that comes first inside of a retriever; None where none is reached."""
    waiting, seen = [(retriever, 0)], set[int]()
    while waiting and len(seen) < _MOST:
        part, depth = waiting.pop()
        part_class: type = type(part)
        if not _may_hold_a_part(part_class) or id(part) in seen or depth > _DEEPEST:
            continue
        if isinstance(part, VectorStore):
            return part
        seen.add(id(part))
        waiting.extend((inner, depth + 1) for inner in reversed(_inside(part)))
    return None


def _inside(part: object) -> Sequence[object]:
    """Return what a part that may be entered holds."""
    row = part if isinstance(part, list | tuple) else [*_attributes(part).values()]
    return row if len(row) <= _LONGEST else ()


def _attributes(part: object) -> dict[object, object]:
    if isinstance(part, dict):
        return part
    return {**getattr(part, "__dict__", {}), **(getattr(part, _PRIVATE, None) or {})}


def _is_factory(alternative: object) -> bool:
    return not isinstance(alternative, Runnable)


def _same(made: Mapping[Key, object], held: Mapping[Key, object]) -> bool:
    return all(made[name] is held[name] for name in made)


def _holds_a_part(value: object) -> bool:
    """Return whether a value may lead to a view, which belongs to this call alone."""
    if isinstance(value, list | tuple | set):
        return any(map(_holds_a_part, value))
    if isinstance(value, dict):
        return any(map(_holds_a_part, value.values()))
    return callable(value) or isinstance(value, _PARTS)
