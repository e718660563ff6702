"""Calibration: the scale of one retriever, learned once, so that one default is right on it."""

from recall_signal.calibration._baseline import Baseline
from recall_signal.calibration._calibration import Calibration
from recall_signal.calibration._check import CheckResult
from recall_signal.calibration._probes import Probe, bundled_probes

__all__ = ["Baseline", "Calibration", "CheckResult", "Probe", "bundled_probes"]
