"""select-and-scatter kernels: every window picks one of its elements, to which the source's element is added.

Windows may pick the same element and the combiner need not commute, so one thread goes through them in order.
"""

from __future__ import annotations

import math
from functools import partial

from compiler.backends.cpu.kernels.emitted import begin
from compiler.backends.cpu.kernels.strategy import Functions, Given, Kind, Plan, Strategy
from compiler.backends.cpu.kernels.window import pool_gradient
from compiler.codegen import element, elemental, nest
from compiler.codegen.index import Emission
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, integer
from compiler.codegen.movement import Indices
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.codegen.window_choice import pick
from compiler.ir.module import Instruction
from compiler.ir.windows import window_of

_STEP_NS = 2.0
"""Nanoseconds for a point of a window."""


def _in_order(given: Given) -> Plan:
    """The plan of one thread that goes through all windows."""
    (instruction,) = given.kernel.roots
    array, source, _ = instruction.operands
    points = math.prod(dimension.size for dimension in window_of(instruction, array.array.rank))
    work = _STEP_NS * points * source.array.size
    return given.plan(partial(_emit, given.kernel), work, divisible=False, details={"points": points})


SELECT_AND_SCATTER = Kind(
    (Strategy("windows side by side", pool_gradient.decide), Strategy("windows in order", _in_order)), Given
)
"""select-and-scatter kernels."""


def _emit(kernel: Kernel, module: Module) -> Functions:
    (instruction,) = kernel.roots
    array, source, initial = instruction.operands
    builder = Builder(begin(module, kernel))
    (output,) = arguments(kernel).outputs
    with builder.loop(integer(0), integer(array.array.size)) as loop:
        emission = Emission(builder)
        start = elemental_of(kernel, emission).value(initial, ())
        store(emission, array.array, start, output, emission.opaque(loop.index, array.array.size))
    with builder.loop(integer(0), integer(source.array.size), name="window") as loop:
        emission = Emission(builder)
        at = nest.coordinates(emission, emission.opaque(loop.index, source.array.size), source.array.dims)
        position = tuple(emission.opaque(emission.value(i), n) for i, n in zip(at, source.array.dims, strict=True))
        _scatter(kernel, instruction, emission, position)
    builder.ret()
    return (builder.function.name,)


def _scatter(kernel: Kernel, instruction: Instruction, emission: Emission, position: Indices) -> None:
    """Combine one element of the source with the element that its window picks."""
    builder = emission.builder
    array, source, _ = instruction.operands
    type_ = array.array.element_type
    found, offset = pick(kernel, instruction, emission, position)
    with builder.when(found, "found"):
        emission.enter()
        value = elemental_of(kernel, emission).value(source, position)
        address = builder.gep(element.storage_type(type_), arguments(kernel).outputs[0], offset)
        old = element.load(builder, type_, address)
        (new,) = elemental.apply(emission, instruction.attributes["scatter"], [old, value])
        element.store(builder, type_, new, address)
        emission.leave()
