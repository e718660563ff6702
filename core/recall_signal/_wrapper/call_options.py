"""The options by which one call differs from the settings of its wrapper.

To add one: a field here, what it does in `CallOptions.resolve`, its place in `resolve_options`, and
the argument of both methods of LangChain's retriever; LlamaIndex' takes every field. Tools offer it
once `agents/_tool_settings.py` names it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from recall_signal._flow.values import FlowSettings, Item
from recall_signal._numbers import as_whole
from recall_signal._wrapper.runtime import Runtime
from recall_signal.errors import ConfigurationError

__all__ = ["CallOptions", "resolve_options"]


@dataclass(frozen=True, slots=True)
class CallOptions:
    """Settings for one call; None leaves the wrapper's own.

    Attributes:
        k: Page size.
        use_rerank: Whether the reranker is used.
        select: Whether the selector is asked.

    Raises:
        ConfigurationError: A value has another type or is out of range.
    """

    k: int | None = None
    use_rerank: bool | None = None
    select: bool | None = None

    def __post_init__(self) -> None:
        if self.k is not None and type(self.k) is not int:
            object.__setattr__(self, "k", as_whole(self.k))
        if self.k is not None and (type(self.k) is not int or self.k < 1):
            given = self.k if isinstance(self.k, int | float) else type(self.k).__name__
            raise ConfigurationError(f"k must be a whole number of at least 1, got {given}")
        for name, value in (("use_rerank", self.use_rerank), ("select", self.select)):
            if value is not None and type(value) is not bool:
                raise ConfigurationError(
                    f"{name} must be True, False or None, got an instance of {type(value)}"
                )

    def resolve(self, runtime: Runtime[Item]) -> FlowSettings[Item]:
        """Return the settings of the flow for this call.

        Raises:
            ConfigurationError: The reranker or selector that is to be used is not there.
        """
        settings = runtime.flow
        if self.use_rerank is not None:
            if self.use_rerank and runtime.reranking is None:
                raise ConfigurationError(
                    "use_rerank=True needs a reranker; pass reranker= to the RecallRetriever"
                )
            reranking = runtime.reranking if self.use_rerank else None
            settings = replace(settings, reranking=reranking)
        if self.select is not None:
            if self.select and runtime.selection is None:
                raise ConfigurationError(
                    "select=True needs a selector; pass selector= to the RecallRetriever"
                )
            settings = replace(settings, selection=runtime.selection if self.select else None)
        return settings


def resolve_options(
    runtime: Runtime[Item], k: int | None, use_rerank: bool | None, select: bool | None
) -> FlowSettings[Item]:
    """Return the settings of the flow for a call with these options (see `CallOptions`)."""
    if k is None and use_rerank is None and select is None:
        return runtime.flow
    return CallOptions(k, use_rerank, select).resolve(runtime)
