"""``route_on_recall``: a conditional edge of LangGraph that follows the recall signal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from langchain_recall_signal.signals import find_report
from recall_signal import ConfigurationError
from recall_signal.signals import advice_in

__all__ = ["RecallRoute", "route_on_recall"]


@dataclass(frozen=True, slots=True)
class RecallRoute:
    """From a state to the name of the next node (see :func:`route_on_recall`)."""

    relevant: str
    absent: str
    unknown: str

    def __post_init__(self) -> None:
        for field in self.__slots__:
            name = getattr(self, field)
            if not isinstance(name, str) or not name:
                raise ConfigurationError(
                    f"route_on_recall: {field} must be the name of a node, got "
                    f"{'an empty text' if name == '' else type(name).__name__}"
                )

    def __call__(self, state: Any) -> str:
        """The name of the next node. Never raises."""
        todo = advice_in(find_report(state))
        return {"read": self.relevant, "fallback": self.absent, "undecided": self.unknown}[todo]

    @property
    def path_map(self) -> dict[str, str]:
        """The three names, for ``add_conditional_edges``: with it LangGraph draws the branches."""
        return {name: name for name in (self.relevant, self.absent, self.unknown)}


def route_on_recall(*, relevant: str, absent: str, unknown: str) -> RecallRoute:
    """A conditional edge: ``graph.add_conditional_edges(node, route, route.path_map)``.

    The signal is looked for under the state's key ``recall`` (a response, a confidence, or the
    dict of either), then in the artifacts of the last tool messages of this turn, then in the
    metadata of ``documents``. Where several tools searched in one step, the best measured level
    counts. A state may be a dict, an object, or a list of messages.

    Args:
        relevant: Where to go after ``high`` and ``moderate``.
        absent: Where to go after ``low`` and ``none``.
        unknown: Where to go after ``unknown``, and where there is no signal that can be read.

    Raises:
        ConfigurationError: A name is not a text, or empty.
    """
    return RecallRoute(relevant, absent, unknown)
