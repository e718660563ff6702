"""recall-signal: is what the retriever returned worth reading?"""

from recall_signal.advice import ADVICE_TEXTS, Advice, advice
from recall_signal.assess import Calibrator, assess
from recall_signal.batch import Assessments, assess_many
from recall_signal.calibration import Baseline, Calibration
from recall_signal.confidence import REASONS, Basis, Level, RecallConfidence
from recall_signal.errors import (
    CalibrationError,
    ConfigurationError,
    InvalidInputError,
    InvalidResultError,
    MissingDependencyError,
    RecallSignalError,
)
from recall_signal.pool import Pool
from recall_signal.reports import CosineSource, SelectionReason, SelectionReport
from recall_signal.scores import NOT_CONVERTIBLE, ScoreKind, to_cosine
from recall_signal.thresholds import Thresholds

__all__ = [
    "ADVICE_TEXTS",
    "NOT_CONVERTIBLE",
    "REASONS",
    "Advice",
    "Assessments",
    "Baseline",
    "Basis",
    "Calibration",
    "CalibrationError",
    "Calibrator",
    "ConfigurationError",
    "CosineSource",
    "InvalidInputError",
    "InvalidResultError",
    "Level",
    "MissingDependencyError",
    "Pool",
    "RecallConfidence",
    "RecallSignalError",
    "ScoreKind",
    "SelectionReason",
    "SelectionReport",
    "Thresholds",
    "advice",
    "assess",
    "assess_many",
    "to_cosine",
]
