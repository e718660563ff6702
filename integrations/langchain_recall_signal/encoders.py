"""Encoders of recall-signal as LangChain ``Embeddings``."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings

from recall_signal.encoders import DemoEncoder, Encoder

__all__ = ["DemoEmbeddings", "EncoderEmbeddings"]


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
