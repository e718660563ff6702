"""A response shows itself alike in both frameworks: rows, cut in force, text and card."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from recall_signal import Baseline, InvalidInputError
from recall_signal.display import plot_pool
from recall_signal.selection import Answer, SelectionRequest
from tests.calibration.toys import WORDS, calibration
from tests.frameworks import QUERY, STRONG, Framework
from tests.llama_index import fakes as li


class Second:
    """Leaves the second result out."""

    def select(self, request: SelectionRequest) -> Answer:
        labels = list(request.labels)
        return Answer({"keep": [labels[0], *labels[2:]]}, model="second")


def reverse(query: str, texts: list[str]) -> list[float]:
    return [float(place) for place in range(len(texts))]


async def test_the_page_with_its_cosines(framework: Framework, way: str) -> None:
    retriever = framework.over(selector=Second(), calibration=calibration())
    response = await framework.recall(retriever, way)
    assert [(row.rank, row.id, row.text) for row in response.rows] == [
        (0, "id0", "t0"),
        (None, "id1", "t1"),
        (1, "id2", "t2"),
        (2, "id3", "t3"),
    ]
    assert [row.cosine for row in response.rows] == pytest.approx(STRONG, abs=1e-6)
    assert (response.level, response.advice) == (response.confidence.level, "read")
    assert response.cut == 0.5
    assert "at or above the cut of 0.500" in str(response)
    assert "<del>t1</del>" in response._repr_html_()
    assert " out   0.500  id1  t1" in str(response)
    shown = f"RecallResponse(level={response.level!r}, advice='read', results=3)"
    assert repr(response) == shown


async def test_reranked_rows_are_in_the_new_order(framework: Framework, way: str) -> None:
    response = await framework.recall(framework.over(reranker=reverse, use_rerank=True), way)
    assert [(row.rank, row.id, row.rerank_score) for row in response.rows] == [
        (rank, f"id{3 - rank}", 3.0 - rank) for rank in range(4)
    ]


@pytest.mark.parametrize("first", ["pool", "rows", "cut"])
async def test_what_is_built_later_survives_pickling(framework: Framework, first: str) -> None:
    response = await framework.recall(framework.over(calibration=calibration()), "sync")
    getattr(response, first)
    other = pickle.loads(pickle.dumps(response))
    assert (other.rows, other.cut) == (response.rows, response.cut)
    assert str(other) == str(response)
    assert "_outcome" not in vars(response)
    assert response.__getattr__("cut") == response.cut  # as where two threads ask at once
    with pytest.raises(AttributeError, match="has no attribute 'cuts'"):
        response.cuts  # noqa: B018


async def test_threads_that_look_at_once_see_the_same(framework: Framework) -> None:
    retriever = framework.over(calibration=calibration())
    with ThreadPoolExecutor(8) as threads:
        for _ in range(30):
            response = await framework.recall(retriever, "sync")
            names = ["pool", "rows", "cut"] * 8
            seen = list(threads.map(lambda name, found=response: getattr(found, name), names))
            assert all(one is response.pool for one in seen[::3])
            assert all(one is response.rows for one in seen[1::3])
            assert {*seen[2::3]} == {0.5}


async def test_no_cut_where_no_calibration_gave_the_level(framework: Framework) -> None:

    undecided = calibration(status="no_valid_threshold")
    for settings in (
        {},
        {"calibration": undecided},
        {"baseline": Baseline([0.4] * 15 + [0.5] * 20)},
    ):
        response = await framework.recall(framework.over(**settings), "sync")
        assert response.cut is None
        assert "cut" not in str(response).split("Top cosine")[0]


async def test_a_calibration_beside_a_baseline_has_its_cut(framework: Framework) -> None:
    both = framework.over(calibration=calibration(words=WORDS), baseline=Baseline())
    response = await framework.recall(both, "sync")
    coverage = response.confidence.term_coverage
    assert response.cut == calibration(words=WORDS).cut_at(coverage)


async def test_a_made_response_shows_what_it_has(framework: Framework) -> None:
    response = await framework.recall(framework.over(), "sync")
    page = {
        name: getattr(response, name) for name in ("documents", "nodes") if hasattr(response, name)
    }
    made = framework.package.RecallResponse(
        confidence=response.confidence, selection=response.selection, **page
    )
    assert (made.rows, made.cut, len(made.pool)) == ((), None, 0)
    assert "results on the page: 4" in str(made)


class Printer:
    def text(self, text: str) -> None:
        self.seen = text


async def test_a_prompt_shows_the_text(framework: Framework) -> None:
    response = await framework.recall(framework.over(), "sync")
    printer = Printer()
    response._repr_pretty_(printer, False)
    assert printer.seen == str(response)


def test_a_retriever_is_named_in_a_line(framework: Framework) -> None:
    """Not with all figures of its calibration, nor with what an encoder holds."""
    shown = repr(framework.over(calibration=calibration()))
    assert shown.startswith("RecallRetriever(")
    assert "calibration=Calibration(mode='null', status='ok', encoder=" in shown
    assert "platt" not in shown
    if framework.name == "llama_index":
        assert "embed_model=Embedding" in repr(framework.over(embed_model=li.Embedding()))


def test_a_response_lists_all_that_it_has(framework: Framework) -> None:
    response = framework.over(STRONG).recall(QUERY)
    assert {"rows", "cut", "pool", "confidence"} <= {*dir(response)}
    page, other = ("documents", "nodes")[:: 1 if framework.name == "langchain" else -1]
    with pytest.raises(AttributeError, match=f"'{other}'; its page is {page}$"):
        getattr(response, other)
    with pytest.raises(AttributeError, match=r"'pages'$"):
        response.pages  # noqa: B018
    with pytest.raises(InvalidInputError, match=r"got RecallResponse; pass response\.pool"):
        plot_pool(response)
    with pytest.raises(InvalidInputError, match=r"got int$"):
        plot_pool(3)  # type: ignore[arg-type]
