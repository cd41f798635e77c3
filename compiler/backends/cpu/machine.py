"""The machine that kernels are decided for: what of it decisions hang on, as a record.

Nothing that decides asks the computer that it happens to run on.  So plans for any machine can be made, and looked at,
on any other, and what a decision hangs on is seen from what it reads of the record.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import sys
from dataclasses import dataclass

from compiler.codegen.llvm import Target

TILE_REQUEST = 158, 0x1023, 18
"""Linux on x86-64: the number of `arch_prctl`, and what it is asked for the use of AMX's tile registers."""
WIDEST_VECTOR_BYTES = 64
"""Bytes of the widest vector of any machine, AVX-512's: blocks have its size, and LLVM halves them for others."""

_PAGE_BYTES = 4096  # of memory


@functools.cache
def permits_tiles() -> bool:
    """Whether the operating system lets this process use tile registers (asking makes it so)."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    return bool(ctypes.CDLL(None).syscall(*TILE_REQUEST) == 0)


@dataclass(frozen=True, slots=True)
class Machine:
    """A CPU as decisions see it.

    Attributes:
        name: its architecture and LLVM's name for it.
        features: by LLVM's names.
        is_x86: whether it has x86-64's instructions.
        vector_bits: the width of its vector registers.
        vector_registers: how many there are.
        tiles: whether programs may use the tile registers that it may have.
        l1_bytes: what a core's first cache for data holds.  Caches have the sizes of a small core's on every machine:
            the order in which sums are made hangs on them, and larger blocks are not faster where a cache is larger.
        l2_bytes: what a core's second cache holds.
        multiply_add_cycles: after so many the result of a multiply-add can be used.
    """

    name: str
    features: frozenset[str]
    is_x86: bool
    vector_bits: int
    vector_registers: int
    tiles: bool
    l1_bytes: int = 32 << 10
    l2_bytes: int = 1 << 20
    multiply_add_cycles: int = 4

    @staticmethod
    def of(target: Target, *, tiles: bool | None = None) -> Machine:
        """The machine that a target is.

        Args:
            target: LLVM's name for it.
            tiles: whether tile registers may be used; where nobody says, this computer's system is asked if code is to
                be loaded here, and another machine's is taken to allow it.
        """
        features, is_x86 = target.present, target.triple.startswith("x86_64")
        if tiles is None:
            tiles = "amx-tile" in features and (permits_tiles() if target.jit else True)
        return Machine(
            name=f"{target.triple.partition('-')[0]} {target.cpu}",
            features=features,
            is_x86=is_x86,
            vector_bits=512 if "avx512f" in features else 256 if "avx2" in features else 128,
            vector_registers=32 if "avx512f" in features or not is_x86 else 16,
            tiles=tiles,
        )

    def __str__(self) -> str:
        tiles = ", tile registers" if self.tiles else ""
        return f"{self.name}, {self.vector_registers} vector registers of {self.vector_bits} bits{tiles}"

    @property
    def l1_ways(self) -> int:
        """The associativity of the first cache: its sets cover a page, so it holds so many lines a page apart."""
        return self.l1_bytes // _PAGE_BYTES

    @property
    def has_multiply_add(self) -> bool:
        """Whether it has fused multiply-adds: a product and a sum, rounded once."""
        return not self.is_x86 or self.has("fma")

    def has(self, feature: str) -> bool:
        """Whether it has a feature by LLVM's name, e.g. `avx512f`."""
        return feature in self.features
