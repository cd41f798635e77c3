"""How a bundle is written: whole or not at all, and the older one of its name is there until then.

It is made in a hidden folder beside its place, which stays behind where the maker is killed.  Who makes the next one
there clears it away: a folder is a dead maker's if nobody holds its lock, which ends with the process.  An older bundle
that such a maker had moved out of the way is put back.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from xlabench.atomic import locked

_PREFIX = ".bundle-"
_ASIDE = "old"
_YOUNG_S = 60.0  # it may not be locked yet


@contextlib.contextmanager
def workshop(parent: Path) -> Iterator[Path]:
    """A folder to make something in that belongs into `parent`."""
    parent.mkdir(parents=True, exist_ok=True)
    for left in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # it is another's, or goes while it is looked at
            _clear(left)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=parent) as folder, locked(Path(folder)):
        yield Path(folder)


def put(made: Path, target: Path) -> None:
    """Move what was made in a workshop to its place; what is there already goes with the workshop."""
    aside = made.parent / _ASIDE / target.name
    aside.parent.mkdir()
    if target.exists():
        target.rename(aside)
    try:
        made.rename(target)
    except BaseException:
        _put_back(made.parent, target.parent)
        raise


def _put_back(folder: Path, parent: Path) -> None:
    for older in (folder / _ASIDE).glob("*"):
        if not (parent / older.name).exists():
            older.rename(parent / older.name)


def _clear(left: Path) -> None:
    if time.time() - left.stat().st_mtime < _YOUNG_S:
        return
    with locked(left):
        _put_back(left, left.parent)
        shutil.rmtree(left)
