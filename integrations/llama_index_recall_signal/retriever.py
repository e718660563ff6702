"""``RecallRetriever``: any LlamaIndex retriever, with the recall signal attached."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.prompts import PromptTemplate
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.schema import NodeWithScore, QueryBundle, QueryType
from llama_index.core.settings import Settings

from llama_index_recall_signal.call import Call
from llama_index_recall_signal.drivers import Driver, Parts
from llama_index_recall_signal.encoders import encoder_name
from llama_index_recall_signal.framework import vector_search
from llama_index_recall_signal.reporting import RetrieverFields, flow_settings, respond
from llama_index_recall_signal.reranker import as_reranker
from llama_index_recall_signal.response import RecallResponse
from llama_index_recall_signal.selection import PROMPT_KEY, with_prompt
from llama_index_recall_signal.selector import as_selector
from llama_index_recall_signal.watch import tell, watching
from recall_signal import Baseline, Calibration, ScoreKind, Thresholds
from recall_signal.calibration.through import SelfCalibrating
from recall_signal.flow import Outcome
from recall_signal.selection import SelectionOptions
from recall_signal.settings import UNSET, Unset
from recall_signal.stores.access import StoreMemory

__all__ = ["RecallRetriever"]


class RecallRetriever(SelfCalibrating, BaseRetriever):
    """Wraps a retriever and says whether what it returned is worth reading.

    The page is the wrapped retriever's own: same nodes, order, scores, ids, texts and other
    metadata. Every node is a copy that carries the reports under one metadata key, which is
    excluded from prompts and embeddings; an empty page has them in :meth:`recall` and in the
    event :class:`RecallSignalEvent`.

    A query stays one search. Only where scores tie around the end of the page is the retriever
    asked for its page as well, since stores order ties differently for different sizes.

    LlamaIndex counts metadata into a node's hash, and ``QueryFusionRetriever`` merges by that
    hash: wrap the fusion as a whole, or give its parts ``annotate="none"``. Code that renders
    nodes with ``MetadataMode.ALL`` shows every metadata key, this one included.

    Args:
        retriever: Any ``BaseRetriever``.
        embed_model: Encoder for the texts of candidates whose cosine cannot be had otherwise.
            One call for the query, one batch for the texts not seen lately.
        score_kind: What ``NodeWithScore.score`` is, or ``"auto"`` to go by the store. With
            ``"bm25"`` the scores decide as keyword scores.
        k: Page size; None leaves it to the wrapped retriever. A ``VectorIndexRetriever`` is
            asked for that many; of what any other retriever returns, the first k are the page.
        pool_size: Candidates looked at in the one search of a ``VectorIndexRetriever`` in its
            default mode. An approximate index may search wider for them than for ``k``;
            ``pool_size=k`` leaves it alone. For others the pool is what they return. 50 where
            it is not given.
        thresholds: Other cuts than the default ones.
        metadata_key: Where each node carries the reports. An entry of that name is replaced in
            the copy.
        annotate: Which nodes carry them: ``"all"``, the ``"first"``, or ``"none"``.
        id_key: Metadata key of a node's id; None takes ``node_id``.
        calibration: The scale of this retriever, learnt once (see :meth:`calibrate`); the level
            then follows a probability.
        baseline: The same from the stream of queries, without a set-up. With both, the
            calibration decides and the baseline goes on listening.
        selector: Trims the page: an LLM or any :class:`~recall_signal.selection.Selector`. Only
            ever removes nodes, and leaves the page alone where it cannot surely do that. Its
            prompt is ``selection`` in ``get_prompts``.
        selector_timeout: Seconds for the selector; None waits for as long as it takes. Where it
            is not given, that of ``selector_options``.
        selector_options: Everything else about the selection.
        reranker: Scores the page's texts: a rerank postprocessor, a model of
            sentence-transformers, or a function ``(query, texts) -> scores``; within
            :class:`~recall_signal.reranking.RerankerOptions` to declare what its scores are.
            Used only with ``use_rerank``.
        use_rerank: Puts the page in the reranker's order, and its best score and what that
            says (``rerank_score``, ``match``) into the signal. Never the level.
        reorder: False leaves the page alone, so that the reranker serves the signal only.

    Raises:
        ConfigurationError: A setting is wrong.
    """

    _parts: Parts

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
        calibration: Calibration | None = None,
        baseline: Baseline | None = None,
        selector: Any = None,
        selector_timeout: float | Unset | None = UNSET,
        selector_options: SelectionOptions | None = None,
        reranker: Any = None,
        use_rerank: bool = False,
        reorder: bool = True,
    ) -> None:
        maybe: dict[str, Any] = {"pool_size": pool_size, "selector_timeout": selector_timeout}
        fields = RetrieverFields(
            retriever=retriever,
            embed_model=embed_model,
            score_kind=score_kind,
            k=k,
            thresholds=thresholds,
            metadata_key=metadata_key,
            annotate=annotate,
            id_key=id_key,
            calibration=calibration,
            baseline=baseline,
            selector=selector,
            selector_options=selector_options,
            reranker=reranker,
            use_rerank=use_rerank,
            reorder=reorder,
            **maybe,
        )
        self._fields = fields
        self._prepare()
        # Many custom retrievers never call their base's constructor.
        inherited = getattr(retriever, "callback_manager", None)
        super().__init__(callback_manager=inherited or Settings.callback_manager)

    def _prepare(self) -> None:
        """Check the settings against each other, once, and make what every call shares."""
        fields = self._fields
        search = vector_search(fields.retriever)
        fields.check_page(fields.k or (None if search is None else search.top_k))
        encoder = encoder_name(fields.embed_model or (None if search is None else search.encoder))
        fields.check_encoder(encoder)
        settings = flow_settings(fields, fields.embed_model, fields.pool_size)
        used = settings.reranking
        self._parts = Parts(
            settings=settings,
            encoder=encoder,
            memory=StoreMemory(),
            selector=None if fields.selector is None else as_selector(fields.selector),
            reranker=None if used is None else as_reranker(used.options.model),
        )

    def _with(self, **changed: Any) -> Self:
        given = {name: getattr(self._fields, name) for name in self._fields.model_fields_set}
        return type(self)(**{**given, **changed})

    def __getstate__(self) -> dict[str, Any]:
        # What is worked out from the settings is worked out anew where it arrives.
        return {name: value for name, value in vars(self).items() if name != "_parts"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._prepare()

    @property
    def retriever(self) -> BaseRetriever:
        """The wrapped retriever."""
        return self._fields.retriever

    @property
    def settings(self) -> RetrieverFields:
        """Every setting by its name. They are fixed: make another wrapper for other ones."""
        return self._fields

    def recall(self, str_or_query_bundle: QueryType) -> RecallResponse:
        """Like ``retrieve``, but returns the reports beside the nodes.

        Args:
            str_or_query_bundle: The question, as in ``retrieve``.
        """
        with watching() as told:
            self.retrieve(str_or_query_bundle)
        tell(told)
        return told[-1]

    async def arecall(self, str_or_query_bundle: QueryType) -> RecallResponse:
        """:meth:`recall`, asynchronously."""
        with watching() as told:
            await self.aretrieve(str_or_query_bundle)
        tell(told)
        return told[-1]

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        with watching() as inside:
            outcome = self._driver(query_bundle).run()
        return self._finish(outcome, inside)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        with watching() as inside:
            outcome = await self._driver(query_bundle).arun()
        return self._finish(outcome, inside)

    def _driver(self, bundle: QueryBundle) -> Driver:
        parts, embed_model = self._parts, self._fields.embed_model
        call = Call(self.retriever, bundle, self._fields, embed_model, parts.memory)
        return Driver(
            bundle, parts.settings, call.steps(), embed_model, parts.selector, parts.reranker
        )

    def _finish(
        self, outcome: Outcome[NodeWithScore], inside: list[RecallResponse]
    ) -> list[NodeWithScore]:
        """The annotated page.

        Where the level could not be measured here, whoever watches also hears of what wrapped
        retrievers further inside measured.
        """
        response = respond(outcome)
        measured = response.confidence.level != "unknown"
        tell([response] if measured else [*inside, response])
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
        options = self._parts.settings.selection
        if options is None:
            return prompts
        return {**prompts, PROMPT_KEY: PromptTemplate(options.prompt)}

    def _get_prompt_modules(self) -> PromptMixinType:
        return self.retriever._get_prompt_modules()

    def _update_prompts(self, prompts: PromptDictType) -> None:
        others = dict(prompts)
        options = self._parts.settings.selection
        if options is not None and PROMPT_KEY in others:
            changed = with_prompt(options, others.pop(PROMPT_KEY))
            self._fields = self._fields.model_copy(update={"selector_options": changed})
            self._parts.settings = replace(self._parts.settings, selection=changed)
        self.retriever._update_prompts(others)
