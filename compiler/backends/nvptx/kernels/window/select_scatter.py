"""select-and-scatter kernels: one thread for each element of the result, which asks every window over it.

A window that picked this element gives its own element of the source to be combined; the windows are asked in order, so
the result is that of a sequential program, without atomics.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.strategy import Given, Kind, Plan, Strategy, planned
from compiler.codegen import elemental, nest
from compiler.codegen.index import Emission, Index
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I1, Builder, Module, Value, integer
from compiler.codegen.movement import Indices
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.codegen.window_choice import pick
from compiler.codegen.windows import over_points
from compiler.ir.attributes import WindowDimension
from compiler.ir.module import Instruction
from compiler.ir.windows import window_of


def _elements(given: Given) -> Plan:
    """The plan where each element asks the windows that hold it whether they picked it."""
    (instruction,) = given.kernel.roots
    return planned(lambda module: (_emit(module, given.kernel),) if instruction.array.size else ())


SELECT_AND_SCATTER = Kind((Strategy("elements ask windows", _elements),), Given)
"""select-and-scatter kernels."""


def _emit(module: Module, kernel: Kernel) -> Launch:
    (instruction,) = kernel.roots
    shape = instruction.array

    def gather(builder: Builder, number: Value) -> None:
        emission = Emission(builder)
        linear = emission.opaque(number, shape.size)
        value = _combined(kernel, instruction, emission, number)
        store(emission, shape, value, arguments(kernel).outputs[0], linear)

    return grid.for_each(module, kernel, shape.size, gather)


def _combined(kernel: Kernel, instruction: Instruction, emission: Emission, number: Value) -> Value:
    """The initial value, combined with what the windows that picked this element give."""
    builder = emission.builder
    array, source, initial = instruction.operands
    window = window_of(instruction, array.array.rank)
    at = nest.coordinates(emission, emission.opaque(number, array.array.size), array.array.dims)
    start = elemental_of(kernel, emission).value(initial, ())

    def step(point: Sequence[Index], carried: Sequence[Value]) -> list[Value]:
        position, covers = _window_at(emission, window, source.array.dims, (at, point))

        def inside() -> Value:
            return _given(kernel, instruction, emission, position, (number, carried[0]))

        return [builder.choose(covers, inside, lambda: carried[0])]

    return over_points(emission, [_overlapping(dimension) for dimension in window], [start], step)[0]


def _overlapping(dimension: WindowDimension) -> int:
    """How many windows cover an element at most, along a dimension."""
    return -(-dimension.size // dimension.stride) if dimension.rhs_dilate == 1 else dimension.size


def _window_at(
    emission: Emission,
    window: Sequence[WindowDimension],
    counts: Sequence[int],
    which: tuple[Sequence[Index], Sequence[Index]],
) -> tuple[Indices, Value]:
    """Which window over the element at `which[0]` comes in the order of `which[1]`, and whether there is one."""
    builder = emission.builder
    position: list[Index] = []
    covers = Value(I1, "true")
    for dimension, count, index, step in zip(window, counts, *which, strict=True):
        spread, stride = index.times(dimension.lhs_dilate), integer(dimension.stride)
        last = emission.value(spread.plus(dimension.pad_low))
        if dimension.rhs_dilate == 1:
            # The first window over the element has it at its last point, or a point less than a stride before that.
            from_first = emission.value(spread.plus(dimension.pad_low + dimension.stride - dimension.size))
            first = builder.binary("sdiv", from_first, stride) if dimension.stride > 1 else from_first
            number = builder.add(first, emission.value(step))
            offset = builder.sub(last, builder.mul(number, stride))
            covers = builder.binary("and", covers, builder.compare("ult", offset, integer(dimension.size)))
        else:
            # The last point of the window first: the windows that have this element there come first.
            offset = emission.value(step.times(-dimension.rhs_dilate).plus((dimension.size - 1) * dimension.rhs_dilate))
            from_first = builder.sub(last, offset)
            number = builder.binary("sdiv", from_first, stride)
            covers = builder.binary("and", covers, builder.compare("eq", builder.mul(number, stride), from_first))
        covers = builder.binary("and", covers, builder.compare("ult", number, integer(count)))
        position.append(emission.opaque(number, count))
    return tuple(position), covers


def _given(
    kernel: Kernel, instruction: Instruction, emission: Emission, position: Indices, mine: tuple[Value, Value]
) -> Value:
    """What has been combined so far, with the element of the window at `position` if it picked this one."""
    builder, (number, total) = emission.builder, mine
    emission.enter()
    found, offset = pick(kernel, instruction, emission, position)
    picked = builder.binary("and", found, builder.compare("eq", offset, number))

    def with_source() -> Value:
        emission.enter()
        value = elemental_of(kernel, emission).value(instruction.operands[1], position)
        (new,) = elemental.apply(emission, instruction.attributes["scatter"], [total, value])
        emission.leave()
        return new

    result = builder.choose(picked, with_source, lambda: total)
    emission.leave()
    return result
