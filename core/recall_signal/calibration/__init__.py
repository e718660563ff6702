"""Calibration: the scale of one retriever, learnt once, so that one default is right on it."""

from recall_signal.calibration.baseline import Baseline
from recall_signal.calibration.model import Calibration
from recall_signal.calibration.probes import Probe, bundled_probes

__all__ = ["Baseline", "Calibration", "Probe", "bundled_probes"]
