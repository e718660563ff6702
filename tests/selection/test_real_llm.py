"""A real model through the real clients of the OpenAI protocol.

It may judge as badly as it likes: what is checked is the protocol, not the judgement.
"""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import pytest_asyncio
from langchain_core.documents import Document
from langchain_openai import ChatOpenAI
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.llms.openai_like import OpenAILike

from langchain_recall_signal._selector import RunnableSelector
from llama_index_recall_signal import RecallRetriever
from llama_index_recall_signal._selector import LLMSelector
from recall_signal.selection import (
    ANSWER_SCHEMA,
    Answer,
    SelectionOptions,
    SelectionRequest,
    build_request,
)
from tests.openai_server import serving
from tests.selection.fakes import Listener, page, plain, report, wrapped
from tests.selection.prompts import QUESTION
from tests.selection.real_llm import Server, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

REASONS = {"invalid_output", "selected_none", "llm_error"}
"""The last one where the answer was cut off, for which OpenAI's own client raises."""

OPTIONS = SelectionOptions(timeout=60.0)
DOCUMENTS = page()[:3]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clients() -> AsyncIterator[dict[str, Any]]:
    """Connections that are closed on the loop that opened them."""
    async with httpx.AsyncClient() as not_sync:
        with httpx.Client() as sync:
            yield {"http_client": sync, "http_async_client": not_sync, "max_retries": 0}


def chat_at(url: str, model: str, key: str, clients: dict[str, Any]) -> ChatOpenAI:
    return ChatOpenAI(
        base_url=url, model=model, api_key=key, temperature=0, max_tokens=48, **clients
    )


@pytest.fixture(scope="module")
def chat(server: Server, clients: dict[str, Any]) -> ChatOpenAI:
    return chat_at(server.url, server.model, server.key, clients)


def assert_sound(response: Any, name: str) -> None:
    """An answer of any kind, and a page that it allows."""
    said, left = report(response), plain(response.documents)
    whole = plain(DOCUMENTS)
    places = [whole.index(document) for document in left]
    assert places == sorted(set(places))
    if said["applied"]:
        assert said["model"] == name
        assert said["kept"] == len(left) > 0
        assert said["kept"] + said["dropped"] == len(whole)
        gone = [document[0] for at, document in enumerate(whole) if at not in places]
        assert said["dropped_memory_ids"] == gone
    else:
        assert said["reason"] in REASONS
        assert left == whole


async def test_json_schema_mode(server: Server, chat: ChatOpenAI) -> None:
    listener = Listener()
    retriever = wrapped(chat, DOCUMENTS, selector_options=OPTIONS)
    assert_sound(retriever.recall(QUESTION, {"callbacks": [listener]}), server.model)
    assert listener.parents_of("ChatOpenAI")[0][-1] == "RecallRetriever"
    assert_sound(await retriever.arecall(QUESTION), server.model)


async def test_plain_text(server: Server, chat: ChatOpenAI) -> None:
    retriever = wrapped(
        RunnableSelector(chat, structured=False), DOCUMENTS, selector_options=OPTIONS
    )
    assert_sound(retriever.recall(QUESTION), server.model)
    assert_sound(await retriever.arecall(QUESTION), server.model)


@pytest.mark.parametrize("structured", [None, False], ids=["schema", "text"])
async def test_an_answer_names_the_model_as_tracing_does(
    clients: dict[str, Any], structured: bool | None
) -> None:
    """Of a server that answers the same on every processor: a weak model may be cut off."""
    with serving() as certain:
        model = chat_at(certain.url, "asked-1", "none", clients)
        step = RunnableSelector(model, structured=structured).step
        request = build_request(QUESTION, [d.page_content for d in DOCUMENTS], OPTIONS)
        names = (step.invoke(request).model, (await step.ainvoke(request)).model)
    assert names == ("asked-1", "asked-1")


@dataclass
class Constrained:
    """A selector whose schema leaves the model no choice but one real label."""

    chat: ChatOpenAI

    def select(self, request: SelectionRequest) -> Answer:
        return self._answer(self._bound(request).invoke(request.prompt))

    async def aselect(self, request: SelectionRequest) -> Answer:
        return self._answer(await self._bound(request).ainvoke(request.prompt))

    def _bound(self, request: SelectionRequest) -> Any:
        one_label = {"type": "string", "enum": list(request.labels)}
        labels = {"type": "array", "items": one_label, "minItems": 1, "maxItems": 1}
        schema = {**ANSWER_SCHEMA, "properties": {"keep": labels}}
        return self.chat.with_structured_output(schema, include_raw=True, strict=True)

    def _answer(self, reply: Any) -> Answer:
        message = reply["raw"]
        return Answer(message.content, message.response_metadata["model_name"])


async def test_a_schema_that_names_the_labels_is_obeyed(server: Server, chat: ChatOpenAI) -> None:
    """The one case where even a weak model's answer is surely well-formed: it is applied."""
    retriever = wrapped(Constrained(chat), DOCUMENTS, selector_options=OPTIONS)
    for response in (retriever.recall(QUESTION), await retriever.arecall(QUESTION)):
        assert response.selection.applied
        assert report(response)["kept"] == 1
        assert_sound(response, server.name)


async def test_a_server_that_is_too_slow_is_not_waited_for(chat: ChatOpenAI) -> None:
    retriever = wrapped(chat, DOCUMENTS, selector_timeout=0.01)
    for response in (retriever.recall(QUESTION), await retriever.arecall(QUESTION)):
        assert report(response) == {"applied": False, "reason": "timeout"}


async def test_a_server_that_is_not_there_is_an_error(
    server: Server, clients: dict[str, Any]
) -> None:
    nowhere = ChatOpenAI(
        base_url="http://127.0.0.1:9/v1",
        model=server.model,
        api_key="none",
        **clients,
    )
    retriever = wrapped(nowhere, DOCUMENTS)
    for response in (retriever.recall(QUESTION), await retriever.arecall(QUESTION)):
        assert report(response) == {"applied": False, "reason": "llm_error"}
        assert plain(response.documents) == plain(DOCUMENTS)


# LlamaIndex


class Fixed(BaseRetriever):
    def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=TextNode(id_=d.id, text=d.page_content, metadata=d.metadata))
            for d in DOCUMENTS
        ]


def llm_at(url: str, model: str, key: str, clients: dict[str, Any]) -> OpenAILike:
    return OpenAILike(
        api_base=url,
        model=model,
        api_key=key,
        is_chat_model=True,
        should_use_structured_outputs=True,
        temperature=0,
        max_tokens=48,
        max_retries=0,
        http_client=clients["http_client"],
        async_http_client=clients["http_async_client"],
    )


@pytest.fixture
def llm(server: Server, clients: dict[str, Any]) -> OpenAILike:
    return llm_at(server.url, server.model, server.key, clients)


@pytest.mark.parametrize("structured", [True, False], ids=["schema", "text"])
async def test_llamaindex(server: Server, llm: OpenAILike, structured: bool) -> None:
    selector = LLMSelector(llm, structured=structured)
    retriever = RecallRetriever(Fixed(), selector=selector, selector_options=OPTIONS)
    name = server.model if structured else server.name
    for response in (retriever.recall(QUESTION), await retriever.arecall(QUESTION)):
        assert_sound(Documents(response), name)


@pytest.mark.parametrize("structured", [True, False], ids=["schema", "text"])
async def test_a_llamaindex_answer_names_its_model(
    clients: dict[str, Any], structured: bool
) -> None:
    with serving() as certain:
        selector = LLMSelector(
            llm_at(certain.url, "asked-1", "none", clients), structured=structured
        )
        request = build_request(QUESTION, [d.page_content for d in DOCUMENTS], OPTIONS)
        answers = (selector.select(request), await selector.aselect(request))
    name = "asked-1" if structured else "tiny-1"  # a structured answer comes without its reply
    assert [answer.model for answer in answers] == [name, name]


class Documents:
    """A LlamaIndex response as the checks above read it."""

    def __init__(self, response: Any) -> None:
        self.selection = response.selection
        self.documents = [
            Document(id=item.node_id, page_content=item.text, metadata=item.node.metadata)
            for item in response.nodes
        ]


async def test_a_llamaindex_client_without_a_server_is_an_error(llm: OpenAILike) -> None:
    llm.api_base = "http://127.0.0.1:9/v1"
    retriever = RecallRetriever(Fixed(), selector=llm)
    for response in (retriever.recall(QUESTION), await retriever.arecall(QUESTION)):
        assert report(response) == {"applied": False, "reason": "llm_error"}
        assert len(response.nodes) == len(DOCUMENTS)
