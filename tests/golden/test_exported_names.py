"""The names that the three packages export, and what importing the core does not load."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

CORE = [
    "ADVICE_TEXTS",
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
    "NOT_CONVERTIBLE",
    "Pool",
    "REASONS",
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

LANGCHAIN = [
    "CorrectiveState",
    "DemoEmbeddings",
    "RecallLogHandler",
    "RecallMiddleware",
    "RecallResponse",
    "RecallRetriever",
    "RecallRoute",
    "RecallState",
    "RecallTelemetryHandler",
    "SelectorCompressor",
    "StoreAdapter",
    "corrective_graph",
    "create_recall_chain",
    "create_recall_tool",
    "register_adapter",
    "route_on_recall",
    "without_report",
]

LLAMA_INDEX = [
    "CorrectiveAnswer",
    "CorrectiveStart",
    "CorrectiveWorkflow",
    "DemoEmbedding",
    "RecallAgent",
    "RecallDecision",
    "RecallLogHandler",
    "RecallPostprocessor",
    "RecallQueryEngine",
    "RecallResponse",
    "RecallRetriever",
    "RecallRouterQueryEngine",
    "RecallSelectorPostprocessor",
    "RecallSignalEvent",
    "RecallTelemetryHandler",
    "RecallTool",
    "StoreAdapter",
    "create_recall_tool",
    "register_adapter",
    "without_report",
]

EXPORTED = {
    "recall_signal": CORE,
    "langchain_recall_signal": LANGCHAIN,
    "llama_index_recall_signal": LLAMA_INDEX,
}

NOT_LOADED = """
import sys
import recall_signal

for name in recall_signal.__all__:
    getattr(recall_signal, name)
roots = {name.partition(".")[0] for name in sys.modules}
print(*sorted(r for r in roots if r.startswith(("langchain", "langgraph", "llama_index"))))
"""


@pytest.mark.parametrize("package", EXPORTED)
def test_the_names_are_these(package: str) -> None:
    assert sorted(import_module(package).__all__) == EXPORTED[package]


@pytest.mark.parametrize(
    ("package", "name"), [(package, name) for package, names in EXPORTED.items() for name in names]
)
def test_each_name_resolves(package: str, name: str) -> None:
    assert getattr(import_module(package), name) is not None


def test_the_core_loads_no_framework() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", NOT_LOADED], capture_output=True, text=True, check=False
    )
    assert ran.stderr == ""
    assert ran.stdout.strip() == ""
