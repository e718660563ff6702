"""An encoder whose vectors of documents are kept on disk, so that each text is embedded once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b
from pathlib import Path

from recall_signal.embedding import VectorMismatch, as_vectors
from recall_signal.encoders import Encoder
from recall_signal.errors import ConfigurationError, InvalidInputError

__all__ = ["CachedEncoder"]

EMBED_BATCH = 64
"""Texts embedded, written and reported at a time: what an interrupted run loses at most."""

READ_BATCH = 500
"""Keys looked up at a time; SQLite before 3.32 takes at most 999 in one statement."""

WAIT_SECONDS = 30.0
"""How long another process may hold the file. A write takes milliseconds."""

FORMAT = 0x5243_5331
"""SQLite's application_id ("RCS1"), by which a file of ours is told from anybody else's."""


class CachedEncoder:
    """Wraps an encoder with vectors on disk, under a hash of the encoder's name and the text.

    No text is written, only hashes and float32 vectors. Questions go to the encoder as they
    are: they are seldom asked twice, and some encoders embed them differently from documents.
    Threads and processes may share a file. Nothing is ever removed; delete the file to start
    afresh.

    Args:
        encoder: Any encoder; its own errors pass through.
        path: The SQLite file, made where it does not exist.
        progress: Called with ``(done, total)`` of the texts that really are embedded, first
            with ``(0, total)``; not at all where every vector is on disk.

    Raises:
        ConfigurationError: When the file is damaged, of another kind, or cannot be written;
            the message says what to delete or change.
        InvalidInputError: When the encoder returns another number of vectors than it was given
            texts.
    """

    def __init__(
        self,
        encoder: Encoder,
        path: str | Path,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._encoder = encoder
        self._path = Path(path)
        self._progress = progress or _silent

    @property
    def name(self) -> str:
        """The wrapped encoder's name."""
        return self._encoder.name

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question, from the encoder itself."""
        return self._encoder.embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of these texts, ``[n, dim]``; equal texts are embedded once."""
        import numpy as np

        keys = [_key(self.name, text) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        vectors = self._read(list(wanted))
        vectors.update(self._embed({k: t for k, t in wanted.items() if k not in vectors}))
        sizes = {len(blob) for blob in vectors.values()}
        if len(sizes) > 1 or any(size % 4 for size in sizes):
            raise ConfigurationError(
                f"the vector cache {self._path} holds vectors of another length for the encoder "
                f"{self.name!r}: give a changed encoder another name, or delete the file"
            )
        return [np.frombuffer(vectors[key], "<f4").tolist() for key in keys]

    def _embed(self, missing: dict[bytes, str]) -> dict[bytes, bytes]:
        """Embed and keep these texts, batch by batch."""
        keys = list(missing)
        fresh: dict[bytes, bytes] = {}
        for start in range(0, len(keys), EMBED_BATCH):
            self._progress(start, len(keys))
            batch = keys[start : start + EMBED_BATCH]
            answer = self._encoder.embed_documents([missing[key] for key in batch])
            try:
                rows = as_vectors(answer, len(batch))
            except VectorMismatch as error:
                raise InvalidInputError(f"the encoder {self.name!r}: {error}") from None
            blobs = [row.astype("<f4").tobytes() for row in rows]
            entries = dict(zip(batch, blobs, strict=True))
            with self._open() as store:
                store.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", entries.items())
            fresh.update(entries)
        if keys:
            self._progress(len(keys), len(keys))
        return fresh

    def _read(self, keys: list[bytes]) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        with self._open() as store:
            for start in range(0, len(keys), READ_BATCH):
                batch = keys[start : start + READ_BATCH]
                marks = ",".join("?" * len(batch))
                query = f"SELECT key, vector FROM vectors WHERE key IN ({marks})"  # noqa: S608
                found.update(store.execute(query, batch))
        return found

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """The file for one read or write, committed at the end: nobody waits for an encoder."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=WAIT_SECONDS)) as store, store:
                self._prepare(store)
                yield store
        except (OSError, sqlite3.OperationalError) as error:
            raise ConfigurationError(
                f"the vector cache {self._path} cannot be used: {error}; "
                "choose another file, in a folder that can be written to"
            ) from None
        except sqlite3.DatabaseError as error:
            raise ConfigurationError(
                f"the vector cache {self._path} is damaged ({error}); delete it, and it will be "
                "built anew"
            ) from None

    def _prepare(self, store: sqlite3.Connection) -> None:
        # In this order: another process makes both at once, so tables mean there is an id.
        (tables,) = store.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (format_id,) = store.execute("PRAGMA application_id").fetchone()
        if format_id == FORMAT:
            return
        if tables:
            raise ConfigurationError(
                f"{self._path} is an SQLite file, but no vector cache of this release; choose "
                "another file"
            )
        store.executescript(
            "BEGIN IMMEDIATE;"
            "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL);"
            f"PRAGMA application_id = {FORMAT};"
            "COMMIT;"
        )


def _key(name: str, text: str) -> bytes:
    """A hash in which no name and text can pass for another pair: the name's own is the key."""
    key = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=32).digest()
    return blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=20).digest()


def _silent(_done: int, _total: int) -> None:
    """Reports to nobody."""
