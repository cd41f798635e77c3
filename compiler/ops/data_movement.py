"""Ops that place elements anew without computing: broadcast, reshape, transpose, pad, slice, concatenate and their kin.

Values may be smaller than the shape says where dimensions are dynamic, so meanings follow the operands' actual sizes
and take from the shape only what those do not tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from compiler.diagnostics import ShapeError
from compiler.ir.attributes import PaddingDimension, SliceDimension
from compiler.ir.module import Instruction
from compiler.ir.numbers import Array, narrow
from compiler.ir.opdef import Evaluate, Evaluator, Op, Value
from compiler.ir.shape import UNBOUNDED, ArrayShape, Shape
from compiler.ir.shape_rules import (
    dimension,
    distinct_dimensions,
    operand,
    operands,
    pick_dynamic,
    require,
    stated_array,
)
from compiler.ir.traits import Trait
from compiler.ir.types import Kind
from compiler.ir.windows import pad, padded_size


def _mappable(evaluate: Evaluate) -> Evaluate:
    """A meaning by which a scalar moved to a scalar stays as it is, whatever arrays stand in for it when mapped."""

    def meaning(instruction: Instruction, values: Sequence[Array], evaluator: Evaluator) -> Value:
        if instruction.array.dims or instruction.operands[0].array.dims:
            return evaluate(instruction, values, evaluator)
        target = instruction.array.element_type
        if target is instruction.operands[0].array.element_type:
            return values[0]
        check_bits(instruction)
        return np.ascontiguousarray(values[0]).view(target.dtype).reshape(values[0].shape)

    return meaning


def _infer_broadcast(instruction: Instruction) -> Shape:
    source, target = operand(instruction, 0), stated_array(instruction)
    mapping = instruction.attributes.get("dimensions", ())
    if source.element_type is not target.element_type:
        raise ShapeError(f"broadcast keeps the element type: {source} cannot become {target}")
    if len(mapping) != source.rank:
        raise ShapeError(f"dimensions={list(mapping)} must name one dimension for each of {source}")
    distinct_dimensions(mapping, target.rank, "dimensions")
    for index, target_dim in enumerate(mapping):
        fits = source.dims[index] == target.dims[target_dim] or UNBOUNDED in (
            source.dims[index],
            target.dims[target_dim],
        )
        if not fits:
            raise ShapeError(f"dimension {index} of {source} does not fit dimension {target_dim} of {target}")
    return target


def _broadcast(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    (value,) = values
    mapping = instruction.attributes.get("dimensions", ())
    dims = list(instruction.array.dims)
    for index, target_dim in enumerate(mapping):
        dims[target_dim] = value.shape[index]
    order = np.argsort(mapping, kind="stable") if mapping else ()
    expanded = [1] * len(dims)
    for target_dim in mapping:
        expanded[target_dim] = dims[target_dim]
    return np.broadcast_to(value.transpose(tuple(order)).reshape(expanded), dims)


def _infer_reshape(instruction: Instruction) -> Shape:
    source, target = operand(instruction, 0), stated_array(instruction)
    if source.element_type is not target.element_type:
        raise ShapeError(f"reshape keeps the element type: {source} cannot become {target}")
    known = UNBOUNDED not in source.dims and UNBOUNDED not in target.dims
    if known and source.size != target.size:
        raise ShapeError(f"reshape keeps the number of elements: {source} to {target}")
    return target


def _reshape(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    (value,) = values
    shape = instruction.array
    if value.size == shape.size:
        return value.reshape(shape.dims)
    return value.reshape(_actual_dims(value.size, shape))


def _actual_dims(size: int, shape: ArrayShape) -> tuple[int, ...]:
    """The dims of a value smaller than its bounds: the one dynamic dimension takes up what is missing."""
    dynamic = [d for d, flag in enumerate(shape.dynamic) if flag]
    if len(dynamic) != 1:
        raise ShapeError(f"{size} elements do not tell the sizes of {shape}")
    rest = math.prod(n for d, n in enumerate(shape.dims) if d != dynamic[0])
    return tuple(size // rest if d == dynamic[0] else n for d, n in enumerate(shape.dims))


def _infer_transpose(instruction: Instruction) -> Shape:
    source = operand(instruction, 0)
    order = distinct_dimensions(instruction.attributes["dimensions"], source.rank, "dimensions")
    require(len(order) == source.rank, f"dimensions={list(order)} must be a permutation of the dimensions of {source}")
    return ArrayShape(source.element_type, tuple(source.dims[d] for d in order), pick_dynamic(source, order))


def _transpose(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    return values[0].transpose(instruction.attributes["dimensions"])


def _infer_reverse(instruction: Instruction) -> Shape:
    source = operand(instruction, 0)
    distinct_dimensions(instruction.attributes["dimensions"], source.rank, "dimensions")
    return ArrayShape(source.element_type, source.dims, source.dynamic)


def _reverse(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    return np.flip(values[0], instruction.attributes["dimensions"])


def _infer_slice(instruction: Instruction) -> Shape:
    source = operand(instruction, 0)
    ranges: tuple[SliceDimension, ...] = instruction.attributes["slice"]
    require(len(ranges) == source.rank, f"slice names {len(ranges)} ranges for {source}")
    dims = []
    for index, (range_, size) in enumerate(zip(ranges, source.dims, strict=True)):
        text = f"[{range_.start}:{range_.limit}:{range_.stride}]"
        inside = 0 <= range_.start <= range_.limit and (size == UNBOUNDED or range_.limit <= size)
        require(inside, f"slice {text} is outside of dimension {index} of {source}")
        require(range_.stride >= 1, f"the stride of slice {text} must be at least 1")
        dims.append(-(-(range_.limit - range_.start) // range_.stride))
    return ArrayShape(source.element_type, tuple(dims), source.dynamic)


def _slice(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    ranges: tuple[SliceDimension, ...] = instruction.attributes["slice"]
    return values[0][tuple(slice(r.start, r.limit, r.stride) for r in ranges)]


def _infer_pad(instruction: Instruction) -> Shape:
    source, value = operand(instruction, 0), operand(instruction, 1)
    padding: tuple[PaddingDimension, ...] = instruction.attributes["padding"]
    require(
        not value.dims and value.element_type is source.element_type,
        f"the padding value of {source} must be a scalar of its type, not {value}",
    )
    require(len(padding) == source.rank, f"padding names {len(padding)} dimensions for {source}")
    dims = []
    for index, (edge, size) in enumerate(zip(padding, source.dims, strict=True)):
        require(edge.interior >= 0, f"interior padding {edge.interior} of dimension {index} must not be negative")
        padded = UNBOUNDED if size == UNBOUNDED else padded_size(size, edge)
        require(padded >= 0 or size == UNBOUNDED, f"padding leaves {padded} elements in dimension {index} of {source}")
        dims.append(padded)
    return ArrayShape(source.element_type, tuple(dims), source.dynamic)


def _pad(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    return pad(values[0], values[1], instruction.attributes["padding"])


def _infer_concatenate(instruction: Instruction) -> Shape:
    shapes = operands(instruction)
    dimensions = instruction.attributes["dimensions"]
    require(len(dimensions) == 1, f"concatenate takes one dimension, not {list(dimensions)}")
    first = shapes[0]
    along = dimension(dimensions[0], first.rank, "dimensions")
    for index, shape in enumerate(shapes[1:], 1):
        same = shape.rank == first.rank and shape.element_type is first.element_type
        same = same and all(
            a == b or d == along or UNBOUNDED in (a, b)
            for d, (a, b) in enumerate(zip(first.dims, shape.dims, strict=True))
        )
        require(same, f"operands 0 and {index} differ outside of dimension {along}: {first} and {shape}")
    sizes = [shape.dims[along] for shape in shapes]
    total = UNBOUNDED if UNBOUNDED in sizes else sum(sizes)
    flags = tuple(any(s.dynamic[d] for s in shapes if s.dynamic) for d in range(first.rank))
    dims = (*first.dims[:along], total, *first.dims[along + 1 :])
    return ArrayShape(first.element_type, dims, flags if any(flags) else ())


def _concatenate(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    return np.concatenate(values, axis=instruction.attributes["dimensions"][0])


def _infer_iota(instruction: Instruction) -> Shape:
    target = stated_array(instruction)
    require(target.element_type.kind not in (Kind.PRED, Kind.OPAQUE), f"iota counts in numbers, not {target}")
    dimension(instruction.attributes["iota_dimension"], target.rank, "iota_dimension")
    return target


def _iota(instruction: Instruction, _: Sequence[Array], __: Evaluator) -> Array:
    shape = instruction.array
    along = instruction.attributes["iota_dimension"]
    wide = np.float64 if shape.element_type.is_float or shape.element_type.is_complex else np.int64
    numbers = np.arange(shape.dims[along], dtype=wide)
    counted = narrow(numbers, shape.element_type) if shape.element_type.bits < 8 else numbers
    column = counted.astype(shape.element_type.dtype).reshape([-1 if d == along else 1 for d in range(shape.rank)])
    return np.broadcast_to(column, shape.dims)


def _infer_same(instruction: Instruction) -> Shape:
    return instruction.operands[0].shape


def _same(_: Instruction, values: Sequence[Array], __: Evaluator) -> Array:
    return values[0]


def _infer_bitcast(instruction: Instruction) -> Shape:
    # Layouts with tiles or padding may hold more bits than the elements: the language leaves sizes to targets.
    source, target = operand(instruction, 0), stated_array(instruction)
    carries = [shape.element_type.kind is not Kind.OPAQUE for shape in (source, target)]
    require(len(set(carries)) == 1, f"bitcast does not go between numbers and what carries none: {source} to {target}")
    return target


def check_bits(instruction: Instruction) -> None:
    """Refuse a bitcast to more or fewer bits, which has a meaning only in the memory of the target it was made for."""
    source, target = instruction.operands[0].array, instruction.array
    have, want = source.size * source.element_type.bits, target.size * target.element_type.bits
    types = {source.element_type, target.element_type}
    packed = len(types) > 1 and any(t.stored_bits < 8 for t in types)
    if have != want or packed:
        reason = f"{source} has {have} bits, {target} {want}" + (", packed into bytes" if packed else "")
        raise instruction.unsupported(reason)


def _bitcast(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    """The bytes as they lie in memory, by the layouts, read as the other shape."""
    check_bits(instruction)
    source, target = instruction.operands[0].array, instruction.array
    (value,) = values
    order = source.layout.minor_to_major[::-1] if source.layout else tuple(range(source.rank))
    flat = np.ascontiguousarray(value.transpose(order)).reshape(-1).view(target.element_type.dtype)
    order = target.layout.minor_to_major[::-1] if target.layout else tuple(range(target.rank))
    physical = flat.reshape([target.dims[d] for d in order])
    return physical.transpose(np.argsort(order, kind="stable") if order else ())


_ONE = ("dimensions",)

OPS: dict[str, Op] = {
    op.opcode: op
    for op in (
        Op(
            "broadcast",
            (1, 1),
            _infer_broadcast,
            _mappable(_broadcast),
            "Repeat along new dimensions.",
            optional=_ONE,
            traits=Trait.MOVES | Trait.EXACT,
        ),
        Op(
            "reshape",
            (1, 1),
            _infer_reshape,
            _mappable(_reshape),
            "The same elements, in row-major order, under other dimensions.",
            optional=("inferred_dimension",),
            traits=Trait.MOVES | Trait.VIEW | Trait.EXACT | Trait.STATED_SHAPE,
        ),
        Op(
            "transpose",
            (1, 1),
            _infer_transpose,
            _mappable(_transpose),
            "Permute the dimensions.",
            required=_ONE,
            traits=Trait.MOVES | Trait.EXACT,
        ),
        Op(
            "reverse",
            (1, 1),
            _infer_reverse,
            _reverse,
            "Reverse the order along some dimensions.",
            required=_ONE,
            traits=Trait.MOVES | Trait.EXACT,
        ),
        Op(
            "slice",
            (1, 1),
            _infer_slice,
            _slice,
            "Every stride-th element of a range.",
            required=("slice",),
            traits=Trait.MOVES | Trait.PARTIAL | Trait.EXACT,
        ),
        Op(
            "pad",
            (2, 2),
            _infer_pad,
            _pad,
            "Pad at the edges and between elements.",
            required=("padding",),
            traits=Trait.SELECTS | Trait.EXACT | Trait.EXPENSIVE,
        ),
        Op(
            "concatenate",
            (1, None),
            _infer_concatenate,
            _concatenate,
            "Join along a dimension.",
            required=_ONE,
            traits=Trait.SELECTS | Trait.EXACT | Trait.EXPENSIVE,
        ),
        Op(
            "iota",
            (0, 0),
            _infer_iota,
            _iota,
            "Count along a dimension from 0.",
            required=("iota_dimension",),
            traits=Trait.GENERATES | Trait.EXACT | Trait.STRICT_TYPES | Trait.STATED_SHAPE,
        ),
        Op(
            "copy",
            (1, 1),
            _infer_same,
            _same,
            "The same value in memory of its own.",
            traits=Trait.ELEMENTWISE | Trait.IDENTITY | Trait.EXACT | Trait.SIGNED_ZEROS,
        ),
        Op(
            "bitcast",
            (1, 1),
            _infer_bitcast,
            _mappable(_bitcast),
            "The same memory read as another shape.",
            traits=Trait.MOVES | Trait.VIEW | Trait.EXACT | Trait.STRICT_TYPES | Trait.STATED_SHAPE,
        ),
    )
}
