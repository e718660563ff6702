"""A search that filters, in a class or object of one's own or by a threshold: its page stays."""

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.vectorstores import FAISS
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_recall_signal import RecallRetriever

Filled = TypeVar("Filled", bound=InMemoryVectorStore)


class TenantStore(InMemoryVectorStore):
    """Shows a tenant its own texts."""

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        found = super().similarity_search(query, k=5 * k, **kwargs)
        return [document for document in found if document.metadata["tenant"] == "mine"][:k]


class AsyncTenantStore(InMemoryVectorStore):
    """The same in asynchronous code alone."""

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        found = await super().asimilarity_search(query, k=5 * k, **kwargs)
        return [document for document in found if document.metadata["tenant"] == "mine"][:k]


def filled(store: Filled) -> Filled:
    """Two hundred texts, half of them of another tenant."""
    tenants = ("mine", "theirs")
    store.add_documents(
        [
            Document(f"text {at}", id=str(at), metadata={"tenant": tenants[at % 2]})
            for at in range(200)
        ]
    )
    return store


def ids(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


@pytest.mark.parametrize("store_class", [TenantStore, AsyncTenantStore])
@pytest.mark.parametrize("k", [1, 4, 20])
async def test_the_page_is_the_bare_one(store_class: type[InMemoryVectorStore], k: int) -> None:
    store = filled(store_class(DeterministicFakeEmbedding(size=16)))
    bare = store.as_retriever(search_kwargs={"k": k})
    wrapped = RecallRetriever(retriever=bare, score_kind="cosine")
    for question in ("a", "b", "c"):
        assert ids(wrapped.invoke(question)) == ids(bare.invoke(question))
        assert ids(await wrapped.ainvoke(question)) == ids(await bare.ainvoke(question))


class Pointed(Embeddings):
    """Puts every question where the texts of the other tenant are."""

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[0.2, 1.0] if int(text.split()[1]) % 2 == 0 else [1.0, 0.01] for text in texts]


@pytest.mark.parametrize("store_class", [TenantStore, AsyncTenantStore])
async def test_what_was_filtered_out_is_neither_judged_nor_shown(
    store_class: type[InMemoryVectorStore],
) -> None:
    store = filled(store_class(Pointed()))
    bare = store.as_retriever(search_kwargs={"k": 30})  # of 150: 50 of them are one's own
    wrapped = RecallRetriever(retriever=bare, score_kind="cosine")
    is_async = store_class is AsyncTenantStore
    found = await wrapped.arecall("a") if is_async else wrapped.recall("a")
    assert len(found.documents) == 30
    assert found.confidence.level == "none"
    assert found.confidence.top_score == 0.196
    assert found.pool.ids
    assert all(int(name or "1") % 2 == 0 for name in found.pool.ids)


async def test_a_page_that_a_filter_left_short_stays_short() -> None:
    store = filled(TenantStore(Pointed()))
    bare = store.as_retriever()  # four of the first twenty, which are all of the other tenant
    wrapped = RecallRetriever(retriever=bare, score_kind="cosine")
    assert bare.invoke("a") == wrapped.invoke("a") == []


async def test_so_it_does_where_nothing_is_seen_inside() -> None:
    class Closed(InMemoryVectorStore):
        def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
            vector = self.embedding.embed_query(query)
            found = super().similarity_search_by_vector(vector, k=2 * k, **kwargs)
            return [d.model_copy() for d in found if d.metadata["tenant"] == "mine"][:k]

    bare = filled(Closed(DeterministicFakeEmbedding(size=16))).as_retriever()
    wrapped = RecallRetriever(retriever=bare, score_kind="cosine")
    pages = [ids(bare.invoke(str(number))) for number in range(20)]
    assert min(map(len, pages)) < 4
    assert [ids(wrapped.invoke(str(number))) for number in range(20)] == pages


async def test_a_search_that_copies_what_it_found_has_no_level() -> None:
    class Copying(InMemoryVectorStore):
        def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
            found = super().similarity_search(query, k=k, **kwargs)
            return [document.model_copy() for document in reversed(found)]

    bare = filled(Copying(DeterministicFakeEmbedding(size=16))).as_retriever()
    found = RecallRetriever(retriever=bare, score_kind="cosine").recall("a")
    assert ids(found.documents) == ids(bare.invoke("a"))
    assert (found.confidence.level, found.confidence.reason) == ("unknown", "no_score_access")


async def test_inside_an_ensemble_too() -> None:
    bare = filled(TenantStore(DeterministicFakeEmbedding(size=16))).as_retriever()
    both = EnsembleRetriever(retrievers=[bare, bare], weights=[0.5, 0.5])
    wrapped = RecallRetriever(retriever=both, score_kind="cosine")
    assert ids(wrapped.invoke("a")) == ids(both.invoke("a"))
    assert ids(await wrapped.ainvoke("a")) == ids(await both.ainvoke("a"))


class PartTenantStore(InMemoryVectorStore):
    """Filters in the private part of the search that both of its searches share."""

    def _similarity_search_with_score_by_vector(  # type: ignore[override]
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float, list[float]]]:
        found = super()._similarity_search_with_score_by_vector(embedding, k=5 * k, **kwargs)
        return [hit for hit in found if hit[0].metadata["tenant"] == "mine"][: 3 * k // 4]


@pytest.mark.parametrize("kind", [{}, {"score_kind": "cosine"}])
@pytest.mark.parametrize("k", [1, 4, 20])
async def test_a_filter_in_a_part_of_the_search(k: int, kind: Any) -> None:
    store = filled(PartTenantStore(DeterministicFakeEmbedding(size=16)))
    bare = store.as_retriever(search_kwargs={"k": k})
    wrapped = RecallRetriever(retriever=bare, **kind)
    for question in ("a", "b", "c"):
        found = wrapped.recall(question)
        assert ids(found.documents) == ids(bare.invoke(question))
        assert ids(await wrapped.ainvoke(question)) == ids(await bare.ainvoke(question))
        assert all(int(name or "1") % 2 == 0 for name in found.pool.ids or ())
    assert ids(wrapped.batch(["a", "b"])[1]) == ids(bare.invoke("b"))


def test_a_filter_in_a_part_of_the_search_is_measured() -> None:
    store = filled(PartTenantStore(Pointed()))
    found = RecallRetriever.from_vectorstore(store, k=24).recall("a")
    assert found.confidence.top_score == 0.196
    assert found.confidence.result_count == 37 > len(found.documents) == 18


class Spread(Embeddings):
    """Puts texts further and further away from every question."""

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, float(text.split()[1])] for text in texts]


SCORED = "similarity_search_with_score"


class Relevant(InMemoryVectorStore):
    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda cosine: 1.5 * cosine - 0.5


@pytest.mark.parametrize("store_class", [FAISS, Relevant])
async def test_a_threshold_looks_at_its_page_alone(
    store_class: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_class.from_texts([f"text {at / 5}" for at in range(60)], Spread())
    bare = store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"k": 4, "score_threshold": 0.5}
    )
    limits: list[int] = []
    owner = next(line for line in store_class.__mro__ if SCORED in vars(line))
    search = vars(owner)[SCORED]

    def counted(self: Any, query: str, k: int = 4, **kwargs: Any) -> Any:
        limits.append(k)
        return search(self, query, k=k, **kwargs)

    monkeypatch.setattr(owner, SCORED, counted)
    wrapped = RecallRetriever(retriever=bare)
    expected = [document.page_content for document in bare.invoke("a")]  # warns of nothing
    assert limits == [4]
    found = wrapped.recall("a")
    assert limits == [4, 50]
    assert [document.page_content for document in found.documents] == expected
    assert found.confidence.result_count == 50
    assert found.confidence.top_score == 1.0
    found = await wrapped.arecall("a")
    assert [document.page_content for document in found.documents] == expected
    assert found.confidence.result_count == 50


class Spreading(Spread):
    def __init__(self, size: int) -> None:
        self.size = size

    def embed_queries(self, texts: list[str]) -> list[list[float]]:
        return [[1.0] + [0.0] * (self.size - 1) for _ in texts]


@pytest.mark.parametrize("size", [2, 3])  # vectors of 3 cannot be searched with
@pytest.mark.parametrize("store_class", [FAISS, Relevant])
def test_a_threshold_in_a_batch(store_class: Any, size: int) -> None:
    store = store_class.from_texts([f"text {at / 5}" for at in range(60)], Spreading(size))
    bare = store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"k": 4, "score_threshold": 0.5}
    )
    expected = ids(bare.invoke("a"))
    pages = RecallRetriever(retriever=bare).batch(["a", "b"])  # warns of nothing
    assert [ids(page) for page in pages] == [expected, expected]
    for page in pages:
        assert page[0].metadata["recall"]["confidence"]["result_count"] == 50


PUBLIC = "mine"


def replaced_in(target: Any, name: str) -> None:
    """Replace a search in an object by one that filters, as monkeypatching does."""
    search = getattr(target, name)

    def only_public(found: Any) -> Any:
        documents = [(hit[0] if isinstance(hit, tuple) else hit) for hit in found]
        return [
            hit
            for hit, document in zip(found, documents, strict=True)
            if document.metadata["tenant"] == PUBLIC
        ]

    async def afiltered(*args: Any, **kwargs: Any) -> Any:
        return only_public(await search(*args, **kwargs))

    def filtered(*args: Any, **kwargs: Any) -> Any:
        return only_public(search(*args, **kwargs))

    object.__setattr__(target, name, afiltered if name.lstrip("_").startswith("a") else filtered)


@pytest.mark.parametrize("kind", ["auto", "cosine"])
@pytest.mark.parametrize(
    "name",
    [
        "similarity_search",
        "asimilarity_search",
        "similarity_search_with_score",
        "_similarity_search_with_score_by_vector",
    ],
)
async def test_a_search_that_was_replaced_in_the_store_itself(name: str, kind: Any) -> None:
    store = filled(InMemoryVectorStore(DeterministicFakeEmbedding(size=16)))
    bare = store.as_retriever(search_kwargs={"k": 6})
    wrapped = RecallRetriever(retriever=bare, score_kind=kind)
    assert wrapped.recall("a").level != "unknown"
    replaced_in(store, name)
    assert ids(wrapped.invoke("a")) == ids(bare.invoke("a"))
    assert ids(await wrapped.ainvoke("a")) == ids(await bare.ainvoke("a"))
    assert list(map(ids, wrapped.batch(["a", "b"]))) == list(map(ids, bare.batch(["a", "b"])))
    around = EnsembleRetriever(retrievers=[bare, bare], weights=[0.5, 0.5])
    assert ids(RecallRetriever(retriever=around).invoke("a")) == ids(around.invoke("a"))
    delattr(store, name)
    assert wrapped.recall("a").level != "unknown"


async def test_a_search_that_was_replaced_in_the_retriever_itself() -> None:
    store = filled(InMemoryVectorStore(DeterministicFakeEmbedding(size=16)))
    bare = store.as_retriever(search_kwargs={"k": 6})
    wrapped = RecallRetriever(retriever=bare)
    replaced_in(bare, "_get_relevant_documents")
    replaced_in(bare, "_aget_relevant_documents")
    assert ids(wrapped.invoke("a")) == ids(bare.invoke("a"))
    assert ids(await wrapped.ainvoke("a")) == ids(await bare.ainvoke("a"))


class Scarce(InMemoryVectorStore):
    """Refuses a search for more than it likes."""

    most = 20
    error: type[Exception] = ValueError

    def _similarity_search_with_score_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        filter: Any = None,  # noqa: A002  (its name in LangChain)
    ) -> Any:
        if k > self.most:
            raise self.error("the limit is too high")
        return super()._similarity_search_with_score_by_vector(embedding, k, filter)


def test_a_wider_search_that_is_always_refused_has_a_pause(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = filled(Scarce(DeterministicFakeEmbedding(size=16)))
    bare = store.as_retriever(search_kwargs={"k": 5})
    wrapped = RecallRetriever(retriever=bare)
    for _ in range(6):
        response = wrapped.recall("a")
        assert (ids(response.documents), response.level) == (ids(bare.invoke("a")), "low")
    assert caplog.text.count("searching with scores failed") == 3
    assert caplog.text.count("the page alone is searched for in the next 60 s") == 1


@pytest.mark.parametrize("error", [ConnectionResetError, TimeoutError])
def test_an_outage_is_no_refusal(error: type[Exception]) -> None:
    store = filled(Scarce(DeterministicFakeEmbedding(size=16)))
    store.error = error
    wrapped = RecallRetriever(retriever=store.as_retriever(search_kwargs={"k": 5}))
    for _ in range(4):
        assert len(wrapped.recall("a").pool) == 5
    store.most = 50
    assert len(wrapped.recall("a").pool) == 50


class Settable(Embeddings):
    """Puts a question where it is told to."""

    def __init__(self) -> None:
        self.query = [1.0, 0.0]

    def embed_query(self, text: str) -> list[float]:
        return self.query

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[0.8, 0.6], [0.6, 0.8], [0.0, 0.0]][: len(texts)]


@pytest.mark.parametrize(
    ("query", "top"),
    [
        ([1.0, 0.0], 0.8),
        ([float("nan")] * 2, None),
        ([float("inf"), 0.0], None),
        ([0.0, 0.0], None),
        ([1e-30, 0.0], 0.8),
        ([1e30, 0.0], 0.8),
    ],
)
@pytest.mark.filterwarnings("ignore:(NaN|Inf) found:RuntimeWarning")
def test_vectors_of_no_length_have_no_cosine(query: list[float], top: float | None) -> None:
    encoder = Settable()
    store = InMemoryVectorStore.from_texts(["a", "b", "none"], encoder)
    encoder.query = query
    retriever = store.as_retriever()
    try:
        retriever.invoke("question")
    except ValueError:  # of older releases of LangChain
        assert top is None
        return
    response = RecallRetriever(retriever=retriever).recall("question")
    assert response.confidence.top_score == (None if top is None else pytest.approx(top))
    assert (response.level == "unknown") is (top is None)
