"""select-and-scatter kernels: every window picks one of its elements, to which the source's element is added.

Windows may pick the same element and the combiner need not commute, so one thread goes through them in order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.backends.cpu.kernels.emitted import EmittedKernel, begin
from compiler.codegen import element, elemental, nest
from compiler.codegen.index import Emission, Index, linear, reshape
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I1, I64, Builder, Module, Value, integer
from compiler.codegen.movement import Indices
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.codegen.windows import covered, window_of
from compiler.ir.module import Instruction

_STEP_NS = 2.0


def emit(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit a select-and-scatter kernel."""
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
        place = tuple(emission.opaque(emission.value(i), n) for i, n in zip(at, source.array.dims, strict=True))
        _scatter(kernel, instruction, emission, place)
    builder.ret()
    points = math.prod(part.size for part in window_of(instruction, array.array.rank))
    return EmittedKernel(
        kernel, (builder.function.name,), 0, parallel=False, work=_STEP_NS * points * source.array.size
    )


def _scatter(kernel: Kernel, instruction: Instruction, emission: Emission, place: Indices) -> None:
    """Combine one element of the source with the element that its window picks."""
    builder = emission.builder
    array, source, _ = instruction.operands
    type_ = array.array.element_type
    found, offset = _pick(kernel, instruction, emission, place)
    with builder.when(found, "found"):
        emission.enter()
        value = elemental_of(kernel, emission).value(source, place)
        address = builder.gep(element.storage_type(type_), arguments(kernel).outputs[0], offset)
        old = element.load(builder, type_, address)
        (new,) = elemental.apply(emission, instruction.attributes["scatter"], [old, value])
        element.store(builder, type_, new, address)
        emission.leave()


def _pick(kernel: Kernel, instruction: Instruction, emission: Emission, place: Indices) -> tuple[Value, Value]:
    """Whether the window covers any element, and the linear index of the one that it picks."""
    builder = emission.builder
    array = instruction.operands[0]
    dims, window = array.array.dims, window_of(instruction, array.array.rank)
    sizes = [part.size for part in window]
    count = math.prod(sizes)
    nothing = element.constant(array.array.element_type, 0)
    start = [Value(I1, "false"), Value(I64, "0"), nothing]
    with builder.loop(integer(0), integer(count), carried=start, name="point", nonempty=True) as loop:
        emission.enter()
        digits = reshape(emission, (emission.opaque(loop.index, count),), (count,), sizes)
        point: Sequence[Index] = [emission.opaque(emission.value(i), n) for i, n in zip(digits, sizes, strict=True)]
        covering, conditions = covered(elemental_of(kernel, emission), window, dims, place, point)
        inside = Value(I1, "true")
        for condition in conditions:
            inside = builder.binary("and", inside, condition) if condition else inside
        before = builder.block
        then, done = builder.new_label("inside"), builder.new_label("inside.end")
        builder.branch_if(inside, then, done)
        builder.begin(then)
        emission.enter()
        picked = _better(kernel, instruction, emission, tuple(covering), loop.carried)
        emission.leave()
        after = builder.block
        builder.branch(done)
        builder.begin(done)
        pairs = zip(picked, loop.carried, strict=True)
        loop.carry(*(builder.phi(new.type, [(new, after), (old, before)]) for new, old in pairs))
        emission.leave()
    return loop.results[0], loop.results[1]


def _better(
    kernel: Kernel, instruction: Instruction, emission: Emission, at: Indices, best: Sequence[Value]
) -> list[Value]:
    """What is picked after one more element has been seen."""
    builder = emission.builder
    array = instruction.operands[0]
    found, offset, value = best
    candidate = elemental_of(kernel, emission).value(array, at)
    (keeps,) = elemental.apply(emission, instruction.attributes["select"], [value, candidate])
    stays = builder.binary("and", found, keeps)
    here = emission.value(linear(at, array.array.dims))
    return [Value(I1, "true"), builder.select(stays, offset, here), builder.select(stays, value, candidate)]
