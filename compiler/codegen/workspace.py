"""The workspace of a kernel: scratch memory while it runs, in blocks that begin at cache lines.

Two threads never write to one line, and vectors of any width lie aligned.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.codegen.llvm_ir import Builder, Value, integer

LINE_BYTES = 64
"""Bytes of a cache line of x86-64 and AArch64: what two threads write shares none."""


def whole_lines(size_bytes: int) -> int:
    """Bytes, rounded up to whole lines of a cache."""
    return -(-size_bytes // LINE_BYTES) * LINE_BYTES


@dataclass(frozen=True, slots=True)
class Workspace:
    """Named parts, one behind the other.

    Attributes:
        sizes: the bytes that each part has to hold.
    """

    sizes: dict[str, int]

    @property
    def size_bytes(self) -> int:
        """Bytes of all parts of a workspace."""
        return sum(map(self.bytes_of, self.sizes))

    def bytes_of(self, name: str) -> int:
        """Of one part: whole lines."""
        return whole_lines(self.sizes[name])

    def regions(self, builder: Builder, base: Value) -> dict[str, Value]:
        """The address of each part in the memory at `base`."""
        found, offset = {}, 0
        for name in self.sizes:
            found[name] = builder.gep("i8", base, integer(offset))
            offset += self.bytes_of(name)
        return found
