"""What a fit is given, checked before the first search is spent on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from recall_signal.calibration.hub import HubChoice
from recall_signal.calibration.journal import Journal, Observation
from recall_signal.calibration.levels import check_prior
from recall_signal.calibration.probes import Probe
from recall_signal.calibration.pseudo import as_pair
from recall_signal.calibration.risk import check_sample
from recall_signal.errors import CalibrationError, ConfigurationError, InvalidInputError
from recall_signal.reports import RerankerScale

__all__ = ["FEWEST_PROBES", "FitInput", "Found", "Label", "check_probes", "fit_input"]

FEWEST_PROBES = 10

Found = Literal["nothing", "no cosines", "scores"]
"""What all searches of a fit brought back together."""

_NONE_USABLE: dict[Found, str] = {
    "nothing": "the store is empty: no search found anything; add documents, then calibrate",
    "no cosines": (
        "this retriever gives no cosines: tell the wrapper what embeds its texts (`embeddings=` "
        "for LangChain, `embed_model=` for LlamaIndex) or what its scores are (`score_kind=`); a "
        "`search` of your own must return cosines"
    ),
}


@dataclass(frozen=True, slots=True)
class Label:
    """A real query, whether something relevant is stored, and the group that it belongs to."""

    query: str
    relevant: bool
    group: str | None = None


@dataclass(frozen=True, slots=True)
class FitInput:
    """Everything a fit was given; see :meth:`Calibration.fit`."""

    documents: Sequence[tuple[str | None, str]] | None = None
    past_queries: Sequence[str] | None = None
    labelled: Sequence[Label] | None = None
    probes: Sequence[str] | None = None
    encoder: str | None = None
    seed: int = 0
    prior: float = 0.5
    max_false_none: float | None = None
    hub_correction: HubChoice = False
    rerank_scale: RerankerScale = "unknown"
    progress: Callable[[int, int], None] | None = None
    memory: MutableMapping[str, Observation] = field(default_factory=dict)


def fit_input(
    *,
    documents: Iterable[Any] | None = None,
    past_queries: Iterable[str] | None = None,
    labelled: Iterable[Any] | None = None,
    probes: Iterable[str | Probe] | None = None,
    encoder: str | None = None,
    prior: float = 0.5,
    max_false_none: float | None = None,
    hub_correction: HubChoice = False,
    resume: str | Path | None = None,
    **rest: Any,
) -> FitInput:
    """The arguments of :meth:`Calibration.fit`, checked and gathered.

    Raises:
        CalibrationError: Too few probes, or too few labelled answerable queries for
            ``max_false_none``.
        ConfigurationError: A setting is out of its range.
        InvalidInputError: An argument is of another type.
    """
    check_prior(prior)
    if not isinstance(encoder, str | None):
        raise ConfigurationError(f"encoder must be a name, got {type(encoder).__name__}")
    if hub_correction not in (True, False, "auto"):
        raise ConfigurationError(
            f"hub_correction must be True, False or 'auto', got {hub_correction!r:.40}"
        )
    labels = None if labelled is None else [_label(item) for item in _items(labelled, "labelled")]
    if max_false_none is not None:
        check_sample(sum(label.relevant for label in labels or ()), max_false_none)
    own_probes = None if probes is None else _texts(probes, "probes")
    if own_probes is not None:
        check_probes(len(own_probes))
    return FitInput(
        documents=(
            None if documents is None else list(map(as_pair, _items(documents, "documents")))
        ),
        past_queries=None if past_queries is None else _texts(past_queries, "past_queries"),
        labelled=labels,
        probes=own_probes,
        encoder=encoder,
        prior=prior,
        max_false_none=max_false_none,
        hub_correction="auto" if hub_correction == "auto" else bool(hub_correction),
        memory={} if resume is None else Journal(resume),
        **rest,
    )


def check_probes(count: int, found: Found = "scores") -> None:
    """Refuse a calibration from so few probes.

    Args:
        count: Those that were given, or that brought a cosine back.
        found: What their searches brought back.

    Raises:
        CalibrationError: Fewer brought a cosine back, or were given, than are needed.
    """
    if found in _NONE_USABLE:
        raise CalibrationError(_NONE_USABLE[found])
    if count < FEWEST_PROBES:
        raise CalibrationError(
            f"only {count} probes with a cosine, and at least {FEWEST_PROBES} are needed: check "
            "that `search` returns cosines in [-1, 1], and pass more probes or the bundled ones"
        )


def _items(given: Any, name: str) -> Iterable[Any]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidInputError(f"{name} must be a sequence, got {type(given).__name__}")
    return given


def _texts(given: Any, name: str) -> list[str]:
    texts = [item.text if isinstance(item, Probe) else item for item in _items(given, name)]
    for text in texts:
        if not isinstance(text, str):
            raise InvalidInputError(f"{name} must hold texts, got {type(text).__name__}")
    return texts


def _label(item: Any) -> Label:
    if isinstance(item, tuple | list) and len(item) in (2, 3):
        query, relevant, group = (*item, None)[:3]
        if (
            isinstance(query, str)
            and relevant in (True, False)  # whatever type of bool; "no" is none
            and isinstance(group, str | None)
        ):
            return Label(query, bool(relevant), group)
    raise InvalidInputError(
        "labelled must hold (query, whether something relevant is stored), with the name of a "
        "group as a third where there are groups"
    )
