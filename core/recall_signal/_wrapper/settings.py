"""The settings of every wrapper, whatever its framework; each is declared and checked here once."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from recall_signal._auto.settings import AutoCalibration, as_auto
from recall_signal._flow.embedding import EmbeddingCache
from recall_signal._flow.values import FixedCalibration, FlowSettings, Item
from recall_signal._numbers import as_whole
from recall_signal._wrapper.checked_settings import CheckedSettings
from recall_signal.assess import Calibrator
from recall_signal.calibration._baseline import Baseline, CalibrationWithBaseline
from recall_signal.calibration._calibration import Calibration
from recall_signal.errors import ConfigurationError
from recall_signal.pool import DEFAULT_POOL_SIZE
from recall_signal.reranking import Reranking, as_options
from recall_signal.scores import ScoreKind, parse_score_kind
from recall_signal.selection import SelectionOptions
from recall_signal.selection._options import DEFAULT_TIMEOUT, Seconds
from recall_signal.thresholds import Thresholds, thresholds_in_force

__all__ = ["RetrieverSettings", "SignalSettings"]


class SignalSettings(CheckedSettings):
    """The settings of everything that attaches a signal."""

    searches: ClassVar[bool] = False
    """True where the wrapper can search for itself, as `calibration="auto"` has to."""

    score_kind: ScoreKind | Literal["auto"] = "auto"
    """The kind of the number that the retriever gives, or `"auto"` to go by its store. Declaring
    it says that the search with scores ranks as the plain one does. With `"bm25"` the scores
    decide as keyword scores."""

    thresholds: Thresholds | None = None
    """Other cuts than the default ones."""

    calibration: Calibration | AutoCalibration | None = None
    """The scale of this retriever, by which the level follows a probability: `"auto"` (or an
    `AutoCalibration`) learns it in the background from the first query on,
    follows real queries and notices changes; a `Calibration` was learned once (see
    `calibrated`)."""

    baseline: Baseline | None = None
    """The same from the stream of queries, without a set-up. With both, the calibration decides
    and the baseline goes on learning."""

    annotate: Literal["all", "first", "none"] = "all"
    """Which items of the page carry the reports."""

    score_key: str | None = Field(default=None, min_length=1, strict=True)
    """Metadata key under which each item carries a number, whose kind is the declared `score_kind`.
    An item without a number there counts as unscored. The pool is then what the wrapped retriever
    returns."""

    @field_validator("score_kind", mode="before")
    @classmethod
    def _known_kind(cls, value: ScoreKind | str) -> ScoreKind | str:
        return value if value == "auto" else parse_score_kind(value)

    @field_validator("thresholds", mode="before")
    @classmethod
    def _whole_thresholds(cls, value: object) -> Thresholds | None:
        """Reject dicts, of which pydantic would make cuts from texts and truth values."""
        return None if value is None else thresholds_in_force(value)

    @field_validator("calibration", "baseline", mode="before")
    @classmethod
    def _known_calibration(cls, value: object, info: ValidationInfo) -> object:
        """Reject dicts; require a `Calibration`, `"auto"` or a `Baseline`."""
        if value is None or isinstance(value, Calibration | Baseline):
            return value
        auto = as_auto(value)
        if auto is None:
            what = {
                "calibration": '"auto", an AutoCalibration or a Calibration (see calibrated)',
                "baseline": "a Baseline",
            }[str(info.field_name)]
            raise ConfigurationError(
                f"{info.field_name} must be {what}, got {type(value).__name__}"
            )
        if not cls.searches:
            raise ConfigurationError(
                'calibration="auto" needs a RecallRetriever, which can search; pass its '
                "current_calibration here"
            )
        return auto

    @model_validator(mode="after")
    def _one_follows_queries(self) -> Self:
        if isinstance(self.calibration, AutoCalibration) and self.baseline is not None:
            raise ConfigurationError(
                'baseline= has no use beside calibration="auto", which follows real queries '
                "itself; leave one of them out"
            )
        return self

    @model_validator(mode="after")
    def _score_key_has_a_kind(self) -> Self:
        if self.score_key is None:
            return self
        if self.declared_kind is None:
            raise ConfigurationError(
                f"score_key={self.score_key!r} needs score_kind=, which says what the number under "
                f"this key is, such as 'cosine' or 'cosine_distance'; got {self.score_kind!r}"
            )
        return self

    @property
    def fitted_calibration(self) -> Calibration | None:
        """The calibration that was passed, None where there is none or it is learned."""
        return self.calibration if isinstance(self.calibration, Calibration) else None

    @property
    def declared_kind(self) -> ScoreKind | None:
        """Return the declared score kind, None for `"auto"`."""
        return self.score_kind if isinstance(self.score_kind, ScoreKind) else None

    def flow_settings(
        self,
        *,
        id_of: Callable[[Item], str | None],
        text_of: Callable[[Item], str],
        read_text_of: Callable[[Item], str],
        content_of: Callable[[Item], str],
        encodes: bool,
        embed_limit: int = DEFAULT_POOL_SIZE,
    ) -> FlowSettings[Item]:
        """Build the settings of the flow; the four functions are the framework's part.

        Args:
            id_of: Returns an item's id.
            text_of: Returns an item's text as the encoder sees it.
            read_text_of: Returns an item's text as a language model sees it.
            content_of: Returns an item's text without its metadata.
            encodes: Whether there is an encoder for texts without a cosine.
            embed_limit: At most this many texts are embedded again.
        """
        reranking, selection = self._models_in_use()
        return FlowSettings(
            id_of=id_of,
            text_of=text_of,
            read_text_of=read_text_of,
            content_of=content_of,
            thresholds=self.thresholds,
            calibration=FixedCalibration(self._calibrator()),
            cache=EmbeddingCache() if encodes else None,
            embed_limit=embed_limit,
            annotate=self.annotate,
            metadata_key=self.metadata_key,
            reranking=reranking,
            selection=selection,
        )

    def _models_in_use(self) -> tuple[Reranking | None, SelectionOptions | None]:
        """Return how the reranker and the selector are used; None for one that is not."""
        return None, None

    def check_encoder(
        self, encoder: str | None, own: str | None = None, dimension: int | None = None
    ) -> None:
        """Refuse a calibration or thresholds that belong to another encoder.

        Args:
            encoder: The name of what embeds the queries, None where that is not known.
            own: The name of the wrapper's own encoder, which may embed texts again; None without.
            dimension: The length of the vectors in the store, None where that is not known.

        Raises:
            CalibrationError: The calibration was fitted with another one.
            ConfigurationError: The thresholds were chosen for another one.
        """
        for bound in (self.fitted_calibration, self.thresholds):
            if bound is not None and (own is None or own != bound.encoder):
                bound.require_encoder(encoder)
        if self.fitted_calibration is not None and own is None:
            self.fitted_calibration.require_encoder(None, dimension)

    def _calibrator(self) -> Calibrator | None:
        calibration = self.fitted_calibration
        if calibration is not None and self.baseline is not None:
            return CalibrationWithBaseline(calibration, self.baseline)
        return calibration or self.baseline


class RetrieverSettings(SignalSettings):
    """The settings of a wrapper around a retriever."""

    searches: ClassVar[bool] = True

    wrapped: ClassVar[tuple[type, str]] = (object, "a retriever")
    """The class of what is wrapped, and what an error calls it."""

    k: int | None = Field(default=None, ge=1, strict=True)
    """Page size; None leaves it to the wrapped retriever."""

    pool_size: int = Field(default=DEFAULT_POOL_SIZE, ge=1, strict=True)
    """Candidates looked at in the one search of a vector store. An approximate index may search
    wider for them than for `k`; `pool_size=k` leaves it alone. Where scores tie around the end
    of the page and the store orders ties by the number of hits (FAISS), the retriever is asked for
    its own page as well. Of other retrievers the pool is what they return."""

    selector: object = Field(default=None, repr=False)
    """Trims the page: a model, or any `Selector`. It only removes
    items, and leaves the page alone where it cannot surely do that."""

    selector_timeout: Seconds | None = DEFAULT_TIMEOUT
    """Seconds above 0 for the selector; None waits for any time. Where it is not given, that of
    `selector_options`."""

    selector_options: SelectionOptions | None = None
    """Everything else about the selection."""

    reranker: object = Field(default=None, repr=False)
    """Scores the page's texts: a reranker of the framework, a model of sentence-transformers, or a
    function `(query, texts) -> scores`; within `RerankerOptions`
    to declare what its scores are."""

    use_rerank: bool = Field(default=False, strict=True)
    """Puts the page in the reranker's order, and its best score and the match (`rerank_score`,
    `match`) into the signal. Never changes the level."""

    reorder: bool = Field(default=True, strict=True)
    """False leaves the page alone, so that the reranker serves the signal only."""

    @field_validator("retriever", mode="before", check_fields=False)
    @classmethod
    def _wrappable(cls, value: object) -> object:
        wrapped, name = cls.wrapped
        if isinstance(value, wrapped):
            return value
        raise ConfigurationError(f"retriever must be {name}, got {type(value).__name__}")

    @field_validator("k", "pool_size", mode="before")
    @classmethod
    def _built_in(cls, value: object) -> object:
        """Take numpy's whole numbers, which are none to a strict field."""
        return as_whole(value)

    def check_page(self, page_size: int | None) -> None:
        """Refuse a page of nothing, and a pool that was set smaller than the page.

        Raises:
            ConfigurationError: The page size is below 1, or `pool_size` was set below it.
        """
        if page_size is not None and page_size < 1:
            raise self.configuration_error(
                f"the wrapped retriever has k={page_size}; it must be at least 1"
            )
        chosen = "pool_size" in self.model_fields_set
        if chosen and page_size and self.pool_size < page_size:
            raise self.configuration_error(
                f"pool_size={self.pool_size} is below the page's k={page_size}"
            )

    def _models_in_use(self) -> tuple[Reranking | None, SelectionOptions | None]:
        return self.reranking if self.use_rerank else None, self.selection

    def check_rerank(self) -> None:
        """Refuse `use_rerank` without a reranker.

        Raises:
            ConfigurationError: There is none.
        """
        if self.use_rerank and self.reranker is None:
            raise self.configuration_error(
                "use_rerank=True needs a reranker, got None; pass reranker=, or leave use_rerank"
            )

    @property
    def reranking(self) -> Reranking | None:
        """Return how the reranker is used where it is; None without one.

        Raises:
            CalibrationError: The calibration learned another scale than the declared one.
        """
        if self.reranker is None:
            return None
        options = as_options(self.reranker)
        calibration = self.fitted_calibration
        if calibration is None:
            return Reranking(options, self.reorder)
        learned, prior = calibration.reranker, calibration.prior
        if learned is not None and learned.scale != options.scale and not self.use_rerank:
            learned = None  # refused only where it is in use
        return Reranking(options, self.reorder, learned, prior)

    @property
    def selection(self) -> SelectionOptions | None:
        """Return the options of the selector; None without one."""
        if self.selector is None:
            return None
        options = self.selector_options or SelectionOptions()
        if "selector_timeout" in self.model_fields_set:
            options = options.replace(timeout=self.selector_timeout)
        return options
