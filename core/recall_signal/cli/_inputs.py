"""Files that a user names: regular ones only, and never more of them than can be meant."""

from __future__ import annotations

import os
from pathlib import Path

from recall_signal._files import NotRegularError, read_bounded
from recall_signal.errors import ConfigurationError

__all__ = ["read_named_text"]

MAX_BYTES = 50_000_000
"""Most bytes of a named file; a million questions of 50 characters."""


def read_named_text(option: str, path: Path) -> str:
    """Return the text of a file that an option names.

    Raises:
        ConfigurationError: It is no regular file (a pipe may never end, and a device does not),
            cannot be read, is too large, or is not UTF-8 text.
    """
    shown = f"{option} {path}"
    try:
        data = read_bounded(path, MAX_BYTES)
    except NotRegularError:
        raise ConfigurationError(f"{shown} is no regular file; give a file with text") from None
    except OSError as error:
        why = error.strerror or os.strerror(error.errno or 0)
        raise ConfigurationError(f"{shown} cannot be read: {why}") from None
    if data is None:
        raise ConfigurationError(
            f"{shown} is larger than {MAX_BYTES // 1_000_000} MB; give a part of it"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigurationError(f"{shown} is not UTF-8 text") from None
