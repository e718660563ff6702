"""Tools for testing adapters and applications: set cosines, a set encoder, a conformance suite.

Loads no framework and not even pytest; what is here works under any test runner.
"""

from recall_signal.testing._conformance import AdapterConformance
from recall_signal.testing._encoder import SettableEncoder
from recall_signal.testing._hooks import Seen
from recall_signal.testing._vectors import vectors_with_cosines

__all__ = ["AdapterConformance", "Seen", "SettableEncoder", "vectors_with_cosines"]
