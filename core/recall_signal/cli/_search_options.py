"""The options that every command has that asks a folder of texts, declared once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Any, get_type_hints

from recall_signal.cli import _options as opt
from recall_signal.cli._models import DEMO

__all__ = ["SearchOptions", "with_search_options"]

PARAMETER = "search"
"""The parameter of a command that these options stand for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """Texts, encoder and judge of a search; each is an option of the command line."""

    docs: opt.Docs
    glob: opt.Glob = None
    framework: opt.Framework = "langchain"
    k: opt.PageSize = 5
    pool_size: opt.PoolSize = None
    calibration: opt.CalibrationFile = None
    no_calibration: opt.NoCalibration = False
    selector: opt.Selector = None
    selector_timeout: opt.SelectorTimeout = None
    encoder: opt.Encoder = DEMO
    cache: opt.Cache = None


def with_search_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options in the place of its parameter `search`, a `SearchOptions`."""
    own = dict(signature(command).parameters)
    own.pop(PARAMETER)
    shared = signature(SearchOptions).parameters
    hints = get_type_hints(command, include_extras=True)
    hints.update(get_type_hints(SearchOptions, include_extras=True))

    @wraps(command)
    def run(**given: Any) -> None:
        chosen = SearchOptions(**{name: given.pop(name) for name in shared})
        command(**{PARAMETER: chosen}, **given)

    parameters = [
        parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[parameter.name])
        for parameter in (*own.values(), *shared.values())
    ]
    run.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
