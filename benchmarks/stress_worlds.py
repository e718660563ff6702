"""Both frameworks' wrappers over the same texts, for the stress run."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from stress_faults import ERRORS, Evil, Faulty, FaultyEncoder, Panic, vector_of

import langchain_recall_signal as in_langchain
import llama_index_recall_signal as in_llama_index

SIZE = 6
TEXTS = [f"A note about subject {n}, which somebody wrote down on a quiet day." for n in range(30)]
RAISING = {f"raise {error.__name__}": error for error in ERRORS}
"""Question -> what the wrapped retriever raises for it."""


def _searched(query: str) -> list[int]:
    error = RAISING.get(query)
    if error is not None:
        raise error
    return [(len(query) + 5 * n) % len(TEXTS) for n in range(SIZE)]


class _Embeddings(Embeddings):
    """LangChain's shell around a toy encoder."""

    def __init__(self, encoder: FaultyEncoder | None = None) -> None:
        self.encoder = encoder

    def embed_documents(self, texts: list[str]) -> Any:
        if self.encoder is not None:
            return self.encoder.embed_documents(texts)
        return [vector_of(text) for text in texts]

    def embed_query(self, text: str) -> Any:
        if text in RAISING:
            raise RAISING[text]
        return vector_of(text) if self.encoder is None else self.encoder.embed_query(text)


class _Embedding(BaseEmbedding):
    """LlamaIndex's shell around a toy encoder."""

    encoder: Any = None

    def _get_text_embedding(self, text: str) -> Any:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> Any:
        if self.encoder is not None:
            return self.encoder.embed_documents(texts)
        return [vector_of(text) for text in texts]

    def _get_query_embedding(self, query: str) -> Any:
        if query in RAISING:
            raise RAISING[query]
        return vector_of(query) if self.encoder is None else self.encoder.embed_query(query)

    async def _aget_query_embedding(self, query: str) -> Any:
        return self._get_query_embedding(query)


class _Plain(BaseRetriever):
    """A retriever without scores."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(at) for at in _searched(query_bundle.query_str)]


def _document(at: int) -> Document:
    metadata = {"n": at, "nested": {"list": [at, {"deep": [1.0, 2.0]}]}}
    return Document(id=str(at), page_content=TEXTS[at], metadata=metadata)


def _strange_document(at: int) -> Document:
    document = _document(at)
    document.metadata["evil"] = Evil(Panic)
    return document


def _node(at: int) -> NodeWithScore:
    return NodeWithScore(node=TextNode(id_=str(at), text=TEXTS[at], metadata={"n": at}))


class FaultyHandler(Faulty, BaseCallbackHandler):
    """Hears of the signal, and fails at it."""

    run_inline = True
    raise_error = True

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        """Fail or not."""
        self.act(1, lambda: None)


class World:
    """A framework's wrapper, and what its retriever returns without it.

    Args:
        wrapper: The wrapper.
        bare: The ids of the bare retriever's page.
        abare: Calls the bare retriever asynchronously.
        page: The ids of a response's page.
        settings: Further arguments of a call.
    """

    def __init__(
        self,
        name: str,
        wrapper: Any,
        bare: Callable[[str], list[str]],
        abare: Callable[[str], Awaitable[object]],
        page: Callable[[Any], list[str]],
        settings: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        self.name, self.wrapper, self.bare, self.page = name, wrapper, bare, page
        self.abare, self.settings = abare, settings
        self.raised: dict[tuple[str, bool], type[BaseException]] = {}

    async def learn(self) -> None:
        """Note what the bare retriever raises: Python and its framework turn some errors."""
        for query in RAISING:
            try:
                self.bare(query)
            except BaseException as error:
                self.raised[query, False] = type(error)
            task = asyncio.ensure_future(self.abare(query))
            await asyncio.wait({task})
            error_ = asyncio.CancelledError() if task.cancelled() else task.exception()
            self.raised[query, True] = type(error_)

    def recall(self, query: str) -> Any:
        """Call it."""
        return self.wrapper.recall(query, **self.settings())

    async def arecall(self, query: str) -> Any:
        """Call it asynchronously."""
        return await self.wrapper.arecall(query, **self.settings())


def langchain_worlds(parts: dict[str, Any], rng: Random | None = None) -> list[World]:
    """Return wrappers of LangChain: around a store, and around a function.

    Args:
        parts: Settings of the wrappers; `encoder` is the one of the function's texts.
        rng: Of a handler that fails; None for none.
    """
    settings = {**parts}
    encoder = settings.pop("encoder", None)
    store = InMemoryVectorStore(_Embeddings())
    store.add_documents([_document(at) for at in range(len(TEXTS))])
    inner = store.as_retriever(search_kwargs={"k": SIZE})
    plain = RunnableLambda(lambda query: [_strange_document(at) for at in _searched(query)])
    handled: Callable[[], dict[str, Any]] = dict
    if rng is not None:
        handler = FaultyHandler(rng)
        handled = lambda: {"config": {"callbacks": [handler]}}  # noqa: E731

    def ids(documents: Sequence[Document]) -> list[str]:
        return [str(document.id) for document in documents]

    def page(response: Any) -> list[str]:
        return ids(response.documents)

    return [
        World(
            "LangChain, store",
            in_langchain.RecallRetriever(retriever=inner, **settings),
            lambda query: ids(inner.invoke(query)),
            inner.ainvoke,
            page,
            handled,
        ),
        World(
            "LangChain, function",
            in_langchain.RecallRetriever(
                retriever=plain, embeddings=_Embeddings(encoder), **settings
            ),
            lambda query: ids(plain.invoke(query)),
            plain.ainvoke,
            page,
            handled,
        ),
    ]


def llama_worlds(parts: dict[str, Any]) -> list[World]:
    """Return wrappers of LlamaIndex: around an index, and around a retriever of one's own."""
    settings = {**parts}
    encoder = settings.pop("encoder", None)
    nodes = [_node(at).node for at in range(len(TEXTS))]
    index = VectorStoreIndex(nodes, embed_model=_Embedding())
    inner, plain = index.as_retriever(similarity_top_k=SIZE), _Plain()

    def ids(found: Sequence[NodeWithScore]) -> list[str]:
        return [item.node_id for item in found]

    def page(response: Any) -> list[str]:
        return ids(response.nodes)

    return [
        World(
            "LlamaIndex, index",
            in_llama_index.RecallRetriever(inner, **settings),
            lambda query: ids(inner.retrieve(query)),
            inner.aretrieve,
            page,
        ),
        World(
            "LlamaIndex, own",
            in_llama_index.RecallRetriever(
                plain, embed_model=_Embedding(encoder=encoder), **settings
            ),
            lambda query: ids(plain.retrieve(query)),
            plain.aretrieve,
            page,
        ),
    ]


def worlds(parts: dict[str, Any], rng: Random | None = None) -> list[World]:
    """Return the wrappers of both frameworks with these parts."""
    return [*langchain_worlds(parts, rng), *llama_worlds(parts)]
