"""The conformance suite of store adapters, as a class that a test module subclasses."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from recall_signal.pool import DEFAULT_POOL_SIZE, Pool
from recall_signal.stores import Vector
from recall_signal.testing._encoder import SettableEncoder
from recall_signal.testing._hooks import FrameworkHooks, Seen
from recall_signal.testing._vectors import vectors_with_cosines

__all__ = ["AdapterConformance"]

Vectors = NDArray[np.float64]

_TIED, _TIED_PAGES = 120, (3, 5, 7, 20, 45)
"""Stored texts of which two thirds have one vector, and the page sizes that are tried on them."""


@dataclass(frozen=True, slots=True)
class _Fixture:
    """Stored texts and queries of one case: `texts[i]` has `vectors[i]`."""

    texts: list[str]
    vectors: Vectors
    queries: list[str]
    query_vectors: Vectors
    encoder: object

    def cosine(self, query: str, text: str) -> float:
        one = self.query_vectors[self.queries.index(query)]
        other = self.vectors[self.texts.index(text)]
        return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))


class AdapterConformance(FrameworkHooks, ABC):
    """The cases that every adapter has to pass.

    Subclass it once per store and configuration::

        class Encoder(SettableEncoder, Embeddings): ...

        class TestMyStore(AdapterConformance):
            encoder_class = Encoder
            norms = (1.0, 3.0)  # as the store or its metric allows

            def build(self, texts, vectors, encoder, k, pool_size):
                store = MyStore.from_texts(texts, encoder)  # encoder: texts -> vectors
                bare = store.as_retriever(search_kwargs={"k": k})
                return RecallRetriever(retriever=bare, pool_size=pool_size), bare

    pytest collects the `test_*` methods; each also runs by itself on an instance. For another
    framework than LangChain, override the hooks `ask`, `ask_async`, `items`
    and `read`; for LlamaIndex::

            def ask(self, retriever, query):
                return retriever.retrieve(query)

            def read(self, item):
                rest = dict(item.node.metadata)
                entry = rest.pop(self.metadata_key, None)
                return Seen(item.node.node_id, item.node.text, rest, entry)

    Attributes:
        norms: Lengths of vectors that the adapter must support. A number is the length of every
            vector, the query's included. A sequence gives stored vectors these lengths in turn.
        tolerance: Largest difference between a reported cosine and numpy's (float64, from the
            vectors as given; raise it for stores that quantise).
        expected_reason: For a configuration without cosines: the expected `reason` of the
            unknown level. The page still has to be the bare retriever's.
        can_be_empty: Whether the store can exist without any document.
        ties_keep_order: Whether the order of equally good hits is independent of the number of
            requested hits. Where it is not, duplicates are compared without their order.
        has_async: Whether `ask_async` works (in an event loop of its own).
        encoder_class: Called with a dict of text -> vector.
        dimension: Dimension of the vectors.
        stored: Number of stored documents.
        asked: Number of queries.
        page_sizes: The values of `k`. Pages of the largest are compared with numpy; lower it
            for a store that returns no more.
        pool_size: Number of candidates; `page_sizes` must not exceed it.
    """

    norms: ClassVar[Sequence[float | Sequence[float]]] = (1.0,)
    tolerance: ClassVar[float] = 1e-4
    expected_reason: ClassVar[str | None] = None
    can_be_empty: ClassVar[bool] = True
    ties_keep_order: ClassVar[bool] = True
    has_async: ClassVar[bool] = True
    encoder_class: ClassVar[Callable[[dict[str, Vector]], object]] = SettableEncoder
    dimension: ClassVar[int] = 16
    stored: ClassVar[int] = 300
    asked: ClassVar[int] = 40
    page_sizes: ClassVar[Sequence[int]] = (1, 4, 10)
    pool_size: ClassVar[int] = DEFAULT_POOL_SIZE

    @abstractmethod
    def build(
        self, texts: list[str], vectors: Vectors, encoder: Any, k: int, pool_size: int
    ) -> tuple[object, object]:
        """Make a new store with these texts, and two retrievers on it.

        Args:
            texts: The texts to store; ids and other metadata are up to you, and nested metadata
                makes the cases stricter. May be empty (see `can_be_empty`).
            vectors: Their vectors, `[n, dimension]`, for stores that take vectors.
            encoder: Returns the vector of each text and query.
            k: Page size.
            pool_size: Number of candidates of the wrapped retriever, at least `k`.

        Returns:
            `(wrapped, bare)`: with the signal, and without.
        """

    def test_cosines_are_numpys(self) -> None:
        """Every reported cosine is numpy's, on the items as in the pool."""
        size = max(self.page_sizes)
        for world in self._worlds():
            wrapped, _ = self._build(world, size)
            for query in world.queries:
                page = self._page(wrapped, query)
                what = f"a page of {len(page)} for k={size} of {self.stored} stored"
                assert len(page) == size, what
                for item in page:
                    self._check_entry(world, query, item)
                self._check_pool(world, query, page, self.pool_of(wrapped, query))

    def test_the_top_hit_has_the_highest_cosine(self) -> None:
        """The store's best hit has the pool's highest cosine: the direction is right."""
        if self.expected_reason is not None:
            return
        for world in self._worlds(mixed=False):
            wrapped, _ = self._build(world, 4)
            for query in world.queries:
                cosines = [c for c in self.pool_of(wrapped, query).cosines if c is not None]
                assert cosines, "no cosine at all"
                assert cosines[0] >= max(cosines) - self.tolerance, (
                    f"the top hit has cosine {cosines[0]}, another of the pool {max(cosines)}; "
                    "is the score read in the wrong direction?"
                )

    def test_the_page_is_the_bare_retrievers(self) -> None:
        """Same items in the same order, with the same ids, texts and other metadata."""
        for world in self._worlds():
            for k in self.page_sizes:
                for pool_size in {k, self.pool_size}:
                    wrapped, bare = self._build(world, k, pool_size)
                    for query in world.queries[:5]:
                        self._check_same(self._page(wrapped, query), self._page(bare, query))

    def test_async_gives_the_same(self) -> None:
        """The asynchronous way returns what the synchronous one does, reports included."""
        if not self.has_async:
            return
        world = next(self._worlds())
        wrapped, _ = self._build(world, 4)

        async def ask_all() -> list[object]:
            return [await self.ask_async(wrapped, query) for query in world.queries[:5]]

        for query, response in zip(world.queries, asyncio.run(ask_all()), strict=False):
            page = [self.read(item) for item in self.items(response)]
            expected = self._page(wrapped, query)
            assert page, "the asynchronous call found nothing"
            self._check_same(page, expected)
            assert [item.entry for item in page] == [item.entry for item in expected], (
                "the reports differ between the synchronous and the asynchronous call"
            )

    def test_fewer_stored_than_k(self) -> None:
        """Three documents and k=10: three come back, with their cosines."""
        for world in self._worlds(stored=3):
            wrapped, bare = self._build(world, 10)
            for query in world.queries[:5]:
                page = self._page(wrapped, query)
                assert len(page) == 3, f"a page of {len(page)} with 3 stored"
                self._check_same(page, self._page(bare, query))
                for item in page:
                    self._check_entry(world, query, item)

    def test_empty_store(self) -> None:
        """Nothing stored: an empty page and an empty pool."""
        if not self.can_be_empty:
            return
        for world in self._worlds(stored=0):
            wrapped, _ = self._build(world, 4)
            assert self._page(wrapped, world.queries[0]) == []
            assert len(self.pool_of(wrapped, world.queries[0])) == 0

    def test_duplicates(self) -> None:
        """The same vector stored many times is returned as the bare retriever returns it.

        There are more copies than a wider search asks for, so that its limit cuts through them.
        """
        for world in self._worlds(stored=41):
            best = int(np.argmax(world.vectors @ world.query_vectors[0]))
            others = [place for place in range(41) if place != best]
            places = [best if n % 3 else others[n // 3] for n in range(_TIED)]
            copies = [f"{world.texts[place]}, copy {n}" for n, place in enumerate(places)]
            many = self._world(copies, world.vectors[places], world.queries, world.query_vectors)
            for k in (k for k in _TIED_PAGES if k <= self.pool_size):
                wrapped, bare = self._build(many, k)
                for query in many.queries[:2]:
                    page, expected = self._page(wrapped, query), self._page(bare, query)
                    if self.ties_keep_order:
                        self._check_same(page, expected)
                    assert len(page) == len(expected)
                    for item in page:
                        self._check_entry(many, query, item, tied=True)

    def test_stored_documents_are_untouched(self) -> None:
        """Changes to returned items leave the store's own documents alone."""
        world = next(self._worlds())
        wrapped, bare = self._build(world, 4)
        query = world.queries[0]
        before = deepcopy(self._page(bare, query))
        first = deepcopy(self._page(wrapped, query))
        for item in self.items(self.ask(wrapped, query)):
            _corrupt(item.metadata)
        assert self._page(bare, query) == before, "the store's own documents were changed"
        assert self._page(wrapped, query) == first, "two answers share parts of their metadata"

    def _worlds(self, *, stored: int | None = None, mixed: bool = True) -> Iterator[_Fixture]:
        """Yield one fixture for each of the norms."""
        count = self.stored if stored is None else stored
        random = np.random.default_rng(7)
        for norm in self.norms:
            if not isinstance(norm, int | float) and not mixed:
                continue  # by distance or product, a longer vector may well beat a closer one
            lengths = np.resize(np.asarray(norm, dtype=np.float64), count)
            directions = random.standard_normal((self.asked, self.dimension))
            directions /= np.linalg.norm(directions, axis=1, keepdims=True)
            queries = directions * np.resize(lengths if count else 1.0, self.asked)[:, None]
            cosines = np.linspace(-0.9, 0.999, count)
            vectors = vectors_with_cosines(queries[0], cosines, norm=lengths.tolist(), seed=11)
            yield self._world(
                [f"stored text {n}" for n in range(count)],
                vectors[random.permutation(count)],
                [f"query {n}" for n in range(self.asked)],
                queries,
            )

    def _world(
        self, texts: list[str], vectors: Vectors, queries: list[str], query_vectors: Vectors
    ) -> _Fixture:
        known: dict[str, Vector] = dict(zip(texts, vectors, strict=True))
        known.update(zip(queries, query_vectors, strict=True))
        encoder = type(self).encoder_class(known)
        return _Fixture(texts, vectors, queries, query_vectors, encoder)

    def _build(
        self, world: _Fixture, k: int, pool_size: int | None = None
    ) -> tuple[object, object]:
        return self.build(
            list(world.texts), world.vectors, world.encoder, k, pool_size or self.pool_size
        )

    def _page(self, retriever: object, query: str) -> list[Seen]:
        return [self.read(item) for item in self.items(self.ask(retriever, query))]

    def _check_entry(self, world: _Fixture, query: str, item: Seen, *, tied: bool = False) -> None:
        """Check the reports of an item; a tie brings in some that the wider search did not see."""
        assert item.entry is not None, f"no entry under metadata[{self.metadata_key!r}]"
        confidence, cosine = item.entry["confidence"], item.entry["cosine"]
        if self.expected_reason is not None:
            assert confidence["level"] == "unknown", f"level {confidence['level']}, not unknown"
            assert confidence["reason"] == self.expected_reason, f"reason {confidence['reason']}"
            assert cosine is None, f"a cosine of {cosine} beside an unknown level"
            return
        assert confidence["level"] != "unknown", f"unknown: {confidence['reason']}"
        if cosine is None and tied:
            return
        self._check_cosine(cosine, world.cosine(query, item.text), item.text)

    def _check_pool(self, world: _Fixture, query: str, page: list[Seen], pool: Pool) -> None:
        assert len(pool) >= len(page), f"a pool of {len(pool)} for a page of {len(page)}"
        for item, cosine in zip(page, pool.cosines, strict=False):
            if self.expected_reason is not None:
                assert cosine is None, f"a cosine of {cosine} in the pool of an unknown level"
            else:
                self._check_cosine(cosine, world.cosine(query, item.text), item.text)

    def _check_cosine(self, reported: object, exact: float, text: str) -> None:
        assert type(reported) is float, f"a cosine of type {type(reported).__name__} for {text!r}"
        assert abs(reported - exact) <= self.tolerance, (
            f"cosine {reported} for {text!r}, where numpy says {exact}"
        )

    def _check_same(self, page: list[Seen], expected: list[Seen]) -> None:
        for what in ("id", "text", "metadata"):
            got = [getattr(item, what) for item in page]
            wanted = [getattr(item, what) for item in expected]
            assert got == wanted, f"{what} of the page: {got}, of the bare retriever: {wanted}"


def _corrupt(value: object) -> None:
    """Change everything in some metadata that can be changed."""
    if isinstance(value, dict):
        for inner in value.values():
            _corrupt(inner)
        value.clear()
        value["spoiled"] = True
    elif isinstance(value, list):
        for inner in value:
            _corrupt(inner)
        value.append("spoiled")
