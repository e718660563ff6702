"""Files in folders that others can write to: regular ones only, read bounded, written whole.

A link, a pipe or a device in the place of a file is somebody else's way to have another file
written or a process held; none is written through or waited for.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EEXIST, EINVAL, EISDIR, ELOOP, ENOENT, ENXIO
from glob import escape
from pathlib import Path
from shutil import copymode
from uuid import uuid4

try:
    import fcntl
except ImportError:  # pragma: no cover  (Windows, where an open file cannot be removed anyway)
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "PRIVATE",
    "SHARED",
    "NotRegularError",
    "make_private_folder",
    "make_real_folder",
    "open_regular",
    "read_bounded",
    "refuse_other_than_file",
    "replacing",
    "sync_folder",
    "write_whole",
]

PRIVATE = 0o600
"""Mode of a new file whose figures tell something of what is stored."""

SHARED = 0o666
"""Mode of a new file that is made to be given away; the umask takes from it."""

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
"""A pipe is opened at once, so that it can be refused; a regular file knows no difference."""


class NotRegularError(OSError):
    """A link, a pipe, a device or a folder stands in the place of a file."""


def open_regular(path: str | Path, flags: int, mode: int = PRIVATE, *, follow: bool = False) -> int:
    """Open a regular file, and return its descriptor.

    Args:
        path: The file.
        flags: Of `os.open`.
        mode: Of a new file, where the flags make one.
        follow: Whether the path may be a link.

    Raises:
        NotRegularError: The path is something else.
        OSError: It cannot be opened.
    """
    try:
        file = os.open(path, flags | _NO_WAIT | (0 if follow else _NO_LINK), mode)
    except OSError as error:
        if error.errno in (ELOOP, ENXIO, EISDIR):  # a link, a socket, a folder
            raise _not_regular(path) from None
        raise
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise _not_regular(path)
    return file


def _not_regular(path: str | Path) -> NotRegularError:
    return NotRegularError(EINVAL, "It is no regular file", str(path))


def read_bounded(path: str | Path, limit: int, *, follow: bool = True) -> bytes | None:
    """Return what a regular file holds, None where that is more than `limit` bytes.

    The file's own size is not believed: it may grow, and that of a virtual file is 0.

    Raises:
        NotRegularError: The path is something else.
        OSError: The file cannot be read.
    """

    def opener(name: str, flags: int) -> int:
        return open_regular(name, flags, follow=follow)

    with open(path, "rb", opener=opener) as file:
        data = file.read(limit + 1)
    return data if len(data) <= limit else None


def refuse_other_than_file(path: Path) -> None:
    """Check that a path can be replaced: there is a folder, and a regular file in it or nothing.

    A link to a file is replaced itself. One into `/proc` is no file, whatever it leads to: it is
    what `/dev/stdout` is, which root could replace for the whole machine.

    Raises:
        OSError: The folder is missing (FileNotFoundError), the path is a folder
            (IsADirectoryError), or a pipe or a device (NotRegularError).
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(ENOENT, "The folder does not exist", str(path.parent))
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:  # or a link to nothing
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(EISDIR, "It is a folder", str(path))
    if not stat.S_ISREG(mode) or (path.is_symlink() and Path("/proc") in path.readlink().parents):
        raise _not_regular(path)


def write_whole(path: str | Path, content: str | bytes, mode: int = PRIVATE) -> None:
    """Write a file; a reader sees the old one or the new one, never a part.

    Args:
        path: The file; text is written as UTF-8.
        content: All of it.
        mode: Of a new file; one that is replaced passes its own on.

    Raises:
        OSError: As `refuse_other_than_file`, or it cannot be written; an existing file stays
            as it was.
    """
    with replacing(Path(path), mode) as beside:
        beside.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def replacing(path: Path, mode: int = PRIVATE, *, clean: bool = True) -> Iterator[Path]:
    """Yield an empty file beside `path` to write to, which takes its place when it is complete.

    It is on the disk by then. What killed processes left of this file is removed before.

    Args:
        path: The file.
        mode: Of a new file; one that is replaced passes its own on.
        clean: False where the caller has removed what was left.

    Raises:
        OSError: As `refuse_other_than_file`, or it cannot be written.
    """
    refuse_other_than_file(path)
    if clean:
        _remove_leftovers(path)
    beside, file = _open_beside(path, mode)
    try:
        yield beside
        os.fsync(file)
        if path.is_file() and not path.is_symlink():
            copymode(path, beside)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    finally:
        os.close(file)
    sync_folder(path.parent)


def _open_beside(target: Path, mode: int) -> tuple[Path, int]:
    """Make a file in the folder of a target, locked for as long as it is open."""
    while True:
        beside = target.with_name(f".{target.name}.{uuid4().hex[:8]}")
        try:
            file = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        except OSError as error:  # names the file that the caller knows
            raise OSError(error.errno, error.strerror, str(target)) from None
        try:
            if _lock(file) and beside.exists():  # nobody took it for a leftover before
                return beside, file
        except BaseException:
            os.close(file)
            beside.unlink(missing_ok=True)
            raise
        os.close(file)


def _remove_leftovers(target: Path) -> None:
    """Remove what processes left that were killed while they wrote this target."""
    for path in target.parent.glob(f".{escape(target.name)}.{'[0-9a-f]' * 8}"):
        with suppress(OSError):
            file = open_regular(path, os.O_RDWR)
            try:
                if _lock(file):  # its writer is no more
                    path.unlink()
            finally:
                os.close(file)


def _lock(file: int) -> bool:
    """Lock a file; False where somebody else has."""
    try:
        if fcntl is not None:  # pragma: no branch
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    with suppress(OSError):  # not every file system has that
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def make_private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for the user alone (mode 0700).

    Raises:
        OSError: It cannot be made.
    """
    missing = [folder, *folder.parents]
    for path in reversed(missing[: next(n for n, at in enumerate(missing) if at.exists())]):
        path.mkdir(mode=0o700, exist_ok=True)


def make_real_folder(folder: Path) -> None:
    """Make a folder of a name of this package's own, where nothing else stands in its place.

    Raises:
        FileExistsError: Its name is that of a link or a file.
        OSError: It cannot be made.
    """
    with suppress(FileExistsError):
        folder.mkdir()
    if not stat.S_ISDIR(folder.lstat().st_mode):
        raise FileExistsError(EEXIST, "It is no folder, or a link to one", str(folder))
