"""Reading stores: what the adapters and wrappers of both frameworks have in common."""

from recall_signal.stores.readings import Reading, checked, read_scores, read_vectors
from recall_signal.stores.registry import AdapterRegistry

__all__ = ["AdapterRegistry", "Reading", "checked", "read_scores", "read_vectors"]
