"""The error tree: one base, familiar built-in parents, and a pip line that can be pasted."""

import pickle
from copy import copy, deepcopy

import pytest

import recall_signal
from recall_signal import (
    ConfigurationError,
    InvalidInputError,
    InvalidResultError,
    MissingDependencyError,
    RecallSignalError,
)
from recall_signal.errors import CalibrationError


@pytest.mark.parametrize(
    ("error", "familiar"),
    [
        (CalibrationError, ValueError),
        (ConfigurationError, ValueError),
        (InvalidInputError, TypeError),
        (InvalidResultError, TypeError),
        (MissingDependencyError, ImportError),
    ],
)
def test_each_error_is_ours_and_a_familiar_one(
    error: type[Exception], familiar: type[Exception]
) -> None:
    assert issubclass(error, RecallSignalError)
    assert issubclass(error, familiar)


def test_every_exported_error_is_in_the_tree() -> None:
    names = [name for name in recall_signal.__all__ if name.endswith("Error")]
    assert len(names) >= 5
    assert all(issubclass(getattr(recall_signal, name), RecallSignalError) for name in names)


def test_a_missing_dependency_names_the_feature_and_the_pip_line() -> None:
    error = MissingDependencyError("Assessments.to_arrow()", "eval")
    assert error.extra == "eval"
    assert "Assessments.to_arrow()" in str(error)
    assert "pip install 'recall-signal[eval]'" in str(error)


def test_a_package_that_no_extra_brings_is_named_itself() -> None:
    error = MissingDependencyError("corrective_graph", package="langgraph>=1.0")
    assert (error.extra, error.package) == (None, "langgraph>=1.0")
    assert str(error) == (
        "corrective_graph needs langgraph>=1.0, which is not installed. "
        "Install it with: pip install 'langgraph>=1.0'"
    )


@pytest.mark.parametrize(
    "error",
    [
        MissingDependencyError("scoring", "logs"),
        MissingDependencyError("corrective_graph", package="langgraph>=1.0"),
        *(kind("what was given") for kind in RecallSignalError.__subclasses__()[:4]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_copy_says_the_same(error: RecallSignalError) -> None:
    """Errors of a worker come back pickled."""
    error.add_note("in a worker")
    for copied in (copy(error), deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert type(copied) is type(error)
        assert (str(copied), vars(copied)) == (str(error), vars(error))
