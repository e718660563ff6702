"""Nodes as the flow sees them, and the copies that leave us."""

from __future__ import annotations

import logging
from typing import Any

from llama_index.core.schema import MetadataMode, NodeWithScore

from recall_signal.items import id_in
from recall_signal.models import copied_with
from recall_signal.reports import fresh_copy

log = logging.getLogger(__name__)

__all__ = ["annotated", "encoded_text", "id_of", "prompt_text"]


def id_of(key: str | None, item: NodeWithScore) -> str | None:
    """The id: what the node's metadata has under ``key``, else the node's own."""
    return id_in(item.node.metadata, key, item.node.node_id)


def encoded_text(item: NodeWithScore) -> str:
    """The text that an index embeds: the node's, with the metadata meant for the encoder."""
    return item.node.get_content(metadata_mode=MetadataMode.EMBED)


def prompt_text(item: NodeWithScore) -> str:
    """The text that a language model reads."""
    return item.node.get_content(metadata_mode=MetadataMode.LLM)


def annotated(item: NodeWithScore, key: str, entry: dict[str, Any] | None) -> NodeWithScore:
    """A copy with metadata and exclude lists of its own; the class and the score survive.

    Args:
        item: Shared with the index, and left alone.
        key: The metadata key of the entry. It is kept from both prompts and embeddings.
        entry: What the copy carries under the key, None for nothing.
    """
    try:
        return _copy(item, key, entry)
    except Exception as error:  # a node that cannot be copied goes out as it is
        log.warning("a node could not be copied: %s", type(error).__name__)
        return item


def _copy(item: NodeWithScore, key: str, entry: dict[str, Any] | None) -> NodeWithScore:
    node = item.node
    metadata = fresh_copy(node.metadata)
    hidden = []
    if entry is not None:
        metadata[key] = entry
        hidden = [key]
    update = {
        "metadata": metadata,
        "excluded_llm_metadata_keys": _with(node.excluded_llm_metadata_keys, hidden),
        "excluded_embed_metadata_keys": _with(node.excluded_embed_metadata_keys, hidden),
    }
    return copied_with(item, {"node": copied_with(node, update)})


def _with(keys: list[str], more: list[str]) -> list[str]:
    return [*keys, *(key for key in more if key not in keys)]
