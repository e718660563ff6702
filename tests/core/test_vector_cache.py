"""Vectors on disk: embedded once, read back the same, and clear about a file that is unusable."""

import os
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
from recall_signal.cli import _vector_cache as module
from recall_signal.cli._models import NamedEncoder
from recall_signal.cli._vector_cache import CachedEncoder


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


def test_encoders_that_are_shown_alike_share_no_vectors(path: Path) -> None:
    for model, calls in (("a", 1), ("b", 1), ("a", 0)):
        encoder = NamedEncoder(Counting(f"https://host/embed?model={model}"), "a name")
        assert encoder.name == "https://host/embed"
        counting: Any = encoder.embed_documents
        CachedEncoder(encoder, path).embed_documents(["a text"])
        assert len(counting.__self__.calls) == calls


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


@pytest.mark.parametrize("figure", [float("nan"), float("-inf")])
def test_an_encoder_that_gives_no_numbers_is_refused(path: Path, figure: float) -> None:
    encoder: Any = Counting()
    encoder.embed_documents = lambda texts: [[1.0, figure]] * len(texts)
    with pytest.raises(InvalidInputError, match="encoder 'counting' gave vectors with NaN or inf"):
        CachedEncoder(encoder, path).embed_documents(["a"])


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
    with pytest.raises(ConfigurationError, match=r"is damaged \(it holds something else"):
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
    with pytest.raises(ConfigurationError, match=r"cannot be used: .*, by --cache"):
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
from recall_signal.cli._vector_cache import CachedEncoder
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


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("'text'", "is damaged"),
        ("5", "is damaged"),
        ("x''", "is damaged"),
        ("x'0000803f00'", "is damaged"),
        ("zeroblob(1000004)", "is damaged"),
        ("x'0000803f'", "another length"),
    ],
)
def test_f4_something_else_than_vectors_is_refused(path: Path, value: str, message: str) -> None:
    """F4: a file whose rows somebody has changed, all in the same way."""
    CachedEncoder(Counting(), path).embed_documents(["a", "b"])
    with closing(sqlite3.connect(path)) as store, store:
        store.execute(f"UPDATE vectors SET vector = {value}")
    with pytest.raises(ConfigurationError, match=rf"{message}.* delete"):  # noqa: PT012
        cached = CachedEncoder(Counting(), path)
        cached.embed_documents(["a", "b"])
        cached.embed_query("a")


@pytest.mark.parametrize("figure", ["0000c07f", "0000807f", "000080ff"])
def test_f4_vectors_that_are_not_finite_are_embedded_anew(path: Path, figure: str) -> None:
    first = CachedEncoder(Counting(), path).embed_documents(["a", "b"])
    with closing(sqlite3.connect(path)) as store, store:
        store.execute(f"UPDATE vectors SET vector = x'{figure * 3}'")
    encoder = Counting()
    for _ in range(2):
        assert CachedEncoder(encoder, path).embed_documents(["a", "b"]) == first
    assert encoder.calls == [["a", "b"]]


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, i FROM n"


@pytest.mark.parametrize(
    "made",
    [
        "",
        f"CREATE VIEW vectors (key, vector) AS {ENDLESS}",
        "CREATE TABLE vectors (key, vector)",
        f"{module.TABLE}; CREATE TABLE more (a)",
        f"{module.TABLE}; CREATE TRIGGER t AFTER INSERT ON vectors BEGIN DELETE FROM vectors; END",
        module.TABLE.replace(")", ", more AS (zeroblob(1000000000)))"),
    ],
)
def test_f4_a_file_that_runs_somebodys_statements_is_refused(tmp_path: Path, made: str) -> None:
    path = tmp_path / "vectors.sqlite"
    with closing(sqlite3.connect(path)) as store:
        store.executescript(f"{made}; PRAGMA application_id = {module.FORMAT};")
    with pytest.raises(ConfigurationError, match=r"is damaged \(it is not made as"):
        CachedEncoder(Counting(), path).embed_documents(["a"])


@pytest.mark.parametrize("trap", [os.mkfifo, Path.mkdir])
def test_f2_the_cache_is_a_regular_file(tmp_path: Path, trap: Any) -> None:
    trap(tmp_path / "vectors.sqlite")
    with pytest.raises(ConfigurationError, match="cannot be used: It is"):
        CachedEncoder(Counting(), tmp_path / "vectors.sqlite").embed_documents(["a"])


def test_a_new_folder_is_the_users_alone(tmp_path: Path) -> None:
    """F4: a cache is made under mode 0700."""
    before = os.umask(0)
    try:
        CachedEncoder(Counting(), tmp_path / "new" / "v.sqlite").embed_documents(["a"])
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
