"""The wrapper in what a chain, a graph or a tool is given, and a step that gives its reports."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda, RunnableWithFallbacks
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.configurable import DynamicRunnable

from langchain_recall_signal._response import RecallResponse
from langchain_recall_signal._retriever import RecallRetriever

__all__ = ["holds_wrapper", "innermost", "reporter"]

Reporting = Runnable[str, RecallResponse]


def reporter(retriever: object) -> tuple[RecallRetriever, Reporting]:
    """Return the wrapper in a retriever, made where there is none, and it as a step.

    Args:
        retriever: A `RecallRetriever`, also with a bound configuration, retries, fallbacks or
            configurable fields, or what it can wrap.

    Raises:
        ConfigurationError: It is neither.
    """
    if isinstance(retriever, RecallRetriever):
        return retriever, retriever.as_report_runnable()
    if isinstance(retriever, RunnableBindingBase) and holds_wrapper(retriever):
        wrapper, inner = reporter(retriever.bound)
        return wrapper, retriever.model_copy(update={"bound": inner})
    if isinstance(retriever, RunnableWithFallbacks) and holds_wrapper(retriever):
        wrapper, inner = reporter(retriever.runnable)
        others = [reporter(fallback)[1] for fallback in retriever.fallbacks]
        return wrapper, retriever.model_copy(update={"runnable": inner, "fallbacks": others})
    if isinstance(retriever, DynamicRunnable) and holds_wrapper(retriever):
        return reporter(retriever.default)[0], _configurable(retriever)
    return reporter(RecallRetriever(retriever=retriever))


def holds_wrapper(retriever: object) -> bool:
    """Return whether a `RecallRetriever` is behind a binding, fallbacks or configurable fields."""
    return isinstance(innermost(retriever), RecallRetriever)


def innermost(given: object) -> object:
    """Return what is behind bindings (as of `with_config`), fallbacks and configurable fields."""
    while True:
        if isinstance(given, RunnableBindingBase):
            given = given.bound
        elif isinstance(given, RunnableWithFallbacks):
            given = given.runnable
        elif isinstance(given, DynamicRunnable):
            given = given.default
        else:
            return given


def _configurable(retriever: DynamicRunnable[Any, Any]) -> Reporting:
    """Return a step that is chosen by the configuration of each call."""

    def chosen(config: RunnableConfig) -> tuple[Reporting, RunnableConfig]:
        made, config = retriever.prepare(config)
        return reporter(made)[1], config

    def recall(query: str, config: RunnableConfig, **kwargs: Any) -> RecallResponse:
        step, config = chosen(config)
        return step.invoke(query, config, **kwargs)

    async def arecall(query: str, config: RunnableConfig, **kwargs: Any) -> RecallResponse:
        step, config = chosen(config)
        return await step.ainvoke(query, config, **kwargs)

    return RunnableLambda(recall, afunc=arecall, name="recall")
