"""`recall-signal explore`: check the options, prepare the texts, and serve the page."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec

from recall_signal.calibration import Calibration
from recall_signal.cli import _options as opt
from recall_signal.cli._backends import SearchBackend
from recall_signal.cli._corpus import read_corpus
from recall_signal.cli._explore._exploration import Exploration
from recall_signal.cli._explore._serve import address, require_free, serve
from recall_signal.cli._prepared import Prepared
from recall_signal.cli._search_options import SearchOptions, with_search_options
from recall_signal.cli._terminal import open_terminal
from recall_signal.errors import MissingDependencyError

__all__ = ["explore", "pool_sizes"]

POOL_SIZES = (10, 20, 50, 100, 200)


@with_search_options
def explore(
    search: SearchOptions,
    reranker: opt.Reranker = None,
    port: opt.Port = 8765,
    show: opt.Show = True,
) -> None:
    """Ask a folder of texts on a page, and see what each level rests on."""
    with open_terminal() as terminal:
        for package in ("nicegui", "matplotlib"):
            if find_spec(package) is None:
                raise MissingDependencyError("recall-signal explore", "explore")
        require_free(port)
        prepared = Prepared.check(terminal, search, reranker)
        corpus = read_corpus(search.docs, None, terminal, search.glob)
        backend, used, about = prepared.open(corpus, terminal)

        def fit(asked: SearchBackend, labelled: list[tuple[str, bool]]) -> Calibration:
            return corpus.fit(asked, terminal, labelled=labelled)[0]

        # It needs the extra, which is there by now.
        from recall_signal.cli._explore._page import Labels, build

        labels = Labels(
            corpus=corpus.description,
            about=about,
            pool_sizes=pool_sizes(len(corpus.passages), prepared.k, prepared.pool_size),
            pool_size=prepared.pool_size,
            can_rerank=prepared.reranker is not None,
        )
        terminal.note(f"Open {address(port)} (Ctrl-C ends it)", whole=True)
        serve(partial(build, Exploration(backend, used, fit), labels), port, show=show)


def pool_sizes(passages: int, k: int, default: int) -> list[int]:
    """Return the pool sizes to choose from: no smaller than the page, no larger than needed."""
    useful = {size for size in POOL_SIZES if k <= size and size < max(passages, 2 * default)}
    return sorted({*useful, default})
