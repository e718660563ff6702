"""What a call's configuration says of who asks."""

from __future__ import annotations

from collections.abc import Mapping

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config

__all__ = ["is_plain"]

_CONVERSATION = frozenset(
    {
        *("thread_id", "thread_ts", "checkpoint_id", "checkpoint_ns", "checkpoint_map"),
        *("run_id", "graph_id", "assistant_id", "langgraph_request_id"),
    }
)
"""Names under which LangGraph keeps a conversation in every configuration, and its server a run;
those that it keeps for itself begin with two underscores. A user's name is a tenant."""


def is_plain(kwargs: Mapping[str, object], config: RunnableConfig | None) -> bool:
    """Return True for a call without filter and without a configuration of a tenant.

    The configuration that a chain has in its context reaches the wrapped retriever as well.
    """
    if kwargs:
        return False
    around = var_child_runnable_config.get()
    if config is None and around is None:
        return True
    configurable: dict[str, object] = {}
    for given in (config, around):
        configurable |= (given or {}).get("configurable") or {}
    return all(
        name in _CONVERSATION or name.startswith("__") or _is_unset(value)
        for name, value in configurable.items()
    )


def _is_unset(value: object) -> bool:
    """Return whether it is what a server without users says of the user."""
    return value is None or (type(value) in (str, list, tuple) and not value)
