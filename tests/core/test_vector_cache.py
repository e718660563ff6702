"""Vectors on disk: embedded once, read back the same, and clear about a file that is unusable."""

import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from recall_signal import ConfigurationError, InvalidInputError
from recall_signal import vector_cache as module
from recall_signal.vector_cache import CachedEncoder


class Counting:
    """Embeds a text as its length, its first letter and a third; counts what it is given."""

    def __init__(self, name: str = "counting", dimension: int = 3) -> None:
        self.name = name
        self.dimension = dimension
        self.calls: list[list[str]] = []
        self.queries = 0

    def embed_query(self, text: str) -> list[float]:
        self.queries += 1
        return [1.0] * self.dimension

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.calls.append(list(texts))
        return [
            [float(len(t)), float(ord((t or "-")[0])), 1 / 3, 0.0][: self.dimension] for t in texts
        ]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "below" / "vectors.sqlite"


def test_embeds_each_text_once(path: Path) -> None:
    encoder = Counting()
    cached = CachedEncoder(encoder, path)
    first = cached.embed_documents(["aa", "b", "aa", ""])
    assert encoder.calls == [["aa", "b", ""]]
    assert first[0] == first[2] == pytest.approx([2.0, 97.0, 1 / 3])
    again = CachedEncoder(encoder, str(path))
    assert again.embed_documents(["b", "aa", "c"]) == [first[1], first[0], [1.0, 99.0, first[0][2]]]
    assert encoder.calls[1:] == [["c"]]
    assert {type(value) for vector in first for value in vector} == {float}


def test_nothing_to_embed(path: Path) -> None:
    assert CachedEncoder(Counting(), path).embed_documents([]) == []


def test_questions_are_not_kept(path: Path) -> None:
    encoder = Counting()
    cached = CachedEncoder(encoder, path)
    assert cached.embed_query("q") == cached.embed_query("q") == [1.0, 1.0, 1.0]
    assert encoder.queries == 2
    assert not path.exists()


def test_another_encoder_has_its_own_vectors(path: Path) -> None:
    CachedEncoder(Counting("one"), path).embed_documents(["a"])
    other = Counting("two", dimension=2)
    cached = CachedEncoder(other, path)
    assert cached.name == "two"
    assert cached.embed_documents(["a"]) == [[1.0, 97.0]]
    assert other.calls == [["a"]]


def test_name_and_text_are_not_confused(path: Path) -> None:
    CachedEncoder(Counting("a"), path).embed_documents(["bc"])
    other = Counting("ab")
    CachedEncoder(other, path).embed_documents(["c"])
    assert other.calls == [["c"]]


def test_half_a_surrogate_pair_is_a_text_of_its_own(path: Path) -> None:
    encoder = Counting()
    CachedEncoder(encoder, path).embed_documents(["\ud800", "?"])
    assert encoder.calls == [["\ud800", "?"]]


def test_progress_counts_what_is_embedded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EMBED_BATCH", 2)
    monkeypatch.setattr(module, "READ_BATCH", 2)
    seen: list[tuple[int, int]] = []
    encoder = Counting()
    cached = CachedEncoder(encoder, path, progress=lambda done, total: seen.append((done, total)))
    cached.embed_documents(["a"])
    assert seen == [(0, 1), (1, 1)]
    seen.clear()
    cached.embed_documents(list("abcdef"))
    assert seen == [(0, 5), (2, 5), (4, 5), (5, 5)]
    assert encoder.calls == [["a"], ["b", "c"], ["d", "e"], ["f"]]
    seen.clear()
    cached.embed_documents(list("abcdef"))
    assert seen == []


def test_an_interrupted_run_keeps_what_it_embedded(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "EMBED_BATCH", 2)

    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CachedEncoder(Counting(), path, progress=stop).embed_documents(list("abcd"))
    encoder = Counting()
    CachedEncoder(encoder, path).embed_documents(list("abcd"))
    assert encoder.calls == [["c", "d"]]


def test_more_texts_than_one_statement_takes(path: Path) -> None:
    texts = [f"text {number}" for number in range(1234)]
    first = CachedEncoder(Counting(), path).embed_documents(texts)
    encoder = Counting()
    assert CachedEncoder(encoder, path).embed_documents(texts) == first
    assert encoder.calls == []


def test_the_encoders_own_error_passes(path: Path) -> None:
    class Failing(Counting):
        def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            raise TimeoutError("the encoder's")

    with pytest.raises(TimeoutError, match="the encoder's"):
        CachedEncoder(Failing(), path).embed_documents(["a"])


@pytest.mark.parametrize("answer", [[], [[1.0], [2.0]], [1.0], [[[1.0]]]])
def test_vectors_that_do_not_fit_are_refused_and_not_kept(path: Path, answer: Any) -> None:
    class Wrong(Counting):
        def embed_documents(self, texts: Sequence[str]) -> Any:
            return answer

    with pytest.raises(InvalidInputError, match="the encoder 'counting': expected 1 vectors"):
        CachedEncoder(Wrong(), path).embed_documents(["a"])
    encoder = Counting()
    CachedEncoder(encoder, path).embed_documents(["a"])
    assert encoder.calls == [["a"]]


def test_a_changed_encoder_under_an_old_name(path: Path) -> None:
    CachedEncoder(Counting(), path).embed_documents(["a"])
    with pytest.raises(ConfigurationError, match="give a changed encoder another name, or delete"):
        CachedEncoder(Counting(dimension=2), path).embed_documents(["a", "b"])


def test_a_cut_vector(path: Path) -> None:
    CachedEncoder(Counting(), path).embed_documents(["a"])
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("UPDATE vectors SET vector = x'0102'")
    with pytest.raises(ConfigurationError, match="vectors of another length"):
        CachedEncoder(Counting(), path).embed_documents(["a"])


def test_a_damaged_file(path: Path) -> None:
    cached = CachedEncoder(Counting(), path)
    cached.embed_documents([f"text {number}" for number in range(500)])
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * 8192 + whole[12288:])
    with pytest.raises(ConfigurationError, match=r"vectors\.sqlite is damaged .* delete it"):
        cached.embed_documents([f"text {number}" for number in range(500)])
    path.write_bytes(b"this is no database at all" * 100)
    with pytest.raises(ConfigurationError, match=r"vectors\.sqlite is damaged .* delete it"):
        cached.embed_documents(["a"])
    path.unlink()
    assert len(cached.embed_documents(["a"])) == 1


def test_an_empty_file_becomes_a_cache(tmp_path: Path) -> None:
    (tmp_path / "v").touch()
    assert len(CachedEncoder(Counting(), tmp_path / "v").embed_documents(["a"])) == 1


def test_somebody_elses_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "photos.db"
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("CREATE TABLE photos (name)")
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match="no vector cache of this release"):
        CachedEncoder(Counting(), path).embed_documents(["a"])
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", [".", "file/vectors.sqlite"])
def test_a_place_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match=r"cannot be used: .*; choose another file"):
        CachedEncoder(Counting(), tmp_path / name).embed_documents(["a"])


def test_a_file_that_stays_locked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.05)
    cached = CachedEncoder(Counting(), path)
    cached.embed_documents(["a"])
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ConfigurationError, match="cannot be used: database is locked"):
            cached.embed_documents(["a"])


def test_threads_share_a_file(path: Path) -> None:
    cached = CachedEncoder(Counting(), path)
    batches = [[f"text {number}" for number in range(at, at + 200)] for at in range(0, 400, 50)]
    with ThreadPoolExecutor(4) as pool:
        for batch, vectors in zip(batches, pool.map(cached.embed_documents, batches), strict=True):
            assert [vector[0] for vector in vectors] == [len(text) for text in batch]


PROCESS = """
import sys
from recall_signal.vector_cache import CachedEncoder
class Encoder:
    name = "shared"
    def embed_query(self, text): return [0.0]
    def embed_documents(self, texts): return [[float(len(text)), 1.0] for text in texts]
texts = ["x" * n for n in range(int(sys.argv[2]), int(sys.argv[2]) + 300)]
vectors = CachedEncoder(Encoder(), sys.argv[1]).embed_documents(texts)
assert [vector[0] for vector in vectors] == [len(text) for text in texts]
"""


def test_processes_share_a_new_file(path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", PROCESS, str(path)]
    running = [
        subprocess.Popen([*command, str(start)], stderr=subprocess.PIPE, text=True)
        for start in (0, 100, 200, 300)
    ]
    for process in running:
        _, error = process.communicate(timeout=60)
        assert process.returncode == 0, error
    with closing(sqlite3.connect(path)) as store:
        assert store.execute("SELECT count(*) FROM vectors").fetchone() == (600,)
