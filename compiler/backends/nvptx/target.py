"""The architectures that can be compiled for, the PTX version that is written for each, and the PTX of a module.

The version is the first that knows the architecture (and 6.4 at least), so that PTX runs with the oldest driver that
runs the GPU at all.  PTX runs on newer GPUs too, but for that of architectures with an "a" behind their number: these
have instructions that no other GPU has.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from compiler.codegen import llvm
from compiler.codegen.llvm import Target
from compiler.diagnostics import InputError, UnsupportedError


@dataclass(frozen=True, slots=True)
class Architecture:
    """What is known of one: the version of PTX, as 10 * major + minor, and the shared memory of a multiprocessor."""

    ptx: int
    shared_kib: int


ARCHITECTURES: dict[str, Architecture] = {
    "sm_70": Architecture(64, 96),
    "sm_72": Architecture(64, 96),
    "sm_75": Architecture(64, 64),
    "sm_80": Architecture(70, 164),
    "sm_86": Architecture(71, 100),
    "sm_87": Architecture(74, 164),
    "sm_89": Architecture(78, 100),
    "sm_90": Architecture(78, 228),
    "sm_90a": Architecture(80, 228),
    "sm_100": Architecture(86, 228),
    "sm_103": Architecture(88, 228),
    "sm_120": Architecture(87, 100),
    "sm_121": Architecture(88, 100),
}
"""By name, as NVIDIA's programming guide has them, older ones first."""
DEFAULT_ARCHITECTURE = "sm_90"
"""What is compiled for where nobody says, and no GPU is there to ask: its PTX runs on newer GPUs too."""
_SPECIFIC = "a"
"""What names of architectures end in whose PTX runs on GPUs of that compute capability only."""

_UNROUNDED = re.compile(r"(?<=\s)(add|sub|mul)(?=\.(?:f16|f16x2|bf16|bf16x2|f32|f32x2|f64)\s)")
"""A sum, difference or product that does not say how it is rounded: PTX lets the driver join two of them to one FMA."""

_UNCOPIED = 1
"""The least level at which values that loops carry stay in their registers."""


def ptx_of(optimised: Any, target: Target, opt: int) -> str:
    """The PTX of a module that LLVM has optimised.

    Where a product and a sum may be joined LLVM joins them, or leaves it to the driver where a branch lies in between.
    What that makes of them would hang on its version, so of each that is left it is said how it is rounded.

    Without optimisation code generation copies the sums of products by warp groups (`wgmma`) from register to register
    in every iteration, and nobody may touch them while a product is on its way: such code is always generated at a
    higher level.

    Args:
        optimised: LLVM's module.
        target: the architecture.
        opt: how much LLVM optimises.
    """
    text = llvm.assembly(optimised, target, opt)
    if opt < _UNCOPIED and "wgmma.mma_async" in text:
        text = llvm.assembly(optimised, target, _UNCOPIED)
    return _UNROUNDED.sub(r"\1.rn", text)


def target_of(arch: str) -> Target:
    """The target for an architecture's name, or InputError."""
    architecture = ARCHITECTURES.get(arch)
    if architecture is None:
        raise InputError(f"unknown architecture {arch!r} of back end 'nvptx'; known are: {', '.join(ARCHITECTURES)}")
    return Target.nvptx(arch, f"+ptx{architecture.ptx}")


def newest_for(capability: int) -> str:
    """The newest architecture whose PTX a GPU runs.

    Raises:
        UnsupportedError: the GPU is older than all of them.
    """
    known = [arch for arch in ARCHITECTURES if runs(arch, capability)]
    if not known:
        oldest = next(iter(ARCHITECTURES))
        raise UnsupportedError(f"a GPU of sm_{capability}", "back end 'nvptx'", f"the oldest that it knows is {oldest}")
    return known[-1]


def runs(arch: str, capability: int) -> bool:
    """Whether a GPU runs PTX of an architecture: of most, any GPU that is not older does."""
    own = compute_capability(arch)
    return own == capability if is_specific(arch) else own <= capability


def is_specific(arch: str) -> bool:
    """Whether PTX of an architecture runs on GPUs of its compute capability only."""
    return arch.endswith(_SPECIFIC)


def compute_capability(arch: str) -> int:
    """The number in an architecture's name, e.g. 80."""
    return int(arch.removeprefix("sm_").removesuffix(_SPECIFIC))


def has_warp_groups(arch: str) -> bool:
    """Whether warps in groups of four multiply on tensor cores together (`wgmma`): only sm_90a has that."""
    return arch == "sm_90a"
