"""`recall-signal explore`: a page on this machine to ask a folder of texts."""

from recall_signal.cli._explore._command import explore

__all__ = ["explore"]
