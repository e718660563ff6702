"""Composites of one's own: searches, state, errors, and what must not reach them."""

import asyncio
import copy
import gc
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    MultiQueryRetriever,
    MultiVectorRetriever,
)
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, Runnable, RunnableLambda
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore, VectorStoreRetriever
from pydantic import BaseModel, ConfigDict, PrivateAttr

from langchain_recall_signal import RecallRetriever, StoreAdapter, register_adapter
from langchain_recall_signal._arms.record import CallRecord
from langchain_recall_signal._arms.tree import ArmReaders, ArmTree, first_store
from recall_signal import ScoreKind
from recall_signal._wrapper.views import view_of
from recall_signal.testing import vectors_with_cosines
from tests.langchain.fakes import (
    DIMENSION,
    QUERY,
    Encoder,
    Scored,
    documents,
    encoder_for,
    entry,
    faiss_store,
    plain,
    simple_store,
)
from tests.langchain.test_composites import BOTH, ask, ensemble

COSINES = np.linspace(0.95, 0.1, 8)
EXACT = [pytest.approx(cosine, abs=1e-4) for cosine in COSINES]


class Own(BaseRetriever):
    """A retriever of one's own around a store."""

    store: Any
    calls: int = 0
    last: Any = None
    _times: int = PrivateAttr(default=0)
    _hidden: Any = PrivateAttr(default=None)

    @cached_property
    def arm(self) -> Any:
        return self.store.as_retriever(search_kwargs={"k": 2})

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        self.calls += 1
        self._times += 1
        self.last = {"query": [query]}
        return self.found(query)

    def found(self, query: str) -> list[Document]:
        found: list[Document] = self.store.similarity_search(query, k=3)
        return found


def cosines(page: list[Document]) -> list[float | None]:
    return [entry(document)["cosine"] for document in page]


class TestOnesOwnClass:
    @BOTH
    async def test_is_measured_and_keeps_what_it_assigns(self, way: str) -> None:
        bare = Own(store=simple_store(8))
        wrapped = RecallRetriever(retriever=bare)
        for _ in range(3):
            assert cosines(await ask(wrapped, way)) == EXACT[:3]
        assert (bare.calls, bare._times, bare.last) == (3, 3, {"query": [QUERY]})
        assert type(bare.store) is InMemoryVectorStore

    def test_what_it_makes_of_a_store_is_its_own(self) -> None:
        class Lazy(Own):
            def found(self, query: str) -> list[Document]:
                self.last = [self.arm]
                found: list[Document] = self.arm.invoke(query)
                return found

        bare = Lazy(store=simple_store(8))
        wrapped = RecallRetriever(retriever=bare)
        assert cosines(wrapped.invoke(QUERY)) == EXACT[:2]
        made = bare.arm
        assert cosines(wrapped.invoke(QUERY)) == EXACT[:2]
        assert bare.arm is made
        assert plain(bare.invoke(QUERY)) == plain(bare.store.as_retriever().invoke(QUERY))[:2]

    def test_a_part_that_it_assigns_is_the_original(self) -> None:
        class Reassigning(Own):
            def found(self, query: str) -> list[Document]:
                self.last, self.store = self, self.store
                return super().found(query)

        store = simple_store(8)
        bare = Reassigning(store=store)
        wrapped = RecallRetriever(retriever=bare)
        for _ in range(2):
            assert cosines(wrapped.invoke(QUERY)) == EXACT[:3]
        assert bare.store is store
        assert bare.last is bare

    @BOTH
    async def test_is_never_closed_by_a_call(self, way: str) -> None:
        closed = []

        class Closing(Own):
            def __del__(self) -> None:
                closed.append(id(self))

        class ClosingArm(VectorStoreRetriever):
            def __del__(self) -> None:
                closed.append(id(self))

        for bare in (Closing(store=simple_store(8)), ClosingArm(vectorstore=simple_store(8))):
            assert cosines(await ask(RecallRetriever(retriever=bare), way))[:3] == EXACT[:3]
            gc.collect()
            assert closed == []

    def test_counts_under_its_own_lock_however_many_calls_run(self) -> None:
        lock = threading.Lock()

        class Metered(Own):
            def found(self, query: str) -> list[Document]:
                with lock:
                    if self._used >= 20:
                        raise PermissionError("no quota")
                    self._used += 1
                time.sleep(0.001)
                return super().found(query)

            _used: int = PrivateAttr(default=0)

        bare = Metered(store=simple_store(8))
        wrapped = RecallRetriever(retriever=bare)

        def allowed(_: int) -> bool:
            try:
                return cosines(wrapped.invoke(QUERY)) == EXACT[:3]
            except PermissionError:
                return False

        with ThreadPoolExecutor(16) as pool:
            assert sum(pool.map(allowed, range(100))) == 20
        assert bare._used == 20

    def test_collections_of_parts_that_it_changes(self) -> None:
        class Routing(Own):
            routes: Any = None
            change: Any = None

            def found(self, query: str) -> list[Document]:
                self.change(self.routes)
                return super().found(query)

        first, second = simple_store(8).as_retriever(), simple_store(8).as_retriever()
        for before, change, after in (
            ({0: first, 1: second}, lambda old: old.update({2: old[0]}), [first, second, first]),
            ({0: first, 1: second}, lambda old: old.pop(0), [second]),
            ([first, second], lambda old: old.append(old[0]), [first, second, first]),
            ([first, second], lambda old: old.reverse(), [second, first]),
            ([first, second], lambda old: old.pop(), [first]),
        ):
            bare = Routing(store=simple_store(8), routes=before, change=change)
            routes = bare.routes
            assert cosines(RecallRetriever(retriever=bare).invoke(QUERY)) == EXACT[:3]
            assert bare.routes is routes
            left = [*(routes.values() if type(routes) is dict else routes)]
            assert [*map(id, left)] == [*map(id, after)]

    def test_a_collection_is_changed_once_where_a_call_fails(self) -> None:
        class Growing(Own):
            routes: Any

            def found(self, query: str) -> list[Document]:
                self.routes.append(None)
                raise ValueError("its own")

        bare = Growing(store=None, routes=[simple_store(8).as_retriever()])
        with pytest.raises(ValueError, match="its own"):
            RecallRetriever(retriever=bare).invoke(QUERY)
        assert bare.routes[1:] == [None] * 2  # on views, and without

    def test_a_configured_copy_of_a_part_is_seen(self) -> None:
        class Configuring(Own):
            def found(self, query: str) -> list[Document]:
                found: list[Document] = self.store.with_config(
                    {"configurable": {"search": {"k": 2}}}
                ).invoke(query)
                return found

        bare = simple_store(8).as_retriever()
        arm = bare.configurable_fields(search_kwargs=ConfigurableField(id="search"))
        assert cosines(RecallRetriever(retriever=Configuring(store=arm)).invoke(QUERY)) == EXACT[:2]

    def test_a_collection_that_cannot_be_changed_any_more(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Key:
            fails = False

            def __eq__(self, other: object) -> bool:
                if Key.fails:
                    raise RuntimeError("no comparison")
                return self is other

            def __hash__(self) -> int:
                return 1

        class Breaking(Own):
            def found(self, query: str) -> list[Document]:
                self.routes.clear()
                Key.fails = True
                return super().found(query)

            routes: Any = None

        routes = {Key(): simple_store(8).as_retriever(), Key(): None}
        bare = Breaking(store=simple_store(8), routes=routes)
        assert cosines(RecallRetriever(retriever=bare).invoke(QUERY)) == EXACT[:3]
        assert "a collection could not be handed back: RuntimeError" in caplog.text

    def test_a_store_in_a_private_attribute(self) -> None:
        class Hidden(Own):
            def found(self, query: str) -> list[Document]:
                found: list[Document] = self._hidden.similarity_search(query, k=2)
                return found

        bare = Hidden(store=None)
        bare._hidden = simple_store(8)
        assert cosines(RecallRetriever(retriever=bare).invoke(QUERY)) == EXACT[:2]
        assert type(bare._hidden) is InMemoryVectorStore

    def test_one_that_is_no_model(self) -> None:
        class Plain(Runnable[str, list[Document]]):
            def __init__(self, store: VectorStore) -> None:
                self.store, self.asked = store, 0

            def invoke(self, input: str, config: Any = None, **_: Any) -> list[Document]:  # noqa: A002
                self.asked += 1
                return self.store.similarity_search(input, k=2)

        bare = Plain(simple_store(8))
        assert cosines(RecallRetriever(retriever=bare).invoke(QUERY)) == EXACT[:2]
        assert bare.asked == 1

    @pytest.mark.parametrize(
        "search",
        [
            lambda store, query: [d for d, _ in store.similarity_search_with_score(query, k=3)],
            lambda store, query: store.max_marginal_relevance_search(query=query, k=3),
            lambda store, query: store.search(query, "similarity", k=3),
            lambda store, query: store.as_retriever(search_kwargs={"k": 3}).invoke(query),
            lambda store, query: store.similarity_search_by_vector(
                store.embeddings.embed_query(query), k=3
            ),
            lambda store, query: [
                d
                for d, _ in store.similarity_search_with_score_by_vector(
                    embedding=store.embeddings.embed_query(query), k=3
                )
            ],
            lambda store, query: (
                copy.deepcopy(store).similarity_search(query, k=3)
                and store.similarity_search(query, k=3)
            ),
            lambda store, query: (
                pickle.loads(pickle.dumps(store)) and store.similarity_search(query)
            ),
        ],
    )
    def test_every_way_of_searching(self, search: Any) -> None:
        class Searching(Own):
            def found(self, query: str) -> list[Document]:
                found: list[Document] = search(self.store, query)
                return found

        bare = Searching(store=simple_store(8))
        page = RecallRetriever(retriever=bare).invoke(QUERY)
        assert plain(page) == plain(bare.invoke(QUERY))
        assert cosines(page) == [EXACT[document.metadata["n"]] for document in page]

    def test_a_class_that_cannot_live_with_a_view(self, caplog: pytest.LogCaptureFixture) -> None:
        class Strict(Own):
            def found(self, query: str) -> list[Document]:
                if type(self.store) is not InMemoryVectorStore:
                    raise TypeError("another store")
                return super().found(query)

        bare = Strict(store=simple_store(8))
        wrapped = RecallRetriever(retriever=bare)
        for _ in range(5):
            response = wrapped.recall(QUERY)
            assert plain(response.documents) == plain(Own(store=bare.store).invoke(QUERY))
            assert response.confidence.reason == "no_score_access"
        assert caplog.text.count("looking into the retriever failed: TypeError") == 3

    def test_a_passing_error_costs_the_sight_of_one_call(self) -> None:
        class Unsteady(Own):
            fails: Any = None

            def found(self, query: str) -> list[Document]:
                if next(self.fails):
                    raise ValueError("no JSON")
                return super().found(query)

        lost, seen = [True, False], [False]  # fails on views, and goes well without
        fails = [*lost * 2, *seen, *lost * 2, *seen, *lost * 3, *seen]
        wrapped = RecallRetriever(retriever=Unsteady(store=simple_store(8), fails=iter(fails)))
        levels = [wrapped.recall(QUERY).confidence.level != "unknown" for _ in range(10)]
        assert levels == [False, False, True, False, False, True, *[False] * 4]

    @pytest.mark.parametrize("error", [ConnectionError, ValueError, StopIteration])
    def test_its_own_errors_are_raised(self, error: type[Exception]) -> None:
        class Failing(Own):
            def found(self, query: str) -> list[Document]:
                raise error("its own")

        with pytest.raises(error, match="its own"):
            RecallRetriever(retriever=Failing(store=simple_store(2))).invoke(QUERY)

    def test_a_part_that_cannot_be_copied(self) -> None:
        class Single(Own):
            def __copy__(self) -> Any:
                raise RuntimeError("only one")

        page = RecallRetriever(retriever=Single(store=simple_store(8))).invoke(QUERY)
        assert cosines(page) == EXACT[:3]

    @BOTH
    async def test_a_part_without_a_view_is_left_alone(
        self, way: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Final(Own):
            def __init_subclass__(cls, **kwargs: Any) -> None:
                raise TypeError("no subclass")

        class FinalArm(VectorStoreRetriever):
            def __init_subclass__(cls, **kwargs: Any) -> None:
                raise TypeError("no subclass")

        class Validating(Own):
            model_config = ConfigDict(validate_assignment=True)

        for bare, logged in (
            (Final(store=simple_store(8)), "a part could not be looked into: TypeError"),
            (Validating(store=simple_store(8)), "can never measure"),
            (FinalArm(vectorstore=simple_store(8)), "a store could not be looked into: TypeError"),
        ):
            caplog.clear()
            wrapped = RecallRetriever(retriever=bare)
            page = await ask(wrapped, way)
            assert plain(page) == plain(bare.invoke(QUERY))
            assert logged in caplog.text


class TestEncoders:
    def two(self) -> tuple[Any, Any]:
        other = encoder_for(vectors_with_cosines(np.eye(9)[0], COSINES[::-1]), np.eye(9)[0])
        second = InMemoryVectorStore(other)
        second.add_documents(documents(4, start=4))
        return simple_store(4, COSINES[:4].tolist()), second

    @BOTH
    async def test_cosines_of_two_are_never_mixed(self, way: str) -> None:
        first, second = self.two()
        both = ensemble(*(s.as_retriever(search_kwargs={"k": 4}) for s in (first, second)))
        page = await ask(RecallRetriever(retriever=both), way)
        assert {d.id: entry(d)["cosine"] for d in page} == {
            **{f"id{n}": EXACT[n] for n in range(4)},
            **{f"id{n}": None for n in range(4, 8)},
        }

    def test_one_that_fails_is_asked_once(self) -> None:
        """C8: an encoder in a composite that raises is asked once."""

        class Down(Encoder):
            asked = 0

            def embed_query(self, text: str) -> list[float]:
                self.asked += 1
                raise ValueError("no quota")

        down = Down()
        bare = ensemble(InMemoryVectorStore(down).as_retriever())
        with pytest.raises(ValueError, match="no quota"):
            RecallRetriever(retriever=bare).invoke(QUERY)
        assert down.asked == 1

    def test_the_first_store_of_a_composite_names_it(self) -> None:
        first, second = self.two()
        both = ensemble(first.as_retriever(), second.as_retriever())
        assert first_store(both) is first
        assert first_store(RunnableLambda(documents)) is None
        assert RecallRetriever(retriever=both)._runtime.encoder == "Encoder"


class Cutting(BaseDocumentCompressor):
    """Shortens each text, with what metadata it likes."""

    keeps: Any

    def compress_documents(self, found: Any, query: str, callbacks: Any = None) -> Any:
        return (Document(d.page_content[:1], metadata=self.keeps(d)) for d in found)


class TestExtracts:
    @pytest.mark.parametrize(
        ("keeps", "known"),
        [
            (lambda document: document.metadata, True),
            (lambda document: {**document.metadata, "start_index": 0}, True),
            (lambda document: {}, False),
            (lambda document: {"n": 99}, False),
        ],
    )
    def test_have_the_cosine_of_the_one_chunk_that_they_are_of(
        self, keeps: Any, known: bool
    ) -> None:
        inner = simple_store(8).as_retriever(search_kwargs={"k": 3})
        bare = ContextualCompressionRetriever(
            base_compressor=Cutting(keeps=keeps), base_retriever=inner
        )
        page = RecallRetriever(retriever=bare).invoke(QUERY)
        assert plain(page) == plain(bare.invoke(QUERY))
        assert cosines(page) == (EXACT[:3] if known else [None] * 3)

    def test_one_chunk_that_holds_the_text(self) -> None:
        inner = simple_store(8).as_retriever(search_kwargs={"k": 1})
        compressor = Cutting(keeps=lambda document: {})
        bare = ContextualCompressionRetriever(base_compressor=compressor, base_retriever=inner)
        outer = ContextualCompressionRetriever(base_compressor=compressor, base_retriever=bare)
        assert cosines(RecallRetriever(retriever=outer).invoke(QUERY)) == EXACT[:1]


class TestStoresInside:
    def test_an_unknown_one_is_not_guessed_at(self, caplog: pytest.LogCaptureFixture) -> None:
        bare = Own(store=Scored([0.9, 0.5, 0.4]))
        response = RecallRetriever(retriever=bare).recall(QUERY)
        assert response.confidence.reason == "store_not_recognised"
        assert "can never measure" in caplog.text

    @BOTH
    async def test_a_declared_kind_holds_for_it(self, way: str) -> None:
        class Async(Scored):
            async def asimilarity_search_with_score(self, *args: Any, **kwargs: Any) -> Any:
                return self.similarity_search_with_score(*args, **kwargs)

        bare = ensemble(Async([0.9, 0.5, 0.4]).as_retriever())
        page = await ask(RecallRetriever(retriever=bare, score_kind="cosine"), way)
        assert cosines(page) == [0.9, 0.5, 0.4]
        assert entry(page[0])["cosine_source"] == "declared"
        wrong = await ask(RecallRetriever(retriever=bare, score_kind="cosine_plus_one"), way)
        assert cosines(wrong) == pytest.approx([-0.1, -0.5, -0.6])
        out = ensemble(Async([3.0, 0.5]).as_retriever())
        reason = entry((await ask(RecallRetriever(retriever=out, score_kind="cosine"), way))[0])
        assert reason["confidence"]["reason"] == "score_out_of_range"

    @BOTH
    async def test_settings_of_its_adapter_hold(self, way: str) -> None:
        class Odd(InMemoryVectorStore):
            def special(self, query: str, k: int = 4, **kwargs: Any) -> Any:
                return self.similarity_search_with_score(query, k, **kwargs)

            async def aspecial(self, query: str, k: int = 4, **kwargs: Any) -> Any:
                return self.special(query, k, **kwargs)

        class OddAdapter(StoreAdapter[Any]):
            unsupported_kwargs = frozenset({"filter"})
            search: str | None = "special"
            key: str | None = None

            def score_kind(self, store: Any) -> ScoreKind:
                return ScoreKind.COSINE

            def scored_search(self, store: Any) -> str | None:
                return self.search

            def score_key(self, store: Any) -> str | None:
                return self.key

        adapter = OddAdapter()
        register_adapter(f"{Odd.__module__}.{Odd.__qualname__}", adapter)
        store = Odd(simple_store(8).embeddings)
        store.add_documents([Document(f"t{n}", metadata={"s": 0.5, "n": n}) for n in range(8)])

        def around(**search: Any) -> Any:
            arm = store.as_retriever(search_kwargs={"k": 3, **search})
            return RecallRetriever(retriever=ensemble(arm))

        assert cosines(await ask(around(), way)) == EXACT[:3]
        found = await ask(around(filter=lambda document: True), way)
        assert cosines(found) == [None] * 3
        adapter.search = "missing"
        assert cosines(await ask(around(), way)) == EXACT[:3]  # the plain one runs
        adapter.search, adapter.key = None, "s"
        assert cosines(await ask(around(), way)) == [0.5] * 3

    def test_one_without_attributes_cannot_be_looked_into(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Final(InMemoryVectorStore):
            def __init_subclass__(cls, **kwargs: Any) -> None:
                raise TypeError("no subclass")

        store = Final(simple_store(8).embeddings)
        store.add_documents(documents(8))
        bare = Own(store=store)
        response = RecallRetriever(retriever=bare).recall(QUERY)
        assert plain(response.documents) == plain(bare.invoke(QUERY))
        assert response.confidence.level == "unknown"
        assert "a store could not be looked into: TypeError" in caplog.text

    @BOTH
    async def test_one_that_is_a_pydantic_model(self, way: str) -> None:
        class Modelled(BaseModel, Scored):
            model_config = ConfigDict(arbitrary_types_allowed=True)

            hits: Any = None
            _searches: int = PrivateAttr(default=0)

            def similarity_search_with_score(self, *args: Any, **kwargs: Any) -> Any:
                self._searches += 1
                return super().similarity_search_with_score(*args, **kwargs)

            async def asimilarity_search_with_score(self, *args: Any, **kwargs: Any) -> Any:
                return self.similarity_search_with_score(*args, **kwargs)

        store = Modelled(hits=Scored([0.9, 0.5, 0.4]).hits)
        arm = store.as_retriever(search_kwargs={"k": 3})
        for bare in (arm, ensemble(arm)):
            store._searches = 0
            page = await ask(RecallRetriever(retriever=bare, score_kind="cosine"), way)
            assert cosines(page) == [0.9, 0.5, 0.4]
            assert store._searches == 1

    def test_slots_alone_cannot_be_looked_into(self) -> None:
        class Slotted:
            __slots__ = ()

        with pytest.raises(TypeError, match="no other state"):
            view_of(Slotted(), lambda _: {}, None)

    def test_a_search_of_another_form_is_not_read(self, caplog: pytest.LogCaptureFixture) -> None:
        class Lines(Own):
            def found(self, query: str) -> list[Document]:
                self.store.similarity_search_by_vector([1.0] * DIMENSION)
                return documents(2)

        class Textual(InMemoryVectorStore):
            def max_marginal_relevance_search(self, *args: Any, **kwargs: Any) -> Any:
                return 7

        class Asking(Own):
            def found(self, query: str) -> list[Document]:
                self.store.max_marginal_relevance_search(query)
                return documents(2)

        assert RecallRetriever(retriever=Lines(store=simple_store(2))).invoke(QUERY)
        store = Textual(simple_store(2).embeddings)
        response = RecallRetriever(retriever=Asking(store=store)).recall(QUERY)
        assert response.confidence.reason == "no_score_access"
        assert "inside the retriever is not readable: TypeError" in caplog.text

    @BOTH
    async def test_what_one_cannot_tell_another_one_may(self, way: str) -> None:
        class Fused(InMemoryVectorStore):
            """Its number is no cosine, and its vectors are not read."""

        class FusedAdapter(StoreAdapter[Any]):
            def score_kind(self, store: Any) -> ScoreKind:
                return ScoreKind.RRF

        register_adapter(f"{Fused.__module__}.{Fused.__qualname__}", FusedAdapter())
        first, second = Fused(simple_store(8).embeddings), simple_store(8)
        first.add_documents(documents(8))
        second.embedding = first.embedding
        arms = [store.as_retriever(search_kwargs={"k": 3}) for store in (first, second)]
        page = await ask(RecallRetriever(retriever=ensemble(*arms)), way)
        assert cosines(page) == EXACT[:3]
        alone = await ask(RecallRetriever(retriever=ensemble(arms[0])), way)
        assert entry(alone[0])["confidence"]["reason"] == "score_not_convertible"

    def test_missing_parents_are_missing(self) -> None:
        children = simple_store(4).embeddings
        store = InMemoryVectorStore(children)
        store.add_documents([Document(f"t{n}", metadata={"doc_id": f"{n}"}) for n in range(4)])
        docstore = InMemoryStore()
        docstore.mset([("1", Document("one", id="p1")), ("3", Document("three", id="p3"))])
        bare = MultiVectorRetriever(vectorstore=store, docstore=docstore, search_kwargs={"k": 3})
        page = RecallRetriever(retriever=bare).invoke(QUERY)
        assert plain(page) == plain(bare.invoke(QUERY))
        true = np.linspace(0.95, 0.1, 4)
        assert cosines(page) == [pytest.approx(true[1], abs=1e-4)]

    def test_norms_are_checked_as_ever(self) -> None:
        query = np.eye(DIMENSION)[0]
        longer = vectors_with_cosines(query, COSINES) * np.linspace(1, 3, 8)[:, None]
        store = faiss_store(encoder_for(longer, query), 8)
        bare = ensemble(store.as_retriever(search_kwargs={"k": 4}))
        page = RecallRetriever(retriever=bare).invoke(QUERY)
        assert cosines(page) == [EXACT[document.metadata["n"]] for document in page]
        assert entry(page[0])["cosine_source"] == "vectors"


class TestRunning:
    def test_a_raw_thread_of_the_composite_is_seen(self) -> None:
        class Threaded(Own):
            def found(self, query: str) -> list[Document]:
                with ThreadPoolExecutor(1) as pool:
                    return pool.submit(super().found, query).result()

        page = RecallRetriever(retriever=Threaded(store=simple_store(8))).invoke(QUERY)
        assert cosines(page) == EXACT[:3]

    async def test_calls_do_not_see_each_other(self) -> None:
        query = np.eye(DIMENSION)[0]
        encoder = encoder_for(vectors_with_cosines(query, COSINES), query)
        turned = {f"q{n}": vectors_with_cosines(query, [1 - n / 20])[0] for n in range(12)}
        encoder.vectors.update(turned)
        store = InMemoryVectorStore(encoder)
        store.add_documents(documents(8))
        wrapped = RecallRetriever(retriever=ensemble(store.as_retriever()))
        expected = [wrapped.recall(text).to_dict() for text in turned]
        with ThreadPoolExecutor(6) as pool:
            found = [response.to_dict() for response in pool.map(wrapped.recall, turned)]
        assert found == expected
        many = await asyncio.gather(*(wrapped.arecall(text) for text in turned))
        assert [response.to_dict() for response in many] == expected
        pages = await wrapped.abatch(list(turned))
        assert [entry(p[0])["confidence"] for p in pages] == [e["confidence"] for e in expected]

    def test_what_comes_late_is_not_recorded(self) -> None:
        go, threads = threading.Event(), []

        class Late(Own):
            def found(self, query: str) -> list[Document]:
                store = self.store

                def search() -> None:
                    go.wait(5)
                    store.similarity_search("another text")

                threads.append(threading.Thread(target=search))
                threads[0].start()
                return super().found(query)

        response = RecallRetriever(retriever=Late(store=simple_store(8))).recall(QUERY)
        go.set()
        threads[0].join()
        assert cosines(response.documents) == EXACT[:3]

    @BOTH
    async def test_traces_are_those_of_the_bare_call(self, way: str) -> None:
        class Names(BaseCallbackHandler):
            run_inline = True

            def __init__(self) -> None:
                self.seen: list[Any] = []

            def on_retriever_start(self, serialized: Any, query: str, **kwargs: Any) -> None:
                names = (kwargs.get("name"), kwargs.get("tags"))
                self.seen.append(
                    (query, *names, kwargs["metadata"].get("ls_vector_store_provider"))
                )

        inner = ensemble(simple_store(4).as_retriever())
        seen = []
        for retriever in (inner, RecallRetriever(retriever=inner)):
            names = Names()
            answer = getattr(retriever, way)(QUERY, {"callbacks": [names]})
            _ = await answer if way == "ainvoke" else answer
            seen.append(names.seen)
        assert seen[1][1:] == seen[0]

    def test_big_lists_and_circles_are_not_walked(self) -> None:
        class Untouchable(list[Any]):
            def __iter__(self) -> Any:
                raise AssertionError("walked")

        bare = Own(store=simple_store(8))
        bare.last = [*range(100), simple_store(2)]
        bare.metadata = {"itself": bare, "many": dict.fromkeys(range(100))}
        tree = ArmTree(ArmReaders(None))
        made: Any = tree.rebuilt(bare)
        assert made is not bare
        assert made.last is bare.last
        assert len(tree.arms) == 1
        bare.last = Untouchable([1])
        assert ArmTree(ArmReaders(None)).rebuilt(bare) is not bare

    def test_a_closed_record_takes_nothing(self) -> None:
        record = CallRecord()
        record.close()
        record.add(record.searches, None)  # type: ignore[misc]
        assert record.searches == []


class TestHostile:
    """Nothing of this costs the page."""

    def test_metadata_that_cannot_be_compared(self) -> None:
        store = InMemoryVectorStore(simple_store(8).embeddings)
        store.add_documents([Document(f"t{n}", metadata={"v": np.arange(3)}) for n in range(8)])
        inner = store.as_retriever(search_kwargs={"k": 3})
        cutting = Cutting(keeps=lambda document: {"v": np.arange(3)})
        bare = ContextualCompressionRetriever(base_compressor=cutting, base_retriever=inner)
        page = RecallRetriever(retriever=bare).invoke(QUERY)
        assert [document.page_content for document in page] == ["t"] * 3
        assert cosines(page) == [None] * 3

    def test_state_that_holds_itself(self) -> None:
        class Circular(Own):
            def found(self, query: str) -> list[Document]:
                circle: list[Any] = []
                circle.append(circle)
                self.last = circle
                return super().found(query)

        page = RecallRetriever(retriever=Circular(store=simple_store(8))).invoke(QUERY)
        assert cosines(page) == EXACT[:3]

    @BOTH
    async def test_a_reading_that_fails(self, way: str, caplog: pytest.LogCaptureFixture) -> None:
        class Text(str):
            """A text that cannot be looked up."""

            __hash__ = None  # type: ignore[assignment]

        class Odd(Own):
            def found(self, query: str) -> list[Document]:
                return [Document.model_construct(page_content=Text("x"), metadata={}, id=None)]

            async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
                await self.store.asimilarity_search(query)
                return self.found(query)

        class Searching(Odd):
            def found(self, query: str) -> list[Document]:
                self.store.similarity_search(query)
                return super().found(query)

        page = await ask(RecallRetriever(retriever=Searching(store=simple_store(8))), way)
        assert entry(page[0])["confidence"]["reason"] == "adapter_failed"
        assert "reading a composite's arms failed: TypeError" in caplog.text


def test_an_inner_wrapper_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    inner = RecallRetriever(retriever=simple_store(4).as_retriever())
    outer = RecallRetriever(retriever=ensemble(inner))
    assert outer.recall(QUERY).confidence.reason == "no_score_access"
    assert "can never measure" in caplog.text


def test_other_texts_without_vectors_are_embedded_again_or_unknown() -> None:
    class Blind(InMemoryVectorStore):
        """Its vectors are not read."""

    class BlindAdapter(StoreAdapter[Any]):
        def score_kind(self, store: Any) -> ScoreKind:
            return ScoreKind.COSINE

    register_adapter(f"{Blind.__module__}.{Blind.__qualname__}", BlindAdapter())
    store = Blind(simple_store(8).embeddings)
    store.add_documents(documents(8))
    bare = MultiQueryRetriever(
        retriever=store.as_retriever(), llm_chain=RunnableLambda(lambda _: ["t3", "t5"])
    )
    unknown = RecallRetriever(retriever=bare).recall(QUERY)
    assert (unknown.confidence.level, unknown.confidence.reason) == ("unknown", "rewritten_query")
    measured = RecallRetriever(retriever=bare, embeddings=store.embeddings).recall(QUERY)
    assert measured.cosine_source == "embeddings"
    assert cosines(measured.documents) == [EXACT[d.metadata["n"]] for d in measured.documents]
