"""Nodes as the flow reads them, and the copies that are returned."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TypeVar

from llama_index.core.schema import BaseNode, IndexNode, MetadataMode, NodeWithScore

from recall_signal._flow.values import item_id
from recall_signal._pydantic import copy_with
from recall_signal._steps.failures import contained, original
from recall_signal._wrapper.declared_scores import scores_under
from recall_signal._wrapper.plain_copies import require_items
from recall_signal.report_parsing import KEY
from recall_signal.reports import are_large, copy_nested

log = logging.getLogger(__name__)

__all__ = [
    "annotated",
    "content",
    "encoded_text",
    "id_of",
    "is_data",
    "prompt_text",
    "scored_under",
    "without_report",
]

AnyNode = TypeVar("AnyNode", NodeWithScore, BaseNode)


def id_of(key: str | None, item: NodeWithScore) -> str | None:
    """Return the id: what the node's metadata has under `key`, else the node's own."""
    return item_id(item.node.metadata, key, item.node.node_id)


def is_data(part_class: type) -> bool:
    """Return whether a class is that of nodes which lead to nothing that could be called."""
    return issubclass(part_class, BaseNode) and not issubclass(part_class, IndexNode)


def encoded_text(item: NodeWithScore) -> str:
    """Return the text that an index embeds: the node's, with the metadata meant for the encoder."""
    return item.node.get_content(metadata_mode=_mode(item, MetadataMode.EMBED))


def prompt_text(item: NodeWithScore) -> str:
    """Return the text that a language model reads."""
    return item.node.get_content(metadata_mode=_mode(item, MetadataMode.LLM))


def _mode(item: NodeWithScore, mode: MetadataMode) -> MetadataMode:
    """Leave out metadata that would drown the text, and take long to write down."""
    metadata: object = item.node.metadata
    return MetadataMode.NONE if metadata is None or are_large([metadata]) else mode


def content(item: NodeWithScore) -> str:
    """Return the node's own text, without any metadata."""
    return item.node.get_content(metadata_mode=MetadataMode.NONE)


def annotated(item: NodeWithScore, key: str, entry: dict[str, object] | None) -> NodeWithScore:
    """Copy a node with its metadata and exclude lists; the class and the score survive.

    Args:
        item: Shared with the index, and left alone.
        key: The metadata key of the entry. It is kept from both prompts and embeddings.
        entry: What the copy carries under the key, None for nothing.
    """
    try:
        return contained(partial(_copy, item, key, entry))
    except Exception as error:  # a node that cannot be copied goes out as it is
        log.warning("a node could not be copied: %s", type(original(error)).__name__)
        return item


def _copy(item: NodeWithScore, key: str, entry: dict[str, object] | None) -> NodeWithScore:
    node = item.node
    metadata = copy_nested(node.metadata)
    hidden = None
    if entry is None:
        metadata.pop(key, None)
    else:
        metadata[key] = entry
        hidden = key
    update = {
        "metadata": metadata,
        "excluded_llm_metadata_keys": _with(hidden, node.excluded_llm_metadata_keys),
        "excluded_embed_metadata_keys": _with(hidden, node.excluded_embed_metadata_keys),
    }
    return copy_with(item, {"node": copy_with(node, update)})


def _with(key: str | None, keys: list[str]) -> list[str]:
    return [*keys] if key is None or key in keys else [*keys, key]


def scored_under(key: str, items: Sequence[NodeWithScore]) -> list[NodeWithScore]:
    """Return the items with the numbers that their metadata has under a key as scores."""
    scores = scores_under(key, (item.node.metadata for item in items))
    return [copy_with(item, {"score": s}) for item, s in zip(items, scores, strict=True)]


def without_report(nodes: Iterable[AnyNode], metadata_key: str = KEY) -> list[AnyNode]:
    """Copy nodes without the reports, as they have to be to be stored again.

    The key leaves the metadata and both exclude lists, so that a node has the text for the
    encoder and the hash that it was stored with.

    Args:
        nodes: Returned by a `RecallRetriever`, with their scores or without; left alone.
        metadata_key: The wrapper's.

    Raises:
        InvalidInputError: It is a single node, or holds something else than nodes.
    """
    items = require_items(nodes, (NodeWithScore, BaseNode), "nodes")
    return [_without(node, metadata_key) for node in items]


def _without(item: AnyNode, key: str) -> AnyNode:
    if isinstance(item, NodeWithScore):
        return copy_with(item, {"node": _without(item.node, key)})
    update = {
        "metadata": {name: value for name, value in (item.metadata or {}).items() if name != key},
        "excluded_llm_metadata_keys": [k for k in item.excluded_llm_metadata_keys if k != key],
        "excluded_embed_metadata_keys": [k for k in item.excluded_embed_metadata_keys if k != key],
    }
    return copy_with(item, update)
