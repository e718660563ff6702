"""Steps that a graph and a chain are made of: one flow, carried out synchronously or not."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, TypeVar

from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda

from langchain_recall_signal._reporter import innermost
from langchain_recall_signal._tool import must_propagate
from recall_signal import ConfigurationError, InvalidResultError
from recall_signal._steps.compute import Compute
from recall_signal._steps.driver import drive, drive_async
from recall_signal._steps.failures import contained, original
from recall_signal._steps.timeouts import Workers

__all__ = [
    "GraphSteps",
    "Run",
    "Step",
    "as_runnable",
    "as_step",
    "attempted",
    "said_text",
    "survive",
]

log = logging.getLogger(__name__)

Step: TypeAlias = Runnable[Any, Any]
"""A step of any framework's own kind: what it takes and gives is known where it is made."""

Update = dict[str, Any]

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Run:
    """Request of a flow: run this step on this input.

    Attributes:
        step: The step.
        value: Its input.
        options: Further arguments.
        extra: Whether the flow survives whatever it raises.
    """

    step: Step
    value: object
    options: Mapping[str, object] = field(default_factory=dict)
    extra: bool = False


GraphSteps = Generator[Run | Compute, Any, Update]


def attempted(
    step: Step, value: object, read: Callable[[Any], Value]
) -> Generator[Run, Any, Value]:
    """Run a step that may fail, and read its result; whatever is raised is an `Exception`."""
    said = yield Run(step, value, extra=True)
    return contained(lambda: read(said))


def as_runnable(steps: Callable[..., GraphSteps], name: str) -> Step:
    """Make a runnable of both kinds from one flow; further arguments of a call reach the flow."""
    workers = Workers()

    def call(value: object, config: RunnableConfig, **options: object) -> Update:
        def perform(request: Run | Compute) -> object:
            if isinstance(request, Compute):
                return request.call()
            return request.step.invoke(request.value, config, **request.options)

        return drive(steps(value, **options), perform, _is_extra)

    async def acall(value: object, config: RunnableConfig, **options: object) -> Update:
        async def perform(request: Run | Compute) -> object:
            if isinstance(request, Compute):
                return await workers.run(request.call)
            step = partial(request.step.ainvoke, request.value, config, **request.options)
            return await (workers.wait_for(step) if request.extra else step())

        return await drive_async(steps(value, **options), perform, _is_extra)

    return RunnableLambda(call, afunc=acall, name=name)


def _is_extra(request: Run | Compute) -> bool:
    return isinstance(request, Run) and request.extra


def as_step(what: str, given: object, prompt: Step | None = None) -> Step:
    """Return a runnable of any accepted kind; a model gets a prompt in front.

    Raises:
        ConfigurationError: It is none of these.
    """
    if isinstance(given, Runnable):
        return prompt | given if prompt is not None and _is_model(innermost(given)) else given
    if callable(given):
        return RunnableLambda(given)
    raise ConfigurationError(
        f"{what} must be a Runnable, a model or a function, got {type(given).__name__}"
    )


def said_text(said: object) -> str:
    """Return the text of a model's or a function's result.

    Raises:
        InvalidResultError: It is neither a text nor a message.
    """
    if isinstance(said, BaseMessage):
        return str(said.text)
    if isinstance(said, str):
        return said
    raise InvalidResultError(
        "a model, or a function such as on_absent, must return a text or a message, got "
        f"{type(said).__name__}"
    )


def survive(what: str, error: Exception) -> str:
    """Log an error that must not cost the answer, and return its class name."""
    if must_propagate(error):
        raise error
    name = type(original(error)).__name__
    log.warning("the %s failed: %s", what, name)
    return name


def _is_model(given: object) -> bool:
    """Return whether it is a model; one that `init_chat_model` leaves open is of no such class."""
    return isinstance(given, BaseLanguageModel) or hasattr(given, "bind_tools")
