"""Encoders of recall-signal as LlamaIndex embeddings."""

from __future__ import annotations

from functools import partial
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks import CallbackManager
from pydantic import PrivateAttr

from recall_signal._names import plain_name
from recall_signal._steps.timeouts import Workers
from recall_signal._wrapper.batches import embedder_of
from recall_signal._wrapper.runtime import encoder_identity
from recall_signal._wrapper.views import replaced, shares_state
from recall_signal.encoders import DemoEncoder, Encoder

__all__ = ["DemoEmbedding", "EncoderEmbedding", "encoder_name", "identity_of", "unheard"]

_UNNAMED = BaseEmbedding.model_fields["model_name"].default


class EncoderEmbedding(BaseEmbedding):
    """Any `recall_signal.encoders.Encoder`, for LlamaIndex.

    Args:
        encoder: The encoder; its name becomes `model_name`.
        **settings: Fields of `BaseEmbedding`, such as `embed_batch_size`.
    """

    _encoder: Encoder = PrivateAttr()
    _workers: Workers = PrivateAttr(default_factory=Workers)

    def __init__(self, encoder: Encoder, **settings: Any) -> None:
        super().__init__(model_name=encoder.name, **settings)
        self._encoder = encoder

    @classmethod
    def class_name(cls) -> str:
        """Return the component's name."""
        return "EncoderEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._encoder.embed_query(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await self._workers.call(partial(self._encoder.embed_query, query))

    def embed_queries(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of questions, `[n, dim]`; in one call where the encoder takes them."""
        together = embedder_of(self._encoder)
        if together is None:
            return [self._encoder.embed_query(text) for text in texts]
        return [[*vector] for vector in together(texts)]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._encoder.embed_documents([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._encoder.embed_documents(texts)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await self._workers.call(partial(self._encoder.embed_documents, texts))


class DemoEmbedding(EncoderEmbedding):
    """The encoder of the extra `demo` (see `recall_signal.encoders.DemoEncoder`)."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(DemoEncoder(), **settings)

    @classmethod
    def class_name(cls) -> str:
        """Return the component's name."""
        return "DemoEmbedding"


def identity_of(encoder: BaseEmbedding | None) -> str | None:
    """Return what an encoder says of the model that embeds (see `encoder_identity`)."""
    return encoder_identity(encoder, ("model_name",), _UNNAMED)


def encoder_name(encoder: BaseEmbedding | None) -> str | None:
    """Return the name that an encoder gives its model; None without an encoder."""
    identity = identity_of(encoder)
    return None if identity is None else plain_name(identity)


def unheard(encoder: BaseEmbedding) -> BaseEmbedding:
    """Return the encoder, without a memory of its events where nobody hears them.

    A manager of callbacks remembers each event until a trace begins on it. That of an encoder which
    belongs to no index begins none, and would grow with each query.
    """
    if encoder.callback_manager.handlers or not shares_state(encoder):
        return encoder
    forgetful = CallbackManager()
    forgetful.set_handlers([])
    return replaced(encoder, {"callback_manager": forgetful})
