"""A folder's texts behind a calibrated retriever, for every command that is asked questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from recall_signal.calibration import Calibration
from recall_signal.cli._backends import BackendFactory, SearchBackend, load_framework
from recall_signal.cli._corpus import Corpus, cache_folder
from recall_signal.cli._folder import require_folder
from recall_signal.cli._models import Selection, load_encoder, load_reranker
from recall_signal.cli._search_options import SearchOptions
from recall_signal.cli._terminal import Terminal
from recall_signal.cli._vector_cache import identity_of
from recall_signal.encoders import Encoder
from recall_signal.errors import CalibrationError, ConfigurationError
from recall_signal.pool import DEFAULT_POOL_SIZE

__all__ = ["Prepared"]

UNCALIBRATED = (
    "Levels are uncalibrated: default thresholds, fitted neither to the encoder nor to the texts."
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything but the texts, checked.

    Attributes:
        framework: The framework whose retriever is wrapped.
        build: Makes it.
        encoder: Embeds texts and questions.
        k: Page size.
        pool_size: Candidates per question.
        selection: The selector, None without one.
        calibration: The one that was given.
        calibrates: Whether one is learned where none was given.
        cache: Folder of the vectors and of calibrations.
        reranker: Used by the questions that ask for it, None without one.
    """

    framework: str
    build: BackendFactory
    encoder: Encoder
    k: int
    pool_size: int
    selection: Selection | None
    calibration: Calibration | None
    calibrates: bool
    cache: Path
    reranker: object | None = None

    @classmethod
    def check(cls, terminal: Terminal, options: SearchOptions, reranker: str | None = None) -> Self:
        """Check the options of a command.

        Raises:
            ConfigurationError: One is wrong, or names what is not there.
            CalibrationError: The calibration was fitted with another encoder.
        """
        calibration = options.calibration
        size = _pool_size(options)
        require_folder(options.docs)  # before what takes seconds to load
        build = load_framework(options.framework)
        named = load_encoder(options.encoder)
        selection = Selection.load(options.selector, options.selector_timeout, terminal)
        return cls(
            framework=options.framework,
            build=build,
            encoder=named,
            k=options.k,
            pool_size=size,
            selection=selection,
            calibration=None if calibration is None else _load(calibration, named),
            calibrates=not options.no_calibration,
            cache=cache_folder(options.cache),
            reranker=None if reranker is None else load_reranker(reranker),
        )

    def open(
        self, corpus: Corpus, terminal: Terminal
    ) -> tuple[SearchBackend, Calibration | None, str]:
        """Put the texts behind the retriever.

        Returns:
            The retriever, its calibration, and what its levels rest on in one line.
        """
        backend = corpus.open(
            self.build,
            self.encoder,
            self.cache,
            terminal,
            k=self.k,
            pool_size=self.pool_size,
            selection=self.selection,
            reranker=self.reranker,
        )
        calibration, about = self.calibration, UNCALIBRATED
        if calibration is not None:
            stale = calibration.staleness(len(corpus.passages))
            about = _about(calibration, f"of {calibration.created}", stale)
        elif self.calibrates:
            settings = (identity_of(self.encoder), self.framework, self.pool_size)
            calibration, about = _calibrated(corpus, backend, settings, self.cache, terminal)
        return backend.with_calibration(calibration), calibration, about


def _pool_size(options: SearchOptions) -> int:
    """Check everything that needs no file, and return the pool size."""
    k, pool_size = options.k, options.pool_size
    if k < 1:
        raise ConfigurationError(f"-k must be at least 1, got {k}")
    if options.calibration is not None and options.no_calibration:
        raise ConfigurationError("give either --calibration FILE or --no-calibration")
    if pool_size is not None and pool_size < k:
        raise ConfigurationError(f"--pool-size must be at least -k ({k}), got {pool_size}")
    return pool_size or max(DEFAULT_POOL_SIZE, k)


def _load(path: Path, encoder: Encoder) -> Calibration:
    try:
        calibration = Calibration.load(path)
    except OSError as error:
        why = f"cannot be read ({error.strerror})"
    except CalibrationError:
        why = "holds no calibration of this release"
    else:
        calibration.require_encoder(encoder.name)
        return calibration
    raise ConfigurationError(f"--calibration {path} {why}; make one with recall-signal calibrate")


def _calibrated(
    corpus: Corpus,
    backend: SearchBackend,
    settings: Sequence[object],
    cache: Path,
    terminal: Terminal,
) -> tuple[Calibration | None, str]:
    """Calibrate on the folder's own texts where that is possible, and say so in one line."""
    try:
        calibration, source = corpus.fit_once(backend, settings, cache, terminal)
    except CalibrationError as error:
        return None, f"{UNCALIBRATED} Calibrating failed: {error}"
    about = f"of these texts ({source}, without labels; --no-calibration switches it off)"
    return calibration, _about(calibration, about, None)


def _about(calibration: Calibration, which: str, stale: str | None) -> str:
    """Say what the levels rest on."""
    if not calibration.decides:
        return (
            "Levels are uncalibrated: the calibration found no threshold that separates relevant "
            "from irrelevant here."
        )
    return f"Levels follow the calibration {which}{f'; {stale}' if stale else ''}."
