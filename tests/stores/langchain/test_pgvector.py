"""`PGVector` and `PGVectorStore` on a PostgreSQL with pgvector."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any, ClassVar
from uuid import NAMESPACE_OID, uuid4, uuid5

import pytest
import sqlalchemy
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_postgres import PGEngine, PGVector, PGVectorStore
from langchain_postgres.v2.async_vectorstore import AsyncPGVectorStore
from langchain_postgres.v2.hybrid_search_config import (
    HybridSearchConfig,
    reciprocal_rank_fusion,
    weighted_sum_ranking,
)
from langchain_postgres.v2.indexes import DistanceStrategy
from langchain_postgres.vectorstores import DistanceStrategy as OldStrategy
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from langchain_recall_signal import RecallRetriever
from tests.stores.cases import conformance
from tests.stores.langchain_world import LONG, MMR, Encoder, StoreConformance, check_cosines


class InPostgres(StoreConformance):
    """A connection pool for all tests of the module."""

    @pytest.fixture(autouse=True)
    def _connected(self, engines: tuple[sqlalchemy.Engine, PGEngine]) -> None:
        self.engine, self.new_engine = engines


@pytest.fixture(scope="module")
def engines(postgres_url: str) -> Iterator[tuple[sqlalchemy.Engine, PGEngine]]:
    url = postgres_url.replace("postgresql:", "postgresql+psycopg:")
    old, new = sqlalchemy.create_engine(url), PGEngine.from_connection_string(url)
    yield old, new
    old.dispose()
    asyncio.run(new.close())


class InPGVector(InPostgres):
    strategy = OldStrategy.COSINE
    has_async = False  # a store is made for one of the two

    def store(self, encoder: Embeddings) -> Any:
        return PGVector(
            encoder,
            connection=self.engine,
            collection_name=uuid4().hex,
            distance_strategy=self.strategy,
        )

    def document(self, number: int, text: str) -> Document:
        # One table holds all collections, and ids are unique in it.
        return super().document(number, text).model_copy(update={"id": uuid4().hex})


CASES: dict[str, dict[str, Any]] = {
    "Cosine": {},
    "Euclidean": {"strategy": OldStrategy.EUCLIDEAN, "unit_only": True},
    "MaxInnerProduct": {"strategy": OldStrategy.MAX_INNER_PRODUCT, "unit_only": True},
    "Mmr": MMR,
}
globals().update(conformance(InPGVector, CASES))


class InPGVectorStore(InPostgres):
    strategy = DistanceStrategy.COSINE_DISTANCE
    fusion: ClassVar[Any] = None

    def store(self, encoder: Embeddings) -> Any:
        table = f"t{uuid4().hex}"
        self.new_engine.init_vectorstore_table(table, self.dimension)
        hybrid = self.fusion and HybridSearchConfig(fusion_function=self.fusion)
        return PGVectorStore.create_sync(
            self.new_engine,
            encoder,
            table,
            distance_strategy=self.strategy,
            hybrid_search_config=hybrid,
        )

    def document(self, number: int, text: str) -> Document:
        document = super().document(number, text)
        return document.model_copy(update={"id": str(uuid5(NAMESPACE_OID, text))})


# Both look at 4 of either kind, unless the search says otherwise.
FUSED = {"page_sizes": (1, 4), "source": "vectors", "ranks_by_cosine": False}
NEW_CASES: dict[str, dict[str, Any]] = {
    "NewCosine": {},
    "NewEuclidean": {"strategy": DistanceStrategy.EUCLIDEAN, "unit_only": True},
    "NewInnerProduct": {"strategy": DistanceStrategy.INNER_PRODUCT, "unit_only": True},
    "NewMmr": MMR | {"page_sizes": (1, 4)},
    "NewHybrid": FUSED | {"fusion": staticmethod(weighted_sum_ranking)},
    "NewRankFusion": FUSED | {"fusion": staticmethod(reciprocal_rank_fusion)},
}
globals().update(conformance(InPGVectorStore, NEW_CASES))


class TestWaitedFor:
    """Stores that can only be awaited; their vectors cannot be read from a worker thread."""

    @pytest.fixture
    async def engine(self, postgres_url: str) -> AsyncIterator[AsyncEngine]:
        engine = create_async_engine(postgres_url.replace("postgresql:", "postgresql+psycopg:"))
        yield engine
        await engine.dispose()

    @pytest.mark.parametrize("norm", [1.0, LONG])
    @pytest.mark.parametrize("strategy", OldStrategy)
    async def test_pgvector(self, engine: AsyncEngine, strategy: Any, norm: float) -> None:
        encoder = Encoder(norm=norm)
        store = PGVector(
            encoder,
            connection=engine,
            collection_name=uuid4().hex,
            distance_strategy=strategy,
            create_extension=False,
        )
        await store.aadd_texts(TEXTS)
        await check(store, encoder, norm == 1.0 or strategy is OldStrategy.COSINE)

    @pytest.mark.parametrize("norm", [1.0, LONG])
    @pytest.mark.parametrize("strategy", DistanceStrategy)
    @pytest.mark.parametrize("store_class", [AsyncPGVectorStore, PGVectorStore])
    async def test_pgvectorstore(
        self, engine: AsyncEngine, store_class: Any, strategy: Any, norm: float
    ) -> None:
        encoder, table = Encoder(norm=norm), f"t{uuid4().hex}"
        new_engine = PGEngine.from_engine(engine)
        await new_engine.ainit_vectorstore_table(table, encoder.dimension)
        store = await store_class.create(new_engine, encoder, table, distance_strategy=strategy)
        await store.aadd_texts(TEXTS)
        await check(store, encoder, norm == 1.0 or strategy is DistanceStrategy.COSINE_DISTANCE)


TEXTS = [f"text {n}" for n in range(12)]


async def check(store: Any, encoder: Encoder, known: bool) -> None:
    response = await RecallRetriever.from_vectorstore(store, k=5).arecall("a query")
    bare = await store.as_retriever(search_kwargs={"k": 5}).ainvoke("a query")
    assert [d.page_content for d in response.documents] == [d.page_content for d in bare]
    if not known:
        assert response.confidence.reason == "norm_unknown"
        return
    check_cosines(response.documents, encoder, "a query")
    assert None not in response.pool.cosines
