"""Where the command starts: nothing here needs the extra ``demo``."""

from __future__ import annotations

import io
import logging
import os
import sys

from recall_signal.errors import MissingDependencyError

__all__ = ["main"]

_OURS = ("typer", "rich")


def main() -> None:
    """Run the command ``recall-signal``."""
    # The encoder's matrices are small: more threads only wait for each other, and on a busy
    # machine that made it twenty times slower. Read by numpy when it is first imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Why a selector failed is shown as a note; without a handler its log would be shown as well.
    logging.getLogger("recall_signal.selection").addHandler(logging.NullHandler())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may lack a document's characters
            stream.reconfigure(errors="replace")
    try:
        from recall_signal.cli.app import app
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _OURS:
            raise
        sys.stderr.write(f"{MissingDependencyError('The command recall-signal', 'demo')}\n")
        raise SystemExit(2) from None
    app()
