"""Reading the scores of vector stores, whatever the framework."""

from recall_signal.stores._kinds import Kind, UnitOnlyKind, unit_only
from recall_signal.stores._readings import ScoreReading, read_scores, read_vectors, validated
from recall_signal.stores._registry import AdapterRegistry
from recall_signal.stores._vectors import Vector

__all__ = [
    "AdapterRegistry",
    "Kind",
    "ScoreReading",
    "UnitOnlyKind",
    "Vector",
    "read_scores",
    "read_vectors",
    "unit_only",
    "validated",
]
