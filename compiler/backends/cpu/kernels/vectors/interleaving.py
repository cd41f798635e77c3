"""Interleaving: the number of vectors of a loop that are computed at once."""

from __future__ import annotations

from compiler.codegen import cost
from compiler.codegen.kernel import Kernel
from compiler.ir.shape import ArrayShape
from compiler.ir.types import ElementType

SHORT = 256
"""Iterations of a loop below which what is left over after the last whole vectors counts."""
_MANY_ITERATIONS = 4096
"""Iterations from which on eight vectors at once leave little over: at most 127 of them, 3 %."""
_CHAIN, _LONG, _VERY_LONG, _ENDLESS = 0.033, 0.42, 1.35, 3.3
"""Weights of bodies, in nanoseconds per element as `codegen.cost` counts them, between which a loop is interleaved."""
_WORTH, _WELL_WORTH = 0.25e6, 0.67e6
"""Nanoseconds of work for which compiling a long, and a very long, body four times over is worth while."""
_WORTH_ALL = 0.083e6
"""And a short one eight times over; longer ones that often if they are well worth it."""


def types_of(kernel: Kernel) -> set[ElementType]:
    """The types of the arrays that a kernel computes."""
    return {i.array.element_type for i in kernel.body() if isinstance(i.shape, ArrayShape)}


def has_complex(kernel: Kernel) -> bool:
    """Whether it computes any complex numbers."""
    return any(type_.is_complex for type_ in types_of(kernel))


def interleave(kernel: Kernel, length: int, work: float) -> int:
    """The number of vectors to compute at once; 0 leaves it to LLVM, which keeps long bodies single.

    A polynomial is a chain of operations that wait for one another: one vector at a time keeps the units idle most of
    the time, while operands that no longer fit into registers cost next to nothing.  A CPU looks some two hundred
    operations ahead: of eight vectors taken in turn enough are ready among these, of fewer with long chains they are
    not.  Long bodies take long to compile so many times over: they get fewer.

    Args:
        kernel: the loop.
        length: iterations of its innermost loop.
        work: expected nanoseconds on one thread.
    """
    types = types_of(kernel)
    weight = sum(cost.COST[instruction.opcode] for instruction in kernel.body())
    weight *= 2 if any(type_.bits == 64 for type_ in types) else 1
    # Parts of complex numbers are shuffled more than computed with.
    if length < SHORT or not _CHAIN <= weight < _ENDLESS or has_complex(kernel):
        return 0
    enough = 0.0 if weight < _LONG else _WORTH if weight < _VERY_LONG else _WELL_WORTH
    if work < enough:
        return 2
    # What is left of a loop by so many vectors is done one by one.
    return 8 if length >= _MANY_ITERATIONS and work >= (_WORTH_ALL if weight < _LONG else _WELL_WORTH) else 4
