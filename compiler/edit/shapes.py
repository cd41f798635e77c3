"""Edits of sizes and element types, applied everywhere at once; shapes that follow from others are inferred anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.diagnostics import CompilerError
from compiler.edit.draft import Draft, Edited
from compiler.ir.attributes import SliceDimension
from compiler.ir.literal import Literal, array_literal
from compiler.ir.module import Instruction, Module
from compiler.ir.opdef import Array
from compiler.ir.shape import ArrayShape, BufferShape, Shape, TupleShape
from compiler.ir.shape_rules import agree
from compiler.ir.types import TYPES, ElementType
from compiler.ops import OPS

_SIZES = ("dynamic_slice_sizes", "slice_sizes", "fft_length")


def resize(module: Module, sizes: Mapping[int, int]) -> Edited | None:
    """Dimensions of one size get another, smaller one; None where a shape cannot follow."""
    draft = Draft.of(module)

    def smaller(array: ArrayShape) -> ArrayShape:
        return ArrayShape(array.element_type, tuple(sizes.get(d, d) for d in array.dims), array.dynamic)

    for instruction in draft.module.instructions():
        instruction.shape = map_leaves(instruction.shape, smaller)
        _resize_attributes(instruction, sizes)
    return draft.finish() if infer_all(draft.module) else None


def _resize_attributes(instruction: Instruction, sizes: Mapping[int, int]) -> None:
    attributes = instruction.attributes
    for name in _SIZES:
        if name in attributes:
            attributes[name] = tuple(sizes.get(size, size) for size in attributes[name])
    if "slice" in attributes:
        attributes["slice"] = tuple(_resize_slice(range_, sizes) for range_ in attributes["slice"])
    if instruction.opcode == "constant" and instruction.literal.array is not None:
        array = instruction.literal.array
        cut = array[tuple(slice(0, sizes.get(size, size)) for size in array.shape)]
        attributes["literal"] = array_literal(cut, instruction.array.element_type)


def _resize_slice(range_: SliceDimension, sizes: Mapping[int, int]) -> SliceDimension:
    limit = sizes.get(range_.limit, range_.limit)
    return SliceDimension(min(sizes.get(range_.start, range_.start), limit), limit, range_.stride)


def retype(module: Module, old: str, new: str) -> Edited | None:
    """Give all arrays of one element type another; None where a shape cannot follow.

    Args:
        module: the program, which stays as it is.
        old: a type's name in HLO text.
        new: another's.
    """
    draft = Draft.of(module)
    source, target = TYPES[old], TYPES[new]

    def changed(array: ArrayShape) -> ArrayShape:
        return array.with_type(target) if array.element_type is source else array

    for instruction in draft.module.instructions():
        instruction.shape = map_leaves(instruction.shape, changed)
        if instruction.opcode == "constant":
            instruction.attributes["literal"] = map_literal(instruction.literal, changed)
        instruction.attributes.pop("type", None)
    return draft.finish() if infer_all(draft.module) else None


def _cast(array: Array, target: ElementType) -> Array:
    with np.errstate(all="ignore"):
        return (array if target.is_complex else array.real).astype(target.dtype)


def map_literal(
    literal: Literal, change: Callable[[ArrayShape], ArrayShape], cast: Callable[[Array, ElementType], Array] = _cast
) -> Literal:
    """A literal of changed arrays.

    Args:
        literal: an array, or a tuple of such.
        change: gives the new shape of an array.
        cast: makes elements of another type.
    """
    if literal.elements is not None:
        elements = tuple(map_literal(element, change, cast) for element in literal.elements)
        return Literal(map_leaves(literal.shape, change), elements=elements)
    if literal.array is None:
        return literal
    shape: Any = map_leaves(literal.shape, change)
    return Literal(shape, cast(literal.array, shape.element_type))


def map_leaves(shape: Shape, change: Callable[[ArrayShape], ArrayShape]) -> Shape:
    """A shape of changed arrays."""
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(map_leaves(element, change) for element in shape.elements))
    if isinstance(shape, BufferShape):
        return replace(shape, array=change(shape.array))
    return change(shape)


def infer_all(module: Module) -> bool:
    """Infer every shape from what it depends on; whether that succeeded.

    A shape that was stated remains where it says no more than which sizes are known beforehand: no rule says that of a
    slice which lies within the size of its operand, whatever that is.
    """
    try:
        for instruction in module.instructions():
            inferred = OPS[instruction.opcode].infer(instruction)
            if not agree(inferred, instruction.shape):
                instruction.shape = inferred
    except (CompilerError, IndexError, ValueError, KeyError):
        return False
    return True
