"""CPUs that code can be made for without being on them: what LLVM calls them, and the features that kernels ask for.

LLVM knows the features of a CPU by its name but does not tell; kernels are chosen by them, so they stand here.  The
x86-64 levels are those of the psABI; a named CPU has those of its level, and what is listed besides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from compiler.codegen.llvm import Target
from compiler.diagnostics import InputError

_V2 = ("cx16", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
_DOTS = (*_V4, "avx512vbmi", "avx512vnni")

MACHINES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "x86_64": {
        "x86-64": (),
        "x86-64-v2": _V2,
        "x86-64-v3": _V3,
        "x86-64-v4": _V4,
        "haswell": _V3,
        "skylake": _V3,
        "skylake-avx512": _V4,
        "icelake-server": _DOTS,
        "sapphirerapids": (*_DOTS, "avx512bf16", "avxvnni"),
        "znver3": _V3,
        "znver4": (*_DOTS, "avx512bf16"),
        "znver5": (*_DOTS, "avx512bf16", "avxvnni"),
    },
    "aarch64": {
        "generic": ("neon",),
        "apple-m1": ("neon",),
        "cortex-a53": ("neon",),
        "cortex-a72": ("neon",),
        "neoverse-n1": ("neon",),
        "neoverse-v1": ("neon",),
        "neoverse-v2": ("neon",),
    },
}
"""Features of each CPU, by the machine's name; the first is what every such machine can run."""


WITHOUT: Mapping[str, tuple[str, ...]] = {
    "fma": ("fma", "avx512", "avx10", "amx"),
    "avx2": ("avx2", "avx512", "avx10", "amx", "avxvnni", "avxifma", "avxneconvert", "sha512", "sm3", "sm4"),
    "avx512": ("avx512", "avx10", "amx"),
}
"""What a machine can be asked to do without, by name, and how the names of the features begin that go with it."""


def without(target: Target, names: Sequence[str]) -> Target:
    """The target without some of its features, and those that need them; InputError for a name that is not known.

    A target that has none of them is the same without them.
    """
    unknown = [name for name in names if name not in WITHOUT]
    if unknown:
        raise InputError(f"unknown CPU feature {unknown[0]!r} to do without; known are: {', '.join(WITHOUT)}")
    gone = tuple(start for name in names for start in WITHOUT[name])
    features = target.features.split(",")
    left = [f"-{f[1:]}" if f[1:].startswith(gone) else f for f in features] if gone else features
    return replace(target, features=",".join(left))


def target_for(machine: str, cpu: str = "") -> Target:
    """The target of a machine and a CPU, by default the one whose code runs on all of them; InputError if unknown."""
    if machine not in MACHINES:
        raise InputError(f"unknown target {machine!r}; targets are: {', '.join(MACHINES)}")
    known = MACHINES[machine]
    name = cpu or next(iter(known))
    if name not in known:
        raise InputError(f"unknown CPU {name!r} for {machine}; known are: {', '.join(known)}")
    features = [f"+{feature}" for feature in known[name]]
    if "avx512f" in known[name]:
        features.append("-prefer-256-bit")
    return Target(f"{machine}-unknown-linux-gnu", name, ",".join(features), jit=False)
