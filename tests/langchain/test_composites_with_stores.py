"""The wrapper around LangChain's retrievers that hold a store of their own.

They take a store and no retriever, so that nothing can be wrapped inside of them.
"""

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from langchain_classic.retrievers import (
    MultiVectorRetriever,
    ParentDocumentRetriever,
    SelfQueryRetriever,
    TimeWeightedVectorStoreRetriever,
)
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_core.stores import InMemoryStore
from langchain_core.structured_query import (
    Comparator,
    Comparison,
    Operation,
    StructuredQuery,
    Visitor,
)
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import CharacterTextSplitter

from langchain_recall_signal import RecallRetriever
from recall_signal.testing import vectors_with_cosines
from tests.langchain.fakes import (
    DIMENSION,
    QUERY,
    Encoder,
    documents,
    encoder_for,
    entry,
    faiss_store,
    plain,
    simple_store,
)
from tests.langchain.test_composites import BOTH, ask

PARENTS = ["first. t0. t1", "second. t2. t3", "third. t4. t5"]
PARENT_COSINES = [0.7, 0.6, 0.2]
"""Not those of the children, whose texts are other ones."""


def encoder_of_parents() -> Encoder:
    """The children fit best at first; a parent has a cosine of its own."""
    query = np.eye(DIMENSION)[0]
    children = encoder_for(vectors_with_cosines(query, np.linspace(0.9, 0.4, 6)), query)
    children.vectors.update(zip(PARENTS, vectors_with_cosines(query, PARENT_COSINES), strict=True))
    return children


def parent_documents() -> ParentDocumentRetriever:
    retriever = ParentDocumentRetriever(
        vectorstore=InMemoryVectorStore(encoder_of_parents()),
        docstore=InMemoryStore(),
        child_splitter=CharacterTextSplitter(separator=". ", chunk_size=3, chunk_overlap=0),
        search_kwargs={"k": 6},
    )
    retriever.add_documents([Document(text, metadata={"n": [n]}) for n, text in enumerate(PARENTS)])
    return retriever


def multi_vector(search_type: str = "similarity") -> MultiVectorRetriever:
    store, docstore = InMemoryVectorStore(encoder_of_parents()), InMemoryStore()
    docstore.mset([(str(n), Document(text)) for n, text in enumerate(PARENTS)])
    for n in range(6):
        store.add_documents([Document(f"t{n}", metadata={"doc_id": str(n // 2)})])
    return MultiVectorRetriever(
        vectorstore=store, docstore=docstore, search_type=search_type, search_kwargs={"k": 6}
    )


class TestParents:
    """The children are searched, and their parents returned: a parent has its best child's."""

    MADE = pytest.mark.parametrize(
        "bare",
        [parent_documents(), multi_vector(), multi_vector("mmr")],
        ids=["parents", "several vectors", "several vectors, mmr"],
    )

    @BOTH
    @MADE
    async def test_a_parent_has_its_best_childs_cosine(self, bare: Any, way: str) -> None:
        wrapped = RecallRetriever(retriever=bare, embeddings=encoder_of_parents())
        for page in (await ask(RecallRetriever(retriever=bare), way), await ask(wrapped, way)):
            assert plain(page) == plain(await ask(bare, way))
            is_mmr = bare.search_type == "mmr"
            assert entry(page[0])["cosine_source"] == ("vectors" if is_mmr else "store")
            found = {d.page_content: entry(d)["cosine"] for d in page}
            best = np.linspace(0.9, 0.4, 6)[::2]
            assert found == pytest.approx(dict(zip(PARENTS, best, strict=True)), abs=1e-6)

    async def test_the_page_can_be_cut(self) -> None:
        page = RecallRetriever(retriever=parent_documents(), k=2).invoke(QUERY)
        assert [d.page_content for d in page] == PARENTS[:2]


class Translator(Visitor):
    """LangChain has none for its own store in memory."""

    allowed_comparators = (Comparator.GTE,)
    allowed_operators = ()

    def visit_operation(self, operation: Operation) -> Any:
        raise NotImplementedError

    def visit_comparison(self, comparison: Comparison) -> Any:
        return lambda document: document.metadata[comparison.attribute] >= comparison.value

    def visit_structured_query(self, structured_query: StructuredQuery) -> Any:
        assert structured_query.filter is not None
        return structured_query.query, {"filter": structured_query.filter.accept(self)}


class TestSelfQuery:
    """A model turns the question into a text to search for, and a filter."""

    def bare(self, text: str = QUERY) -> SelfQueryRetriever:
        condition = Comparison(comparator=Comparator.GTE, attribute="n", value=2)
        constructed = StructuredQuery(query=text, filter=condition, limit=3)
        return SelfQueryRetriever(
            vectorstore=simple_store(8),
            query_constructor=RunnableLambda(lambda asked: constructed),
            structured_query_translator=Translator(),
        )

    @BOTH
    async def test_a_search_for_the_question_is_measured(self, way: str) -> None:
        page = await ask(RecallRetriever(retriever=self.bare()), way)
        assert plain(page) == plain(await ask(self.bare(), way))
        assert [d.id for d in page] == ["id2", "id3", "id4"]
        assert entry(page[0])["cosine_source"] == "store"

    @BOTH
    async def test_one_for_another_text_is_measured_against_the_question(self, way: str) -> None:
        """Never against the text that the model made of it."""
        bare = self.bare("rewritten")
        page = await ask(RecallRetriever(retriever=bare), way)
        assert plain(page) == plain(await ask(bare, way))
        assert entry(page[0])["cosine_source"] == "vectors"
        true = np.linspace(0.95, 0.1, 8)
        assert [entry(d)["cosine"] for d in page] == pytest.approx(
            [true[d.metadata["n"]] for d in page], abs=1e-6
        )


class TestTimeWeighted:
    """Age counts as much as likeness; each answer makes what it holds younger."""

    COSINES = (0.9, 0.8, 0.7, 0.6, 0.5)

    def bare(self) -> TimeWeightedVectorStoreRetriever:
        query = np.eye(DIMENSION)[0]
        encoder = encoder_for(vectors_with_cosines(query, self.COSINES), query)
        retriever = TimeWeightedVectorStoreRetriever(
            vectorstore=faiss_store(encoder, 0), k=3, decay_rate=0.5
        )
        now = datetime.now()
        for n, document in enumerate(documents(5)):  # what fits best is the oldest
            document.metadata["last_accessed_at"] = now - timedelta(hours=4 - n)
            retriever.add_documents([document], ids=[document.id])
        return retriever

    @BOTH
    async def test_likeness_alone_is_measured(self, way: str) -> None:
        page = await ask(RecallRetriever(retriever=self.bare()), way)
        expected = await ask(self.bare(), way)
        assert [d.page_content for d in page] == [d.page_content for d in expected]
        assert page[0].page_content != "t0"
        assert entry(page[0])["cosine_source"] == "store"
        assert [entry(d)["cosine"] for d in page] == pytest.approx(
            [self.COSINES[d.metadata["n"]] for d in page], abs=1e-6
        )

    async def test_what_it_remembers_holds_no_report(self) -> None:
        """It gives out its own documents, and changes them at each answer."""
        bare = self.bare()
        page = RecallRetriever(retriever=bare).invoke(QUERY)
        assert not any("recall" in document.metadata for document in bare.memory_stream)
        assert all(d.metadata["last_accessed_at"] for d in page)
