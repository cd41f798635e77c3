"""The architectures that can be compiled for, and the PTX version that is written for each.

The version is the first that knows the architecture (and 6.4 at least), so that PTX runs with the oldest driver that
runs the GPU at all.
"""

from __future__ import annotations

from compiler.codegen.llvm import Target
from compiler.diagnostics import InputError

ARCHITECTURES: dict[str, int] = {
    "sm_70": 64,
    "sm_72": 64,
    "sm_75": 64,
    "sm_80": 70,
    "sm_86": 71,
    "sm_87": 74,
    "sm_89": 78,
    "sm_90": 78,
    "sm_100": 86,
    "sm_103": 88,
    "sm_120": 87,
    "sm_121": 88,
}
"""PTX versions, as 10 * major + minor, by architecture."""


def target_of(arch: str) -> Target:
    """The target for an architecture's name, or InputError."""
    version = ARCHITECTURES.get(arch)
    if version is None:
        raise InputError(f"unknown architecture {arch!r} of back end 'nvptx'; known are: {', '.join(ARCHITECTURES)}")
    return Target.nvptx(arch, f"+ptx{version}")


def compute_capability(arch: str) -> int:
    """The number in an architecture's name, e.g. 80."""
    return int(arch.removeprefix("sm_"))
