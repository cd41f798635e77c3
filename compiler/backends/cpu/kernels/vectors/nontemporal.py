"""Results written past the caches.

An ordinary store reads its cache line first, and puts it where something else could stay.  A large result written in
pieces that lie far apart pays for both: the hardware prefetches no such lines, and rows a power of two apart crowd the
same sets.  Non-temporal stores of whole lines do neither.  Where a result is written in order the caches are as good
until it exceeds them by far, so loops in order do not stream.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.backends.cpu.machine import Machine
from compiler.codegen.llvm_ir import I64, Builder, Value, integer, vector_type
from compiler.codegen.workspace import LINE_BYTES
from compiler.ir.shape import ArrayShape

_LEAST_BYTES = 8 << 20
"""Bytes of results from which on little of them would be in a cache when they are read."""
_WORD_BYTES = 8
"""Bytes of the narrowest non-temporal store."""


def pays(machine: Machine, outputs: Sequence[ArrayShape], row: int) -> bool:
    """Whether results made of rows of so many elements are worth streaming, in lines that are whole.

    Args:
        machine: which CPU.
        outputs: the shapes of the results.
        row: elements of a row.
    """
    whole = all(output.element_type.size_bytes * row % LINE_BYTES == 0 for output in outputs)
    return machine.has("avx2") and whole and sum(output.size_bytes for output in outputs) >= _LEAST_BYTES


def is_aligned(builder: Builder, outputs: Sequence[Value]) -> Value:
    """Whether lines of the results are lines of memory, which holds for all but foreign arrays."""
    bits = integer(0)
    for output in outputs:
        bits = builder.binary("or", bits, builder.cast("ptrtoint", output, I64))
    return builder.compare("eq", builder.binary("and", bits, integer(LINE_BYTES - 1)), integer(0))


def copy(builder: Builder, source: Value, target: Value, size_bytes: int, *, streamed: bool) -> None:
    """Copy a few lines, or a power of two of bytes within one.

    Args:
        builder: where code is emitted.
        source: the address of what is copied.
        target: where it goes.
        size_bytes: how much it is.
        streamed: past the caches.
    """
    each = min(size_bytes, LINE_BYTES)
    vector = vector_type(I64, each // _WORD_BYTES)
    hint = f", !nontemporal {builder.module.metadata('!{i32 1}')}" if streamed else ""
    for start in range(0, size_bytes, each):
        value = builder.load(vector, builder.gep("i8", source, integer(start)), align=1)
        builder.store(value, builder.gep("i8", target, integer(start)), align=each if streamed else 1, metadata=hint)


def finish(builder: Builder) -> None:
    """Let other threads see what has been streamed when they see what is written after it."""
    builder.intrinsic("x86.sse.sfence", [], result="void")
