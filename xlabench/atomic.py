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
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from xlabench.errors import BenchError

LOCK = ".lock"
Parsed = TypeVar("Parsed")


def require_writable(path: Path) -> None:
    """Raise now the `OSError` that making this file or folder would raise later, where that can be told."""
    path.exists()  # says it of names that are too long
    there = next(parent for parent in path.absolute().parents if parent.exists())
    if not there.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(there))
    if not os.access(there, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(there))


def require_folder(path: Path) -> None:
    """Refuse what cannot be a folder to write into, before anybody works for what is to lie there."""
    try:
        if path.exists() and not path.is_dir():
            raise BenchError(f"{path}: is no folder; give another folder")
        require_writable(path / "file" if path.exists() else path)
    except OSError as error:
        raise BenchError(f"{path}: cannot be written: {error.strerror}; give another folder") from error


def new_folder(path: Path) -> Path:
    """A folder to write into, made if it is not there.

    Raises:
        BenchError: it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BenchError(f"{path}: cannot be made: {error.strerror}; give another folder") from error
    return path


def write(path: Path, data: bytes) -> None:
    """Replace the file by one with these bytes; a reader, or a crash, sees the old one or the new one.

    Raises:
        BenchError: it cannot be written.
    """
    try:
        _replace(path, data)
    except OSError as error:
        raise BenchError(f"{path}: cannot be written: {error.strerror or error}; give another place") from error


def write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files by their names into a folder, which is made if it is not there."""
    new_folder(folder)
    for name, data in files.items():
        write(folder / name, data)


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
    """What a file of ours holds as JSON; others may have changed it since, which is said with what helps then.

    Args:
        path: the file.
        parse: makes of the JSON what it holds; what it raises is said of the file.
        remedy: what helps, as the end of the message.
    """
    try:
        return parse(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else error
        raise BenchError(f"{path}: is damaged: {reason}; {remedy}") from error


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Refuse a folder that another process works in."""
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(folder))
        except BlockingIOError as error:
            message = f"{folder}: another process is at work in it; wait for its end, or give a new folder"
            raise BenchError(message) from error
        except OSError as error:
            raise BenchError(f"{folder}: cannot be written to: {error.strerror}; give a new folder") from error
        yield


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which falls with the process, whatever ends it; `OSError` where another holds it.

    It is that of a file in the folder: not every file system has locks of folders themselves.
    """
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
