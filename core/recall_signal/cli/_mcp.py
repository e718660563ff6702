"""`recall-signal mcp`: a folder of texts as a tool for any client of the protocol."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from recall_signal._background import start_thread
from recall_signal._safe_text import terminal_text
from recall_signal._wrapper.response import RecallResponseBase
from recall_signal.agents._tool_settings import MAX_K
from recall_signal.cli import _options as opt
from recall_signal.cli._corpus import read_corpus
from recall_signal.cli._prepared import Prepared
from recall_signal.cli._search_options import SearchOptions, with_search_options
from recall_signal.cli._terminal import open_terminal
from recall_signal.errors import ConfigurationError, RecallSignalError
from recall_signal.mcp import RecallSource, create_mcp_server
from recall_signal.mcp._serving import (
    HOST,
    PATH,
    loopback_socket,
    protocol_output,
    run_http,
    run_stdio,
)

__all__ = ["StillLoading", "mcp"]

PATIENCE = 30.0
"""Seconds that a call waits for the texts: clients give up after about a minute."""

LONGEST_NAME = 80


@with_search_options
def mcp(
    search: SearchOptions,
    http: opt.Http = None,
    description: opt.Description = None,
    max_k: opt.MaxK = MAX_K,
) -> None:
    """Serve a folder of texts to agents, as a tool of the Model Context Protocol."""
    with open_terminal() as terminal, _own_logs(), protocol_output() as output:
        if max_k < search.k:
            raise ConfigurationError(f"--max-k must be at least -k ({search.k}), got {max_k}")
        prepared = Prepared.check(terminal, search)
        corpus = read_corpus(search.docs, None, terminal, search.glob)

        def load() -> RecallSource:
            try:
                backend, _, about = prepared.open(corpus, terminal)
            except RecallSignalError as error:
                terminal.error(str(error))
                raise
            terminal.note(about)
            return backend.retriever

        source = _Loading(load)
        server = create_mcp_server(
            source,
            description=description or _describe(search.docs),
            max_k=max_k,
            metadata_keys=("source",),
        )
        if http is None:
            with source:
                run_stdio(server, output)
            return
        with loopback_socket(http) as listening:
            port = listening.getsockname()[1]
            terminal.note(f"Serving http://{HOST}:{port}{PATH}; Ctrl-C ends it", whole=True)
            with source:
                run_http(server, listening)


@contextmanager
def _own_logs() -> Iterator[None]:
    """Show what this package logs; the SDK's logs quote messages that it cannot read."""
    handlers = {"": logging.NullHandler(), "recall_signal": logging.StreamHandler()}
    for name, handler in handlers.items():
        logging.getLogger(name).addHandler(handler)
    try:
        yield
    finally:
        for name, handler in handlers.items():
            logging.getLogger(name).removeHandler(handler)


class StillLoading(RecallSignalError):
    """The texts are still being embedded or calibrated on; a later call will be answered."""


class _Loading:
    """A retriever that is made in a thread, so that the server answers its client at once.

    A client that leaves early does not wait for it.
    """

    def __init__(self, load: Callable[[], RecallSource]) -> None:
        self._loaded: Future[RecallSource] = Future()
        self._load = load

    def __enter__(self) -> None:
        """Begin to load."""
        self.start()

    def __exit__(self, *_: object) -> None:
        """Send to standard error what the thread prints from now on: it may outlive the server."""
        if not self._loaded.done():
            sys.stdout = sys.stderr

    def start(self) -> None:
        """Begin, once nothing else is left to do: two at a time are slower than one by one."""
        start_thread(self._run, "recall-signal-loading")

    def _run(self) -> None:
        try:
            self._loaded.set_result(self._load())
        except BaseException as error:
            self._loaded.set_exception(error)

    async def arecall(self, query: str, /, **options: Any) -> RecallResponseBase:
        """Search once the retriever is there.

        Raises:
            StillLoading: It is not there after `PATIENCE` seconds.
        """
        loaded = asyncio.shield(asyncio.wrap_future(self._loaded))
        try:
            retriever = await asyncio.wait_for(loaded, PATIENCE)
        except TimeoutError:
            raise StillLoading("the texts are still being loaded; try again later") from None
        return await retriever.arecall(query, **options)


def _describe(docs: Path) -> str:
    name = terminal_text(docs.resolve().name)[:LONGEST_NAME]
    return f"Look up texts of the folder {name!r}." if name else "Look up stored texts."
