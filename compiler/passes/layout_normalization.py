"""Forget the layouts of everything inside the program: every array is row-major.

A layout never changes what a value is, so dropping it is sound everywhere but at a `bitcast`, which reinterprets
memory: that becomes the reshape, or the transposes around a reshape, that it stands for.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.diagnostics import UnsupportedError
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import ArrayShape, default_layout, without_layout
from compiler.ops.build import build


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
    if source.element_type is not target.element_type:
        raise UnsupportedError(f"bitcast from {source} to {target}", "layout normalization", "the types differ")
    fuel.spend("expand bitcast", bitcast, required=True)
    flat = _transpose(computation, operand, _order(source))
    order = _order(target)
    dims = tuple(target.dims[d] for d in order)
    shaped = flat
    if flat.array.dims != dims:
        shaped = build(computation, "reshape", [flat], shape=source.with_dims(dims))
    inverse = tuple(order.index(d) for d in range(len(order)))
    bitcast.replace_uses_with(_transpose(computation, shaped, inverse))
    computation.remove([bitcast])
    return True


def _transpose(computation: Computation, operand: Instruction, permutation: Sequence[int]) -> Instruction:
    if tuple(permutation) == tuple(range(len(permutation))):
        return operand
    return build(computation, "transpose", [operand], dimensions=tuple(permutation))
