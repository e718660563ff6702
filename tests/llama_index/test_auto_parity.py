"""`calibration="auto"`, `calibrated` and `check` around retrievers of both frameworks."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from threading import Event
from time import sleep
from typing import Any

import pytest
from langchain_classic.retrievers import (
    EnsembleRetriever,
    MultiQueryRetriever,
    TimeWeightedVectorStoreRetriever,
)
from langchain_community.retrievers import BM25Retriever
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableConfig, RunnableLambda, chain
from langchain_core.vectorstores import InMemoryVectorStore, VectorStoreRetriever
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever, RecursiveRetriever
from llama_index.core.schema import BaseNode, IndexNode, NodeWithScore, QueryBundle, TextNode

import langchain_recall_signal as lc
import llama_index_recall_signal as li
from recall_signal import (
    AutoCalibration,
    Baseline,
    Calibration,
    CalibrationError,
    ConfigurationError,
    Pool,
)
from recall_signal.testing import SettableEncoder
from tests.calibration.auto_toys import EAGER, LONG
from tests.llama_index.fakes import Embedding

WORDS = [[f"word{matter}{n}" for n in range(10)] for matter in range(6)]
TEXTS = [" ".join(Random(n).sample(WORDS[n % 6], 8)) for n in range(60)]
DIMENSION = 64


class ByWords(SettableEncoder):
    """Texts that share words are near each other."""

    offset = 0.0

    def embed_query(self, text: str) -> list[float]:
        return self._by_words(text)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._by_words(text) for text in texts]

    def _by_words(self, text: str) -> list[float]:
        vectors = [super(ByWords, self).embed_query(word) for word in text.split()]
        return [float(sum(column)) + self.offset for column in zip(*vectors, strict=True)]


class LangChainByWords(ByWords, Embeddings):
    """For LangChain."""


def llama_index_by_words() -> Embedding:
    embedding = Embedding()
    embedding._encoder = ByWords(dimension=DIMENSION)
    return embedding


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall_signal._auto.calibrator.Politeness", lambda: EAGER)


def langchain(**settings: Any) -> lc.RecallRetriever:
    store = InMemoryVectorStore(LangChainByWords(dimension=DIMENSION))
    store.add_documents([Document(id=f"id{n}", page_content=text) for n, text in enumerate(TEXTS)])
    return lc.RecallRetriever.from_vectorstore(store, k=3, **settings)


def llama_index(**settings: Any) -> li.RecallRetriever:
    nodes = [TextNode(id_=f"id{n}", text=text) for n, text in enumerate(TEXTS)]
    index = VectorStoreIndex(nodes, embed_model=llama_index_by_words())
    return li.RecallRetriever(index.as_retriever(similarity_top_k=3), **settings)


MAKERS: dict[str, Callable[..., Any]] = {"langchain": langchain, "llama_index": llama_index}
BOTH = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def page(response: Any) -> list[str]:
    found = getattr(response, "documents", None) or response.nodes
    return [getattr(item, "page_content", None) or item.text for item in found]


@BOTH
@pytest.mark.parametrize("way", ["auto", AutoCalibration(window=50)])
def test_the_first_query_starts_it_and_changes_no_page(make: Any, way: Any) -> None:
    bare, wrapper = make(), make(calibration=way)
    assert (wrapper.calibration_status, wrapper.current_calibration) == ("waiting", None)
    first = wrapper.recall("a question")
    assert page(first) == page(bare.recall("a question"))
    assert (
        "Uncalibrated: the calibration starts after the first query without a filter or a tenant."
        in (first.confidence.rationale)
    )
    assert wrapper.wait_until_calibrated(LONG)
    assert wrapper.calibration_status == "ready"
    response = wrapper.recall("a question")
    assert response.confidence.basis == "calibration"
    assert page(response) == page(first)
    assert wrapper.current_calibration.encoder is not None
    assert wrapper.current_calibration.check(wrapper).status == "ok"


@BOTH
async def test_asynchronously_it_is_a_task(make: Any) -> None:
    wrapper = make(calibration="auto")
    await wrapper.arecall("a question")
    assert wrapper.calibration_status == "fitting"
    assert await wrapper.await_until_calibrated(LONG)
    response = await wrapper.arecall("a question")
    assert response.confidence.basis == "calibration"
    assert (await wrapper.current_calibration.acheck(wrapper)).status == "ok"
    await wrapper.arecalibrate()
    assert await wrapper.await_until_calibrated(LONG)


@BOTH
def test_reports_name_the_calibration(make: Any) -> None:
    def entry(wrapper: Any) -> Any:
        response = wrapper.recall("a question")
        if hasattr(response, "nodes"):
            return response.nodes[0].metadata["recall"].get("calibration")
        return response.documents[0].metadata["recall"].get("calibration")

    assert entry(make()) is None
    assert entry(make(baseline=Baseline())) is None
    wrapper = make(calibration="auto")
    assert entry(wrapper) == {"id": None, "created": None, "status": "waiting"}
    assert wrapper.wait_until_calibrated(LONG)
    fitted = wrapper.current_calibration
    named = entry(wrapper)
    assert (named["created"], named["status"]) == (fitted.created, "ready")
    passed = wrapper.with_calibration(fitted)
    assert entry(passed) == named
    assert (passed.calibration_status, passed.current_calibration) == ("ready", fitted)


@BOTH
def test_copies_share_it_unless_they_search_elsewhere(make: Any) -> None:
    wrapper = make(calibration="auto")
    copies = [
        wrapper._replace(k=2),
        wrapper._replace(annotate="first"),
        copy.copy(wrapper),
        copy.deepcopy(wrapper),
    ]
    assert wrapper.wait_until_calibrated(LONG)
    assert [same.calibration_status for same in copies] == ["ready"] * 4
    assert all(same.current_calibration is wrapper.current_calibration for same in copies)
    assert wrapper._replace(retriever=make().retriever).calibration_status == "waiting"
    assert wrapper._replace(score_kind="cosine").calibration_status == "waiting"
    assert wrapper._replace(calibration=None).calibration_status == "off"


def test_a_pickled_copy_brings_the_calibration_along() -> None:
    wrapper = langchain(calibration="auto")
    assert wrapper.wait_until_calibrated(LONG)
    again = pickle.loads(pickle.dumps(wrapper._watcher))
    assert again.calibration == wrapper.current_calibration
    passed = wrapper.with_calibration(wrapper.current_calibration)
    assert pickle.loads(pickle.dumps(passed._watcher)) is None


def test_a_memory_that_notes_what_was_found_is_not_searched_by_itself() -> None:
    inner: Any = langchain().retriever
    memory = TimeWeightedVectorStoreRetriever(vectorstore=inner.vectorstore)
    wrapper = lc.RecallRetriever(retriever=memory, calibration="auto")
    assert (wrapper.calibration_status, wrapper.wait_until_calibrated(LONG)) == ("off", False)


@pytest.mark.parametrize(
    ("configurable", "starts"),
    [
        ({"thread_id": "1", "checkpoint_ns": "", "__pregel_read": print}, True),
        ({"thread_id": "1", "tenant": "a"}, False),
        ({}, True),
    ],
)
@pytest.mark.parametrize("way", ["handed on", "in the context"])
async def test_a_conversation_is_no_tenant(
    configurable: dict[str, Any], starts: bool, way: str
) -> None:
    """LangGraph configures every call; what a chain has in its context counts as well."""
    config: Any = {"configurable": configurable}
    for is_async in (False, True):
        wrapper = langchain(calibration="auto")

        def ask(question: str, config: RunnableConfig, wrapper: Any = wrapper) -> Any:
            return wrapper.invoke(question, config if way == "handed on" else None)

        async def aask(question: str, config: RunnableConfig, wrapper: Any = wrapper) -> Any:
            return await wrapper.ainvoke(question, config if way == "handed on" else None)

        chain = RunnableLambda(ask, afunc=aask)
        if is_async:
            await chain.ainvoke("a question", config)
        else:
            chain.invoke("a question", config)
        assert wrapper.calibration_status == ("fitting" if starts else "waiting")


@BOTH
def test_calls_with_a_filter_do_not_start_it(make: Any) -> None:
    if make is not langchain:
        return
    wrapper = make(calibration="auto")
    wrapper.recall("a question", filter=lambda document: True)
    wrapper.recall("a question", {"configurable": {"tenant": "other"}})
    assert wrapper.calibration_status == "waiting"
    wrapper.recall("a question", k=2)
    assert wrapper.wait_until_calibrated(LONG)


@BOTH
def test_a_language_model_inside_switches_it_off(make: Any) -> None:
    if make is langchain:

        class Rewriting(VectorStoreRetriever):
            llm: Any = None

        model = FakeListChatModel(responses=["another question"])
        inner: Any = make().retriever
        retriever = Rewriting(vectorstore=inner.vectorstore, llm=model)
        wrapper: Any = lc.RecallRetriever(retriever=retriever, calibration="auto")
    else:
        fusion = QueryFusionRetriever([make().retriever], llm=MockLLM(), num_queries=4)
        wrapper = li.RecallRetriever(fusion, calibration="auto")
        one = QueryFusionRetriever([make().retriever], llm=MockLLM(), num_queries=1)
        assert li.RecallRetriever(one, calibration="auto").calibration_status == "waiting"
    assert wrapper.calibration_status == "off"
    assert not wrapper.wait_until_calibrated(LONG)
    response = wrapper.recall("a question")
    assert response.calibration is None
    assert "calibration" not in response.to_dict()


CHAT, COMPLETE = FakeListChatModel(responses=["another question"]), MockLLM()


def reworded(question: str) -> Any:
    return CHAT.invoke(question).content


class Rewords:
    def __init__(self, model: FakeListChatModel) -> None:
        self.model = model

    def reword(self, question: str) -> Any:
        return self.model.invoke(question).content


class Rewording(BaseRetriever):
    """Asks a model that its code names."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.inner.retrieve(COMPLETE.complete(query_bundle.query_str).text)

    def __init__(self, inner: BaseRetriever) -> None:
        self.inner = inner
        super().__init__()


class Quiet(BaseRetriever):
    """Asks none."""

    def __init__(self, inner: BaseRetriever) -> None:
        self.inner = inner
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.inner.retrieve(query_bundle.query_str[:80])


def test_a_language_model_that_code_names_switches_it_off() -> None:
    inner: Any = langchain().retriever
    around_lambda: Any = (lambda question: reworded(question)) | inner

    @chain
    def both_steps(question: str) -> Any:
        return inner.invoke(reworded(question))

    def status(retriever: Any) -> str:
        encoder = LangChainByWords(dimension=DIMENSION)
        wrapper = lc.RecallRetriever(retriever=retriever, embeddings=encoder, calibration="auto")
        wrapper.invoke("a question")
        return wrapper.calibration_status

    assert status(RunnableLambda(reworded) | inner) == "off"
    assert status(around_lambda) == status(both_steps) == "off"
    assert status(RunnableLambda(Rewords(CHAT).reword) | inner) == "off"
    assert status(RunnableLambda(str.strip) | inner) != "off"

    nodes = llama_index().retriever
    assert li.RecallRetriever(Rewording(nodes), calibration="auto").calibration_status == "off"
    assert li.RecallRetriever(Quiet(nodes), calibration="auto").calibration_status == "waiting"


def test_a_corpus_hides_no_language_model() -> None:
    texts = [f"text {n}" for n in range(400)]
    inner: Any = langchain().retriever
    model = FakeListChatModel(responses=["another question"])
    rewriting = MultiQueryRetriever.from_llm(inner, model)
    words = BM25Retriever.from_texts(texts)
    both = EnsembleRetriever(retrievers=[words, rewriting], weights=[0.5, 0.5])
    assert lc.RecallRetriever(retriever=both, calibration="auto").calibration_status == "off"

    fusion: BaseRetriever = QueryFusionRetriever(
        [llama_index().retriever], llm=MockLLM(), num_queries=4
    )
    nodes: dict[str, BaseNode] = {text: TextNode(text=text) for text in texts}
    lead: dict[str, BaseNode] = {"lead": IndexNode(text="lead", index_id="lead", obj=fusion)}
    for parts, node_dict in (
        ({"root": fusion}, nodes),
        ({"root": llama_index().retriever}, nodes | lead),
    ):
        recursive = RecursiveRetriever("root", retriever_dict=parts, node_dict=node_dict)
        assert li.RecallRetriever(recursive, calibration="auto").calibration_status == "off"
    plain = RecursiveRetriever(
        "root", retriever_dict={"root": llama_index().retriever}, node_dict=nodes
    )
    assert li.RecallRetriever(plain, calibration="auto").calibration_status == "waiting"


@BOTH
def test_a_store_that_is_exchanged_begins_again(make: Any) -> None:
    wrapper = make(calibration="auto")
    assert wrapper.wait_until_calibrated(LONG)
    other = make()
    if make is langchain:
        wrapper.retriever.vectorstore = other.retriever.vectorstore
    else:
        wrapper.retriever._vector_store = other.retriever._vector_store
    assert wrapper.calibration_status == "waiting"


@BOTH
def test_background_searches_are_quiet(make: Any) -> None:
    if make is not langchain:
        return

    class Handler(BaseCallbackHandler):
        started = 0

        def on_retriever_start(self, *_: Any, **__: Any) -> None:
            self.started += 1

    handler = Handler()
    wrapper = make(calibration="auto")
    wrapper.invoke("a question", {"callbacks": [handler]})
    before = handler.started
    assert wrapper.wait_until_calibrated(LONG)
    assert handler.started == before


@BOTH
def test_the_queries_of_others_are_waited_for(make: Any) -> None:
    """A background search pauses while a query is inside the retriever."""
    wrapper = make(calibration="auto")
    counter = wrapper._watcher._state.queries
    seen: list[int] = []
    encoder = wrapper.calibration_port._encoder
    target = encoder if make is langchain else encoder.encoder
    original = target.embed_query

    def embed(text: str) -> Any:
        seen.append(counter.running)
        return original(text)

    target.embed_query = embed
    wrapper.recall("a question")
    assert seen[0] == 1
    assert counter.running == 0


# calibrated(path), passed calibrations


@BOTH
async def test_calibrated_reads_its_file_where_it_still_fits(make: Any, tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    wrapper = make()
    first = wrapper.calibrated(path)
    assert first.calibration_status == "ready"
    assert first.recall("a question").confidence.basis == "calibration"
    written = path.read_bytes()
    assert wrapper.calibrated(path).current_calibration == first.current_calibration
    assert (await wrapper.acalibrated(path)).current_calibration == first.current_calibration
    assert path.read_bytes() == written
    path.write_text("a note of mine")
    with pytest.raises(CalibrationError):
        wrapper.calibrated(path)
    with pytest.raises(CalibrationError):
        await wrapper.acalibrated(path)
    assert (await wrapper.acalibrated()).calibration_status == "ready"


@BOTH
async def test_a_fit_brings_the_encoders_fingerprint(make: Any) -> None:
    wrapper = make()
    for fitted in (wrapper.calibrate(), await wrapper.acalibrate()):
        assert fitted.canaries.fingerprint.dimensions == DIMENSION


@BOTH
def test_an_encoder_exchanged_under_the_same_name_is_noticed(make: Any) -> None:
    wrapper = make()
    calibrated = wrapper.with_calibration(wrapper.calibrate())
    target = calibrated.calibration_port._encoder
    target = target if make is langchain else target.encoder
    target.offset = 1.0
    assert calibrated.recall("a question").confidence.basis == "calibration"
    watcher = calibrated._watcher
    for _ in range(1000):
        if watcher.notice is not None:
            break
        Event().wait(0.01)
    later = calibrated.recall("a question").confidence
    assert later.basis != "calibration"
    assert "the encoder gives other vectors than at the fit" in later.rationale
    assert calibrated.calibration_status == "failed"


@BOTH
async def test_without_auto_there_is_nothing_to_start(make: Any) -> None:
    wrapper = make()
    assert (wrapper.calibration_status, wrapper.current_calibration) == ("off", None)
    assert not wrapper.wait_until_calibrated(LONG)
    assert not await wrapper.await_until_calibrated(LONG)
    with pytest.raises(ConfigurationError, match='needs calibration="auto"'):
        wrapper.recalibrate()
    with pytest.raises(ConfigurationError, match='needs calibration="auto"'):
        await wrapper.arecalibrate()


@BOTH
def test_wrong_settings_are_refused(make: Any) -> None:
    with pytest.raises(ConfigurationError, match="baseline= has no use beside"):
        make(calibration="auto", baseline=Baseline())
    with pytest.raises(ConfigurationError, match='must be "auto", an AutoCalibration'):
        make(calibration="calibration.json")
    for wrong in ("5", True, float("nan")):
        with pytest.raises(ConfigurationError, match="timeout must be a finite number"):
            make().wait_until_calibrated(wrong)
    assert not make().wait_until_calibrated(float("inf"))
    with pytest.raises(ConfigurationError, match=r'calibration must be "auto", an .* got int'):
        make(calibration=3)
    with pytest.raises(ConfigurationError, match="needs a RecallRetriever"):
        li.RecallPostprocessor(calibration="auto")


def test_an_async_only_retriever_is_calibrated_on_its_loop() -> None:
    inner = langchain().retriever

    async def search(question: str) -> list[Document]:
        return await inner.ainvoke(question)

    encoder = LangChainByWords(dimension=DIMENSION)
    wrapper = lc.RecallRetriever(
        retriever=RunnableLambda(search), embeddings=encoder, calibration="auto"
    )

    async def main() -> bool:
        await wrapper.arecall("a question")
        return await wrapper.await_until_calibrated(LONG)

    assert wrapper.calibration_port.is_async_only
    assert not wrapper.wait_until_calibrated(0.01)
    assert asyncio.run(main())


@BOTH
async def test_vectors_of_another_length_are_noticed_in_the_first_query(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = make().calibrate()
    monkeypatch.setattr(f"{__name__}.DIMENSION", DIMENSION // 2)
    monkeypatch.setenv("RECALL_SIGNAL_AUTO", "off")  # no comparison in the background
    wrapper = make().with_calibration(fitted)
    responses = [wrapper.recall("a question")]
    if make is langchain:  # LlamaIndex shows nobody the vector of an asynchronous search
        responses.append(await wrapper.arecall("a question"))
    for response in responses:
        assert response.confidence.basis != "calibration"
        assert "are of another encoder" in response.confidence.rationale
        assert response.calibration["status"] == wrapper.calibration_status == "failed"
    assert wrapper.current_calibration is None
    assert not await wrapper.await_until_calibrated(LONG)
    assert make().with_calibration(fitted).calibration_status == "ready"


@BOTH
def test_a_file_of_vectors_of_another_length_is_replaced(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    auto = AutoCalibration(path=tmp_path / "kept.json")
    make().calibrated(auto.path)
    monkeypatch.setattr(f"{__name__}.DIMENSION", DIMENSION // 2)
    wrapper = make(calibration=auto)
    old = wrapper.current_calibration
    assert wrapper.recall("a question").confidence.basis != "calibration"
    for _ in range(round(LONG / 0.01)):
        if wrapper.current_calibration not in (old, None):
            break
        sleep(0.01)
    assert wrapper.recall("a question").confidence.basis == "calibration"


@BOTH
def test_a_passed_calibration_and_a_baseline_go_together(make: Any) -> None:
    wrapper, baseline = make(), Baseline()
    both = wrapper._replace(calibration=Calibration.fit(pool_of(wrapper)), baseline=baseline)
    both.recall("a question")
    assert len(baseline) == 1


def pool_of(wrapper: Any) -> Callable[[str], Pool]:
    return lambda query: wrapper.recall(query).pool
