"""Extra steps that fail in every way: the page stays, and the report says why."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler

from langchain_recall_signal._encoders import EncoderEmbeddings
from llama_index_recall_signal._encoders import EncoderEmbedding
from recall_signal.selection import Answer, SelectionOptions
from recall_signal.testing import SettableEncoder
from tests.frameworks import FRAMEWORKS, QUERY, Framework, Keeping
from tests.langchain.fakes import simple_store


class Panic(BaseException):
    """As native code raises it."""


FOREIGN = [Panic, GeneratorExit, asyncio.CancelledError, StopIteration, RuntimeError]


class Evil:
    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def _raise(self, *_: Any) -> Any:
        raise self.error

    __float__ = __len__ = __iter__ = __array__ = tolist = item = _raise


class EvilMapping(Mapping[str, Any]):
    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def __getitem__(self, key: str) -> Any:
        raise self.error

    def __iter__(self) -> Iterator[str]:
        raise self.error

    def __len__(self) -> int:
        return 1


class Encoder:
    """Embeds by a function."""

    name = "toy"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def embed_documents(self, texts: list[str]) -> Any:
        return self.answer(texts)

    def embed_query(self, text: str) -> Any:
        return [1.0, 0.5]


def encoding(framework: Framework, answer: Any) -> dict[str, Any]:
    """The setting of a wrapper with an encoder that answers so."""
    if framework.name == "langchain":
        return {"embeddings": EncoderEmbeddings(Encoder(answer))}
    return {"embed_model": EncoderEmbedding(Encoder(answer))}


class Answering:
    """A selector that gives or raises this."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def select(self, request: Any) -> Any:
        return self.answer()

    async def aselect(self, request: Any) -> Any:
        await asyncio.sleep(0)
        return self.answer()


def raising(error: type[BaseException]) -> Any:
    def call(*_: Any) -> Any:
        raise error

    return call


async def assert_page(framework: Framework, way: str, **settings: Any) -> Any:
    """The page of two texts comes back, and the report is JSON."""
    retriever = framework.around(lambda: ["t0", "t1"], **settings)
    response = await framework.recall(retriever, way)
    assert [item.id for item in framework.page(response)] == ["id0", "id1"]
    json.dumps(response.to_dict(), allow_nan=False)
    return response


@pytest.mark.parametrize("error", FOREIGN)
async def test_c3_whatever_an_answer_raises_when_read(
    framework: Framework, way: str, error: type[BaseException]
) -> None:
    """C3: an answer that raises when it is read."""
    for answer in (Evil(error), [Evil(error)] * 2):
        response = await assert_page(
            framework, way, reranker=lambda query, texts, a=answer: a, use_rerank=True
        )
        assert response.rerank.reason in ("reranker_error", "invalid_scores")
        response = await assert_page(
            framework, way, **encoding(framework, lambda texts, a=answer: a)
        )
        assert response.confidence.reason in ("embedding_failed", "embedding_mismatch")
    response = await assert_page(
        framework, way, selector=Answering(lambda: Answer(EvilMapping(error), "m"))
    )
    assert response.selection.reason in ("llm_error", "invalid_output")


@pytest.mark.parametrize("error", FOREIGN)
async def test_c3_whatever_a_part_raises(
    framework: Framework, way: str, error: type[BaseException]
) -> None:
    """C3: a part that raises a `BaseException`."""
    response = await assert_page(framework, way, reranker=raising(error), use_rerank=True)
    assert response.rerank.reason == "reranker_error"
    response = await assert_page(framework, way, selector=Answering(raising(error)))
    assert response.selection.reason == "llm_error"
    response = await assert_page(framework, way, **encoding(framework, raising(error)))
    assert response.confidence.reason == "embedding_failed"


@pytest.mark.parametrize("error", FOREIGN)
async def test_c3_a_handler_that_fails(way: str, error: type[BaseException]) -> None:
    """C3: an event handler that raises one."""

    class Handler(BaseCallbackHandler):
        run_inline = raise_error = True

        def on_custom_event(self, *args: Any, **kwargs: Any) -> None:
            raise error

    framework = FRAMEWORKS["langchain"]
    retriever = framework.around(lambda: ["t0"])
    config = {"callbacks": [Handler()]}
    response = await framework.recall(retriever, way, config=config)
    assert [item.id for item in framework.page(response)] == ["id0"]


async def test_c3_metadata_that_cannot_be_read(framework: Framework, way: str) -> None:
    class Uncopied(dict):
        def copy(self) -> Any:
            raise Panic

        def items(self) -> Any:
            raise Panic

    response = await framework.recall(framework.around(lambda: ["t0"]), way)
    (item,) = framework.page(response)
    item.metadata["more"] = Uncopied(a=1)
    assert item.entry["rank"] == 0


async def test_c3_a_question_that_is_no_text(way: str) -> None:
    framework = FRAMEWORKS["langchain"]
    retriever = framework.around(
        lambda: ["t0"],
        selector=Keeping(0),
        selector_options=SelectionOptions(min_results=1),
        **encoding(framework, lambda texts: [[1.0, 0.5]]),
    )
    response = retriever.recall(5) if way == "sync" else await retriever.arecall(5)
    assert [item.id for item in framework.page(response)] == ["id0"]


async def test_a_nested_wrapper_reports_what_its_selector_did(
    framework: Framework, way: str
) -> None:
    inner = framework.around(lambda: ["t0", "t1", "t2"], selector=Keeping(0, 2))
    outer = (
        framework.package.RecallRetriever(retriever=inner)
        if framework.name == "langchain"
        else framework.package.RecallRetriever(inner)
    )
    response = await framework.recall(outer, way)
    assert response.selection.applied
    assert (response.selection.kept, response.selection.dropped) == (2, 1)


async def test_a_selector_of_the_outer_one_goes_before(framework: Framework, way: str) -> None:
    inner = framework.around(lambda: ["t0", "t1", "t2"], selector=Keeping(0, 2))
    settings: dict[str, Any] = {"selector": Keeping(1)}
    outer = (
        framework.package.RecallRetriever(retriever=inner, **settings)
        if framework.name == "langchain"
        else framework.package.RecallRetriever(inner, **settings)
    )
    response = await framework.recall(outer, way)
    assert (response.selection.kept, response.selection.dropped) == (1, 1)


async def test_b13_an_encoder_sorts(framework: Framework, way: str) -> None:
    """B13: an encoder that sorts the list it is given swaps no cosines, here or in the cache."""
    vectors = {"t0": [0.0, 1.0], "t1": [1.0, 0.5]}

    def answer(texts: list[str]) -> Any:
        found = [vectors[text] for text in texts]
        texts.sort(reverse=True)
        return found

    retriever = framework.around(lambda: ["t0", "t1"], **encoding(framework, answer))
    for _ in range(2):
        response = await framework.recall(retriever, way)
        cosines = [item.entry["cosine"] for item in framework.page(response)]
        assert cosines == [pytest.approx(0.447214), pytest.approx(1.0)]


@pytest.mark.parametrize("annotate", ["none", "first"])
async def test_b14_a_stored_report_is_never_ours(annotate: str, way: str) -> None:
    """B14: stored metadata that looks like a report is removed or ignored."""
    store = simple_store()
    forged = {"v": 1, "confidence": {"level": "high"}}
    for stored in store.store.values():
        stored["metadata"]["recall"] = forged
    framework = FRAMEWORKS["langchain"]
    retriever = framework.package.RecallRetriever.from_vectorstore(store, k=3, annotate=annotate)
    response = await framework.recall(retriever, way)
    carried = [item.metadata.get("recall") for item in framework.page(response)]
    assert forged not in carried
    assert [entry is not None for entry in carried] == [annotate == "first", False, False]


async def test_d7_a_lone_surrogate_is_json(way: str) -> None:
    """D7: a report is valid JSON whatever an id holds."""
    framework = FRAMEWORKS["langchain"]
    retriever = framework.over(k=3, selector=Keeping(1), id_key="own")
    for stored in retriever.retriever.vectorstore.store.values():
        stored["metadata"]["own"] = "\ud800"
    response = await framework.recall(retriever, way)
    assert response.selection.dropped_memory_ids == ["?", "?"]
    assert json.loads(response.selection.model_dump_json())["applied"]
    assert QUERY


class RateLimited(Exception):
    """As a provider's client raises it at a 429."""


@pytest.mark.parametrize("error", [RateLimited("429"), TimeoutError("read")], ids=["429", "time"])
@pytest.mark.parametrize("way", ["sync", "async"])
async def test_c8_a_failing_encoder_is_asked_once(
    framework: Framework, way: str, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C8: an outage costs one call of the encoder, and what it raised is raised."""
    asked: list[str] = []

    def embed_query(self: Any, text: str) -> Any:
        asked.append(text)
        raise error

    retriever = framework.over()
    monkeypatch.setattr(SettableEncoder, "embed_query", embed_query)
    with pytest.raises(type(error), match=str(error)):
        await framework.recall(retriever, way)
    assert asked == [QUERY]
