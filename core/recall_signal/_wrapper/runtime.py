"""The compiled settings of a wrapper."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import is_
from typing import Any, Generic, TypeAlias, TypeVar

from pydantic import BaseModel

from recall_signal._auto.source import WatchedCalibration, Watcher
from recall_signal._flow.values import FlowSettings, Item
from recall_signal._steps.timeouts import CallLimits, Workers
from recall_signal.errors import CalibrationError, ConfigurationError
from recall_signal.reranking import Reranking
from recall_signal.selection import SelectionOptions

__all__ = ["Identity", "Runtime", "encoder_identity", "recompiled", "watched"]

log = logging.getLogger(__name__)

Compiled = TypeVar("Compiled", bound="Runtime[Any]")

Identity: TypeAlias = tuple[str | None, str | None]
"""Names of the encoder of the search and of the wrapper's own, whole: more than may be shown."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Runtime(Generic[Item]):
    """Settings of a wrapper, compiled once and shared by its calls.

    A wrapper keeps it in a private attribute. A shallow copy keeps it for as long as
    `fits` holds; a pickled or deep copy holds None there and compiles its own.

    Attributes:
        values: The settings that it was compiled from, compared by identity.
        store: The store that the wrapped retriever searched then.
        encoder: The name of the model that embeds its queries, None where that is not known.
        identity: All that tells its encoders from others, see `Identity`.
        flow: The settings of the flow.
        reranking: How the reranker is used where it is; None without one.
        selection: The options of the selector; None without one.
        limits: Time limits of the wrapper's models.
        workers: Threads for what the wrapper computes itself, and for its encoder and store.
        events: Time limits of whoever listens to its events.
    """

    values: tuple[object, ...]
    store: object
    encoder: str | None
    identity: Identity = field(repr=False)
    flow: FlowSettings[Item]
    reranking: Reranking | None
    selection: SelectionOptions | None
    limits: CallLimits = field(default_factory=CallLimits)
    workers: Workers = field(default_factory=Workers)
    events: CallLimits = field(default_factory=CallLimits)

    def fits(self, settings: BaseModel, store: object, identity: Identity) -> bool:
        """Return whether settings, store and encoder are those that this was compiled from."""
        return (
            store is self.store
            and identity == self.identity
            and all(map(is_, self.values, vars(settings).values()))
        )

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


def watched(runtime: Compiled, watcher: Watcher | None) -> Compiled:
    """Return a runtime whose flow takes its calibration from a watcher, where there is one."""
    if watcher is None:
        return runtime
    flow = replace(runtime.flow, calibration=WatchedCalibration(watcher))
    return replace(runtime, flow=flow)


def recompiled(
    previous: Compiled | None, compiled: Callable[[], Compiled], bare: Callable[[], Compiled]
) -> Compiled:
    """Compile settings again, as where a store was exchanged under the retriever.

    Args:
        previous: The runtime until now: what still runs keeps counting against its limits.
        compiled: Compiles the settings.
        bare: Compiles them without calibration and thresholds, which are left out where they
            belong to another encoder than the new store's.
    """
    try:
        made = compiled()
    except (CalibrationError, ConfigurationError) as error:
        log.warning("the store was exchanged, and its encoder is another one: %s", error)
        made = bare()
    if previous is None:
        return made
    kept = {name: getattr(previous, name) for name in ("limits", "workers", "events")}
    return replace(made, **kept)


def encoder_identity(
    encoder: object, attributes: Sequence[str], unnamed: str | None = None
) -> str | None:
    """Return what an encoder says of the model that embeds, which may hold a key; None without one.

    An encoder that says something else now embeds otherwise.

    Args:
        encoder: Any encoder of a framework.
        attributes: Names under which encoders of that framework keep the name of their model; where
            none holds a text, the name of the class counts.
        unnamed: The text of one that was given no name.
    """
    if encoder is None:
        return None
    model = type(encoder).__name__
    for attribute in attributes:
        name = getattr(encoder, attribute, None)
        if isinstance(name, str) and name and name != unnamed:
            model = name
            break
    return _served(model, encoder)


_DEPLOYMENTS = ("azure_deployment", "deployment")
"""Attributes that name what serves a model, which may be another one than the model says."""


def _served(model: str, encoder: object) -> str:
    """Return a model's name, with its deployment where that was given and has another name."""
    fields = getattr(type(encoder), "model_fields", {})
    for attribute in _DEPLOYMENTS:
        deployment = getattr(encoder, attribute, None)
        unset = getattr(fields.get(attribute), "default", None)
        if isinstance(deployment, str) and deployment not in ("", model, unset):
            return f"{model} ({deployment})"
    return model
