"""`tf.gfile`: files and folders of this machine, with TensorFlow's names and errors."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from glob import glob as matching
from pathlib import Path
from typing import IO, Any, ParamSpec, TypeVar

from xlabench.tensorflow import errors

__all__ = [
    "Copy",
    "DeleteRecursively",
    "Exists",
    "FastGFile",
    "GFile",
    "Glob",
    "IsDirectory",
    "ListDirectory",
    "MakeDirs",
    "MkDir",
    "Open",
    "Remove",
    "Rename",
    "Stat",
    "Walk",
]

P = ParamSpec("P")
R = TypeVar("R")
FilePath = str | os.PathLike[str]
_KINDS: tuple[tuple[type[OSError], str], ...] = (
    (FileNotFoundError, "NotFoundError"),
    (FileExistsError, "AlreadyExistsError"),
    (PermissionError, "PermissionDeniedError"),
    (IsADirectoryError, "FailedPreconditionError"),
    (NotADirectoryError, "FailedPreconditionError"),
    (OSError, "UnknownError"),
)


def _translated(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose errors are TensorFlow's."""

    @wraps(function)
    def translated(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except OSError as error:
            name = next(name for kind, name in _KINDS if isinstance(error, kind))
            raise getattr(errors, name)(None, None, f"{error.filename}; {error.strerror}") from error

    return translated


class GFile:
    """A file, text unless `b` is in its mode; opened when it is first read or written, as TensorFlow's is."""

    def __init__(self, name: FilePath, mode: str = "r") -> None:
        self._path = Path(name)
        self._mode = mode
        self._file: IO[Any] | None = None

    @property
    def name(self) -> str:
        """Its path."""
        return str(self._path)

    @property
    def mode(self) -> str:
        """How it is opened."""
        return self._mode

    @_translated
    def _opened(self) -> IO[Any]:
        if self._file is None:
            self._file = self._path.open(self._mode, encoding=None if "b" in self._mode else "utf-8")
        return self._file

    @_translated
    def size(self) -> int:
        """How many bytes it has."""
        return self._path.stat().st_size

    def read(self, n: int = -1) -> Any:
        """What is left of it, or the next n bytes or characters."""
        return self._opened().read(n)

    def readline(self) -> Any:
        """The next line."""
        return self._opened().readline()

    def readlines(self) -> list[Any]:
        """The lines that are left."""
        return self._opened().readlines()

    def write(self, file_content: Any) -> None:
        """Add to it."""
        self._opened().write(file_content)

    def seek(self, offset: int, whence: int = 0) -> None:
        """Go on elsewhere."""
        self._opened().seek(offset, whence)

    def tell(self) -> int:
        """Where it is read."""
        return self._opened().tell()

    def flush(self) -> None:
        """See that what was added is in the file."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """End; a file that was to be written is there, be it empty."""
        if "r" not in self._mode:
            self._opened()
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._opened())

    def __del__(self) -> None:  # programs read files in passing
        if self._file is not None:
            self._file.close()


FastGFile = Open = GFile


def Exists(path: FilePath) -> bool:
    """Whether there is a file or folder."""
    return Path(path).exists()


def IsDirectory(path: FilePath) -> bool:
    """Whether it is a folder."""
    return Path(path).is_dir()


@_translated
def ListDirectory(path: FilePath) -> list[str]:
    """The names of what is in a folder."""
    return [one.name for one in Path(path).iterdir()]


def Glob(pattern: Any) -> list[str]:
    """The paths that match a pattern, or one of several."""
    patterns = pattern if isinstance(pattern, list | tuple) else [pattern]
    return [path for one in patterns for path in sorted(matching(os.fspath(one)))]  # noqa: PTH207 - pathlib has no absolute patterns


@_translated
def MkDir(path: FilePath) -> None:
    """Make a folder."""
    Path(path).mkdir()


@_translated
def MakeDirs(path: FilePath) -> None:
    """Make a folder and those that it is in; it may be there."""
    Path(path).mkdir(parents=True, exist_ok=True)


@_translated
def Remove(path: FilePath) -> None:
    """Remove a file."""
    Path(path).unlink()


@_translated
def DeleteRecursively(path: FilePath) -> None:
    """Remove a folder and all that is in it."""
    found = Path(path)
    if found.is_dir() and not found.is_symlink():
        shutil.rmtree(found)
    else:
        found.unlink()


def _is_free(path: FilePath, *, overwrite: bool) -> None:
    if Exists(path) and not overwrite:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(path))


@_translated
def Copy(oldpath: FilePath, newpath: FilePath, overwrite: bool = False) -> None:
    """Copy the file `oldpath` to `newpath`, where `overwrite` says whether there may be one.

    Raises:
        AlreadyExistsError: there is one, and it is not to be replaced.
    """
    _is_free(newpath, overwrite=overwrite)
    shutil.copyfile(oldpath, newpath)


@_translated
def Rename(oldname: FilePath, newname: FilePath, overwrite: bool = False) -> None:
    """Give the file or folder `oldname` the path `newname`; `overwrite` says whether there may be a file of that path.

    Raises:
        AlreadyExistsError: there is one, and it is not to be replaced.
    """
    _is_free(newname, overwrite=overwrite)
    Path(oldname).replace(newname)


@dataclass(frozen=True, slots=True)
class FileStatistics:
    """What is known of a file: bytes, when it was changed in nanoseconds, whether it is a folder."""

    length: int
    mtime_nsec: int
    is_directory: bool


@_translated
def Stat(filename: FilePath) -> FileStatistics:
    """What is known of a file or folder."""
    path = Path(filename)
    found = path.stat()
    return FileStatistics(found.st_size, found.st_mtime_ns, path.is_dir())


def Walk(top: FilePath, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Folders with the names of folders and files in them, a folder before those in it, or behind them."""
    yield from os.walk(top, topdown=in_order)
