"""Whatever a selector answers, it only removes, and the signal is not touched by it."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from llama_index_recall_signal import RecallRetriever
from recall_signal.selection import Answer, SelectionRequest
from tests.llama_index.fakes import QUERY, index_of, nodes_with_cosines

INDEX = index_of(nodes_with_cosines(np.linspace(0.95, 0.05, 30).tolist()))


class Choosing:
    """Keeps the results at these places, named in this order."""

    def __init__(self, places: list[int]) -> None:
        self.places = places

    def select(self, request: SelectionRequest) -> Answer:
        kept = [request.labels[at] for at in self.places if at < len(request.labels)]
        return Answer({"keep": kept or [request.none_label]}, "scripted")


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 12), st.lists(st.integers(0, 13), max_size=14))
def test_a_selector_only_removes(k: int, places: list[int]) -> None:
    bare = INDEX.as_retriever(similarity_top_k=k)
    without = RecallRetriever(bare).recall(QUERY)
    chosen = RecallRetriever(bare, selector=Choosing(places)).recall(QUERY)
    assert chosen.confidence.model_dump_json() == without.confidence.model_dump_json()
    page = [item.node_id for item in without.nodes]
    left = [item.node_id for item in chosen.nodes]
    assert left == [node_id for node_id in page if node_id in left]
    report = chosen.selection
    if report.applied:
        assert left == [page[at] for at in sorted(at for at in places if at < k)]
        assert (report.kept, report.dropped) == (len(left), k - len(left))
    else:
        assert left == page
