"""`recall-signal score`: judge every query of a log anew."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from recall_signal._safe_text import terminal_text
from recall_signal.calibration import Calibration
from recall_signal.cli import _options as opt
from recall_signal.cli._terminal import ProgressBar, Terminal, level_text, open_terminal
from recall_signal.confidence import LEVELS
from recall_signal.errors import ConfigurationError

if TYPE_CHECKING:
    from recall_signal.logs import Scored

__all__ = ["score"]

DELAY = 1.0
"""Seconds before a progress bar appears."""


def score(
    log: opt.AnyLog,
    out: opt.ScoreOut,
    calibration: opt.ScoreCalibration = None,
    cosines: opt.CosinesColumn = "cosines",
    keep: opt.Keep = None,
    jobs: opt.Jobs = 1,
    as_json: opt.AsJson = False,
) -> None:
    """Judge every query of a log anew; after an interruption, go on where it was."""
    from recall_signal import logs  # with numpy, which other commands start without

    with open_terminal() as terminal:
        try:
            loaded = None if calibration is None else Calibration.load(calibration)
            with ProgressBar(terminal.err, "Scoring", delay=DELAY) as bar:
                scored = logs.score(
                    log,
                    out,
                    calibration=loaded,
                    cosines=cosines,
                    keep=keep or None,
                    jobs=jobs,
                    progress=bar,
                )
        except OSError as error:
            raise ConfigurationError(f"{error.filename or out}: {error.strerror}") from None
        if as_json:
            said = {"path": str(scored.path), "queries": scored.rows, "levels": scored.levels}
            terminal.out.out(json.dumps(said), highlight=False)
        else:
            _show(scored, terminal)
        if loaded is not None and scored.other_encoders:
            terminal.note(
                f"{calibration} was fitted with the encoder {terminal_text(str(loaded.encoder))}; "
                f"the log has queries of {terminal_text(', '.join(scored.other_encoders))}, whose "
                "cosines have another scale"
            )
        if loaded is None and scored.names_calibration:
            terminal.note(
                "A calibration decided the levels in this log; those above are by the default "
                "thresholds. Give the calibration with --calibration FILE"
            )


def _show(scored: Scored, terminal: Terminal) -> None:
    table = Table(box=None)
    for name in ("level", "queries", "share"):
        table.add_column(name, justify="left" if name == "level" else "right")
    for level in LEVELS:
        count = scored.levels.get(level, 0)
        share = count / scored.rows if scored.rows else 0.0
        table.add_row(level_text(level), f"{count:,}", f"{share:.1%}")
    terminal.out.print(table)
    terminal.out.print(Text(f"{scored.rows:,} queries scored"))
    terminal.note(f"Written to {terminal_text(str(scored.path))}", whole=True)
