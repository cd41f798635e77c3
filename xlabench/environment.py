"""Where a result was measured: enough to judge and repeat it, and nothing that identifies a person or a place.

No host name, user, path or variable is read.  What cannot be found out is `None`, never a guess.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import compiler

_PACKAGES = ("numpy", "ml_dtypes", "llvmlite", "scipy", "jaxlib", "xlabench")
_FEATURES = re.compile(
    r"sse4_2|avx2?|fma|f16c|avx512(f|bw|vl|_vnni|_bf16|_fp16)|amx_(tile|bf16|int8)|avx_vnni"
    r"|asimd(hp|dp)?|bf16|i8mm|sve2?"
)
_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


@dataclass(frozen=True, slots=True)
class Environment:
    """The machine and the versions of what ran on it."""

    system: str
    machine: str
    cpu: str | None
    cpu_features: tuple[str, ...]
    cores: int
    usable_cores: int
    memory_bytes: int | None
    governor: str | None
    load_1m: float
    python: str
    versions: dict[str, str]
    commit: str | None

    def to_json(self) -> dict[str, object]:
        """A JSON object with the field names as keys."""
        return {**asdict(self), "cpu_features": list(self.cpu_features)}


def capture() -> Environment:
    """Describe the machine as it is now."""
    cpu = _cpu_info(_read(Path("/proc/cpuinfo")))
    return Environment(
        system=f"{platform.system()} {platform.release()}",
        machine=platform.machine(),
        cpu=cpu[0],
        cpu_features=cpu[1],
        cores=os.cpu_count() or 1,
        usable_cores=len(os.sched_getaffinity(0)),
        memory_bytes=memory_bytes(),
        governor=_read(_GOVERNOR).strip() or None,
        load_1m=round(os.getloadavg()[0], 2),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        versions=_versions(),
        commit=_commit(Path(__file__)),
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _cpu_info(text: str) -> tuple[str | None, tuple[str, ...]]:
    """The model's name and the features that matter to a compiler; x86 says `flags`, AArch64 says `Features`."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    flags = sorted(set(fields.get("flags", fields.get("Features", "")).split()))
    return fields.get("model name"), tuple(flag for flag in flags if _FEATURES.fullmatch(flag))


def memory_bytes() -> int | None:
    """The memory of this machine, None where the system does not say."""
    return _memory_bytes(_read(Path("/proc/meminfo")))


def _memory_bytes(text: str) -> int | None:
    for line in text.splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return None


def _versions() -> dict[str, str]:
    found = {"LLVM": compiler.llvm_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _commit(source: Path) -> str | None:
    """The commit of the source tree, with `+` when it was edited; None for an installed copy.

    The file must itself be tracked: an installed copy may well lie inside somebody else's repository.
    """
    if _git(source, "ls-files", "--error-unmatch", source.name) is None:
        return None
    commit = _git(source, "rev-parse", "HEAD")
    edited = _git(source, "status", "--porcelain", "--untracked-files=no")
    return commit and commit.strip() + ("+" if edited else "")


def _git(source: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(source.parent), *arguments], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
