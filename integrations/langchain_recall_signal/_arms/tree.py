"""Rebuild a retriever on views of its stores and parts, for one call.

The retriever itself is left alone: each part on the way to a view is a view as well, and what it is
assigned while it runs (a counter, a cache) is the original's. Collections on the way are copies.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from operator import is_
from typing import TypeVar, cast

from langchain_core.documents import Document
from langchain_core.language_models import BaseLanguageModel
from langchain_core.runnables import Runnable
from langchain_core.runnables.configurable import DynamicRunnable
from langchain_core.vectorstores import VectorStore

from langchain_recall_signal._arms.parts import seen_parts
from langchain_recall_signal._arms.record import Arm, ArmReader, CallRecord
from langchain_recall_signal._arms.views import REPLACEABLE, store_view
from langchain_recall_signal.stores import find_adapter
from recall_signal import ScoreKind
from recall_signal._wrapper.settings import RetrieverSettings
from recall_signal._wrapper.views import attributes_of, original_of, replaced, shares_state
from recall_signal.stores._reader import has_itself

__all__ = ["ArmReaders", "ArmTree", "first_store"]

log = logging.getLogger(__name__)

_LONGEST, _DEEPEST, _MOST = 64, 12, 500
"""Collections entered, levels and parts: a keyword retriever holds its whole corpus in a list."""

_CLOSED = (BaseLanguageModel, RetrieverSettings)
"""Parts that are not entered: models, and wrappers, whose calibration is of their retriever."""

_PARTS = (VectorStore, Runnable, list, tuple, dict)

_FAILURES = 3
"""Failures in a row that are not taken for a passing one."""

_GIVING_OUT = ("prepare", "with_config")
"""Methods of configurable runnables that return other runnables."""

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
        self._failures = 0

    def of(self, store: VectorStore) -> ArmReader:
        """Return the reader of a store."""
        known = self._known.get(id(store))
        if known is not None and known.store is store:
            return known
        return ArmReader(self._kind, store, find_adapter(store))

    def keep(self, arms: list[Arm]) -> None:
        """Keep the readers of the stores that the retriever has now, and no others."""
        self._known = {id(arm.reader.store): arm.reader for arm in arms}

    def succeed(self) -> None:
        """Note a call that went well on views."""
        self._failures = 0

    def fail(self) -> bool:
        """Note a call that failed on views only; return whether to try no more."""
        self._failures += 1
        return self._failures >= _FAILURES


class ArmTree:
    """The parts of a retriever in one call.

    Args:
        readers: The wrapper's readers of stores.

    Attributes:
        readers: The wrapper's readers of stores.
        record: What the parts do in this call.
        arms: The stores.
        has_keywords: Whether there is a keyword index whose scores are seen.
        is_open: Whether some parts are made at the call only.
    """

    def __init__(self, readers: ArmReaders) -> None:
        self.readers = readers
        self.record = CallRecord()
        self.arms: list[Arm] = []
        self.has_keywords = self.is_open = False
        self._memo: dict[int, tuple[object, object]] = {}
        self._endings: list[Callable[[], None]] = []

    def rebuilt(self, retriever: Runnable[str, list[Document]]) -> Runnable[str, list[Document]]:
        """Return the retriever on views; itself where nothing can be seen, or that fails."""
        try:
            made = self._seen(retriever, 0)
        except Exception as error:
            log.warning("looking into the retriever failed: %s", type(error).__name__)
            self.arms = []
            return retriever
        self.readers.keep(self.arms)
        return made

    def finish(self) -> None:
        """End the call: record nothing more, and change collections as their copies were."""
        self.record.close()
        endings, self._endings = self._endings, []
        for end in endings:
            try:
                end()
            except Exception as error:  # such as a key that cannot be compared any more
                log.warning("a collection could not be handed back: %s", type(error).__name__)

    def _seen(self, part: Part, depth: int) -> Part:
        """Return a part on views; one and the same for each place where it stands."""
        part_class: type = type(part)
        if not _may_hold_a_part(part_class) or depth > _DEEPEST or len(self._memo) > _MOST:
            return part
        part = original_of(part)  # one that an earlier call has left behind is seen anew
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
        return self._runnable(part, depth) if shares_state(part) else part

    def _dict(self, part: dict[object, object], depth: int) -> dict[object, object]:
        if len(part) > _LONGEST:
            return part
        made = {key: self._seen(value, depth) for key, value in dict(part).items()}
        if not _changed(made, part):
            return part
        self._endings.append(partial(_change_dict, part, made, dict(made)))
        return made

    def _row(
        self, part: list[object] | tuple[object, ...], depth: int
    ) -> list[object] | tuple[object, ...]:
        if len(part) > _LONGEST:
            return part
        made = [self._seen(item, depth) for item in tuple(part)]
        if all(map(is_, made, part)):
            return part
        if isinstance(part, tuple):
            return tuple(made)
        self._endings.append(partial(_change_list, part, made, list(made)))
        return made

    def _store(self, store: VectorStore) -> VectorStore:
        if has_itself(store, REPLACEABLE):
            return store
        arm = Arm(self.readers.of(store), self.record, len(self.arms))
        try:
            view = store_view(store, arm)
        except Exception as error:  # a class that allows no subclass, or fixes its layout
            log.warning("a store could not be looked into: %s", type(error).__name__)
            return store
        self.arms.append(arm)
        return view

    def _runnable(self, part: Part, depth: int) -> Part:
        held, before = attributes_of(part), len(self.arms)
        made = {name: self._seen(value, depth) for name, value in held.items()}
        made = _changed(made | self._own_parts(part), held)
        made |= self._given_out(part, made)
        if not made:
            return part
        try:
            return replaced(part, made)
        except Exception as error:  # a class that allows no subclass
            log.warning("a part could not be looked into: %s", type(error).__name__)
            del self.arms[before:]
            return part

    def _own_parts(self, part: object) -> dict[str, object]:
        """Return the recording ones of LangChain's own parts."""
        try:
            own = seen_parts(part, self.record)
        except Exception as error:
            log.warning("a part could not be looked into: %s", type(error).__name__)
            return {}
        self.has_keywords = self.has_keywords or "vectorizer" in own
        return own

    def _given_out(
        self, part: object, made: Mapping[str, object]
    ) -> dict[str, Callable[..., object]]:
        """Return the methods by which a configurable runnable gives out others, seen as well."""
        if not isinstance(part, DynamicRunnable):
            return {}
        alternatives: dict[str, object] = getattr(part, "alternatives", {})
        is_open = any(map(_is_factory, alternatives.values()))
        self.is_open = self.is_open or is_open
        if not made and not is_open:
            return {}
        return {name: partial(self._result, getattr(part, name)) for name in _GIVING_OUT}

    def _result(self, method: Callable[..., object], *args: object, **kwargs: object) -> object:
        return self._seen(method(*args, **kwargs), 0)


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
    if isinstance(part, list | tuple):
        row: Sequence[object] = part
    else:
        row = [*(part if isinstance(part, dict) else attributes_of(part)).values()]
    return row if len(row) <= _LONGEST else ()


def _is_factory(alternative: object) -> bool:
    return not isinstance(alternative, Runnable)


def _changed(made: Mapping[Key, Part], held: Mapping[Key, Part]) -> dict[Key, Part]:
    """Return what is not as it was."""
    return {name: value for name, value in made.items() if value is not held.get(name, _NOTHING)}


def _change_dict(part: dict[Key, Part], made: dict[Key, Part], first: dict[Key, Part]) -> None:
    """Make in a dict what was changed in its copy, and no other change.

    Args:
        part: The dict; other calls may change it meanwhile.
        made: Its copy, after the call.
        first: What the copy held before the call.
    """
    for key in first.keys() - made.keys():
        part.pop(key, None)
    part.update({key: original_of(value) for key, value in _changed(made, first).items()})


def _change_list(part: list[Part], made: list[Part], first: list[Part]) -> None:
    """`_change_dict`, for a list: what was added at its end is, anything else takes its place."""
    own = [*map(original_of, made)]
    if all(map(is_, made, first)) and len(made) >= len(first):
        part.extend(own[len(first) :])
    else:
        part[:] = own
