"""Files that are either the old or the new, never half of one; folders that one process writes to at a time.

Whoever writes a result writes it here, so that a disk that is full, or a folder that is not the user's to write to, is
said in one way: as something that the user can act on.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from xlabench.errors import BenchError

Parsed = TypeVar("Parsed")


def require_place(path: Path) -> None:
    """Raise now the `OSError` that making this file or folder would raise later, where that can be told."""
    path.exists()  # says it of names that are too long
    there = next(parent for parent in path.absolute().parents if parent.exists())
    if not there.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(there))
    if not os.access(there, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(there))


def write(path: Path, data: bytes) -> None:
    """Replace the file by one with these bytes; a reader, or a crash, sees the old one or the new one."""
    try:
        _replace(path, data)
    except OSError as error:
        raise BenchError(f"{path}: cannot be written: {error.strerror or error}; give another place") from error


def _replace(path: Path, data: bytes) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def stored(path: Path, parse: Callable[[Any], Parsed], remedy: str) -> Parsed:
    """What a file of ours holds as JSON; others may have changed it since, which is said with what helps then."""
    try:
        return parse(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else error
        raise BenchError(f"{path}: is damaged: {reason}; {remedy}") from error


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Refuse a folder that is another's; it is given back with the end of the process, whatever ends it."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise BenchError(f"{folder}: cannot be opened: {error.strerror}; give a new folder") from error
    try:
        _lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        message = f"{folder}: another process is at work in it; wait for its end, or give a new folder"
        raise BenchError(message) from error
