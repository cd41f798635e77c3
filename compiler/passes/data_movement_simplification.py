"""Reshapes, transposes, broadcasts and their like that say what a shorter chain says too.

Each rule is a function from an instruction to its simpler equal, or None; its docstring is the equation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from compiler.ir.attributes import SliceDimension
from compiler.ir.module import Instruction, Module
from compiler.ir.rewrite import Fuel, Rule, apply_rules
from compiler.ir.shape import ArrayShape, without_layout
from compiler.ops import OPS
from compiler.ops.build import build


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    return apply_rules(RULES, module, fuel)


def _new(like: Instruction, opcode: str, operands: Sequence[Instruction], **attributes: object) -> Instruction:
    """An instruction of the same shape in the same computation."""
    return build(like.computation, opcode, operands, shape=without_layout(like.shape), name=like.name, **attributes)


def _same_shape(left: Instruction, right: Instruction) -> bool:
    return without_layout(left.shape) == without_layout(right.shape)


def _is_dynamic(instruction: Instruction) -> bool:
    shapes = [instruction.shape, *(operand.shape for operand in instruction.operands)]
    return any(isinstance(shape, ArrayShape) and shape.is_dynamic for shape in shapes)


def _reshape_to_same(instruction: Instruction) -> Instruction | None:
    """`reshape(x) -> x` when the shape stays."""
    (operand,) = instruction.operands
    return operand if _same_shape(instruction, operand) else None


def _reshape_of_reshape(instruction: Instruction) -> Instruction | None:
    """`reshape(reshape(x)) -> reshape(x)`."""
    (operand,) = instruction.operands
    if operand.opcode != "reshape" or _is_dynamic(instruction) or _is_dynamic(operand):
        return None
    return _new(instruction, "reshape", operand.operands)


def _reshape_of_scalar_broadcast(instruction: Instruction) -> Instruction | None:
    """`reshape(broadcast(s)) -> broadcast(s)` of a scalar."""
    (operand,) = instruction.operands
    if operand.opcode != "broadcast" or operand.operands[0].array.rank or _is_dynamic(instruction):
        return None
    return _new(instruction, "broadcast", operand.operands, dimensions=())


def _reshape_of_unit_broadcast(instruction: Instruction) -> Instruction | None:
    """`reshape(broadcast(x)) -> broadcast(x)` where the reshape only drops or adds dimensions of size 1."""
    (broadcast,) = instruction.operands
    if broadcast.opcode != "broadcast" or _is_dynamic(instruction) or _is_dynamic(broadcast):
        return None
    (source,) = broadcast.operands
    target = _unit_map(broadcast.array.dims, instruction.array.dims)
    dimensions = broadcast.attributes.get("dimensions", ())
    if target is None or any(d not in target for d in dimensions):
        return None
    mapped = tuple(target[d] for d in dimensions)
    return _new(instruction, "broadcast", [source], dimensions=mapped)


def _unit_map(source: Sequence[int], target: Sequence[int]) -> dict[int, int] | None:
    """Which target dimension each source dimension becomes, if only dimensions of size 1 come or go."""
    kept = [d for d, size in enumerate(source) if size != 1]
    targets = [d for d, size in enumerate(target) if size != 1]
    if [source[d] for d in kept] != [target[d] for d in targets]:
        return None
    return dict(zip(kept, targets, strict=True))


def _reshape_of_elementwise(instruction: Instruction) -> Instruction | None:
    """`reshape(f(x, y)) -> f(reshape(x), reshape(y))` of an elementwise f, where only dimensions of size 1 come or go.

    So reshapes meet and cancel, and fusion sees values of one rank.
    """
    (operand,) = instruction.operands
    op = OPS.get(operand.opcode)
    if op is None or not op.elementwise or not operand.operands or len(operand.users) != 1 or operand.is_root:
        return None
    if _is_dynamic(instruction) or _unit_map(operand.array.dims, instruction.array.dims) is None:
        return None
    if any(source.array.dims != operand.array.dims for source in operand.operands):
        return None
    dims = instruction.array.dims
    sources = [
        build(instruction.computation, "reshape", [source], shape=source.array.with_dims(dims))
        for source in operand.operands
    ]
    clone = operand.clone(sources, shape=without_layout(instruction.shape))
    return instruction.computation.add(clone)


def _broadcast_to_same(instruction: Instruction) -> Instruction | None:
    """`broadcast(x), dimensions={0,1,...} -> x` when the shape stays."""
    (operand,) = instruction.operands
    in_order = instruction.attributes.get("dimensions", ()) == tuple(range(operand.array.rank))
    return operand if in_order and _same_shape(instruction, operand) else None


def _broadcast_of_broadcast(instruction: Instruction) -> Instruction | None:
    """`broadcast(broadcast(x, {a}), {b}) -> broadcast(x, {b[a]})`."""
    (inner,) = instruction.operands
    if inner.opcode != "broadcast" or _is_dynamic(instruction) or _is_dynamic(inner):
        return None
    outer = instruction.attributes.get("dimensions", ())
    dimensions = tuple(outer[d] for d in inner.attributes.get("dimensions", ()))
    return _new(instruction, "broadcast", inner.operands, dimensions=dimensions)


def _broadcast_of_unit_reshape(instruction: Instruction) -> Instruction | None:
    """`broadcast(reshape(x)) -> broadcast(x)` where the reshape only adds dimensions of size 1."""
    (reshape,) = instruction.operands
    if reshape.opcode != "reshape" or _is_dynamic(instruction) or _is_dynamic(reshape):
        return None
    (source,) = reshape.operands
    dims_ = _unit_map(source.array.dims, reshape.array.dims)
    if dims_ is None or any(d not in dims_ for d in range(source.array.rank)):
        return None
    outer = instruction.attributes.get("dimensions", ())
    return _new(instruction, "broadcast", [source], dimensions=tuple(outer[dims_[d]] for d in range(len(dims_))))


def _transpose_in_order(instruction: Instruction) -> Instruction | None:
    """`transpose(x), dimensions={0,1,...} -> x`."""
    dimensions = instruction.attributes["dimensions"]
    return instruction.operands[0] if dimensions == tuple(range(len(dimensions))) else None


def _transpose_of_transpose(instruction: Instruction) -> Instruction | None:
    """`transpose(transpose(x, p), q) -> transpose(x, p[q])`."""
    (inner,) = instruction.operands
    if inner.opcode != "transpose" or _is_dynamic(instruction):
        return None
    first, second = inner.attributes["dimensions"], instruction.attributes["dimensions"]
    return _new(instruction, "transpose", inner.operands, dimensions=tuple(first[d] for d in second))


def _transpose_of_units(instruction: Instruction) -> Instruction | None:
    """`transpose(x) -> reshape(x)` where only dimensions of size 1 change places."""
    (operand,) = instruction.operands
    moved = [d for d in instruction.attributes["dimensions"] if operand.array.dims[d] != 1]
    if moved != sorted(moved) or _is_dynamic(instruction):
        return None
    return _new(instruction, "reshape", [operand])


def _transpose_of_broadcast(instruction: Instruction) -> Instruction | None:
    """`transpose(broadcast(x, {a}), p) -> broadcast(x, {p^-1[a]})` where x's dimensions stay in order."""
    (broadcast,) = instruction.operands
    if broadcast.opcode != "broadcast" or _is_dynamic(instruction):
        return None
    permutation = instruction.attributes["dimensions"]
    mapped = tuple(permutation.index(d) for d in broadcast.attributes.get("dimensions", ()))
    if mapped != tuple(sorted(mapped)):
        return None
    return _new(instruction, "broadcast", broadcast.operands, dimensions=mapped)


def _whole_slice(instruction: Instruction) -> Instruction | None:
    """`slice(x) -> x` when everything is taken."""
    return instruction.operands[0] if _same_shape(instruction, instruction.operands[0]) else None


def _slice_of_concatenate(instruction: Instruction) -> Instruction | None:
    """`slice(concatenate(x, y)) -> slice(y)` where all that is taken is one operand's."""
    (operand,) = instruction.operands
    if operand.opcode != "concatenate" or _is_dynamic(operand) or any(_is_dynamic(piece) for piece in operand.operands):
        return None
    (dimension,) = operand.attributes["dimensions"]
    taken: list[SliceDimension] = list(instruction.attributes["slice"])
    cut, first = taken[dimension], 0
    for piece in operand.operands:
        last = first + piece.array.dims[dimension]
        if first <= cut.start and cut.start < cut.limit <= last:
            taken[dimension] = replace(cut, start=cut.start - first, limit=cut.limit - first)
            return _new(instruction, "slice", [piece], slice=tuple(taken))
        first = last
    return None


def _single_concatenate(instruction: Instruction) -> Instruction | None:
    """`concatenate(x) -> x`."""
    return instruction.operands[0] if len(instruction.operands) == 1 else None


def _copy(instruction: Instruction) -> Instruction | None:
    """`copy(x) -> x`: copies are put where memory demands it, later."""
    return instruction.operands[0] if _same_shape(instruction, instruction.operands[0]) else None


def _reverse_nothing(instruction: Instruction) -> Instruction | None:
    """`reverse(x) -> x` where every reversed dimension has size 1."""
    (operand,) = instruction.operands
    sizes = [operand.array.dims[d] for d in instruction.attributes["dimensions"]]
    return operand if math.prod(sizes) == 1 else None


RULES: dict[str, tuple[Rule, ...]] = {
    "broadcast": (_broadcast_to_same, _broadcast_of_broadcast, _broadcast_of_unit_reshape),
    "concatenate": (_single_concatenate,),
    "copy": (_copy,),
    "reshape": (
        _reshape_to_same,
        _reshape_of_reshape,
        _reshape_of_scalar_broadcast,
        _reshape_of_unit_broadcast,
        _reshape_of_elementwise,
    ),
    "reverse": (_reverse_nothing,),
    "slice": (_whole_slice, _slice_of_concatenate),
    "transpose": (_transpose_in_order, _transpose_of_transpose, _transpose_of_units, _transpose_of_broadcast),
}
"""Rules by the opcode that they look at."""
