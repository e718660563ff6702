"""Postgres with pgvector: the cosine, except where text ranks are mixed in or MMR chooses."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import pytest
from llama_index.vector_stores.postgres import PGVectorStore
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from llama_index_recall_signal import RecallRetriever
from llama_index_recall_signal.stores import Hits, find_adapter
from tests.stores.cases import conformance
from tests.stores.llama_store_cases import (
    DIMENSION,
    MMR,
    OTHER_NORMS,
    QUERY,
    StoreConformance,
    ask_as_query,
    index_with_cosines,
    page_of,
)


@pytest.fixture(scope="module", autouse=True)
def database(postgres_url: str) -> Iterator[None]:
    url = postgres_url.removeprefix("postgresql")
    Postgres.engine = create_engine(f"postgresql+psycopg{url}")
    # Nothing is kept open: each asynchronous case has an event loop of its own.
    Postgres.async_engine = create_async_engine(f"postgresql+asyncpg{url}", poolclass=NullPool)
    yield
    Postgres.engine.dispose()


class Postgres:
    """How the server is reached; it lives as long as the session."""

    engine: Any = None
    async_engine: Any = None

    @classmethod
    def store(cls, name: str, **settings: Any) -> PGVectorStore:
        return PGVectorStore(
            engine=cls.engine,
            async_engine=cls.async_engine,
            table_name=name.lower(),
            embed_dim=DIMENSION,
            **settings,
        )


class PostgresConformance(StoreConformance):
    norms: ClassVar[Sequence[float | Sequence[float]]] = (1.0, *OTHER_NORMS)
    settings: ClassVar[dict[str, Any]] = {}

    def store(self, number: int) -> Any:
        return Postgres.store(f"{type(self).__name__}{number}", **self.settings)


class TestPostgres(PostgresConformance):
    pass


class TestPostgresHalfPrecision(PostgresConformance):
    """The cosine with the vector as it is stored."""

    norms = (1.0, 3.0)
    settings: ClassVar[dict[str, Any]] = {"use_halfvec": True}
    tolerance = 2e-3
    asked = 10


class TestPostgresHybrid(PostgresConformance):
    mode = "hybrid"
    settings: ClassVar[dict[str, Any]] = {"hybrid_search": True, "text_search_config": "english"}

    def test_cosines_are_numpys(self) -> None:
        """A page here is as long as the hits of both searches together."""
        for world in self._worlds():
            wrapped, _ = self._build(world, 10)
            for query in world.queries:
                page = self._page(wrapped, query)
                assert len(page) >= 10
                for item in page:
                    self._check_entry(world, query, item)


globals().update(conformance(PostgresConformance, {"PostgresMmr": MMR | {"can_be_empty": True}}))


@pytest.mark.parametrize("mode", ["hybrid", "sparse"])
async def test_cosines_and_text_ranks_on_one_page(mode: str) -> None:
    """`ts_rank` is no cosine, though it looks like one."""
    store = Postgres.store(f"mixed_{mode}", hybrid_search=True, text_search_config="english")
    index = index_with_cosines(store, [0.9, 0.4, 0.2, -0.3])
    asked = "text 3"
    ask_as_query(index, asked)
    bare = index.as_retriever(vector_store_query_mode=mode, similarity_top_k=2, sparse_top_k=1)
    found = bare.retrieve(asked)
    assert found[-1].metadata["number"] == 3
    assert found[-1].score is not None
    assert 0.0 < found[-1].score < 1.0  # while its cosine is -0.3
    response = RecallRetriever(bare).recall(asked)
    assert page_of(response.nodes) == page_of(found)
    assert response.cosine_source == "vectors"
    expected = [0.9, 0.4, -0.3] if mode == "hybrid" else [-0.3]
    assert response.pool.cosines == pytest.approx(expected, abs=1e-4)
    assert (await RecallRetriever(bare).arecall(asked)).to_dict() == response.to_dict()


def test_stored_vectors() -> None:
    store = Postgres.store("vectors")
    hits = index_with_cosines(store, [0.9, 0.4]).as_retriever().retrieve(QUERY)
    adapter: Any = find_adapter(store)
    first, second = adapter.vectors(store, Hits(hits, "hybrid"))
    assert [first[0], second[0]] == pytest.approx([0.9, 0.4])
    store.delete_nodes([hits[0].node_id])
    first, second = adapter.vectors(store, Hits(hits, "hybrid"))
    assert first is None
    assert second is not None


def test_the_store_itself_cannot_read_vectors_of_half_precision() -> None:
    store = Postgres.store("halves", use_halfvec=True, hybrid_search=True)
    index = index_with_cosines(store, [0.9, 0.4])
    bare = index.as_retriever(vector_store_query_mode="hybrid")
    with pytest.raises(ValueError, match="HalfVector"):
        store.get_nodes([bare.retrieve(QUERY)[0].node_id])
    response = RecallRetriever(bare).recall(QUERY)
    assert response.confidence.reason == "score_not_convertible"


def test_no_hits_are_not_looked_up() -> None:
    """Asked for no ids, the store would give its whole table."""
    store = Postgres.store("no_hits")
    index_with_cosines(store, [0.9, 0.4])
    assert len(store.get_nodes([])) == 2
    adapter: Any = find_adapter(store)
    assert adapter.vectors(store, Hits([], "hybrid")) is None
