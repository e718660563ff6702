"""recall-signal: is what the retriever returned worth reading?"""

from recall_signal._auto.settings import AutoCalibration, CalibrationStatus
from recall_signal._report_schema import RecallReport
from recall_signal.advice import ADVICE_TEXTS, Advice, advice
from recall_signal.assess import Calibrator, assess
from recall_signal.assess_many import Assessments, assess_many
from recall_signal.calibration import Baseline, Calibration, CheckResult
from recall_signal.confidence import Basis, Level, RecallConfidence
from recall_signal.errors import (
    CalibrationError,
    ConfigurationError,
    InvalidInputError,
    InvalidResultError,
    MissingDependencyError,
    RecallSignalError,
)
from recall_signal.pool import Pool
from recall_signal.reasons import REASONS
from recall_signal.report_parsing import parse_report
from recall_signal.reports import CosineSource, SelectionReason, SelectionReport
from recall_signal.scores import NOT_CONVERTIBLE, ScoreKind, to_cosine
from recall_signal.thresholds import Thresholds

__all__ = [
    "ADVICE_TEXTS",
    "NOT_CONVERTIBLE",
    "REASONS",
    "Advice",
    "Assessments",
    "AutoCalibration",
    "Baseline",
    "Basis",
    "Calibration",
    "CalibrationError",
    "CalibrationStatus",
    "Calibrator",
    "CheckResult",
    "ConfigurationError",
    "CosineSource",
    "InvalidInputError",
    "InvalidResultError",
    "Level",
    "MissingDependencyError",
    "Pool",
    "RecallConfidence",
    "RecallReport",
    "RecallSignalError",
    "ScoreKind",
    "SelectionReason",
    "SelectionReport",
    "Thresholds",
    "advice",
    "assess",
    "assess_many",
    "parse_report",
    "to_cosine",
]
