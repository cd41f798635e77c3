"""Addresses of buffers in the code that calls kernels: in a program's main function and in those of its phases.

All of them get the same three parameters: addresses of the program's parameters and results, and the arena.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.analysis.buffers import Assignment
from compiler.analysis.storage import ALIGNMENT, Buffer, Storage
from compiler.codegen.llvm_ir import Builder, Value, integer
from compiler.codegen.movement import constant_data
from compiler.diagnostics import UnsupportedError
from compiler.ir.module import Instruction

BASES = [("ptr readonly", "parameters"), ("ptr readonly", "results"), ("ptr", "arena")]
"""The parameters that such a function begins with."""


@dataclass(frozen=True, slots=True)
class Pointers:
    """Addresses in one function.

    Attributes:
        builder: that of the function.
        assignment: where everything lies.
        known: addresses of buffers that are not computed from the function's parameters: those in its frame, and those
            that change roles in a loop.
        unchanging: the mark of a load of what stays as it is while the program runs.
    """

    builder: Builder
    assignment: Assignment
    known: Mapping[Buffer, Value]
    unchanging: str

    def of(self, buffer: Buffer) -> Value:
        """The address of a buffer."""
        builder = self.builder
        if buffer in self.known:
            return self.known[buffer]
        if buffer.storage is Storage.CONSTANT:
            return self._constant(buffer.owner)
        if buffer.storage is Storage.ARENA:
            return builder.gep("i8", Value("ptr", "%arena"), integer(buffer.offset))
        base = "%parameters" if buffer.storage is Storage.PARAMETER else "%results"
        address = builder.gep("ptr", Value("ptr", base), integer(buffer.number))
        start = builder.load("ptr", address, metadata=self.unchanging)
        return builder.gep("i8", start, integer(buffer.offset)) if buffer.offset else start

    def workspace(self, kernel: Instruction) -> Value:
        """The workspace of a kernel, which starts at a multiple of `ALIGNMENT`; results, where it may lie, do not."""
        buffer = self.assignment.workspaces.get(kernel)
        if buffer is None:
            return Value("ptr", "null")
        builder, pointer = self.builder, self.of(buffer)
        if buffer.storage is Storage.ARENA:
            return pointer
        up = builder.add(builder.cast("ptrtoint", pointer, "i64"), integer(ALIGNMENT - 1))
        aligned = builder.binary("and", up, integer(-ALIGNMENT))
        return builder.cast("inttoptr", aligned, "ptr")

    def _constant(self, instruction: Instruction) -> Value:
        literal = instruction.literal
        if literal.array is None:
            raise UnsupportedError(f"the constant {instruction.name}", "the CPU back end", "elided, or a tuple")
        name = "".join(c if c.isalnum() else "_" for c in f"{instruction.computation.name}.{instruction.name}")
        return constant_data(self.builder, literal, f"data.{name}")
