"""The entry point, which does not need the extra `demo`."""

from __future__ import annotations

import io
import logging
import os
import sys

from recall_signal._background import come_to_rest
from recall_signal.errors import MissingDependencyError

__all__ = ["main"]

_OURS = ("typer", "rich")

_INTERRUPTED = 130
"""Exit code of a command that was interrupted: 128 and the number of SIGINT."""


def main() -> None:
    """Run the command `recall-signal`."""
    # The encoder's matrices are small: more threads only wait for each other, and on a busy
    # machine that made it twenty times slower. Read by numpy when it is first imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A failed selector is shown as a note; without a handler its log would be shown as well.
    # A damaged PDF is counted in a note; its reader's own remarks quote the file.
    for name in ("recall_signal.selection", "pypdf"):
        logging.getLogger(name).addHandler(logging.NullHandler())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may lack a document's characters
            stream.reconfigure(errors="replace")
    try:
        from recall_signal.cli._app import app
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _OURS:
            raise
        sys.stderr.write(f"{MissingDependencyError('The command recall-signal', 'demo')}\n")
        raise SystemExit(2) from None
    except KeyboardInterrupt:  # loading takes a second or two
        raise SystemExit(_INTERRUPTED) from None
    try:
        app()
    except SystemExit as end:
        # Texts are still being loaded: an ordinary exit might abort. What a command says has been
        # written; what a stream still holds was printed in that thread and belongs to no answer.
        if not come_to_rest():
            os._exit(end.code if isinstance(end.code, int) else int(end.code is not None))
        raise
