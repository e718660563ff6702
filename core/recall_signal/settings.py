"""The settings that every wrapper has, whatever its framework, checked where they are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from recall_signal.assess import Calibrator
from recall_signal.calibration.baseline import Baseline, Listening
from recall_signal.calibration.model import Calibration
from recall_signal.embedding import EmbeddingCache
from recall_signal.errors import ConfigurationError
from recall_signal.flow import FlowSettings, Item
from recall_signal.pool import DEFAULT_POOL_SIZE
from recall_signal.reranking import Reranking, as_options
from recall_signal.scores import ScoreKind, parse_score_kind
from recall_signal.selection import SelectionOptions
from recall_signal.selection.options import DEFAULT_TIMEOUT
from recall_signal.thresholds import Thresholds

__all__ = [
    "RESERVED_KEYS",
    "UNSET",
    "SignalFields",
    "Unset",
    "WrapperFields",
]


class Unset(Enum):
    """The default of a setting of which it matters whether it was given."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return self.name


UNSET = Unset.UNSET

RESERVED_KEYS = frozenset({"page_content", "score", "relevance_score", "similarity"})
"""Metadata keys that prompts, tracers and rerankers read as something else."""


class SignalFields(BaseModel):
    """The settings of everything that attaches a signal.

    Raises:
        ConfigurationError: A setting is wrong; the message names it.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    reserved_keys: ClassVar[frozenset[str]] = RESERVED_KEYS

    score_kind: ScoreKind | Literal["auto"] = "auto"
    thresholds: Thresholds | None = None
    calibration: Calibration | None = None
    baseline: Baseline | None = None
    metadata_key: str = Field(default="recall", min_length=1)
    annotate: Literal["all", "first", "none"] = "all"
    id_key: str | None = None

    def __init__(self, **settings: Any) -> None:
        settings = {name: value for name, value in settings.items() if value is not UNSET}
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise self._wrong(_in_words(error)) from None
        if self.metadata_key in self.reserved_keys:
            raise self._wrong(
                f"metadata_key {self.metadata_key!r} has a meaning of its own to others"
            )

    @field_validator("score_kind", mode="before")
    @classmethod
    def _known_kind(cls, value: Any) -> Any:
        return value if value == "auto" else parse_score_kind(value)

    @field_validator("calibration", "baseline", mode="before")
    @classmethod
    def _made_by_us(cls, value: Any) -> Any:
        """No dataclass is built from a dict that happens to fit."""
        if value is None or isinstance(value, Calibration | Baseline):
            return value
        raise ConfigurationError(
            "calibration must come from Calibration.fit or .load, and baseline be a Baseline; "
            f"got {type(value).__name__}"
        )

    @property
    def declared_kind(self) -> ScoreKind | None:
        """The declared score kind, None for ``"auto"``."""
        return self.score_kind if isinstance(self.score_kind, ScoreKind) else None

    def flow_settings(
        self,
        *,
        id_of: Callable[[Item], str | None],
        text_of: Callable[[Item], str],
        read_text_of: Callable[[Item], str],
        encodes: bool,
        embed_limit: int,
    ) -> FlowSettings[Item]:
        """What the flow has to know; the three functions are the framework's part.

        Args:
            id_of: An item's id.
            text_of: An item's text as the encoder sees it.
            read_text_of: An item's text as a language model sees it.
            encodes: Whether there is an encoder for texts without a cosine.
            embed_limit: At most so many texts are embedded again.
        """
        return FlowSettings(
            id_of=id_of,
            text_of=text_of,
            read_text_of=read_text_of,
            thresholds=self.thresholds,
            calibration=self._calibrator(),
            cache=EmbeddingCache() if encodes else None,
            embed_limit=embed_limit,
            annotate=self.annotate,
            metadata_key=self.metadata_key,
            reranking=self.reranking,
            selection=self._selection(),
        )

    def check_encoder(self, encoder: str | None) -> None:
        """Refuse a calibration or thresholds that belong to another encoder.

        Args:
            encoder: The name of what embeds the queries, None where that is not known.

        Raises:
            CalibrationError: The calibration was fitted with another one.
            ConfigurationError: The thresholds were chosen for another one.
        """
        for bound in (self.calibration, self.thresholds):
            if bound is not None:
                bound.require_encoder(encoder)

    def _calibrator(self) -> Calibrator | None:
        if self.calibration is not None and self.baseline is not None:
            return Listening(self.calibration, self.baseline)
        return self.calibration or self.baseline

    @property
    def reranking(self) -> Reranking | None:
        """How a reranker is used, None where none is."""
        return None

    def _selection(self) -> SelectionOptions | None:
        return None

    @classmethod
    def _wrong(cls, message: str) -> ConfigurationError:
        return ConfigurationError(f"{cls.model_config.get('title') or cls.__name__}: {message}")


class WrapperFields(SignalFields):
    """The settings of a wrapper around a retriever."""

    k: int | None = Field(default=None, ge=1, strict=True)
    pool_size: int = Field(default=DEFAULT_POOL_SIZE, ge=1, strict=True)
    selector: Any = None
    selector_timeout: float | None = DEFAULT_TIMEOUT
    selector_options: SelectionOptions | None = None
    reranker: Any = None
    use_rerank: bool = False
    reorder: bool = True

    def check_page(self, page_size: int | None) -> None:
        """Refuse a page of nothing, and a pool that was set smaller than the page.

        Raises:
            ConfigurationError: The page size is below 1, or ``pool_size`` was set below it.
        """
        if page_size is not None and page_size < 1:
            raise self._wrong(f"the wrapped retriever has k={page_size}; it must be at least 1")
        chosen = "pool_size" in self.model_fields_set
        if chosen and page_size and self.pool_size < page_size:
            raise self._wrong(f"pool_size={self.pool_size} is below the page's k={page_size}")

    @property
    def reranking(self) -> Reranking | None:
        """How the reranker is used, None where it is not.

        Raises:
            CalibrationError: The calibration learnt another scale than the declared one.
            ConfigurationError: ``use_rerank`` without a reranker.
        """
        if not self.use_rerank:
            return None
        if self.reranker is None:
            raise self._wrong(
                "use_rerank=True needs a reranker, got None; pass reranker=, or leave use_rerank"
            )
        options = as_options(self.reranker)
        if self.calibration is None:
            return Reranking(options, self.reorder)
        learnt, prior = self.calibration.reranker, self.calibration.prior
        return Reranking(options, self.reorder, learnt, prior)

    def _selection(self) -> SelectionOptions | None:
        """How the selector is asked, None without one."""
        if self.selector is None:
            return None
        options = self.selector_options or SelectionOptions()
        if "selector_timeout" in self.model_fields_set:
            options = replace(options, timeout=self.selector_timeout)
        return options


def _in_words(error: ValidationError) -> str:
    """Each wrong setting by name; of the values only numbers, since others may hold a secret."""
    said = []
    for item in error.errors(include_url=False):
        own, name, given = item.get("ctx", {}).get("error"), item["loc"][0], item["input"]
        if own:
            said.append(str(own))
        elif item["type"] == "extra_forbidden":
            said.append(f"{name}: there is no such setting")
        elif item["type"] == "missing":
            said.append(f"{name} is required")
        else:
            shown = given if isinstance(given, int | float) else type(given).__name__
            said.append(f"{name}: {item['msg'][0].lower()}{item['msg'][1:]}, got {shown}")
    return "; ".join(dict.fromkeys(said))
