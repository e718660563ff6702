"""An encoder that needs no model, and the command line as a function."""

from collections.abc import Sequence
from hashlib import blake2b
from inspect import signature
from io import StringIO
from math import sqrt
from typing import Any

from rich.console import Console
from typer.testing import CliRunner, Result

from recall_signal.cli._app import app
from recall_signal.cli._terminal import Terminal

TOPICS = {
    "kiln": "the {n} kiln fires stoneware glaze on monday morning near door {n}",
    "bread": "rye bread number {n} rises overnight in the {n} basket of the bakery",
    "boat": "boat {n} leaves harbour {n} at high tide with eleven sailors aboard",
}
"""Texts of three kinds, each with a number to tell them apart."""


ANSWERED = (0, 3, 4)
"""Exit codes of `ask` where it worked, whatever it advised."""


class WordEncoder:
    """Texts that share words have near vectors; every document that is embedded is noted."""

    name = "words"
    embedded: list[str]

    def embed_query(self, text: str) -> list[float]:
        vector = [0.01] * 64
        for word in text.lower().split():
            vector[blake2b(word.encode("utf-8", "replace")).digest()[0] % 64] += 1.0
        norm = sqrt(sum(value * value for value in vector))
        return [value / norm for value in vector]

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.embedded.extend(texts)
        return [self.embed_query(text) for text in texts]


class QuietWordEncoder(WordEncoder):
    """`WordEncoder` that notes nothing."""

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def invoke(*arguments: object) -> Result:
    """Run the command in this process, at 80 columns unless COLUMNS is set."""
    known = signature(CliRunner).parameters
    separate: dict[str, Any] = {"mix_stderr": False} if "mix_stderr" in known else {}
    return CliRunner(**separate).invoke(app, [str(argument) for argument in arguments])


def recording_terminal(width: int = 80) -> Terminal:
    """Two consoles that write into texts."""
    out, err = (Console(file=StringIO(), width=width, highlight=False) for _ in range(2))
    return Terminal(out, err)


def printed(console: Console) -> str:
    """What was written to a recording console."""
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()
