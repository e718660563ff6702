"""The arguments of a fit, checked before the first search is spent on them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from operator import index
from typing import Literal, SupportsIndex, TypeAlias, TypedDict, get_args

from recall_signal._names import MAX_NAME, is_plain, meant_name
from recall_signal._numbers import require_share
from recall_signal._text import is_blank
from recall_signal.calibration._probes import Probe
from recall_signal.calibration._pseudo_queries import as_pair
from recall_signal.calibration._risk import check_sample
from recall_signal.calibration._separation import FEWEST_PROBES
from recall_signal.errors import CalibrationError, ConfigurationError, InvalidInputError
from recall_signal.reports import RerankerScale

__all__ = [
    "CosineEvidence",
    "FitArguments",
    "FitInput",
    "Label",
    "Progress",
    "check_probes",
    "fit_input",
    "items_of",
    "require_fit_names",
]

CosineEvidence = Literal["nothing", "no cosines", "scores"]
"""Result of all searches of a fit together."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (searches done, searches in all)."""

_NONE_USABLE: dict[CosineEvidence, str] = {
    "nothing": "the store is empty: no search found anything; add documents, then calibrate",
    "no cosines": (
        "this retriever gives no cosines: tell the wrapper what embeds its texts (`embeddings=` "
        "for LangChain, `embed_model=` for LlamaIndex) or what its scores are (`score_kind=`); a "
        "`search` of your own must return cosines"
    ),
}


@dataclass(frozen=True, slots=True)
class Label:
    """A real query, and whether something relevant is stored."""

    query: str
    relevant: bool


class FitArguments(TypedDict, total=False):
    """The keyword arguments of `Calibration.fit`, see there."""

    documents: Iterable[str | tuple[object, str]] | None
    past_queries: Iterable[str] | None
    labelled: Iterable[tuple[str, bool]] | None
    probes: Iterable[str | Probe] | None
    encoder: str | None
    seed: int
    progress: Progress | None
    prior: float
    max_false_none: float | None
    rerank_scale: RerankerScale


def require_fit_names(given: Iterable[str]) -> None:
    """Refuse a name that is no argument of a fit.

    Raises:
        ConfigurationError: It is misspelt, or another one.
    """
    known = tuple(FitArguments.__annotations__)
    for name in sorted({*given} - {*known}):
        meant = meant_name(name, known, likeness=0.5)
        hint = f"did you mean {meant}?" if meant else f"they are {', '.join(known)}"
        raise ConfigurationError(f"{name} is no argument of a calibration; {hint}")


@dataclass(frozen=True, slots=True)
class FitInput:
    """The checked arguments of `Calibration.fit`, see there."""

    documents: Sequence[tuple[str | None, str]] | None = None
    past_queries: Sequence[str] | None = None
    labelled: Sequence[Label] | None = None
    probes: Sequence[str] | None = None
    encoder: str | None = None
    seed: int = 0
    prior: float = 0.5
    max_false_none: float | None = None
    rerank_scale: RerankerScale = "unknown"
    progress: Progress | None = None

    @property
    def evidence(self) -> str | None:
        """16 hex digits for the queries, labels, probes and seed; None without any of them.

        Texts are not in it: it is a part of a SHA-256 of all of them together.
        """
        labels = [(label.query, label.relevant) for label in self.labelled or ()]
        given = [self.past_queries, labels, self.probes, self.seed]
        if not any(given):
            return None
        return sha256(json.dumps(given, default=str).encode()).hexdigest()[:16]


def fit_input(
    *,
    documents: Iterable[str | tuple[object, str]] | None = None,
    past_queries: Iterable[str] | None = None,
    labelled: Iterable[tuple[str, bool]] | None = None,
    probes: Iterable[str | Probe] | None = None,
    encoder: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    prior: float = 0.5,
    max_false_none: float | None = None,
    rerank_scale: RerankerScale = "unknown",
) -> FitInput:
    """Check the arguments of `Calibration.fit`.

    Raises:
        CalibrationError: Too few probes, or too few labelled answerable queries for
            `max_false_none`.
        ConfigurationError: A setting is out of its range.
        InvalidInputError: An argument is of another type.
    """
    if not isinstance(encoder, str | None):
        raise ConfigurationError(f"encoder must be a name, got {type(encoder).__name__}")
    if encoder is not None and not is_plain(encoder):
        raise ConfigurationError(
            f"encoder must be a printable name of 1 to {MAX_NAME} characters, got {len(encoder)} "
            "characters; name the model on one line"
        )
    if rerank_scale not in get_args(RerankerScale):
        given = "another text" if isinstance(rerank_scale, str) else type(rerank_scale).__name__
        raise ConfigurationError(
            f"rerank_scale must be one of {', '.join(get_args(RerankerScale))}; got {given}"
        )
    if progress is not None and not callable(progress):
        raise ConfigurationError(
            "progress must be a function of (searches done, searches in all), got "
            f"{type(progress).__name__}"
        )
    labels = None if labelled is None else [_label(item) for item in items_of(labelled, "labelled")]
    if max_false_none is not None:
        check_sample(sum(label.relevant for label in labels or ()), max_false_none)
    own_probes = None if probes is None else [*dict.fromkeys(_texts(probes, "probes"))]
    if own_probes is not None:
        check_probes(len(own_probes))
    return FitInput(
        documents=(
            None if documents is None else list(map(as_pair, items_of(documents, "documents")))
        ),
        past_queries=(
            None
            if past_queries is None
            else [text for text in _texts(past_queries, "past_queries") if not is_blank(text)]
        ),
        labelled=labels,
        probes=own_probes,
        encoder=encoder,
        seed=_seed(seed),
        prior=require_share("prior", prior),
        max_false_none=max_false_none,
        rerank_scale=rerank_scale,
        progress=progress,
    )


def check_probes(count: int, found: CosineEvidence = "scores") -> None:
    """Refuse a calibration from too few probes.

    Args:
        count: Probes that were given, or that brought a cosine back.
        found: Result of their searches.

    Raises:
        CalibrationError: There are fewer than are needed; the message says why.
    """
    if found in _NONE_USABLE:
        raise CalibrationError(_NONE_USABLE[found])
    if count < FEWEST_PROBES:
        raise CalibrationError(
            f"of the probes {count} can be used, and at least {FEWEST_PROBES} are needed: pass "
            "more or none for the bundled ones, and check that `search` returns cosines in [-1, 1]"
        )


def _seed(given: object) -> int:
    if isinstance(given, SupportsIndex) and not isinstance(given, bool):
        return index(given)
    raise ConfigurationError(f"seed must be a whole number, got {type(given).__name__}")


def items_of(given: object, name: str) -> Iterable[object]:
    """Return a collection as it is.

    Raises:
        InvalidInputError: It is a text, a mapping or no collection.
    """
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidInputError(
            f"{name} must be a sequence, such as a list, got {type(given).__name__}"
        )
    return given


def _texts(given: object, name: str) -> list[str]:
    texts = []
    for item in items_of(given, name):
        text = item.text if isinstance(item, Probe) else item
        if not isinstance(text, str):
            raise InvalidInputError(f"{name} must hold texts, got {type(text).__name__}")
        texts.append(text)
    return texts


def _is_label(value: object) -> bool:
    """Return True for 0 and 1 of any type, numpy's bools too, but not for "no"."""
    try:
        return value in (True, False)
    except (TypeError, ValueError):  # an array, or pandas' missing value
        return False


def _label(item: object) -> Label:
    if isinstance(item, tuple | list) and len(item) == 2:
        query, relevant = item
        if isinstance(query, str) and _is_label(relevant):
            if not is_blank(query):
                return Label(query, bool(relevant))
            got = "a pair with a query of which nothing can be read"
        else:
            got = f"a pair of {type(query).__name__} and {type(relevant).__name__}"
    elif isinstance(item, tuple | list):
        got = f"a {type(item).__name__} of {len(item)}"
    else:
        got = type(item).__name__
    raise InvalidInputError(
        "labelled must hold pairs (query, True where something relevant is stored, else False), "
        f"got {got}"
    )
