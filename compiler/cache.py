"""A folder of compiled programs: what was compiled once need not be compiled again, by whatever process.

An entry is a file named by its key: a checksum and the bytes.  It appears under its name only when it is complete, so
processes need no locks: of several that write one key, any may win, and they all write the same.  What is not an entry
as it was written is taken away and counts as missing, and so does what cannot be read: a cache may be slow, never
wrong.  When entries outgrow the limit, those that were not used for longest go; use is noted in a file's time.

A key is a hash of everything that the bytes depend on, so an entry is never out of date, only unused.  What an entry
holds is run as it is, so the folder must be as trusted as the compiler: a new one is for its owner alone.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from compiler.diagnostics import InputError

VARIABLE = "XLABENCH_CACHE"
"""The environment variable that names the folder; `on` stands for the user's own."""

_MAGIC = b"xlabench program 1\n"
_SUFFIX = ".program"
_UNFINISHED = ".part"
_ABANDONED_S = 3600.0
"""Seconds after which an unfinished file belongs to no process any more: no compilation takes an hour."""
_LOW_WATER = 0.9
"""The share of the limit down to which old files go, so that not every file that is added asks for all the others."""


def folder_of(environment: Mapping[str, str]) -> str:
    """The folder that an environment asks for, "" for none."""
    asked = environment.get(VARIABLE, "")
    if asked.lower() in ("", "0", "off", "false"):
        return ""
    if asked.lower() not in ("1", "on", "true"):
        return asked
    home = Path(environment.get("XDG_CACHE_HOME", ""))
    return str((home if home.is_absolute() else Path("~/.cache").expanduser()) / "xlabench")


def key_of(*dependencies: str | memoryview) -> str:
    """The key of a program that depends on these, and on this compiler."""
    digest = hashlib.sha256(_compiler(Path(__file__).parent).encode())
    for one in dependencies:
        data = one.encode("utf-8", "surrogatepass") if isinstance(one, str) else one
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


@functools.cache
def _compiler(root: Path) -> str:
    """What tells this compiler from others: its files, data as well as sources, by name, size and time of change."""
    paths = [path for path in root.rglob("*") if path.suffix != ".pyc" and path.is_file()]
    files = [(path.relative_to(root).as_posix(), path.stat()) for path in paths]
    return "\n".join(sorted(f"{name} {state.st_size} {state.st_mtime_ns}" for name, state in files))


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder of entries, at most `limit_bytes` of them."""

    folder: Path
    limit_bytes: int

    @staticmethod
    def open(folder: str, limit_bytes: int) -> Cache:
        """The cache in a folder, which is made if need be.

        Raises:
            InputError: there can be no such folder.
        """
        path = Path(folder).expanduser()
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise InputError(f"cannot keep programs in {folder!r}: {error}; name another folder") from error
        return Cache(path, limit_bytes)

    def get(self, key: str) -> bytes | None:
        """The bytes of an entry, or None."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        size = len(_MAGIC) + hashlib.sha256().digest_size
        content = data[size:]
        if data[:size] != _MAGIC + hashlib.sha256(content).digest():
            self.discard(key)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return content

    def put(self, key: str, content: bytes) -> None:
        """Keep bytes under a key, where the folder can hold them."""
        data = _MAGIC + hashlib.sha256(content).digest() + content
        if len(data) > self.limit_bytes:
            return
        with contextlib.suppress(OSError):
            with tempfile.NamedTemporaryFile(dir=self.folder, suffix=_UNFINISHED, delete=False) as file:
                unfinished = Path(file.name)
                try:
                    file.write(data)
                    file.flush()
                    unfinished.replace(self._path(key))
                except OSError:
                    unfinished.unlink()
            self._evict()

    def discard(self, key: str) -> None:
        """Take an entry away."""
        with contextlib.suppress(OSError):
            self._path(key).unlink()

    def _path(self, key: str) -> Path:
        return self.folder / (key + _SUFFIX)

    def _evict(self) -> None:
        """Make room, somewhat more than is needed, so that not every entry from now on looks at all the others."""
        entries = []
        for path in self.folder.iterdir():
            # Another process may have taken it away meanwhile.
            with contextlib.suppress(OSError):
                state = path.stat()
                if path.suffix == _SUFFIX:
                    entries.append((state.st_mtime_ns, state.st_size, path))
                elif path.suffix == _UNFINISHED and time.time() - state.st_mtime > _ABANDONED_S:
                    path.unlink()
        total = sum(size for _, size, _ in entries)
        if total <= self.limit_bytes:
            return
        for _, size, path in sorted(entries):
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size
            if total <= self.limit_bytes * _LOW_WATER:
                return
