"""The shipped testing tools: the conformance suite passes what is right and names what is wrong."""

import subprocess
import sys
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_signal import InvalidInputError, assess
from recall_signal.pool import Pool
from recall_signal.reports import NOT_CONFIGURED, metadata_entry
from recall_signal.testing import AdapterConformance, Seen, SettableEncoder, vectors_with_cosines
from tests.reports import report_of


class TestVectors:
    @given(
        st.integers(2, 40),
        st.lists(st.floats(-1, 1), max_size=20),
        st.floats(1e-3, 1e3),
        st.integers(0, 99),
    )
    def test_have_these_cosines_and_norms(
        self, dimension: int, cosines: list[float], norm: float, seed: int
    ) -> None:
        query = np.random.default_rng(seed).standard_normal(dimension) * 3
        rows = vectors_with_cosines(query, cosines, norm=norm, seed=seed)
        assert rows.shape == (len(cosines), dimension)
        lengths = np.linalg.norm(rows, axis=1)
        np.testing.assert_allclose(lengths, norm, rtol=1e-12)
        got = rows @ query / (lengths * np.linalg.norm(query))
        np.testing.assert_allclose(got, cosines, atol=1e-12)

    def test_take_one_norm_each_and_repeat_by_seed(self) -> None:
        rows = vectors_with_cosines([1, 0, 0], [0.5, 0.5], norm=[1, 2], seed=3)
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 2])
        again = vectors_with_cosines([1, 0, 0], [0.5, 0.5], norm=[1, 2], seed=3)
        other = vectors_with_cosines([1, 0, 0], [0.5, 0.5], norm=[1, 2], seed=4)
        assert (rows == again).all()
        assert (rows != other).any()

    @pytest.mark.parametrize(
        ("query", "cosines", "norm"),
        [
            ([1.0], [0.5], 1.0),
            ([0.0, 0.0], [0.5], 1.0),
            ([[1.0, 0.0]], [0.5], 1.0),
            ([1.0, 0.0], [1.5], 1.0),
            ([1.0, 0.0], [float("nan")], 1.0),
            ([1.0, 0.0], 0.5, 1.0),
            ([1.0, 0.0], [0.5], [1.0, 2.0]),
        ],
    )
    def test_refuse_what_cannot_be(self, query: Any, cosines: Any, norm: Any) -> None:
        with pytest.raises(InvalidInputError):
            vectors_with_cosines(query, cosines, norm=norm)


class TestEncoder:
    def test_gives_the_set_vector_or_one_by_the_text(self) -> None:
        encoder = SettableEncoder({"set": [1, 2]}, dimension=5, norm=3.0)
        assert encoder.embed_query("set") == [1.0, 2.0]
        other = encoder.embed_query("other")
        assert other == SettableEncoder(dimension=5, norm=3.0).embed_query("other")
        assert other != encoder.embed_query("another")
        assert encoder.embed_documents(["other", "set"]) == [other, [1.0, 2.0]]
        assert np.linalg.norm(other) == pytest.approx(3.0)
        assert all(type(value) is float for value in other)
        encoder.vectors["other"] = [9.0]
        assert encoder.embed_query("other") == [9.0]

    def test_counts_its_calls(self) -> None:
        encoder = SettableEncoder()
        encoder.embed_query("q")
        encoder.embed_documents(["a", "b"])
        assert (encoder.calls, encoder.queries, encoder.batches) == (2, ["q"], [["a", "b"]])


def test_loads_no_framework_and_no_test_runner() -> None:
    code = (
        "import sys, recall_signal.testing\n"
        "print([m for m in sys.modules if m.split('.')[0] in "
        "{'pytest', 'hypothesis', 'langchain_core', 'llama_index'}])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@dataclass
class Item:
    id: str
    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)


class Bare:
    """The smallest store and retriever there is."""

    def __init__(self, texts: list[str], vectors: Any, encoder: Any, k: int) -> None:
        self.items = [Item(f"id {n}", text, {"of": [n]}) for n, text in enumerate(texts)]
        self.vectors, self.encoder, self.k = vectors, encoder, k

    def search(self, query: str, k: int) -> list[tuple[Item, float]]:
        if not self.items:
            return []
        vector = np.asarray(self.encoder.embed_query(query))
        norms = np.linalg.norm(self.vectors, axis=1) * np.linalg.norm(vector)
        cosines = self.vectors @ vector / norms
        return [(self.items[n], float(cosines[n])) for n in np.argsort(-cosines, kind="stable")[:k]]

    def invoke(self, query: str) -> list[Item]:
        return [item for item, _ in self.search(query, self.k)]

    async def ainvoke(self, query: str) -> list[Item]:
        return self.invoke(query)


class Wrapped:
    """Adds the entry as an adapter would; `fault` names one thing that it does wrong."""

    def __init__(self, bare: Bare, pool_size: int, fault: str | None) -> None:
        self.bare, self.pool_size, self.fault = bare, pool_size, fault

    def recall(self, query: str) -> Any:
        cosines: list[Any] = [c for _, c in self.bare.search(query, self.pool_size)]
        if self.fault == "wrong cosine":
            cosines = [c * 0.99 for c in cosines]
        if self.fault == "inverted":
            cosines = [-c for c in cosines]
        if self.fault == "float32":
            cosines = [np.float32(c) for c in cosines]
        if self.fault in {"unknown", "half unknown"}:
            cosines = [None] * len(cosines)
        if self.fault == "pool too small":
            cosines = cosines[:1]
        if self.fault == "ghost":
            cosines.append(0.5)
        return type("Response", (), {"pool": Pool(cosines)})

    def found(self, query: str) -> list[Item]:
        """The bare page; with the fault, a limit below all that tie brings others of them in."""
        hits, k = self.bare.search(query, self.pool_size + 1), self.bare.k
        page = [item for item, _ in hits[:k]]
        if self.fault == "other ties" and len(hits) > self.pool_size:
            page[-1:] = [item for item, cosine in hits[k:] if cosine > hits[k - 1][1] - 1e-9][-1:]
        return page

    def invoke(self, query: str) -> list[Item]:
        pool = self.recall(query).pool
        cosines = [*pool.cosines, *[None] * self.bare.k]
        report = report_of(assess(pool), NOT_CONFIGURED, "store")
        page = []
        for rank, item in enumerate(self.found(query)):
            entry = metadata_entry(report, rank, cosines[rank])
            metadata = item.metadata if self.fault == "same object" else deepcopy(item.metadata)
            page.append(Item(item.id, item.page_content, {**metadata, "recall": entry}))
        if self.fault == "mutates" and page:
            self.bare.items[0].metadata["recall"] = {}
        if self.fault == "half unknown" and page:
            page[0].metadata["recall"]["cosine"] = 0.5
        return self.disturbed(page)

    def disturbed(self, page: list[Item]) -> list[Item]:
        if self.fault == "reordered":
            page = page[::-1]
        if self.fault == "dropped":
            page = page[:-1]
        if self.fault == "other id":
            page = [Item(f"{item.id}!", item.page_content, item.metadata) for item in page]
        if self.fault == "other text":
            page = [Item(item.id, f"{item.page_content} ", item.metadata) for item in page]
        if self.fault == "no entry":
            page = [Item(item.id, item.page_content, {"of": item.metadata["of"]}) for item in page]
        return page

    async def ainvoke(self, query: str) -> list[Item]:
        page = self.invoke(query)
        if self.fault == "async differs":
            page[0].metadata["recall"]["cosine"] = 0.1
        return page


class Conformance(AdapterConformance):
    """Small, so that every fault can be tried."""

    fault: str | None = None
    norms = (1.0, (1.0, 2.5))
    stored = 60
    asked = 6
    dimension = 5

    def build(
        self, texts: list[str], vectors: Any, encoder: Any, k: int, pool_size: int
    ) -> tuple[Any, Any]:
        bare = Bare(texts, vectors, encoder, k)
        return Wrapped(bare, pool_size, self.fault), bare


CASES = sorted(name for name in dir(AdapterConformance) if name.startswith("test_"))


def failing(suite: AdapterConformance) -> set[str]:
    failed = set()
    for case in CASES:
        try:
            getattr(suite, case)()
        except (AssertionError, ValueError):
            failed.add(case)
    return failed


class TestRight(Conformance):
    pass


class TestOtherShape(Conformance):
    """Nodes in a response object, asked by another name, without async and empty stores."""

    has_async = False
    can_be_empty = False
    ties_keep_order = False

    def ask(self, retriever: Any, query: str) -> Any:
        return {"nodes": retriever.invoke(query)}

    def items(self, response: Any) -> Any:
        return response["nodes"]

    def read(self, item: Any) -> Seen:
        rest = dict(item.metadata)
        return Seen(item.id, item.page_content.strip(), rest, rest.pop("recall", None))


class TestUnknown(Conformance):
    fault = "unknown"
    expected_reason = "no_scores"


@pytest.mark.parametrize(
    ("fault", "case"),
    [
        ("wrong cosine", "test_cosines_are_numpys"),
        ("float32", "test_cosines_are_numpys"),
        ("pool too small", "test_cosines_are_numpys"),
        ("no entry", "test_cosines_are_numpys"),
        ("unknown", "test_the_top_hit_has_the_highest_cosine"),
        ("unknown", "test_cosines_are_numpys"),
        ("inverted", "test_the_top_hit_has_the_highest_cosine"),
        ("reordered", "test_the_page_is_the_bare_retrievers"),
        ("dropped", "test_fewer_stored_than_k"),
        ("other id", "test_the_page_is_the_bare_retrievers"),
        ("other text", "test_the_page_is_the_bare_retrievers"),
        ("reordered", "test_duplicates"),
        ("other ties", "test_duplicates"),
        ("same object", "test_stored_documents_are_untouched"),
        ("mutates", "test_stored_documents_are_untouched"),
        ("async differs", "test_async_gives_the_same"),
        ("ghost", "test_empty_store"),
    ],
)
def test_a_fault_fails_its_case(fault: str, case: str) -> None:
    suite = Conformance()
    suite.fault = fault
    assert case in failing(suite)


@pytest.mark.parametrize("fault", [None, "half unknown"])
def test_an_expected_reason_allows_no_cosine(fault: str | None) -> None:
    class Refusing(Conformance):
        expected_reason = "no_scores"

    suite = Refusing()
    suite.fault = fault
    assert "test_cosines_are_numpys" in failing(suite)
