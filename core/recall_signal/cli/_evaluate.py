"""`recall-signal evaluate`: measure the signal on a corpus with labelled queries."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

from recall_signal.cli import _options as opt
from recall_signal.cli._models import DEMO, load_encoder
from recall_signal.cli._terminal import ProgressBar, open_terminal
from recall_signal.errors import ConfigurationError, MissingDependencyError
from recall_signal.pool import DEFAULT_POOL_SIZE

__all__ = ["evaluate"]


def evaluate(
    corpus: opt.Corpus,
    queries: opt.Queries,
    qrels: opt.Qrels = None,
    encoder: opt.Encoder = DEMO,
    pool: opt.Pool = DEFAULT_POOL_SIZE,
    html: opt.Html = None,
    as_json: opt.AsJson = False,
) -> None:
    """Measure on labelled queries how well each mode, and each rule of thumb, tells absence."""
    from recall_signal import evaluation  # with numpy, which the other commands start without

    with open_terminal() as terminal:
        _check_targets(html)
        with ProgressBar(terminal.err, "Embedding") as bar:
            result = evaluation.evaluate(
                evaluation.load_corpus(corpus),
                evaluation.load_queries(queries, qrels or ()),
                load_encoder(encoder),
                pool_size=pool,
                progress=bar,
            )
        if as_json:
            terminal.out.out(json.dumps(result.to_dict(), allow_nan=False), highlight=False)
        else:
            evaluation.print_report(result, terminal.out)
        if html is not None:
            evaluation.write_html(result, html)


def _check_targets(html: Path | None) -> None:
    """Check that the report can be written at the end, before anything is embedded."""
    if html is None:
        return
    if find_spec("matplotlib") is None:
        raise MissingDependencyError("--html", "eval")
    if html.is_dir() or not html.parent.is_dir():
        raise ConfigurationError(
            f"--html {html} cannot be written; give a file in a folder that exists"
        )
