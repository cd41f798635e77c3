"""select-and-scatter over windows that lie side by side, as gradients of max pooling have them.

No two windows share an element, so each writes its own: the loops run over windows, the innermost over neighbouring
ones, and every window's points are unrolled.  Elements behind the last window get the initial value first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, begin
from compiler.backends.cpu.kernels.strategy import Functions, Given, Plan
from compiler.backends.strategy import Declined
from compiler.codegen import elemental, nest
from compiler.codegen.index import Emission, Index, Variable, digits, linear
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I8, Builder, Module, Value, integer, keep_rolled
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.ir.attributes import WindowDimension
from compiler.ir.module import Instruction
from compiler.ir.windows import window_of

_MOST_POINTS = 32
"""Points of a window that are in registers at once: as many as AVX-512 has."""
_STEP_NS = 0.08
"""Nanoseconds for an element."""


def decide(given: Given) -> Plan | Declined:
    """The plan where windows are small, lie side by side and cover elements only."""
    kernel = given.kernel
    (instruction,) = kernel.roots
    array, source, _ = instruction.operands
    window = window_of(instruction, array.array.rank)
    if any(dimension != WindowDimension(dimension.size, stride=dimension.size) for dimension in window):
        return Declined("windows do not lie side by side")
    points = math.prod(dimension.size for dimension in window)
    if points > _MOST_POINTS:
        return Declined(f"windows have more than {_MOST_POINTS} points")
    if not source.array.size or array.array.element_type.is_complex:
        return Declined("there are no windows, or complex numbers in them")
    rest = any(size % dimension.size for size, dimension in zip(instruction.array.dims, window, strict=True))

    def emit(module: Module) -> Functions:
        before = (_fill(module, kernel),) if rest else ()
        return *before, _pick(module, kernel, window)

    return given.plan(emit, _STEP_NS * instruction.array.size, details={"points": points})


def _fill(module: Module, kernel: Kernel) -> str:
    (instruction,) = kernel.roots
    b = Builder(begin(module, kernel, ".fill"))
    chunk = nest.share(b, instruction.array.size, THREAD, THREADS)
    with b.loop(chunk.start, chunk.stop, name="fill") as loop:
        emission = Emission(b)
        value = elemental_of(kernel, emission).value(instruction.operands[2], ())
        at = emission.opaque(loop.index, instruction.array.size)
        store(emission, instruction.array, value, arguments(kernel).outputs[0], at)
    b.ret()
    return b.function.name


def _pick(module: Module, kernel: Kernel, window: Sequence[WindowDimension]) -> str:
    (instruction,) = kernel.roots
    b = Builder(begin(module, kernel))
    dims = instruction.operands[1].array.dims
    plain = len(list(itertools.takewhile(lambda dimension: dimension.size == 1, reversed(window))))
    outer = len(dims) - max(1, plain)
    count, row = math.prod(dims[:outer]), math.prod(dims[outer:])
    dimension = nest.share(b, count, THREAD, THREADS)
    with b.loop(dimension.start, dimension.stop, name="row", metadata=keep_rolled(b.module)) as rows:
        emission = Emission(b)
        at = nest.coordinates(emission, emission.opaque(rows.index, count), dims[:outer])
        positions = [emission.opaque(emission.value(i), n) for i, n in zip(at, dims[:outer], strict=True)]
        with b.loop(integer(0), integer(row), name="window", nonempty=True, metadata=keep_rolled(b.module)) as loop:
            along = digits(Variable(loop.index, row), dims[outer:])
            _window(kernel, instruction, Emission(b), window, [*positions, *along])
    b.ret()
    return b.function.name


def _window(
    kernel: Kernel,
    instruction: Instruction,
    emission: Emission,
    window: Sequence[WindowDimension],
    position: Sequence[Index],
) -> None:
    """One window: the element that it picks gets the source's, the others the initial value."""
    b = emission.builder
    array, source, initial = instruction.operands
    values = elemental_of(kernel, emission)
    points = [
        tuple(index.times(dimension.size).plus(t) for index, dimension, t in zip(position, window, point, strict=True))
        for point in itertools.product(*(range(dimension.size) for dimension in window))
    ]
    best, picked = values.value(array, points[0]), integer(0, I8)
    for number, point in enumerate(points[1:], start=1):
        candidate = values.value(array, point)
        (keeps,) = elemental.apply(emission, instruction.attributes["select"], [best, candidate])
        best, picked = b.select(keeps, best, candidate), b.select(keeps, picked, integer(number, I8))
    start = values.value(initial, ())
    (combined,) = elemental.apply(
        emission, instruction.attributes["scatter"], [start, values.value(source, tuple(position))]
    )
    for number, point in enumerate(points):
        chosen: Value = b.select(b.compare("eq", picked, integer(number, I8)), combined, start)
        at = linear(point, array.array.dims)
        store(emission, array.array, chosen, arguments(kernel).outputs[0], at)
