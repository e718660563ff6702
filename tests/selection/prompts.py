"""The question and texts of the selector's tests, and replies to its prompt, for any framework."""

import json
import re
from collections.abc import Callable
from typing import Any

NAME = "scripted-1"
QUESTION = "Which port does the build server listen on?"
TEXTS = (
    "The build server listens on port 8443.",
    "Lunch is at noon on Fridays.",
    "Ports below 1024 need root.",
    "The old build server was switched off in May.",
    "Parking is behind the house.",
)

Reply = Callable[[str], Any]
"""From the prompt to a text, to the arguments of a tool call, or to an exception."""


def labels_in(prompt: str) -> list[str]:
    """The labels of a request, in page order, without that of "none of these"."""
    return _labels(prompt)[:-1]


def none_in(prompt: str) -> str:
    """The label of "none of these", the last one."""
    return _labels(prompt)[-1]


def _labels(prompt: str) -> list[str]:
    return re.findall(r"^\[([A-Z0-9]+)\] ", prompt, flags=re.MULTILINE)


def keeping(*positions: int) -> Reply:
    """A model that keeps these places of the page, or none of these."""

    def reply(prompt: str) -> str:
        labels = labels_in(prompt)
        keep = [labels[at] for at in positions] or [none_in(prompt)]
        return json.dumps({"keep": keep})

    return reply


def saying(text: Any) -> Reply:
    """A model that always says this."""
    return lambda prompt: text
