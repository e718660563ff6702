"""Arguments of a call beside its options: which of them reach the wrapped retriever."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields

from recall_signal._names import FRAMEWORK_NAMES, meant_name
from recall_signal._wrapper.call_options import CallOptions
from recall_signal.errors import ConfigurationError

__all__ = ["Accepted", "check_arguments"]

_ALIKE = 0.75
"""Similarity (difflib) from which a name counts as a misspelt option: `rerank`, `selector`."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The arguments that a wrapped retriever takes.

    Attributes:
        names: Their names.
        open_ended: Whether it takes others too, by `**kwargs` of which no list is known.
    """

    names: frozenset[str] = frozenset()
    open_ended: bool = False


_NAMES = tuple(field.name for field in fields(CallOptions))


def check_arguments(arguments: Collection[str], accepted: Accepted) -> None:
    """Refuse arguments of a call that would have no effect, or another one than meant.

    Args:
        arguments: The names of what was given beside the options.
        accepted: What the wrapped retriever takes.

    Raises:
        ConfigurationError: One is neither an option nor taken by the wrapped retriever, or is a
            misspelt option.
    """
    for name in sorted(set(arguments) - accepted.names):
        meant = meant_name(name, _NAMES, _ALIKE)
        if accepted.open_ended and (meant is None or name in FRAMEWORK_NAMES):
            continue
        hint = f"did you mean {meant}?" if meant else f"options of a call: {', '.join(_NAMES)}"
        raise ConfigurationError(
            f"{name} is no argument of this call, nor of the wrapped retriever; {hint}"
        )
