"""A calibration that looks after itself: fitted, checked and fitted again in the background."""
