"""The conformance suite in LangChain: one store for each world, two retrievers on it."""

from typing import Any, ClassVar

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_recall_signal import RecallRetriever
from recall_signal.testing import AdapterConformance, SettableEncoder

LONG = 3.0
MIXED = (1.0, 2.5, 0.4)


class Encoder(SettableEncoder, Embeddings):
    """The shipped encoder under LangChain's interface."""


class StoreConformance(AdapterConformance):
    """Builds the two retrievers around what :meth:`store` returns.

    Attributes:
        search: How the bare retriever searches.
        options: What it hands to the store, beside ``k``.
        settings: What the wrapper is made with.
        source: Where the cosines have to come from.
    """

    encoder_class = Encoder
    page_sizes = (1, 10)
    norms = (1.0, LONG, MIXED)
    search: ClassVar[str] = "similarity"
    options: ClassVar[dict[str, Any]] = {}
    settings: ClassVar[dict[str, Any]] = {}
    source: ClassVar[str | None] = "store"

    def store(self, encoder: Embeddings) -> Any:
        """A new store without any document."""
        raise NotImplementedError

    def add(self, store: Any, documents: list[Document]) -> None:
        """Store these."""
        store.add_documents(documents)

    def document(self, number: int, text: str) -> Document:
        """What is stored for a text; nested where the store can hold that."""
        metadata = {"n": number, "nested": {"tags": [f"tag{number % 3}"]}}
        return Document(id=f"id{number}", page_content=text, metadata=metadata)

    def build(
        self, texts: list[str], vectors: Any, encoder: Any, k: int, pool_size: int
    ) -> tuple[Any, Any]:
        known = type(self).__dict__.get("_stores")
        if known is None:
            known = type(self)._stores = {}
        key = (tuple(texts), vectors.tobytes(), tuple(self.norms))
        if key not in known:  # the cases ask the same few worlds, and none of them adds anything
            known[key] = self.store(encoder)
            if texts:
                self.add(known[key], [self.document(n, text) for n, text in enumerate(texts)])
        options = {**self.options, "k": k}
        bare = known[key].as_retriever(search_type=self.search, search_kwargs=options)
        return RecallRetriever(retriever=bare, pool_size=pool_size, **self.settings), bare

    def test_the_source_is_told(self) -> None:
        """Where the cosines come from."""
        if self.expected_reason is not None:
            return
        for world in self._worlds():
            wrapped, _ = self._build(world, 4)
            response = wrapped.recall(world.queries[0])
            assert response.cosine_source == self.source
            if self.source == "store":  # a score that is a cosine is worth looking wider for
                assert len(response.pool) == self.pool_size


class FlatMetadata:
    """For stores that hold no metadata inside of metadata."""

    def document(self, number: int, text: str) -> Document:
        return Document(id=f"id{number}", page_content=text, metadata={"n": number})
