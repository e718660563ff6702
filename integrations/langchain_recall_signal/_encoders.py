"""Encoders of recall-signal as LangChain `Embeddings`."""

from __future__ import annotations

from functools import partial

from langchain_core.embeddings import Embeddings

from recall_signal._names import plain_name
from recall_signal._steps.blocking import run_apart
from recall_signal._steps.timeouts import Workers
from recall_signal._wrapper.batches import embedder_of
from recall_signal._wrapper.runtime import encoder_identity
from recall_signal.encoders import DemoEncoder, Encoder

__all__ = [
    "MODEL_NAMES",
    "DemoEmbeddings",
    "EncoderEmbeddings",
    "embed_both",
    "embed_question",
    "encoder_name",
]

MODEL_NAMES = ("name", "model", "model_name", "model_id")
"""Attributes under which LangChain's encoders keep the name of their model."""


class EncoderEmbeddings(Embeddings):
    """Any `recall_signal.encoders.Encoder`, for LangChain's stores.

    Args:
        encoder: The encoder.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self._workers = Workers()

    @property
    def name(self) -> str:
        """Return the encoder's name."""
        return self.encoder.name

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question, `[dim]`."""
        return self.encoder.embed_query(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of texts to be searched, `[n, dim]`."""
        return self.encoder.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """`embed_query`, in a thread of its own."""
        return await self._workers.call(partial(self.embed_query, text))

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """`embed_documents`, in a thread of its own."""
        return await self._workers.call(partial(self.embed_documents, texts))

    def embed_queries(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of questions, `[n, dim]`; in one call where the encoder takes them."""
        together = embedder_of(self.encoder)
        if together is None:
            return [self.embed_query(text) for text in texts]
        return [[*vector] for vector in together(texts)]


class DemoEmbeddings(EncoderEmbeddings):
    """The encoder of the extra `demo` (see `recall_signal.encoders.DemoEncoder`)."""

    def __init__(self) -> None:
        super().__init__(DemoEncoder())


def encoder_name(encoder: object) -> str | None:
    """Return the name that an encoder gives its model; None without an encoder."""
    identity = encoder_identity(encoder, MODEL_NAMES)
    return None if identity is None else plain_name(identity)


async def embed_both(
    workers: Workers, encoder: Embeddings, query: str, texts: list[str]
) -> tuple[list[float], object]:
    """Embed a question and texts; one thread or one task does both where the encoder allows it."""
    aembed = encoder.aembed_documents
    if _is_synchronous(encoder, "aembed_query") and _is_synchronous(encoder, "aembed_documents"):

        def embed() -> tuple[list[float], object]:
            vectors = encoder.embed_documents(texts) if texts else []
            return encoder.embed_query(query), vectors

        return await workers.call(embed)
    vectors = await run_apart(workers, partial(aembed, texts), aembed) if texts else []
    return await embed_question(workers, encoder, query), vectors


async def embed_question(workers: Workers, encoder: Embeddings, query: str) -> list[float]:
    """Embed a question where the encoder holds neither the loop nor the threads that all share."""
    if _is_synchronous(encoder, "aembed_query"):
        return await workers.call(partial(encoder.embed_query, query))
    aembed = encoder.aembed_query
    return await run_apart(workers, partial(aembed, query), aembed)


def _is_synchronous(encoder: Embeddings, method: str) -> bool:
    """Return whether an asynchronous method only calls its synchronous twin in a thread."""
    made = getattr(type(encoder), method, None)
    return made in (getattr(Embeddings, method), getattr(EncoderEmbeddings, method))
