"""The command ``recall-signal``."""

from recall_signal.cli.entry import main

__all__ = ["main"]
