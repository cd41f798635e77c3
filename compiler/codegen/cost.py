"""The cost model: nanoseconds that a kernel takes, near enough to decide whether threads or repeated work pay.

The weights are nanoseconds per element on one core of a present-day server, with vectors of 512 bits, for loops over
f32 that keep its units busy; memory is counted at the bandwidth of a private cache.  For half of some 600 kernels of
whole programs what is expected is between 0.9 and 1.6 times what was measured.  Inverse and hyperbolic functions are
weighed by what they take beside `tanh` and `log-plus-one` in loops over 16,384 numbers on a CPU with AVX2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from compiler.codegen.kernel import Kernel
from compiler.codegen.nest import MOST_SHARES
from compiler.ir.attributes import Window
from compiler.ir.module import Instruction
from compiler.ir.shape import TupleShape
from compiler.ops import OPS, Trait, having

PARALLEL_NS = 1000.0
"""A kernel below this runs on one thread: to meet another before and after takes 0.2 us where the two share a cache and
1 us where they do not, and what one of them wrote the other has to fetch."""

_SHARES_ALL: ContextVar[bool] = ContextVar("shares_all", default=False)


@contextmanager
def sharing_all(*, is_asked: bool) -> Iterator[None]:
    """Within it threads share every kernel that they can, whether that pays or not, if it is asked for."""
    token = _SHARES_ALL.set(is_asked)
    try:
        yield
    finally:
        _SHARES_ALL.reset(token)


def shares_all() -> bool:
    """Whether it does not matter what sharing takes."""
    return _SHARES_ALL.get()


_HEAVY = {
    "acos": 0.2,
    "acosh": 0.35,
    "asin": 0.17,
    "asinh": 0.4,
    "atanh": 0.33,
    "cosh": 0.17,
    "sinh": 0.22,
    "exponential": 0.07,
    "exponential-minus-one": 0.13,
    "log": 0.1,
    "log-plus-one": 0.13,
    "tanh": 0.13,
    "logistic": 0.13,
    "erf": 0.13,
    "power": 0.5,
    "sine": 0.13,
    "cosine": 0.13,
    "tan": 0.33,
    "atan2": 0.33,
    "cbrt": 0.25,
    "divide": 0.033,
    "remainder": 0.17,
    "sqrt": 0.05,
    "rsqrt": 0.07,
    "gather": 0.17,
    "pad": 0.05,
    "concatenate": 0.05,
    "transpose": 0.08,
    "dynamic-update-slice": 0.05,
}
_LIGHT = 0.005
"""Nanoseconds per element of what is one instruction: bytes are counted apart (11-24; 0.0085 on a core whose other
thread was busy, 11-25)."""
_BYTES_PER_NS = 120.0
"""What one thread moves to and from its caches (11-24; 62 to 101 on a core whose other thread was busy, 11-25)."""
_PRODUCT_BYTES_PER_NS = 180.0
"""What it moves where products do: in panels that are read in order (11-24)."""
_FLOPS_PER_NS = 270.0
"""What one thread's products of f32 come to (11-24; 110 on a core whose other thread was busy, 11-25; the peak of two
cores is 460, `reports/measured/2026-11-22-roofline`)."""
_CHUNK_NS = 250_000.0
"""Nanoseconds of a chunk that is taken while threads are held up: a tenth of a time slice, so that one who is off its
core for a slice leaves others enough to do, and hundreds of times what it takes to hand a chunk over."""
_MOST_CHUNKS = 4
"""Chunks of a thread's share: with four, threads at whole and half speed end within an eighth of each other."""
MOST_THREADS = MOST_SHARES // _MOST_CHUNKS
"""Threads that a program is compiled for, at most."""
_FREE = having(Trait.STRUCTURAL | Trait.VIEW | Trait.GENERATES) | {"broadcast"}

COST: Mapping[str, float] = {
    **dict.fromkeys(OPS, _LIGHT),
    **dict.fromkeys(_FREE, 0.0),
    **_HEAVY,
}
"""Nanoseconds per element of each opcode in a vectorised f32 loop on a CPU."""


def chunks_per_thread(work_ns: float, threads: int) -> int:
    """Into how many chunks to cut what a thread does of work of so many nanoseconds, where threads may be held up."""
    if shares_all():
        return _MOST_CHUNKS
    return max(1, min(_MOST_CHUNKS, int(work_ns / threads / _CHUNK_NS)))


def pays_threads(work_ns: float) -> bool:
    """Whether work of so many nanoseconds on one thread is worth being shared."""
    return work_ns > PARALLEL_NS or shares_all()


def nanoseconds(kernel: Kernel) -> float:
    """The expected time of a kernel on one thread."""
    compute = sum(_instruction_ns(instruction) for instruction in kernel.body())
    products = any(instruction.opcode in ("dot", "convolution") for instruction in kernel.body())
    return compute + moved_bytes(kernel) / (_PRODUCT_BYTES_PER_NS if products else _BYTES_PER_NS)


def moved_bytes(kernel: Kernel) -> int:
    """Bytes that a kernel moves where it reads every input once, and writes every result once."""
    return sum(_read_bytes(kernel, n) for n in range(len(kernel.inputs))) + kernel.instruction.shape.size_bytes


_PARTIAL = having(Trait.PARTIAL)
"""Opcodes that read no more of their first operand than they yield."""


def _read_bytes(kernel: Kernel, number: int) -> int:
    """Bytes of an input that a kernel reads: all of it, or as much as slices of it take."""
    size = kernel.inputs[number].shape.size_bytes
    inner = {leaf for leaf, at in kernel.leaves if at == number}
    body = set(kernel.body())
    readers = [user for leaf in inner for user in leaf.users if user in body]
    if not readers or any(r.opcode not in _PARTIAL or r.operands[0] not in inner for r in readers):
        return size
    return min(size, sum(reader.shape.size_bytes for reader in readers))


def per_element(kernel: Kernel) -> float:
    """The expected time per element of a loop over values of the kernel's body, its memory traffic included."""
    weights = sum(COST[instruction.opcode] for instruction in kernel.body())
    return weights + 4.0 * (1 + len(kernel.inputs)) / _BYTES_PER_NS


def _instruction_ns(instruction: Instruction) -> float:
    if isinstance(instruction.shape, TupleShape):
        size = max((o.array.size for o in instruction.operands), default=0)
    else:
        size = instruction.array.size
    if instruction.opcode == "reduce":
        size = instruction.operands[0].array.size
    if instruction.opcode == "dot":
        return dot_flops(instruction) / _FLOPS_PER_NS
    if instruction.opcode == "convolution":
        return convolution_flops(instruction) / _FLOPS_PER_NS
    wide = 2.0 if not isinstance(instruction.shape, TupleShape) and instruction.array.element_type.bits == 64 else 1.0
    return size * COST[instruction.opcode] * wide


def dot_flops(dot: Instruction) -> int:
    """Floating-point operations of a dot: a product and a sum per term."""
    lhs = dot.operands[0].array
    depth: int = math.prod(lhs.dims[d] for d in dot.attributes.get("lhs_contracting_dims", ()))
    return 2 * dot.array.size * depth


def convolution_flops(convolution: Instruction) -> int:
    """Floating-point operations of a convolution, with those on padding, without those on holes in the input."""
    kernel = convolution.operands[1].array
    outputs: int = kernel.dims[convolution.attributes["dim_labels"].kernel_output_feature]
    window: Window = convolution.attributes.get("window", ())
    holes = math.prod(dimension.lhs_dilate for dimension in window if dimension.stride == 1)
    return 2 * convolution.array.size * (kernel.size // max(outputs, 1)) // holes
