"""Encoders of recall-signal as LangChain ``Embeddings``."""

from __future__ import annotations

from typing import Any

from langchain_core.embeddings import Embeddings

from recall_signal.embedding import Embed
from recall_signal.encoders import DemoEncoder, Encoder

__all__ = ["DemoEmbeddings", "EncoderEmbeddings", "aembed", "embed", "encoder_name"]


class EncoderEmbeddings(Embeddings):
    """Any :class:`recall_signal.encoders.Encoder`, for LangChain's stores.

    Args:
        encoder: The encoder.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    @property
    def name(self) -> str:
        """The encoder's name."""
        return self.encoder.name

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question, ``[dim]``."""
        return self.encoder.embed_query(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts to be searched, ``[n, dim]``."""
        return self.encoder.embed_documents(texts)


class DemoEmbeddings(EncoderEmbeddings):
    """The encoder of the extra ``demo`` (see :class:`recall_signal.encoders.DemoEncoder`)."""

    def __init__(self) -> None:
        super().__init__(DemoEncoder())


def embed(encoder: Any, request: Embed) -> tuple[Any, Any]:
    """The vectors that the flow asked for."""
    vectors = encoder.embed_documents(request.texts) if request.texts else []
    return encoder.embed_query(request.query), vectors


async def aembed(encoder: Any, request: Embed) -> tuple[Any, Any]:
    """:func:`embed`, asynchronously."""
    vectors = await encoder.aembed_documents(request.texts) if request.texts else []
    return await encoder.aembed_query(request.query), vectors


def encoder_name(encoder: Any) -> str | None:
    """The name of the model behind an encoder, as it calls itself; None without an encoder."""
    if encoder is None:
        return None
    for attribute in ("name", "model", "model_name", "model_id"):
        name = getattr(encoder, attribute, None)
        if isinstance(name, str) and name:
            return name
    return type(encoder).__name__
