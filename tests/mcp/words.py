"""An encoder for the command, which needs no model, and whose module writes where it must not."""

import os
from hashlib import blake2b

print("a stray line")  # noqa: T201
os.write(1, b"another one, past Python\n")


class Words:
    """Texts that share words have near vectors."""

    name = "words"

    def embed_query(self, text: str) -> list[float]:
        print("a question was embedded")  # noqa: T201
        vector = [0.01] * 64
        for word in text.lower().split():
            vector[blake2b(word.encode()).digest()[0] % 64] += 1.0
        return vector

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]
