"""A setting means the same in both frameworks, also where its default is given by hand."""

import asyncio
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from llama_index.core.embeddings import BaseEmbedding

from recall_signal import ConfigurationError
from recall_signal._wrapper.checked_settings import UNSET
from recall_signal._wrapper.settings import RetrieverSettings
from recall_signal.selection import SelectionOptions
from tests.frameworks import Framework, Keeping


class Cancelled(Embeddings):
    """An encoder whose own task is cancelled, as by a client that closes its connection."""

    def embed_query(self, text: str) -> list[float]:
        raise NotImplementedError

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise NotImplementedError

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        raise asyncio.CancelledError


class CancelledEmbedding(BaseEmbedding):
    def _get_query_embedding(self, query: str) -> list[float]:
        raise NotImplementedError

    def _get_text_embedding(self, text: str) -> list[float]:
        raise NotImplementedError

    async def _aget_query_embedding(self, query: str) -> list[float]:
        raise NotImplementedError

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        raise asyncio.CancelledError


def around(framework: Framework, **settings: Any) -> Any:
    return framework.around(lambda: ["text 0", "text 1", "text 2"], **settings)


@pytest.mark.parametrize("name", sorted(RetrieverSettings.model_fields))
def test_a_default_may_be_given_by_hand(framework: Framework, name: str) -> None:
    around(framework, **{name: RetrieverSettings.model_fields[name].get_default()})


def test_a_pool_below_the_page_is_refused_also_where_its_size_is_the_default(
    framework: Framework,
) -> None:
    around(framework, k=60)
    with pytest.raises(ConfigurationError, match="pool_size=50 is below the page's k=60"):
        around(framework, k=60, pool_size=50)


@pytest.mark.parametrize(("given", "seconds"), [({}, 30.0), ({"selector_timeout": 10.0}, 10.0)])
def test_a_timeout_given_beside_the_options_decides(
    framework: Framework, given: dict[str, Any], seconds: float
) -> None:
    options = SelectionOptions(timeout=30.0)
    wrapped = around(framework, selector=Keeping(), selector_options=options, **given)
    assert wrapped._runtime.selection.timeout == seconds
    again = wrapped.with_calibration(None)
    assert again._runtime.selection.timeout == seconds


def test_what_was_not_given_has_a_short_name() -> None:
    assert repr(UNSET) == "UNSET"


async def test_an_encoder_whose_own_call_is_cancelled_does_not_cancel_us(
    framework: Framework, caplog: pytest.LogCaptureFixture
) -> None:
    encoders = {"embeddings": Cancelled(), "embed_model": CancelledEmbedding()}
    (name,) = framework.encoding({})[1]
    response = await around(framework, **{name: encoders[name]}).arecall("question")
    assert response.confidence.reason == "embedding_failed"
    assert len(framework.page(response)) == 3
    assert "embedding the candidates again failed: CancelledError" in caplog.text
