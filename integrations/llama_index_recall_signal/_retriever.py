"""`RecallRetriever`: any LlamaIndex retriever, with the recall signal attached."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import replace as replace_fields
from functools import partial
from typing import Any, Literal, Never, Self

from llama_index.core.async_utils import run_jobs
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks import CallbackManager
from llama_index.core.prompts import PromptTemplate
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.retrievers import VectorIndexRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, QueryType
from llama_index.core.settings import Settings

from llama_index_recall_signal._annotation import (
    RetrieverFields,
    annotated_page,
    is_pool_read,
    respond,
)
from llama_index_recall_signal._backend import (
    AsyncLlamaIndexBackend,
    LlamaIndexBackend,
    LlamaIndexRuntime,
)
from llama_index_recall_signal._batch import (
    RetrieveOne,
    RetrieveOneAsync,
    caught,
    caught_async,
    embedded,
)
from llama_index_recall_signal._collect import (
    NO_OPTIONS,
    call_options,
    collect_responses,
    parse_options,
    publish,
)
from llama_index_recall_signal._compile import compile_runtime, encoder_of, searched
from llama_index_recall_signal._internals import overrides, vector_search
from llama_index_recall_signal._measurable import never_measures
from llama_index_recall_signal._nodes import is_data
from llama_index_recall_signal._port import LlamaIndexPort
from llama_index_recall_signal._quiet_search import aretrieve, retrieve
from llama_index_recall_signal._response import RecallResponse
from llama_index_recall_signal._search import Call
from llama_index_recall_signal._selector_postprocessor import PROMPT_KEY, with_prompt
from recall_signal import (
    AutoCalibration,
    Baseline,
    Calibration,
    ScoreKind,
    Thresholds,
)
from recall_signal._auto.source import Watcher, watcher_of
from recall_signal._flow.flow import recall_flow, run_flow, run_flow_async
from recall_signal._flow.values import Outcome
from recall_signal._pydantic import copy_with
from recall_signal._wrapper.calibration import CalibrationMixin
from recall_signal._wrapper.checked_settings import UNSET, Unset
from recall_signal._wrapper.instances import find_instance
from recall_signal._wrapper.measurability import warn_unmeasurable
from recall_signal._wrapper.runtime import recompiled, watched
from recall_signal.reports import are_large
from recall_signal.selection import SelectionOptions

__all__ = ["RecallRetriever"]

log = logging.getLogger(__name__)


class RecallRetriever(CalibrationMixin, BaseRetriever):
    """Wraps a retriever and reports whether what it returned is worth reading.

    The page is the wrapped retriever's own: same nodes, order, scores, ids, texts and other
    metadata. Every node is a copy that carries the reports under one metadata key, which is
    excluded from prompts and embeddings; an empty page has them in `recall` and in the
    event `RecallSignalEvent`.

    A call takes `k`, `use_rerank` and `select`, as in
    `retrieve(question, k=3, use_rerank=True)`.

    Around a composite (fusion, router, auto-merging, recursive, transform) the cosines are those
    that its own arms computed in the one call; around BM25 its own score is read.

    A query stays one search. Only where scores tie around the end of the page is the retriever
    called for its page as well, since stores order ties differently for different sizes.

    LlamaIndex counts metadata into a node's hash, and `QueryFusionRetriever` merges by that
    hash: wrap the fusion as a whole, or give its parts `annotate="none"`. Code that renders
    nodes with `MetadataMode.ALL` shows every metadata key, this one included.

    Args:
        retriever: Any `BaseRetriever`. Its own number of hits is the page size unless `k` is
            given; of what any but a `VectorIndexRetriever` returns, the first `k` are the page.
        embed_model: Encoder for the texts of candidates whose cosine cannot be had otherwise.
            One call for the query, one batch for the texts not seen lately.

    Every other setting is described at `RetrieverSettings`. The selector's prompt is
    `selection` in `get_prompts`.

    Raises:
        ConfigurationError: A setting is wrong, at construction; an argument, at the call.
    """

    def __init__(
        self,
        retriever: BaseRetriever,
        embed_model: BaseEmbedding | None = None,
        score_kind: ScoreKind | str = "auto",
        k: int | None = None,
        pool_size: int | Unset = UNSET,
        thresholds: Thresholds | None = None,
        metadata_key: str = "recall",
        annotate: Literal["all", "first", "none"] = "all",
        id_key: str | None = None,
        calibration: Calibration | AutoCalibration | Literal["auto"] | None = None,
        baseline: Baseline | None = None,
        selector: Any = None,
        selector_timeout: float | Unset | None = UNSET,
        selector_options: SelectionOptions | None = None,
        reranker: Any = None,
        use_rerank: bool = False,
        reorder: bool = True,
        score_key: str | None = None,
        **unknown: Never,
    ) -> None:
        given = {name: value for name, value in locals().items() if name in _SETTINGS}
        self._fields = RetrieverFields(**given, **unknown)
        self._watcher: Watcher | None = None
        self._arm: VectorIndexRetriever | None = None
        self._compiled: LlamaIndexRuntime | None = self._compile()
        # Many custom retrievers never call their base's constructor.
        inherited = getattr(retriever, "callback_manager", None)
        super().__init__(callback_manager=inherited or Settings.callback_manager)
        if not _is_copying.get() and (reason := never_measures(self._fields)) is not None:
            warn_unmeasurable(log, retriever, reason, "embed_model")

    @property
    def _runtime(self) -> LlamaIndexRuntime:
        """The compiled settings, compiled again where a store was exchanged under the retriever."""
        runtime, fields = self._compiled, self._fields
        if runtime is not None and runtime.fits(fields, *searched(fields, self._arm)):
            return runtime
        if runtime is not None:  # another store: the calibration of the old one is not shared
            self._watcher = None
        self._compiled = runtime = recompiled(runtime, self._compile, self._compile_bare)
        return runtime

    def _compile(self, fields: RetrieverFields | None = None) -> LlamaIndexRuntime:
        fields = fields or self._fields
        self._arm = find_instance(fields.retriever, VectorIndexRetriever, is_data)
        runtime = compile_runtime(fields, self._arm)
        self._watcher = watcher_of(
            fields.calibration,
            fields.baseline,
            self._watcher,
            lambda: self.calibration_port,
            runtime.encoder,
        )
        return watched(runtime, self._watcher)

    def _compile_bare(self) -> LlamaIndexRuntime:
        """Compile without what belongs to another encoder."""
        fields = self._fields
        fixed = {"calibration": None} if fields.fitted_calibration is not None else {}
        bare = copy_with(fields, {**fixed, "thresholds": None})
        return replace_fields(self._compile(bare), values=tuple(vars(fields).values()))

    def _replace(self, **changed: Any) -> Self:
        named = {name: getattr(self._fields, name) for name in self._fields.model_fields_set}
        given = {name: value for name, value in named.items() if value is not None}
        token = _is_copying.set(True)
        try:
            made = type(self)(**{**given, **changed})
        finally:
            _is_copying.reset(token)
        if all(getattr(made._fields, name) is getattr(self._fields, name) for name in _SCALE):
            made._watcher = self._watcher
            made._compiled = made._compile()
        return made

    def _port(self, *, reranked: bool) -> LlamaIndexPort:
        bare = self._replace(
            calibration=None,
            baseline=None,
            selector=None,
            use_rerank=reranked and self._fields.use_rerank,
            annotate="none",
        )
        bare.callback_manager = CallbackManager([])
        encoder = encoder_of(self._fields, self._arm)
        return LlamaIndexPort(bare, encoder, lambda: bare._runtime.encoder)

    def __repr__(self) -> str:
        """Name the settings that were given: of objects their class, since some hold a key."""
        named = {name: getattr(self._fields, name) for name in self._fields.model_fields_set}
        given = {name: value for name, value in named.items() if value is not None}
        plain = (str, int, float, Calibration, AutoCalibration)
        shown = [
            f"{name}={value!r}" if isinstance(value, plain) else f"{name}={type(value).__name__}"
            for name, value in sorted(given.items(), key=lambda item: item[0] != "retriever")
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    @property
    def retriever(self) -> BaseRetriever:
        """The wrapped retriever."""
        return self._fields.retriever

    @property
    def settings(self) -> RetrieverFields:
        """Every setting by its name. They are fixed: make another wrapper for other ones."""
        return self._fields

    def retrieve(self, str_or_query_bundle: QueryType, **options: Any) -> list[NodeWithScore]:
        """Retrieve nodes; `k`, `use_rerank` and `select` hold for this call.

        Other names are those in the signature of the wrapped retriever's own `retrieve`.

        Raises:
            ConfigurationError: An option is wrong, or there is none of that name.
        """
        with call_options(parse_options(options, self.retriever.retrieve)):
            return retrieve(self, str_or_query_bundle)

    async def aretrieve(
        self, str_or_query_bundle: QueryType, **options: Any
    ) -> list[NodeWithScore]:
        """`retrieve`, asynchronously; other names are those of the retriever's `aretrieve`."""
        with call_options(parse_options(options, self.retriever.aretrieve)):
            return await aretrieve(self, str_or_query_bundle)

    def batch(
        self, queries: Sequence[QueryType], *, return_exceptions: bool = False, **options: Any
    ) -> list[list[NodeWithScore]]:
        """`retrieve` for each query; they are embedded together where that is possible.

        It is where the encoder of a `VectorIndexRetriever` has an `embed_queries`; a subclass with
        a `retrieve` of its own is given the queries as they are. The nodes and reports are those
        of `retrieve`, in the order of the queries.

        Args:
            queries: The questions, as in `retrieve`.
            return_exceptions: Whether an error stands in the place of a query's nodes.
            **options: As in `retrieve`.
        """
        ask: RetrieveOne = partial(self.retrieve, **options)
        if return_exceptions:
            ask = partial(caught, ask)
        parts = self._embedded(queries)
        return [nodes for part in parts for nodes in map(ask, part)]

    async def abatch(
        self, queries: Sequence[QueryType], *, return_exceptions: bool = False, **options: Any
    ) -> list[list[NodeWithScore]]:
        """`batch`, asynchronously: a few queries at a time, as LlamaIndex runs jobs."""
        ask: RetrieveOneAsync = partial(self.aretrieve, **options)
        if return_exceptions:
            ask = partial(caught_async, ask)
        parts = self._embedded(queries)
        found: list[list[NodeWithScore]] = []
        workers = self._runtime.workers
        while part := await workers.call(partial(next, parts, None)):
            found += await run_jobs([*map(ask, part)])
        return found

    def _embedded(self, queries: Sequence[QueryType]) -> Iterator[Sequence[QueryType]]:
        """Yield the queries in parts, with their vectors where nobody else looks at them first."""
        is_unseen = overrides(type(self), RecallRetriever, _ASKING) or self._fields.score_key
        return embedded(None if is_unseen else vector_search(self.retriever), queries)

    def recall(self, str_or_query_bundle: QueryType, **options: Any) -> RecallResponse:
        """Like `retrieve`, but return the reports beside the nodes.

        Args:
            str_or_query_bundle: The question, as in `retrieve`.
            **options: As in `retrieve`.
        """
        with collect_responses() as responses:
            self.retrieve(str_or_query_bundle, **options)
        publish(responses)
        return responses[-1]

    async def arecall(self, str_or_query_bundle: QueryType, **options: Any) -> RecallResponse:
        """`recall`, asynchronously."""
        with collect_responses() as responses:
            await self.aretrieve(str_or_query_bundle, **options)
        publish(responses)
        return responses[-1]

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        runtime, embed_model = self._runtime, self._fields.embed_model
        whole = is_pool_read(runtime.flow)
        with collect_responses() as inside, call_options(NO_OPTIONS) as options:
            call = Call(query_bundle, self._fields, runtime.memory, options, is_pool_read=whole)
            flow = recall_flow(query_bundle.query_str, options.resolve(runtime), call.steps())
            backend = LlamaIndexBackend(query_bundle, embed_model, runtime.workers, runtime)
            with runtime.flow.calibration.running():
                outcome = run_flow(flow, backend)
        page = annotated_page(outcome)
        return self._finish(outcome, page, inside, is_plain=call.is_plain, is_async=False)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        runtime, embed_model = self._runtime, self._fields.embed_model
        whole = is_pool_read(runtime.flow)
        with collect_responses() as inside, call_options(NO_OPTIONS) as options:
            call = Call(query_bundle, self._fields, runtime.memory, options, is_pool_read=whole)
            flow = recall_flow(query_bundle.query_str, options.resolve(runtime), call.steps())
            backend = AsyncLlamaIndexBackend(query_bundle, embed_model, runtime.workers, runtime)
            with runtime.flow.calibration.running():
                outcome = await run_flow_async(flow, backend)
        nodes = partial(annotated_page, outcome)
        is_large = are_large([item.node.metadata for item in outcome.items])
        page = await runtime.workers.run_if(nodes, is_large=is_large)
        return self._finish(outcome, page, inside, is_plain=call.is_plain, is_async=True)

    def _finish(
        self,
        outcome: Outcome[NodeWithScore],
        page: list[NodeWithScore],
        inside: list[RecallResponse],
        *,
        is_plain: bool,
        is_async: bool,
    ) -> list[NodeWithScore]:
        """Return the annotated page and publish the response.

        Where the level could not be measured here, the responses of wrapped retrievers further
        inside are published as well: what became of their pages is this page.
        """
        response = respond(outcome, page)
        if response.confidence.level == "unknown":
            publish([replace_fields(one, nodes=page if one.nodes else []) for one in inside])
        publish([response])
        outcome.settings.calibration.observe(outcome, is_plain=is_plain, is_async=is_async)
        return response.nodes

    def _handle_recursive_retrieval(
        self,
        query_bundle: QueryBundle,  # noqa: ARG002
        nodes: list[NodeWithScore],
    ) -> list[NodeWithScore]:
        """Nothing: the wrapped retriever has resolved its objects, and did so once."""
        return nodes

    async def _ahandle_recursive_retrieval(
        self,
        query_bundle: QueryBundle,  # noqa: ARG002
        nodes: list[NodeWithScore],
    ) -> list[NodeWithScore]:
        return nodes

    def _get_prompts(self) -> PromptDictType:
        prompts = self.retriever._get_prompts()
        options = self._fields.selection
        if options is None:
            return prompts
        return {**prompts, PROMPT_KEY: PromptTemplate(options.prompt)}

    def _get_prompt_modules(self) -> PromptMixinType:
        return self.retriever._get_prompt_modules()

    def _update_prompts(self, prompts: PromptDictType) -> None:
        others = dict(prompts)
        options = self._fields.selection
        if options is not None and PROMPT_KEY in others:
            changed = with_prompt(options, others.pop(PROMPT_KEY))
            self._fields = self._fields.model_copy(update={"selector_options": changed})
        self.retriever._update_prompts(others)


_is_copying: ContextVar[bool] = ContextVar("recall_signal_is_copying", default=False)
"""True while a wrapper is made after another one, which has warned already."""

_SCALE = ("retriever", "embed_model", "score_kind", "score_key")
"""Settings that make the scale: a copy with others does not share a calibration."""

_ASKING = frozenset({"retrieve", "aretrieve", "_retrieve", "_aretrieve"})
"""Methods by which a query is asked: a subclass with one of its own may check its text."""

_SETTINGS = RetrieverFields.model_fields.keys()
