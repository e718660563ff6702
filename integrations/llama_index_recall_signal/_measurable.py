"""Find out when a wrapper is made that its levels will all be unknown."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import getclosurevars, unwrap
from types import FunctionType, MethodType, ModuleType

from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.retrievers import VectorIndexRetriever

from llama_index_recall_signal._annotation import RetrieverFields
from llama_index_recall_signal._internals import VectorSearch, fusion_arms, vector_search
from llama_index_recall_signal._keywords import is_keyword_retriever, keyword_classes
from llama_index_recall_signal._nodes import is_data
from llama_index_recall_signal.stores import find_adapter
from recall_signal import ScoreKind
from recall_signal._wrapper.instances import holds_instance
from recall_signal.scores import parse_score_kind

__all__ = ["never_measures"]


def never_measures(fields: RetrieverFields) -> str | None:
    """Return the reason of every report where nothing can be read; None where something may be.

    What a retriever holds and what its code names is looked at, but no function that it calls.
    """
    kind = fields.declared_kind
    if fields.embed_model is not None or (kind is not None and _is_readable(kind)):
        return None
    if fields.score_key is not None:
        return "score_not_convertible"
    search = vector_search(fields.retriever)
    if search is not None:
        return _of_store(search)
    if kind is not None:
        return "score_not_convertible"
    is_keyword = is_keyword_retriever(fields.retriever)
    return None if is_keyword or _may_be_heard(fields.retriever) else "store_not_recognised"


def _is_readable(kind: ScoreKind) -> bool:
    return kind.convertible or kind is ScoreKind.BM25


def _of_store(search: VectorSearch) -> str | None:
    adapter = find_adapter(search.store)
    if (
        adapter is None
    ):  # where it keeps texts, its hits may carry vectors: those of an index do not
        return None if getattr(search.store, "stores_text", True) else "store_not_recognised"
    if adapter.gives_vectors:
        return None
    try:
        kind = (
            None if adapter.waits(search.store) else adapter.score_kind(search.store, search.mode)
        )
        unread = kind is not None and not _is_readable(parse_score_kind(kind))
    except Exception:  # logged when scores are read
        return None
    return "score_not_convertible" if unread else None


def _may_be_heard(retriever: BaseRetriever) -> bool:
    """Return whether a retriever holds something whose searches are heard, or code that may."""
    arms = fusion_arms(retriever)
    keywords = [arm for arm in arms if is_keyword_retriever(arm)]
    if len(keywords) > 1:  # each has a scale of its own
        return any(_may_be_heard(arm) for arm in arms if arm not in keywords)
    own = vars(retriever)
    parts = [value for name, value in own.items() if name != "callback_manager"]
    parts += _named_in(type(retriever)._retrieve)
    if any(isinstance(part, _CODE) for part in parts):
        return True
    heard = (VectorIndexRetriever, VectorStoreIndex, *keyword_classes())
    return holds_instance(parts, heard, is_data)


def _named_in(method: Callable[..., object]) -> list[object]:
    """Return the objects around a method that its code names."""
    try:
        names = getclosurevars(unwrap(method))
    except TypeError:  # no function of Python
        return []
    around = [*names.nonlocals.values(), *names.globals.values()]
    return [value for value in around if not isinstance(value, ModuleType | FunctionType)]


_CODE = (FunctionType, MethodType, partial)
