"""A gather of a single window is a dynamic slice, and a scatter of one an update of it.

That is what a traced `x[i]`, or setting or adding to it, comes to in a loop.  As an update it is done in place and
fused with what it is computed from; a scatter would copy the whole array in every iteration.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

from compiler.ir.attributes import SliceDimension
from compiler.ir.control import is_ordered
from compiler.ir.literal import scalar_literal
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.numbers import integer_bounds
from compiler.ir.rewrite import Fuel, apply_rules
from compiler.ir.shape import ArrayShape
from compiler.ops import OPS
from compiler.ops.build import build, constant


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    return apply_rules(_RULES, module, fuel)


def _gather_of_one_window(gather: Instruction) -> Instruction | None:
    """`gather(x, i) -> reshape(dynamic-slice(x, i))`."""
    operand, indices = gather.operands
    sizes = gather.attributes["slice_sizes"]
    if not _is_plain(gather) or math.prod(sizes) != gather.array.size or gather.array.size == 0:
        return None
    starts = _starts(gather, operand.array, indices, gather.attributes["start_index_map"])
    window = build(gather.computation, "dynamic-slice", [operand, *starts], dynamic_slice_sizes=tuple(sizes))
    return build(gather.computation, "reshape", [window], shape=gather.shape, name=gather.name)


def _scatter_of_one_window(scatter: Instruction) -> Instruction | None:
    """`scatter(x, i, u) -> dynamic-update-slice(x, i is inside ? combined(w, u) : w, i)`, w: `dynamic-slice(x, i)`.

    The window is as it was where it does not lie inside, and then it does not matter that it is clamped.
    """
    if len(scatter.operands) != 3 or not _is_plain(scatter) or not _is_elementwise(scatter.attributes["to_apply"]):
        return None
    computation, attributes = scatter.computation, scatter.attributes
    operand, indices, update = scatter.operands
    window_dims = attributes.get("update_window_dims", ())
    windows = [size for d, size in enumerate(update.array.dims) if d not in window_dims]
    if math.prod(windows) != 1 or update.array.size == 0:
        return None
    scattered = attributes["scatter_dims_to_operand_dims"]
    sizes = _window_sizes(operand.array.rank, attributes, [update.array.dims[d] for d in window_dims])
    starts = _starts(scatter, operand.array, indices, scattered)
    old = build(computation, "dynamic-slice", [operand, *starts], dynamic_slice_sizes=sizes)
    new = build(computation, "reshape", [update], shape=ArrayShape(update.array.element_type, sizes))
    new = _applied(attributes["to_apply"], old, new)
    tests = [_inside(starts[d], operand.array.dims[d] - sizes[d]) for d in scattered]
    if tests:
        inside = reduce(lambda left, right: build(computation, "and", [left, right]), tests)
        new = build(computation, "select", [_spread(inside, sizes), new, old])
    return build(computation, "dynamic-update-slice", [operand, new, *starts], name=scatter.name)


_RULES = {"gather": (_gather_of_one_window,), "scatter": (_scatter_of_one_window,)}


def _is_plain(instruction: Instruction) -> bool:
    """Whether all sizes are known, and there is something to look into."""
    shapes = [instruction.shape, *(operand.shape for operand in instruction.operands)]
    static = all(isinstance(shape, ArrayShape) and not shape.is_dynamic for shape in shapes)
    return static and not is_ordered(instruction) and instruction.operands[0].array.size > 0


def _is_elementwise(combiner: Computation) -> bool:
    """Whether a computation is of elements alone, in no order but theirs."""
    free = ("parameter", "constant")
    return all((i.opcode in free or OPS[i.opcode].elementwise) and not is_ordered(i) for i in combiner.instructions)


def _window_sizes(rank: int, attributes: dict[str, tuple[int, ...]], sizes: Sequence[int]) -> tuple[int, ...]:
    """The sizes of a window in every dimension of the operand."""
    single = {*attributes.get("inserted_window_dims", ()), *attributes.get("input_batching_dims", ())}
    rest = iter(sizes)
    return tuple(1 if d in single else next(rest) for d in range(rank))


def _starts(
    instruction: Instruction, shape: ArrayShape, indices: Instruction, dimensions: Sequence[int]
) -> list[Instruction]:
    """The index in every dimension of the operand: a component of the only index vector, or 0."""
    computation, type_ = instruction.computation, indices.array.element_type
    count = indices.array.size
    vector = build(computation, "reshape", [indices], shape=ArrayShape(type_, (count,)))
    starts = {
        dimension: build(computation, "slice", [vector], slice=(SliceDimension(position, position + 1),))
        for position, dimension in enumerate(dimensions)
    }
    zero = constant(computation, scalar_literal(0, type_))
    scalar = ArrayShape(type_, ())
    return [
        build(computation, "reshape", [starts[d]], shape=scalar) if d in starts else zero for d in range(shape.rank)
    ]


def _inside(start: Instruction, last: int) -> Instruction:
    """Whether an index lies from 0 to the last place."""
    computation, type_ = start.computation, start.array.element_type
    bounds = (("GE", 0), ("LE", min(last, integer_bounds(type_)[1])))
    tests = [
        build(computation, "compare", [start, constant(computation, scalar_literal(bound, type_))], direction=direction)
        for direction, bound in bounds
    ]
    return build(computation, "and", tests)


def _spread(scalar: Instruction, sizes: tuple[int, ...]) -> Instruction:
    shape = ArrayShape(scalar.array.element_type, sizes)
    return build(scalar.computation, "broadcast", [scalar], shape=shape, dimensions=())


def _applied(combiner: Computation, old: Instruction, new: Instruction) -> Instruction:
    """What a computation on scalars makes of two arrays, element by element."""
    computation, sizes = old.computation, old.array.dims
    values = {parameter: (old, new)[parameter.parameter_number] for parameter in combiner.parameters}
    for instruction in combiner.instructions:
        if instruction.opcode == "constant":
            values[instruction] = _spread(computation.add(instruction.clone([])), sizes)
        elif instruction not in values:
            shape = ArrayShape(instruction.array.element_type, sizes)
            values[instruction] = computation.add(
                instruction.clone([values[o] for o in instruction.operands], shape=shape)
            )
    return values[combiner.root]
