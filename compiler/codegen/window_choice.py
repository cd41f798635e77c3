"""The element that a window of select-and-scatter picks, as both back ends' kernels compute it."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.codegen import element, elemental
from compiler.codegen.index import Emission, Index, linear
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I1, I64, Value
from compiler.codegen.movement import Indices
from compiler.codegen.signature import elemental_of
from compiler.codegen.windows import covered, over_points
from compiler.ir.module import Instruction
from compiler.ir.windows import window_of


def pick(kernel: Kernel, instruction: Instruction, emission: Emission, position: Indices) -> tuple[Value, Value]:
    """Whether the window covers any element, and the linear index of the one that it picks.

    Args:
        kernel: what is computed.
        instruction: the choice: which of a window's elements.
        emission: where code is emitted, with what is known there.
        position: the window's indices.
    """
    builder = emission.builder
    array = instruction.operands[0]
    dims, window = array.array.dims, window_of(instruction, array.array.rank)
    sizes = [dimension.size for dimension in window]

    def step(point: Sequence[Index], best: Sequence[Value]) -> list[Value]:
        covering, conditions = covered(elemental_of(kernel, emission), window, dims, position, point)
        inside = Value(I1, "true")
        for condition in conditions:
            inside = builder.binary("and", inside, condition) if condition else inside
        before = builder.block
        then, done = builder.new_label("inside"), builder.new_label("inside.end")
        builder.branch_if(inside, then, done)
        builder.begin(then)
        emission.enter()
        picked = _better(kernel, instruction, emission, tuple(covering), best)
        emission.leave()
        after = builder.block
        builder.branch(done)
        builder.begin(done)
        return [builder.phi(new.type, [(new, after), (old, before)]) for new, old in zip(picked, best, strict=True)]

    nothing = element.constant(array.array.element_type, 0)
    found, offset, _ = over_points(emission, sizes, [Value(I1, "false"), Value(I64, "0"), nothing], step)
    return found, offset


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
