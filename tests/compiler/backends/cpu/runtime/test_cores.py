"""How many threads a process may run at once: its affinity mask, and the quotas of its control groups."""

import os
import time
from pathlib import Path

import pytest

from compiler.backends.cpu.runtime import cores

VERSION_2, VERSION_1 = "0::/user/job\n", "3:memory:/a\n2:cpu,cpuacct:/user/job\n1:name=systemd:/user\n"
CASES = {
    "no group": ("", {}, []),
    "no limit": (VERSION_2, {"user/job/cpu.max": "max 100000"}, []),
    "of its own": (VERSION_2, {"user/job/cpu.max": "150000 100000"}, [1.5]),
    "of a group that it is in": (VERSION_2, {"user/cpu.max": "400000 100000", "user/job/cpu.max": "max 100000"}, [4.0]),
    "both": (VERSION_2, {"cpu.max": "300000 100000", "user/job/cpu.max": "50000 100000"}, [0.5, 3.0]),
    "of a container, which sees no path": ("0::/\n", {"cpu.max": "250000 100000"}, [2.5]),
    "whose path leads out of what is seen": ("0::/../../job\n", {"cpu.max": "250000 100000"}, [2.5]),
    "version 1": (
        VERSION_1,
        {"cpu/user/job/cpu.cfs_quota_us": "200000", "cpu/user/job/cpu.cfs_period_us": "100000"},
        [2.0],
    ),
    "version 1, none": (
        VERSION_1,
        {"cpu/user/job/cpu.cfs_quota_us": "-1", "cpu/user/job/cpu.cfs_period_us": "100000"},
        [],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_quotas_are_those_of_the_groups(name: str, tmp_path: Path) -> None:
    groups, files, expected = CASES[name]
    (tmp_path / "cgroup").write_text(groups)
    for path, text in files.items():
        file = tmp_path / "mount" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    assert list(cores.quotas(tmp_path / "cgroup", tmp_path / "mount")) == expected


@pytest.mark.parametrize(("limits", "expected"), [([], 8), ([1.5], 1), ([0.5], 1), ([2.5, 3.0], 2), ([64.0], 8)])
def test_a_quota_is_rounded_down_but_to_one(
    limits: list[float], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(cores, "quotas", lambda: iter(limits))
    monkeypatch.setattr(cores, "_quotas", cores._Quotas())
    assert cores.available() == expected


def test_a_quota_is_read_once_a_second_at_most_and_one_that_changes_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    limits, now, read = [2.0], [100.0], []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(cores, "quotas", lambda: read.append(now[0]) or iter(limits))
    monkeypatch.setattr(cores, "_quotas", cores._Quotas())
    assert [cores.available() for _ in range(3)] == [2, 2, 2]
    assert read == [100.0]
    limits[:], now[0] = [5.0], 101.5
    assert cores.available() == 5


def test_a_mask_that_changes_is_seen_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "quotas", lambda: iter(()))
    monkeypatch.setattr(cores, "_quotas", cores._Quotas())
    for count in (8, 3):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, count=count: set(range(count)))
        assert cores.available() == count
