"""The wrapper inside of LangChain's composites, and around them."""

from typing import Any

import pytest
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MultiQueryRetriever,
)
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.tools import create_retriever_tool

from langchain_recall_signal import RecallRetriever
from tests.langchain.fakes import QUERY, Encoder, documents, entry, plain, simple_store

BARE = simple_store(8).as_retriever(search_kwargs={"k": 5})
OTHER: RunnableLambda[str, list[Document]] = RunnableLambda(lambda query: documents(4, start=2))
BOTH = pytest.mark.parametrize("way", ["invoke", "ainvoke"])


async def ask(retriever: Any, way: str) -> list[Document]:
    answer = getattr(retriever, way)(QUERY)
    page: list[Document] = await answer if way == "ainvoke" else answer
    return page


def ensemble(*arms: Any) -> EnsembleRetriever:
    """One that weighs its arms equally."""
    return EnsembleRetriever(retrievers=list(arms), weights=[1 / len(arms)] * len(arms))


class KeepEven(BaseDocumentCompressor):
    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        return [document for document in documents if document.metadata["n"] % 2 == 0]


class TestEnsemble:
    @BOTH
    @pytest.mark.parametrize("annotate", ["all", "first", "none"])
    async def test_of_wrappers_ranks_as_one_of_bare_retrievers(
        self, annotate: Any, way: str
    ) -> None:
        bare = EnsembleRetriever(retrievers=[BARE, OTHER], weights=[0.6, 0.4])
        wrapped = EnsembleRetriever(
            retrievers=[
                RecallRetriever(retriever=inner, annotate=annotate) for inner in (BARE, OTHER)
            ],
            weights=[0.6, 0.4],
        )
        assert plain(await ask(wrapped, way)) == plain(await ask(bare, way))

    @BOTH
    async def test_inside_of_a_wrapper(self, way: str) -> None:
        ensemble = EnsembleRetriever(retrievers=[BARE, OTHER], weights=[0.5, 0.5])
        page = await ask(RecallRetriever(retriever=ensemble), way)
        assert plain(page) == plain(await ask(ensemble, way))
        assert entry(page[0])["cosine_source"] == "store"
        cut = await ask(RecallRetriever(retriever=ensemble, k=2), way)
        assert plain(cut) == plain(page[:2])
        blind = EnsembleRetriever(retrievers=[OTHER], weights=[1.0])
        measured = await ask(RecallRetriever(retriever=blind, embeddings=Encoder()), way)
        assert entry(measured[0])["cosine_source"] == "embeddings"


class TestMultiQuery:
    """It drops documents that are equal, metadata included."""

    def around(self, retriever: Any) -> MultiQueryRetriever:
        asked: RunnableLambda[str, list[str]] = RunnableLambda(lambda _: [QUERY, "something else"])
        return MultiQueryRetriever(retriever=retriever, llm_chain=asked)

    @BOTH
    async def test_without_annotation_nothing_changes(self, way: str) -> None:
        wrapped = RecallRetriever(retriever=BARE, annotate="none")
        page = await ask(self.around(wrapped), way)
        assert page == await ask(self.around(BARE), way)

    async def test_with_it_a_document_found_twice_counts_twice(self) -> None:
        """Known, and documented: wrap the outermost retriever."""
        annotated = await ask(self.around(RecallRetriever(retriever=BARE)), "ainvoke")
        assert len(annotated) == 10
        assert len(await ask(self.around(BARE), "ainvoke")) < 10

    @BOTH
    async def test_inside_of_a_wrapper(self, way: str) -> None:
        inner = self.around(BARE)
        page = await ask(RecallRetriever(retriever=inner, embeddings=Encoder()), way)
        assert plain(page) == plain(await ask(inner, way))
        assert entry(page[0])["cosine_source"] == "store"  # one of the texts is the question


class TestCompression:
    @BOTH
    async def test_around_a_wrapper(self, way: str) -> None:
        wrapped = RecallRetriever(retriever=BARE)
        outer = ContextualCompressionRetriever(base_compressor=KeepEven(), base_retriever=wrapped)
        page = await ask(outer, way)
        assert [d.id for d in page] == ["id0", "id2", "id4"]
        assert page == [d for d in wrapped.invoke(QUERY) if d.metadata["n"] % 2 == 0]
        assert [entry(d)["rank"] for d in page] == [0, 2, 4]

    @BOTH
    async def test_inside_of_a_wrapper(self, way: str) -> None:
        inner = ContextualCompressionRetriever(base_compressor=KeepEven(), base_retriever=BARE)
        page = await ask(RecallRetriever(retriever=inner), way)
        assert [d.id for d in page] == ["id0", "id2", "id4"]
        assert [entry(d)["rank"] for d in page] == [0, 1, 2]

    @BOTH
    async def test_a_page_size_goes_through_to_the_search(self, way: str) -> None:
        inner = ContextualCompressionRetriever(base_compressor=KeepEven(), base_retriever=BARE)
        page = await ask(RecallRetriever(retriever=inner, k=3), way)
        assert [d.id for d in page] == ["id0", "id2"]


class TestNested:
    @BOTH
    async def test_the_outer_entry_wins(self, way: str) -> None:
        inner = RecallRetriever(retriever=BARE)
        page = await ask(RecallRetriever(retriever=inner), way)
        assert plain(page) == plain(BARE.invoke(QUERY))
        assert entry(page[0])["confidence"]["reason"] == "no_score_access"

    async def test_under_another_key_both_are_there(self) -> None:
        inner = RecallRetriever(retriever=BARE, metadata_key="inner")
        (first, *_) = RecallRetriever(retriever=inner).invoke(QUERY)
        assert {"inner", "recall"} <= set(first.metadata)


def test_langchains_own_tool_does_not_show_the_entry() -> None:
    bare = create_retriever_tool(BARE, "search", "Searches.")
    wrapped = create_retriever_tool(RecallRetriever(retriever=BARE), "search", "Searches.")
    assert wrapped.invoke({"query": QUERY}) == bare.invoke({"query": QUERY})


def test_fallbacks_around_and_inside() -> None:
    def fail(query: str) -> list[Document]:
        raise ConnectionError

    broken = RunnableLambda(fail)
    inside = RecallRetriever(retriever=broken.with_fallbacks([BARE]))
    assert plain(inside.invoke(QUERY)) == plain(BARE.invoke(QUERY))
    around = RecallRetriever(retriever=broken).with_fallbacks([RecallRetriever(retriever=BARE)])
    assert plain(around.invoke(QUERY)) == plain(BARE.invoke(QUERY))


FIELD = ConfigurableField(id="which")
SHORT = simple_store().as_retriever(search_kwargs={"k": 1})


@BOTH
@pytest.mark.parametrize(
    ("inner", "found"),
    [
        (SHORT.with_fallbacks([SHORT]), 3),
        (SHORT.configurable_fields(search_kwargs=FIELD), 3),
        (SHORT.configurable_alternatives(FIELD, other=SHORT, later=lambda: SHORT), 3),
        (SHORT.with_retry().with_fallbacks([SHORT.configurable_fields(search_kwargs=FIELD)]), 3),
        (SHORT.with_fallbacks([OTHER]), 1),
    ],
    ids=["fallbacks", "fields", "alternatives", "nested", "one of which takes no k"],
)
async def test_a_page_size_goes_through_to_what_answers(inner: Any, found: int, way: str) -> None:
    asked: list[tuple[RecallRetriever, dict[str, Any]]] = [
        (RecallRetriever(retriever=inner), {"k": 3}),
        (RecallRetriever(retriever=inner, k=3), {}),
    ]
    for wrapped, options in asked:
        page = (
            wrapped.invoke(QUERY, **options)
            if way == "invoke"
            else await wrapped.ainvoke(QUERY, **options)
        )
        assert len(page) == found
