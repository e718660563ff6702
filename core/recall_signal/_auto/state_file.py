"""The file that processes share: one fits at a time, and what is there is whole or absent."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import time

from recall_signal._files import PRIVATE, make_private_folder, open_regular, read_bounded
from recall_signal.calibration._calibration import Calibration
from recall_signal.errors import CalibrationError

__all__ = ["FileLock", "load", "save"]

log = logging.getLogger(__name__)

STALE_AFTER = 3600.0
"""Seconds after which a lock is taken over, whoever holds it."""

LOCK_BYTES = 100
"""Most bytes of a lock file: a process id and a time."""


def load(path: str | Path) -> Calibration | None:
    """Return the calibration in this file, None where there is no file.

    Raises:
        CalibrationError: The file holds something else, or cannot be read.
    """
    try:
        return Calibration.load(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CalibrationError(
            f"{Path(path).name} cannot be read ({type(error).__name__}); give AutoCalibration the "
            "path of a file of its own"
        ) from None


def save(calibration: Calibration, path: str | Path) -> None:
    """Write the file, readable by its owner only; it is the old one or the new one.

    A calibration from labels or past queries is not replaced by one without: they may be nowhere
    else. The file is left alone then, and a warning says so.

    Raises:
        CalibrationError: The file holds something else, and is left alone.
        OSError: It cannot be written.
    """
    held, target = load(path), Path(path)
    if held is not None and held.mode != "null" and calibration.evidence is None:
        log.warning(
            "calibration: %s holds one from labels or past queries (mode %s), and is left alone; "
            "give them again to replace it, or remove the file",
            target.name,
            held.mode,
        )
        return
    make_private_folder(target.parent)
    calibration.save(target)
    target.chmod(PRIVATE)  # also where another mode was there


def _is_alive(pid: int) -> bool:
    if sys.platform == "win32":  # pragma: no cover  (a signal would end the process there)
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


class FileLock:
    """An exclusive lock beside a file, held by one process at a time.

    The operating system releases it when its holder ends, however that happens. A fork inherits
    the open lock; where the process that took it has ended, or is an hour late, the lock file is
    replaced.

    Args:
        path: The file to be locked; the lock is `.<name>.lock` in its folder.
        clock: Seconds since the epoch.
    """

    def __init__(self, path: str | Path, clock: Callable[[], float] = time) -> None:
        target = Path(path).absolute()  # a link to the file is no link to its lock
        self.path = target.with_name(f".{target.name}.lock")
        self._clock = clock
        self._file: int | None = None
        self._pid = os.getpid()

    def acquire(self) -> bool:
        """Take the lock; False where somebody else has it.

        Raises:
            OSError: The lock file, or its folder, cannot be made.
        """
        make_private_folder(self.path.parent)
        if self._try():
            return True
        if not self._is_stale():
            return False
        self.path.unlink(missing_ok=True)
        return self._try()

    def release(self) -> None:
        """Give the lock back; nothing where it is not held.

        In a fork that has inherited it the file is only closed: the lock is its parent's.
        """
        file, self._file = self._file, None
        if file is None:
            return
        with suppress(OSError):
            if self._pid == os.getpid():
                _unlock(file)
            os.close(file)

    def _try(self) -> bool:
        file = open_regular(self.path, os.O_RDWR | os.O_CREAT)
        try:
            if not _lock(file) or not self._is_current(file):
                os.close(file)
                return False
            os.ftruncate(file, 0)
            os.write(file, f"{os.getpid()} {self._clock():.0f}\n".encode())
        except BaseException:
            os.close(file)
            raise
        self._file, self._pid = file, os.getpid()
        return True

    def _is_current(self, file: int) -> bool:
        """Return True where the path still names this file, and nobody has replaced it."""
        try:
            return os.path.samestat(os.fstat(file), self.path.stat())
        except FileNotFoundError:
            return False

    def _is_stale(self) -> bool:
        try:
            pid, since = (read_bounded(self.path, LOCK_BYTES, follow=False) or b"").split()
            return not _is_alive(int(pid)) or self._clock() - float(since) > STALE_AFTER
        except (OSError, ValueError):  # being written at this moment, or locked for reading
            return False


if sys.platform == "win32":  # pragma: no cover  (the tests run on POSIX)
    import msvcrt

    _FAR = 1 << 30
    """A byte far behind the text, so that others can read who holds the lock."""

    def _lock(file: int) -> bool:
        os.lseek(file, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        os.lseek(file, 0, os.SEEK_SET)
        return True

    def _unlock(file: int) -> None:
        os.lseek(file, _FAR, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
