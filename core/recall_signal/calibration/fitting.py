"""How a calibration is made: through a retriever's own search, synchronously or not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recall_signal.driver import drive, drive_async
from recall_signal.reports import RerankerScale

if TYPE_CHECKING:
    from recall_signal.calibration.hub import HubChoice
    from recall_signal.calibration.model import Calibration

__all__ = ["Fitting"]


class Fitting:
    """The constructors of a :class:`Calibration` that search.

    The steps are imported when they are taken: they end in a calibration, and whoever only
    applies one needs none of them.
    """

    __slots__ = ()

    @classmethod
    def fit(
        cls,
        search: Callable[[str], Any],
        *,
        documents: Iterable[Any] | None = None,
        past_queries: Iterable[str] | None = None,
        labelled: Iterable[tuple[str, bool] | tuple[str, bool, str | None]] | None = None,
        probes: Iterable[Any] | None = None,
        encoder: str | None = None,
        seed: int = 0,
        progress: Callable[[int, int], None] | None = None,
        prior: float = 0.5,
        max_false_none: float | None = None,
        resume: str | Path | None = None,
        hub_correction: HubChoice = False,
        rerank_scale: RerankerScale = "unknown",
    ) -> Calibration:
        """Learn the scale of a retriever through its own search, in at most 180 searches.

        These are 120 probes and up to 60 pieces of stored texts, one a text; one more for each
        past or labelled query, and as many as you give where you give probes of your own.
        Nothing but ``search`` is needed; whatever else is given is used.

        Args:
            search: ``search(query)`` returns a :class:`~recall_signal.Pool` or a sequence of
                cosines. A pool with ids or texts lets a piece's own document be left out.
            documents: (id, text) pairs or texts to cut pseudo-queries from; without them they
                are cut from the texts that the probes' own pools bring back.
            past_queries: Unlabelled texts, 30 to 100 of the kind that will be asked.
            labelled: (query, whether something relevant is stored) pairs, 20 or better 50; with
                the name of a group (a tenant, a language) as a third, see :meth:`for_group`.
            probes: Other general questions than the bundled ones; to add to those, pass
                ``[*bundled_probes(), *own]``.
            encoder: Name of the encoder; use with another one is refused.
            seed: The same seed, search and arguments give the same calibration.
            progress: Called with (searches done, searches in all).
            prior: Expected share of answerable queries.
            max_false_none: Bound on the share of answerable queries that read ``none``; needs
                ``labelled``, see :meth:`with_risk`.
            resume: A file for the figures of each search (no texts); an interrupted fit that
                is called again with it goes on. Without ``documents`` the probes are asked
                again, for their texts. Once the corpus has changed, use a new file; one that
                holds something else is refused and left as it is.
            hub_correction: Take from each candidate half of how near it is to general questions
                (True), which helps encoders whose vectors crowd and harms others; ``"auto"``
                does so only where ``labelled`` shows that it helps. Needs pools with
                ``vectors`` and ``query_vector``, and later ones with ``vectors``; one without
                is judged by the uncorrected line, and says so.
            rerank_scale: What the ``rerank_scores`` of the pools are, where they have some.

        Raises:
            CalibrationError: The store is empty, the search gives no cosines or gives them for
                too few probes, there are too few labels for ``max_false_none``, or
                ``hub_correction=True`` is without vectors; the message says what is needed.
            ConfigurationError: A setting is out of its range.
            InvalidInputError: An argument is of another type.
        """
        from recall_signal.calibration.fit import fit_flow, fit_input

        given = fit_input(
            documents=documents,
            past_queries=past_queries,
            labelled=labelled,
            probes=probes,
            encoder=encoder,
            seed=seed,
            progress=progress,
            prior=prior,
            max_false_none=max_false_none,
            resume=resume,
            hub_correction=hub_correction,
            rerank_scale=rerank_scale,
        )
        return drive(fit_flow(given), lambda request: search(request.query))

    @classmethod
    async def afit(cls, search: Callable[[str], Awaitable[Any]], **given: Any) -> Calibration:
        """:meth:`fit` with an asynchronous search and the same arguments."""
        from recall_signal.calibration.fit import fit_flow, fit_input

        flow = fit_flow(fit_input(**given))
        return await drive_async(flow, lambda request: search(request.query))
