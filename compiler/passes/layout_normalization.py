"""Forget the layouts of everything inside the program: every array is row-major.

A layout never changes what a value is, so dropping it is sound everywhere but at a `bitcast`, which reinterprets
memory: that becomes the reshape, or the transposes around a reshape and a bitcast-convert, that it stands for.  A call
of LAPACK's that states memory by rows is refused for it later, so it stays.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.diagnostics import UnsupportedError
from compiler.ir.control import stand_in
from compiler.ir.matrix_layouts import is_by_columns
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import ArrayShape, default_layout, without_layout
from compiler.ir.types import ElementType
from compiler.ops.build import build
from compiler.ops.custom_call import routine_of
from compiler.ops.data_movement import check_bits


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    changed = False
    for computation in module.computations:
        # What a bitcast means depends on its operand's layout, which expanding the operand itself would lose.
        bitcasts = [(i, i.operands[0].array) for i in computation.instructions if i.opcode == "bitcast"]
        for bitcast, source in bitcasts:
            changed |= _expand(computation, bitcast, source, fuel)
        computation.sort()
        for instruction in computation.instructions:
            bare = without_layout(instruction.shape)
            if routine_of(instruction) and not is_by_columns(instruction):
                continue
            if bare != instruction.shape and fuel.spend("drop layout", instruction, required=True):
                instruction.shape = bare
                changed = True
    return changed


def _order(shape: ArrayShape) -> tuple[int, ...]:
    """Dimensions from the slowest varying to the fastest."""
    layout = shape.layout or default_layout(shape.rank)
    return tuple(reversed(layout.minor_to_major))


def _expand(computation: Computation, bitcast: Instruction, source: ArrayShape, fuel: Fuel) -> bool:
    (operand,) = bitcast.operands
    target = bitcast.array
    check_bits(bitcast)
    fuel.spend("expand bitcast", bitcast, required=True)
    flat = _read_as(computation, _transpose(computation, operand, _order(source)), target.element_type)
    order = _order(target)
    shaped = _reshape(computation, flat, tuple(target.dims[d] for d in order))
    inverse = tuple(order.index(d) for d in range(len(order)))
    result = _transpose(computation, shaped, inverse)
    bitcast.replace_uses_with(result)
    stand_in(computation, bitcast, result)
    computation.remove([bitcast])
    return True


def _reshape(computation: Computation, operand: Instruction, dims: tuple[int, ...]) -> Instruction:
    if operand.array.dims == dims:
        return operand
    return build(computation, "reshape", [operand], shape=operand.array.with_dims(dims))


def _read_as(computation: Computation, operand: Instruction, target: ElementType) -> Instruction:
    """The same bytes as another element type; in one dimension where a size changes."""
    source = operand.array.element_type
    if source is target:
        return operand
    have, want = source.stored_bits, target.stored_bits
    if source.is_complex != target.is_complex:
        raise UnsupportedError(f"bitcast from {source} to {target}", "layout normalization", "one of them is complex")
    shape, size = operand.array.with_type(target), operand.array.size
    if have < want:
        operand = _reshape(computation, operand, (size * have // want, want // have))
        shape = shape.with_dims(operand.array.dims[:1])
    elif have > want:
        operand = _reshape(computation, operand, (size,))
        shape = shape.with_dims((size, have // want))
    return build(computation, "bitcast-convert", [operand], shape=shape)


def _transpose(computation: Computation, operand: Instruction, permutation: Sequence[int]) -> Instruction:
    if tuple(permutation) == tuple(range(len(permutation))):
        return operand
    return build(computation, "transpose", [operand], dimensions=tuple(permutation))
