"""The number of threads that this process may run at once.

The affinity mask says which cores it may run on, its control groups how much of their time it may take: a container
with a quota of one and a half processors sees all cores of its machine.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_GROUPS = Path("/proc/self/cgroup")
_MOUNT = Path("/sys/fs/cgroup")
_FRESH_S = 1.0
"""How long the quotas that were read hold (chosen): to read them takes 0.1 ms, a hundredth of compiling a small program
on a Zen 4, and who changes a container's quota does not do so many times a second."""


@dataclass(slots=True)
class _Quotas:
    """What the control groups allow, in whole processors, as it was read not long ago."""

    limits: tuple[int, ...] = ()
    read_at: float = -math.inf

    def fresh(self) -> tuple[int, ...]:
        """The limits, read again if it has been a while."""
        now = time.monotonic()
        if now - self.read_at > _FRESH_S:
            self.limits, self.read_at = tuple(map(int, quotas())), now
        return self.limits


_quotas = _Quotas()


def available() -> int:
    """The number of threads that this process may run at once: cores in its affinity mask, or what its quota allows.

    A quota is rounded down: a thread more than it allows stops all of them for the rest of each period.  One
    that changes is seen within a second.
    """
    return max(1, min([len(os.sched_getaffinity(0)), *_quotas.fresh()]))


def quotas(groups: Path = _GROUPS, mount: Path = _MOUNT) -> Iterator[float]:
    """The limits, in processors, of the control groups that this process is in, of either version; none if unlimited.

    Args:
        groups: the file that names the groups.
        mount: the folder where control groups are seen.
    """
    try:
        rows = groups.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for _, controllers, path in (row.split(":", 2) for row in rows):
        if not controllers:
            yield from _limits(mount, path)
        elif "cpu" in controllers.split(","):
            yield from _limits(mount / "cpu", path)


def _limits(root: Path, path: str) -> Iterator[float]:
    """Those of a group and of the groups that it is in; in a container the path leads to what is not seen there."""
    group = root / path.lstrip("/")
    for folder in (group, *group.parents):
        words = _words(folder / "cpu.max") or _words(folder / "cpu.cfs_quota_us") + _words(folder / "cpu.cfs_period_us")
        if len(words) == 2 and words[0] not in ("max", "-1"):
            yield int(words[0]) / int(words[1])
        if folder == root:
            return


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").split()
    except OSError:
        return []
