"""`recall-signal demo`: a small team's memory and questions to it."""

from recall_signal.cli._demo._run import demo

__all__ = ["demo"]
