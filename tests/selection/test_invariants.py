"""What no selector changes: the signal, the order, the documents, the store."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_recall_signal import RecallRetriever
from recall_signal import RecallConfidence, assess
from recall_signal.selection import SelectionOptions
from recall_signal.testing import SettableEncoder, vectors_with_cosines
from tests.selection.fakes import AsyncScripted, plain, report
from tests.selection.prompts import NAME, QUESTION, keeping, labels_in, none_in


class Encoder(SettableEncoder, Embeddings):
    pass


def store(cosines: list[float]) -> InMemoryVectorStore:
    """`t0` has the first of these cosines with the question, and so on."""
    query = np.eye(16)[0]
    vectors = vectors_with_cosines(query, cosines)
    known = {f"t{n}": vector for n, vector in enumerate(vectors)}
    made = InMemoryVectorStore(Encoder({**known, QUESTION: query}))
    made.add_documents(
        [
            Document(id=f"id{n}", page_content=f"t{n}", metadata={"n": n, "tags": [{"of": [n]}]})
            for n in range(len(cosines))
        ]
    )
    return made


def answers(data: st.DataObject) -> Any:
    """A model that keeps some, names strangers, says nothing sensible, or fails."""
    kind = data.draw(
        st.sampled_from(["some", "all", "none", "empty", "stranger", "prose", "error", "time"])
    )
    picks = data.draw(st.lists(st.integers(0, 30), max_size=8))

    def reply(prompt: str) -> Any:
        labels = labels_in(prompt)
        chosen = {
            "some": [labels[at] for at in dict.fromkeys(p % len(labels) for p in picks)],
            "all": labels[::-1],
            "none": [none_in(prompt)],
            "empty": [],
            "stranger": [labels[0], "ZZZZZ"],
        }.get(kind)
        failures = {"prose": "Keep it all.", "error": RuntimeError(), "time": TimeoutError()}
        return json.dumps({"keep": chosen}) if chosen is not None else failures[kind]

    return reply


cosines = st.lists(st.floats(-1, 1), min_size=1, max_size=12)
pages = st.integers(1, 8)
options = st.builds(
    SelectionOptions,
    on_empty=st.sampled_from(["keep", "drop"]),
    min_results=st.integers(1, 3),
    max_candidates=st.integers(1, 12),
    max_total=st.integers(1, 30),
    skip_levels=st.frozensets(st.sampled_from(["none", "low"]), max_size=2),
)


@given(cosines=cosines, k=pages, options=options, data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_selector_only_removes(
    cosines: list[float], k: int, options: SelectionOptions, data: st.DataObject
) -> None:
    made = store(cosines)
    before = json.dumps(made.store, default=str)
    bare = RecallRetriever.from_vectorstore(made, k=k).recall(QUESTION)
    model = AsyncScripted(reply=answers(data))
    response = RecallRetriever.from_vectorstore(
        made, k=k, selector=model, selector_options=options
    ).recall(QUESTION)
    assert response.confidence.model_dump_json() == bare.confidence.model_dump_json()
    assert (response.pool.cosines, response.pool.ids) == (bare.pool.cosines, bare.pool.ids)
    assert len(model.prompts) <= 1
    left, page = plain(response.documents), plain(bare.documents)
    places = [page.index(document) for document in left]
    assert places == sorted(set(places))
    said = report(response)
    if said["applied"]:
        gone = [document[0] for at, document in enumerate(page) if at not in places]
        assert said == {
            "applied": True,
            "model": NAME,
            "kept": len(left),
            "dropped": len(gone),
            "dropped_memory_ids": gone,
        }
    else:
        assert left == page
        assert set(said) == {"applied", "reason"}
    for rank, document in enumerate(response.documents):
        entry = document.metadata["recall"]
        assert entry["rank"] == rank
        assert entry["confidence"] == bare.confidence.model_dump(mode="json")
        assert entry["cosine"] == bare.documents[places[rank]].metadata["recall"]["cosine"]
    assert json.dumps(made.store, default=str) == before


@given(cosines=cosines, k=pages, options=options, data=st.data())
@settings(max_examples=40, deadline=None)
async def test_sync_and_async_are_the_same(
    cosines: list[float], k: int, options: SelectionOptions, data: st.DataObject
) -> None:
    made = store(cosines)
    model = AsyncScripted(reply=answers(data))
    retriever = RecallRetriever.from_vectorstore(
        made, k=k, selector=model, selector_options=options
    )
    sync, not_sync = retriever.recall(QUESTION), await retriever.arecall(QUESTION)
    assert sync.to_dict() == not_sync.to_dict()
    assert sync.documents == not_sync.documents


@pytest.mark.parametrize("level", ["high", "moderate", "low", "none"])
def test_the_signal_is_about_the_pool_before_the_selection(level: str) -> None:
    """Even where everything behind it is gone."""
    pools = {
        "high": [0.9, 0.4, 0.4],
        "moderate": [0.5, 0.4, 0.35],
        "low": [0.4, 0.35, 0.32],
        "none": [0.4, 0.4, 0.4],
    }
    dropping = SelectionOptions(on_empty="drop")
    model = AsyncScripted(reply=keeping())
    response = RecallRetriever.from_vectorstore(
        store(pools[level]), selector=model, selector_options=dropping
    ).recall(QUESTION)
    assert response.documents == []
    assert isinstance(response.confidence, RecallConfidence)
    assert (response.confidence.level, response.confidence.result_count) == (level, 3)
    assert response.confidence == assess(response.pool.cosines)
