"""One store, adapter and setting: both frameworks look as wide, wait alike and read alike."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.vector_stores import SimpleVectorStore

import langchain_recall_signal as langchain
import langchain_recall_signal.stores._registry as langchain_registry
import llama_index_recall_signal as llama_index
import llama_index_recall_signal.stores._registry as llama_registry
from langchain_recall_signal.stores import ScoreReading
from recall_signal import ConfigurationError, ScoreKind
from recall_signal._steps.timeouts import CallLimits
from recall_signal.stores._server_metric import CachedServerMetric
from recall_signal.testing import SettableEncoder, vectors_with_cosines
from tests.llama_index.fakes import (
    QUERY,
    QUERY_VECTOR,
    Embedding,
    ListRetriever,
    nodes_with_cosines,
    scored,
)

COSINES = [0.9, 0.5, 0.4, 0.2, 0.1]
K, POOL = 2, 50


@dataclass
class Shop:
    """What the store of either framework was asked for, and which searches it refuses."""

    asked: list[int] = field(default_factory=list)
    refuses: Callable[[int], bool] = lambda k: False

    def serve(self, k: int) -> Sequence[float]:
        self.asked.append(k)
        if self.refuses(k):
            raise RuntimeError("too many")
        return COSINES[:k]


class LangChainShop(VectorStore):
    """Gives its cosines as scores; awaiting it takes no thread."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return [document for document, _ in self.similarity_search_with_score(query, k)]

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return self.similarity_search(query, k)

    def similarity_search_with_score(self, *args: Any, **kwargs: Any) -> Any:
        found = self.shop.serve(kwargs.get("k", args[-1]))
        return [(Document(id=f"n{n}", page_content=f"t{n}"), s) for n, s in enumerate(found)]

    async def asimilarity_search_with_score(self, *args: Any, **kwargs: Any) -> Any:
        return self.similarity_search_with_score(*args, **kwargs)

    @classmethod
    def from_texts(cls, *args: Any, **kwargs: Any) -> "LangChainShop":
        raise NotImplementedError


class LlamaShop(SimpleVectorStore):
    """The same for LlamaIndex."""

    _shop: Any = None

    def query(self, query: Any, **kwargs: Any) -> Any:
        self._shop.serve(query.similarity_top_k)
        return super().query(query, **kwargs)


Wrap = Callable[..., Any]


@pytest.fixture(params=["langchain", "llama_index"])
def wrap(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Wrap:
    """`wrap(shop, adapter, **settings)`: the framework's wrapper around its store.

    `adapter` is a class without its base, which is each framework's own.
    """
    for registry in (langchain_registry._registry, llama_registry._registry):
        monkeypatch.setattr(registry, "_adapters", dict(registry._adapters))

    def known(framework: Any, store: type, adapter: type | None) -> None:
        if adapter is not None:
            made = type(adapter.__name__, (adapter, framework.StoreAdapter), {})()
            framework.register_adapter(f"{store.__module__}.{store.__qualname__}", made)

    def in_langchain(shop: Shop, adapter: type | None = None, **settings: Any) -> Any:
        known(langchain, LangChainShop, adapter)
        retriever = LangChainShop(shop).as_retriever(search_kwargs={"k": K})
        return langchain.RecallRetriever(retriever=retriever, **settings)

    def in_llama_index(shop: Shop, adapter: type | None = None, **settings: Any) -> Any:
        known(llama_index, LlamaShop, adapter)
        store = LlamaShop()
        store._shop = shop
        index = VectorStoreIndex(
            nodes_with_cosines(COSINES),
            storage_context=StorageContext.from_defaults(vector_store=store),
            embed_model=Embedding({QUERY: QUERY_VECTOR}),
        )
        return llama_index.RecallRetriever(index.as_retriever(similarity_top_k=K), **settings)

    return in_langchain if request.param == "langchain" else in_llama_index


def ids(response: Any) -> list[str]:
    if isinstance(response, langchain.RecallResponse):
        return [document.id or "" for document in response.documents]
    return [item.node_id for item in response.nodes]


async def both(wrapped: Any) -> Any:
    """The response, the same synchronously and not."""
    response, other = wrapped.recall(QUERY), await wrapped.arecall(QUERY)
    assert other.to_dict() == response.to_dict()
    assert ids(response) == ids(other) == ["n0", "n1"]
    return response


class OwnRead:
    """Says nothing of the kind: it reads in its own way."""

    def read(self, store: Any, hits: Any) -> ScoreReading:
        return ScoreReading(list(hits.scores), "store")


class Cosine:
    def score_kind(self, *_: Any) -> ScoreKind:
        return ScoreKind.COSINE


async def test_an_adapter_that_only_reads_is_searched_wider(wrap: Wrap) -> None:
    shop = Shop()
    response = await both(wrap(shop, OwnRead))
    assert shop.asked == [POOL, POOL]
    assert response.pool.cosines == pytest.approx(COSINES)


async def test_a_declared_keyword_score_is_searched_wider(wrap: Wrap) -> None:
    shop = Shop()
    response = await both(wrap(shop, score_kind="bm25"))
    assert shop.asked[::2] == [POOL, POOL]
    assert shop.asked[1::2] == [K, K]  # the store may leave out hits after its limit
    assert response.pool.scores == pytest.approx(COSINES)
    assert response.confidence.basis == "separation"


@pytest.mark.parametrize("kind", ["rrf", "minmax", "unknown"])
async def test_a_declared_score_that_depends_on_the_list_is_not(wrap: Wrap, kind: str) -> None:
    shop = Shop()
    await both(wrap(shop, Cosine, score_kind=kind))
    assert shop.asked == [K, K]


@pytest.fixture
def hops(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was handed to a thread: the loop's own, or one of the wrapper."""
    handed: list[Any] = []
    start, run = CallLimits._start, asyncio.BaseEventLoop.run_in_executor

    def started(self: Any, call: Any, ends: float) -> Any:
        handed.append(call)
        return start(self, call, ends)

    def run_in_executor(self: Any, executor: Any, function: Any, *args: Any) -> Any:
        handed.append(function)
        return run(self, executor, function, *args)

    monkeypatch.setattr(CallLimits, "_start", started)
    monkeypatch.setattr(asyncio.BaseEventLoop, "run_in_executor", run_in_executor)
    return handed


def asking(asked: list[Any]) -> type:
    """An adapter that has to ask its store's server."""

    def ask(store: Any) -> ScoreKind:
        asked.append(store)
        return ScoreKind.COSINE

    class Asking:
        kinds = CachedServerMetric(ask)

        def waits(self, store: Any) -> bool:
            return self.kinds.waits(store)

        def score_kind(self, store: Any, *_: Any) -> Any:
            return self.kinds.kind(store)

    return Asking


async def test_a_declared_kind_waits_for_no_server(wrap: Wrap, hops: list[Any]) -> None:
    asked: list[Any] = []
    wrapped = wrap(Shop(), asking(asked), score_kind="cosine")
    for _ in range(3):
        assert (await wrapped.arecall(QUERY)).cosine_source == "declared"
    assert (asked, hops) == ([], [])


async def test_a_server_is_waited_for_once(wrap: Wrap, hops: list[Any]) -> None:
    asked: list[Any] = []
    wrapped = wrap(Shop(), asking(asked))
    for _ in range(3):
        response = await wrapped.arecall(QUERY)
        assert response.cosine_source == "store"
        assert response.pool.cosines == pytest.approx(COSINES)
    assert (len(asked), len(hops)) == (1, 1)


class Keywords:
    """Reads scores as they come out of numpy."""

    def read(self, store: Any, hits: Any) -> ScoreReading:
        return ScoreReading(None, scores=np.asarray(hits.scores))  # type: ignore[arg-type]


async def test_any_list_of_numbers_is_a_reading(wrap: Wrap) -> None:
    response = await both(wrap(Shop(), Keywords))
    assert response.confidence.basis == "separation"
    assert response.confidence.top_score == 0.9


class NoTelling(Cosine):
    def waits(self, store: Any) -> bool:
        raise RuntimeError("no telling")


async def test_who_cannot_tell_whether_it_waits_is_waited_for(wrap: Wrap) -> None:
    response = await both(wrap(Shop(), NoTelling))
    assert response.pool.cosines == pytest.approx(COSINES)


async def test_where_looking_wider_fails_the_reason_is_the_same(wrap: Wrap) -> None:
    shop = Shop(refuses=lambda k: k > K)
    response = await both(wrap(shop, score_kind="cosine"))
    assert shop.asked == [POOL, K, POOL, K]
    assert response.confidence.reason == "no_score_access"


class Encoder(SettableEncoder, Embeddings):
    """For LangChain; LlamaIndex's retriever has its own."""


class Vectors(Cosine):
    """Gives stored vectors back."""

    def encoder(self, store: Any) -> Encoder:
        return Encoder({QUERY: QUERY_VECTOR})

    def vectors(self, store: Any, found: Any) -> Any:
        count = len(getattr(found, "nodes", found))
        return vectors_with_cosines(QUERY_VECTOR, COSINES[:count])


async def test_where_looking_wider_fails_the_stored_vectors_decide(wrap: Wrap) -> None:
    response = await both(wrap(Shop(refuses=lambda k: k > K), Vectors))
    assert response.cosine_source == "vectors"
    assert response.pool.cosines == pytest.approx(COSINES[:K])


async def test_a_wrong_kind_is_told_once(wrap: Wrap, caplog: pytest.LogCaptureFixture) -> None:
    wrapped = wrap(Shop(), score_kind="cosine_distance")
    for _ in range(2):
        assert (await both(wrapped)).confidence.reason == "score_inverted"
    assert len(caplog.records) == 1


def test_a_wrong_kind_of_a_list_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """Retrievers without a store that is known exist with scores in LlamaIndex only."""
    wrapped = llama_index.RecallRetriever(ListRetriever(scored(7.5, 0.2)), score_kind="cosine")
    for _ in range(2):
        assert wrapped.recall(QUERY).confidence.reason == "score_out_of_range"
    assert len(caplog.records) == 1


def test_a_kind_there_is_not(wrap: Wrap) -> None:
    with pytest.raises(ConfigurationError, match="score_kind must be one of"):
        wrap(Shop(), score_kind="cosines")


class ReadFails(Cosine):
    def read(self, *_: Any) -> Any:
        raise RuntimeError("a secret")


class KindFails:
    def score_kind(self, *_: Any) -> ScoreKind:
        raise RuntimeError("a secret")


class KnowsNothing:
    """Neither a kind nor a reading."""


def returning(reading: Any, vectors: Any = None) -> type:
    """An adapter that reads and returns what it should not."""

    class Returning:
        def read(self, *_: Any) -> Any:
            return reading

        def vectors(self, *_: Any) -> Any:
            return vectors

    return Returning


@pytest.mark.parametrize(
    "adapter",
    [
        ReadFails,
        KindFails,
        KnowsNothing,
        returning([0.9, 0.1]),
        returning(ScoreReading([0.9], "store")),
        returning(ScoreReading(5, "store")),  # type: ignore[arg-type]
        returning(ScoreReading(["0.9"] * 5, "store")),  # type: ignore[list-item]
    ],
)
async def test_what_an_adapter_does_wrong_costs_no_page(
    wrap: Wrap, adapter: type, caplog: pytest.LogCaptureFixture
) -> None:
    confidence = (await both(wrap(Shop(), adapter))).confidence
    assert (confidence.level, confidence.reason) == ("unknown", "adapter_failed")
    assert "a secret" not in caplog.text


class ModeFails:
    """Only LlamaIndex's adapters are asked for the mode."""

    def mode(self, *_: Any) -> str:
        raise RuntimeError("a secret")

    def score_kind(self, *_: Any) -> ScoreKind:
        return ScoreKind.UNKNOWN


def test_an_adapter_that_cannot_tell_the_mode_costs_no_page(
    wrap: Wrap, caplog: pytest.LogCaptureFixture
) -> None:
    response = wrap(Shop(), ModeFails).recall(QUERY)
    assert response.confidence.level == "unknown"
    assert len(getattr(response, "documents", None) or response.nodes) == K
    assert "a secret" not in caplog.text
