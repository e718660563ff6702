"""A calibration from a file where it still fits, else from a fit that the file then holds."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from errno import ENOENT
from pathlib import Path
from typing import Any, Protocol, TypeVar

from recall_signal._auto.state_file import load, save
from recall_signal._given import given_path
from recall_signal._names import plain_name, without_secrets
from recall_signal._steps.driver import Steps
from recall_signal.calibration._calibration import Calibration
from recall_signal.calibration._check import CheckResult
from recall_signal.calibration._fit_input import fit_input, require_fit_names
from recall_signal.errors import CalibrationError, ConfigurationError

__all__ = ["CheckNow", "FitNow", "calibrated_flow"]

log = logging.getLogger(__name__)

Done = TypeVar("Done")
Done_co = TypeVar("Done_co", covariant=True)


class FilePerformer(Protocol[Done_co]):
    """Carries the requests out: returns the answers, or awaitables of them."""

    def check(self, calibration: Calibration, /) -> Done_co:
        """Check a calibration against the retriever."""
        ...

    def calibrate(self, **given: Any) -> Done_co:
        """Fit one."""
        ...


@dataclass(frozen=True, slots=True)
class CheckNow:
    """Check this calibration against the retriever; answered with a `CheckResult`."""

    calibration: Calibration

    def by(self, performer: FilePerformer[Done]) -> Done:
        """Have it carried out."""
        return performer.check(self.calibration)


@dataclass(frozen=True, slots=True)
class FitNow:
    """Fit with these arguments; answered with a `Calibration`."""

    given: Mapping[str, Any]

    def by(self, performer: FilePerformer[Done]) -> Done:
        """Have it carried out."""
        return performer.calibrate(**self.given)


def calibrated_flow(
    path: str | Path | None, encoder: str | None, given: Mapping[str, Any]
) -> Steps[CheckNow | FitNow, Calibration]:
    """Return the calibration of a retriever, fitted only where the file does not have it.

    Args:
        path: The file; None fits in any case.
        encoder: The name of what embeds the queries, None where it is not known.
        given: Arguments of the fit. Where queries, labels, probes, a seed or an encoder's name are
            among them, a file that was fitted with others is replaced. The prior and the bound are
            those given, whatever the file holds.

    Raises:
        ConfigurationError: A name is no argument of a fit, or no path, or the encoder has another
            name than is given.
        CalibrationError: The file holds something else, and is left alone.
        OSError: The file's folder does not exist. A file that cannot be written is a warning.
    """
    require_fit_names(given)
    _require_own_name(encoder, given.get("encoder"))
    calibration = yield from _found_or_fitted(path, encoder, _kept(given))
    if not calibration.decides:
        log.warning(
            "the calibration found no threshold for this retriever, whose levels stay "
            "uncalibrated; print(retriever.current_calibration) shows what it saw"
        )
    return calibration


def _require_own_name(known: str | None, given: object) -> None:
    """Refuse another name than the encoder's own before a fit is spent on it."""
    if known is None or not isinstance(given, str) or without_secrets(known) == given:
        return
    raise ConfigurationError(
        f"encoder={plain_name(given)!r} is not the name of the encoder that is searched with, "
        f"{plain_name(known)!r}; leave it out"
    )


def _found_or_fitted(
    path: str | Path | None, encoder: str | None, given: Mapping[str, Any]
) -> Steps[CheckNow | FitNow, Calibration]:
    if path is None:
        fitted: Calibration = yield FitNow(given)
        return fitted
    path = given_path("path", path)
    folder = path.absolute().parent  # of a link itself, which is replaced
    if not folder.is_dir():  # said before a fit is spent on it
        raise FileNotFoundError(ENOENT, "The folder does not exist", str(folder))
    found = load(path)
    if found is not None:
        if (reason := (yield from _mismatch(found, encoder, given))) is None:
            return _adjusted(found, given)
        log.warning("%s no longer fits: %s; fitting anew", Path(path).name, reason)
    calibration: Calibration = yield FitNow(given)
    try:
        save(calibration, path)
    except OSError as error:  # such as a full disk: what was learned is worth more than the file
        log.warning(
            "the calibration is in use, but could not be written to %s (%s); save it elsewhere: "
            "retriever.current_calibration.save(path)",
            path,
            error.strerror,
        )
    return calibration


def _adjusted(found: Calibration, given: Mapping[str, Any]) -> Calibration:
    """Return a saved calibration with the settings of now, which are those of a fit by default."""
    bound = given.get("max_false_none")
    found = replace(found, max_false_none=None).with_prior(given.get("prior", Calibration.prior))
    return found if bound is None else found.with_risk(bound)


_EVIDENCE = ("past_queries", "labelled", "probes", "seed")
_OF_A_FIT = ("documents", "max_false_none")
"""Arguments that are not looked at where a file is read: a bound may rest on the file's labels."""


def _mismatch(
    found: Calibration, encoder: str | None, given: Mapping[str, Any]
) -> Steps[CheckNow | FitNow, str | None]:
    """Return why a saved calibration is not that of this retriever and this evidence, else None.

    Raises:
        RecallSignalError: What is given is no evidence, see `Calibration.fit`.
    """
    asked = fit_input(**{name: given[name] for name in given if name not in _OF_A_FIT}).evidence
    try:
        found.require_encoder(given.get("encoder") or encoder)
    except CalibrationError as error:
        return str(error)
    if asked not in (None, found.evidence):
        return "it was made from other queries, labels, probes or another seed"
    result: CheckResult = yield CheckNow(found)
    return result.finding


def _kept(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with lists for iterators, which can be read once."""
    return {
        name: list(value) if name in _EVIDENCE and isinstance(value, Iterator) else value
        for name, value in given.items()
    }
