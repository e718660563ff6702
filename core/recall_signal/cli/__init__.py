"""The command `recall-signal`."""

from recall_signal.cli._entry import main

__all__ = ["main"]
