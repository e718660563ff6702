"""A selector that only recites: what the demo shows where no model can be asked."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from recall_signal.selection import Answer, SelectionRequest

__all__ = ["ScriptedSelector"]

NAME = "scripted model"
SMALL_TALK = "Sure! I would keep the first result, because it answers the question."


class ScriptedSelector:
    """Keeps what its script says, and makes conversation where the script says nothing.

    Args:
        script: For a question, the texts that are kept.
    """

    def __init__(self, script: Mapping[str, Collection[str]]) -> None:
        self._script = script

    def select(self, request: SelectionRequest) -> Answer:
        """The labels of what the script keeps, or words that are no answer."""
        keep = self._script.get(request.question)
        if keep is None:
            return Answer(SMALL_TALK, NAME)
        judged = zip(request.labels, request.passages, strict=True)
        return Answer(json.dumps({"keep": [label for label, text in judged if text in keep]}), NAME)

    async def aselect(self, request: SelectionRequest) -> Answer:
        """The same."""
        return self.select(request)
