"""An encoder that needs no model, and the command line as a function."""

from collections.abc import Sequence
from hashlib import blake2b
from inspect import signature
from math import sqrt

from typer.testing import CliRunner, Result

from recall_signal.cli.app import app


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


def invoke(*arguments: object) -> Result:
    """Run the command in this process, at 80 columns unless COLUMNS is set."""
    separate = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
    return CliRunner(**separate).invoke(app, [str(argument) for argument in arguments])
