"""Passages behind a retriever, with their vectors kept on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path

from recall_signal._files import make_private_folder
from recall_signal.calibration import Calibration
from recall_signal.cli._backends import BackendFactory, Passage, SearchBackend
from recall_signal.cli._folder import read_folder, split_into_passages
from recall_signal.cli._inputs import read_named_text
from recall_signal.cli._models import Selection
from recall_signal.cli._terminal import ProgressBar, Terminal
from recall_signal.cli._vector_cache import CachedEncoder
from recall_signal.encoders import Encoder
from recall_signal.errors import CalibrationError, ConfigurationError, MissingDependencyError
from recall_signal.pool import DEFAULT_POOL_SIZE

__all__ = ["Corpus", "cache_folder", "read_corpus", "read_past"]

BAR_DELAY = 2.0


@dataclass(frozen=True, slots=True)
class Corpus:
    """The texts to search.

    Attributes:
        passages: At least one.
        description: How many there are, in words.
    """

    passages: Sequence[Passage]
    description: str

    def open(
        self,
        build: BackendFactory,
        encoder: Encoder,
        cache: Path,
        terminal: Terminal,
        *,
        k: int = 1,
        pool_size: int = DEFAULT_POOL_SIZE,
        selection: Selection | None = None,
        reranker: object | None = None,
    ) -> SearchBackend:
        """Return the passages behind the retriever of some framework; a note says the time.

        Args:
            build: The framework.
            encoder: Embeds passages and questions.
            cache: Folder of the vectors.
            terminal: For progress and notes.
            k: Page size.
            pool_size: Candidates per question.
            selection: A selector and its options.
            reranker: Used by the questions that ask for it.
        """
        path = cache / "vectors.sqlite"
        with ProgressBar(terminal.err, "Embedding", BAR_DELAY) as bar:
            backend = build(
                self.passages,
                CachedEncoder(encoder, path, progress=bar),
                k,
                pool_size,
                selector=None if selection is None else selection.selector,
                selector_options=None if selection is None else selection.options,
                reranker=reranker,
            )
        embedded = (
            f"{bar.done} of them new, embedded in {bar.seconds:.1f} s, kept in {path}"
            if bar.done
            else "all vectors from the cache"
        )
        terminal.note(f"{self.description}; {embedded}")
        return backend

    def fit(
        self,
        backend: SearchBackend,
        terminal: Terminal,
        past_queries: Sequence[str] | None = None,
        labelled: Sequence[tuple[str, bool]] | None = None,
    ) -> tuple[Calibration, float]:
        """Return a calibration of these passages behind `backend`, and the seconds it took.

        Raises:
            CalibrationError: A fit is not possible.
        """
        with ProgressBar(terminal.err, "Calibrating") as bar:
            calibration = backend.calibrate(
                documents=[(passage.id, passage.text) for passage in self.passages],
                past_queries=past_queries,
                labelled=labelled,
                progress=bar,
            )
            return calibration, bar.seconds

    def fit_once(
        self, backend: SearchBackend, settings: Sequence[object], cache: Path, terminal: Terminal
    ) -> tuple[Calibration, str]:
        """Return `fit`, kept in the cache folder, and where it came from in words.

        Args:
            backend: The retriever.
            settings: Whatever else the fit depends on; with the passages, the key of the file.
            cache: The folder.
            terminal: For progress.

        Raises:
            CalibrationError: A fit is not possible.
        """
        path = cache / "calibrations" / f"{self._digest(settings)}.json"
        try:
            return Calibration.load(path), "kept with the vectors"
        except (OSError, CalibrationError):  # not there, or damaged
            calibration, seconds = self.fit(backend, terminal)
        source = f"learned in {seconds:.1f} s"
        try:
            make_private_folder(path.parent)
            calibration.save(path)
        except OSError:  # it serves this run all the same
            return calibration, f"{source}, and not kept: {path} cannot be written"
        return calibration, source

    def _digest(self, settings: Sequence[object]) -> str:
        digest = blake2b(repr((version("recall-signal"), *settings)).encode(), digest_size=16)
        for passage in self.passages:
            digest.update(repr((passage.id, passage.text)).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def read_corpus(
    docs: Path | None,
    jsonl: Path | None,
    terminal: Terminal,
    patterns: Sequence[str] | None = None,
) -> Corpus:
    """Return the texts of a folder, or of a JSON lines file; a note says what was left out.

    Args:
        docs: The folder.
        jsonl: The file.
        terminal: For the note.
        patterns: The files of the folder to read; None for all of known kinds.

    Raises:
        ConfigurationError: Neither or both are given, or there is nothing to read.
        InvalidInputError: A line is wrong; the message has its number.
    """
    if docs is not None and jsonl is None:
        return _from_folder(docs, terminal, patterns or ())
    if jsonl is not None and docs is None:
        if patterns:
            raise ConfigurationError("--glob chooses files of --docs; it has no effect on --jsonl")
        return _from_lines(jsonl, terminal)
    raise ConfigurationError("give the texts either as --docs FOLDER or as --jsonl FILE")


def read_past(path: Path) -> list[str]:
    """Return past queries, one a line, without empty lines.

    Raises:
        ConfigurationError: The file cannot be read, or holds none.
    """
    lines = read_named_text("--past", path).splitlines()
    queries = [line.strip() for line in lines if line.strip()]
    if not queries:
        raise ConfigurationError(f"--past {path} is empty; expected one query a line")
    return queries


def cache_folder(given: Path | None) -> Path:
    """Return the folder for vectors: the given one, else the user's cache folder.

    Raises:
        ConfigurationError: The given one is a file.
        MissingDependencyError: platformdirs is not installed.
    """
    if given is not None:
        if given.is_file():
            raise ConfigurationError(f"--cache {given} is a file; give a folder")
        return given
    try:
        from platformdirs import user_cache_path
    except ImportError:
        raise MissingDependencyError("recall-signal without --cache", "demo") from None
    return user_cache_path("recall-signal", appauthor=False)


def _from_folder(path: Path, terminal: Terminal, patterns: Sequence[str]) -> Corpus:
    folder = read_folder(path, patterns)
    if skipped := folder.describe_skipped():
        terminal.note(f"Skipped: {skipped}")
    passages = split_into_passages(folder.files)
    counts = f"{_count(len(folder.files), 'file')}, {_count(len(passages), 'passage')}"
    return Corpus(passages, counts)


def _from_lines(path: Path, terminal: Terminal) -> Corpus:
    from recall_signal.evaluation import load_corpus

    rows = load_corpus(path)
    passages = [Passage(row.id, row.text, row.id) for row in rows if row.text.strip()]
    if not passages:
        raise ConfigurationError(f"--jsonl {path} has no line with some text")
    if len(passages) < len(rows):
        terminal.note(f"Skipped: {_count(len(rows) - len(passages), 'empty text')}")
    return Corpus(passages, _count(len(passages), "text"))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
