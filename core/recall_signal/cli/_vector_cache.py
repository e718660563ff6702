"""An encoder whose vectors of documents are kept on disk, so that each text is embedded once."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

import numpy as np

from recall_signal._files import PRIVATE, make_private_folder, refuse_other_than_file
from recall_signal._flow.embedding import VectorMismatch, as_vectors
from recall_signal.encoders import Encoder
from recall_signal.errors import ConfigurationError, InvalidInputError

__all__ = ["CachedEncoder", "identity_of"]

EMBED_BATCH = 64
"""Texts embedded, written and reported at a time: the most that an interrupted run loses."""

WAIT_SECONDS = 30.0
"""Time another process may hold the file. A write takes milliseconds."""

FORMAT = 0x5243_5331
"""SQLite's application_id ("RCS1"), which marks a file as a vector cache."""

TABLE = "CREATE TABLE vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)"
"""The file holds this and nothing else: a view or a trigger would run somebody's statements."""

MAX_BYTES = 1_000_000
"""Most bytes of a vector; 250,000 dimensions."""


def identity_of(encoder: Encoder) -> str:
    """Return all of an encoder's name, which may hold more than may be shown."""
    identity: str = getattr(encoder, "identity", encoder.name)
    return identity


class CachedEncoder:
    """Wraps an encoder with vectors on disk, under a hash of the encoder's name and the text.

    Only hashes and float32 vectors are written, no text. Questions are not cached: they seldom
    repeat, and some encoders embed them differently from documents. Threads and processes may
    share a file. Nothing is ever removed; delete the file to start afresh. A new folder is
    made for the user alone (mode 0700).

    Args:
        encoder: Any encoder; its own errors pass through.
        path: The SQLite file, made where it does not exist.
        progress: Called with `(done, total)` of the texts to embed, first with
            `(0, total)`; not at all where every vector is on disk.

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
        self._progress = progress
        self._size: int | None = None

    @property
    def name(self) -> str:
        """The wrapped encoder's name."""
        return self._encoder.name

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question, from the encoder itself."""
        vector = self._encoder.embed_query(text)
        if self._size not in (None, len(vector)):
            raise self._other_length()
        return vector

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of these texts, `[n, dim]`; equal texts are embedded once."""
        identity = identity_of(self._encoder)
        keys = [_key(identity, text) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        vectors = self._read(list(wanted))
        vectors.update(self._embed({k: t for k, t in wanted.items() if k not in vectors}))
        sizes = {len(blob) for blob in vectors.values()}
        if len(sizes) > 1:
            raise self._other_length()
        self._size = max(sizes) // 4 if sizes else self._size
        return [np.frombuffer(vectors[key], "<f4").tolist() for key in keys]

    def _embed(self, missing: dict[bytes, str]) -> dict[bytes, bytes]:
        """Embed and store these texts, batch by batch."""
        keys = list(missing)
        fresh: dict[bytes, bytes] = {}
        for start in range(0, len(keys), EMBED_BATCH):
            self._report(start, len(keys))
            batch = keys[start : start + EMBED_BATCH]
            answer = self._encoder.embed_documents([missing[key] for key in batch])
            try:
                rows = as_vectors(answer, len(batch))
            except VectorMismatch as error:
                raise InvalidInputError(f"the encoder {self.name!r}: {error}") from None
            if not np.isfinite(rows).all():
                raise InvalidInputError(
                    f"the encoder {self.name!r} gave vectors with NaN or infinities, which no "
                    "search can compare"
                )
            blobs = [row.astype("<f4").tobytes() for row in rows]
            entries = dict(zip(batch, blobs, strict=True))
            with self._open() as store:
                store.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", entries.items())
            fresh.update(entries)
        if keys:
            self._report(len(keys), len(keys))
        return fresh

    def _report(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total)

    def _read(self, keys: list[bytes]) -> dict[bytes, bytes]:
        with self._open() as store:
            rows = (
                store.execute("SELECT key, vector FROM vectors WHERE key = ?", (key,)).fetchone()
                for key in keys
            )
            found = dict(row for row in rows if row is not None)
        if not all(map(_is_vector, found.values())):
            raise self._damaged("it holds something else than vectors")
        return {key: blob for key, blob in found.items() if _is_finite(blob)}  # the rest anew

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one read or write and commit: it is not held while embedding."""
        try:
            self._make_private_file()
            with closing(sqlite3.connect(self._path, timeout=WAIT_SECONDS)) as store, store:
                store.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_BYTES)
                self._prepare(store)
                yield store
        except (OSError, sqlite3.OperationalError) as error:
            why = getattr(error, "strerror", None) or error
            raise ConfigurationError(
                f"the vector cache {self._path} cannot be used: {why}; "
                "give a folder that can be written to, by --cache"
            ) from None
        except sqlite3.DatabaseError as error:
            raise self._damaged(str(error)) from None

    def _make_private_file(self) -> None:
        """Make folder and file for the user alone: vectors tell much of the texts behind them.

        Raises:
            ConfigurationError: The path is a link, whose target is somebody else's.
            OSError: It is no regular file.
        """
        make_private_folder(self._path.parent)
        refuse_other_than_file(self._path)
        if self._path.is_symlink():
            raise ConfigurationError(
                f"the vector cache {self._path} is a link; give the path of the file itself"
            )
        with suppress(FileExistsError):
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, PRIVATE))

    def _other_length(self) -> ConfigurationError:
        return ConfigurationError(
            f"the vector cache {self._path} holds vectors of another length for the encoder "
            f"{self.name!r}: give a changed encoder another name, or delete the file"
        )

    def _damaged(self, why: str) -> ConfigurationError:
        return ConfigurationError(
            f"the vector cache {self._path} is damaged ({why}); delete it, and it will be rebuilt"
        )

    def _prepare(self, store: sqlite3.Connection) -> None:
        store.execute("BEGIN")  # another process makes both at once, between these two looks
        made = store.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        (format_id,) = store.execute("PRAGMA application_id").fetchone()
        store.commit()
        if format_id == FORMAT:
            if made != [(TABLE,)]:
                raise self._damaged("it is not made as this release makes one")
            return
        if made:
            raise ConfigurationError(
                f"{self._path} is an SQLite file, but no vector cache of this release; choose "
                "another file"
            )
        store.executescript(
            "BEGIN IMMEDIATE;"
            f"{TABLE.replace('vectors', 'IF NOT EXISTS vectors', 1)};"
            f"PRAGMA application_id = {FORMAT};"
            "COMMIT;"
        )


def _is_vector(blob: object) -> bool:
    return isinstance(blob, bytes) and len(blob) > 0 and len(blob) % 4 == 0


def _is_finite(blob: bytes) -> bool:
    return bool(np.isfinite(np.frombuffer(blob, "<f4")).all())


def _key(name: str, text: str) -> bytes:
    """Return a hash of name and text; the hash of the name is the key, so pairs cannot collide."""
    key = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=32).digest()
    return blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=20).digest()
