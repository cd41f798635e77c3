"""What shape rules share: reading operands' shapes and attributes, and saying what does not fit.

A rule sees the instruction whole.  Where the result cannot follow from operands and attributes it reads the shape that
was stated; an instruction under construction states none (its `shape` is `UNSTATED`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compiler.diagnostics import ShapeError
from compiler.ir.module import Computation, Instruction
from compiler.ir.shape import UNBOUNDED, ArrayShape, BufferShape, Shape, TupleShape, compatible
from compiler.ir.types import ElementType

UNSTATED: Shape = ArrayShape.__new__(ArrayShape)
"""The shape of an instruction that states none; compared by identity, its fields must not be read."""


def require(condition: object, message: str) -> None:
    """Raise a ShapeError unless the condition holds."""
    if not condition:
        raise ShapeError(message)


def is_stated(instruction: Instruction) -> bool:
    """Whether the instruction says its result shape."""
    return instruction.shape is not UNSTATED


def stated(instruction: Instruction) -> Shape:
    """The shape that the instruction says it has."""
    require(is_stated(instruction), f"the result shape of {instruction.opcode} cannot be inferred: state it")
    return instruction.shape


def stated_array(instruction: Instruction) -> ArrayShape:
    """The stated shape, which must be an array's.

    Raises:
        ShapeError: it is none.
    """
    shape = stated(instruction)
    if not isinstance(shape, ArrayShape):
        raise ShapeError(f"{instruction.opcode} yields an array, not {shape}")
    return shape


def operand(instruction: Instruction, index: int) -> ArrayShape:
    """The shape of an operand, which must be an array's.

    Raises:
        ShapeError: it is none.
    """
    shape = instruction.operands[index].shape
    if not isinstance(shape, ArrayShape):
        raise ShapeError(f"operand {index} of {instruction.opcode} must be an array, not {shape}")
    return shape


def operands(instruction: Instruction) -> list[ArrayShape]:
    """The shapes of all operands, which must be arrays'."""
    return [operand(instruction, index) for index in range(len(instruction.operands))]


def result_type(instruction: Instruction, default: ElementType) -> ElementType:
    """The stated element type, for ops that may accumulate in a type of their own; else the default."""
    shape = instruction.shape
    if not is_stated(instruction) or not isinstance(shape, ArrayShape):
        return default
    return shape.element_type


def dims_agree(left: ArrayShape, right: ArrayShape) -> bool:
    """Whether two arrays have the same dimensions; an unbounded one agrees with any."""
    if left.dims == right.dims:
        return True
    if len(left.dims) != len(right.dims):
        return False
    return all(a == b or UNBOUNDED in (a, b) for a, b in zip(left.dims, right.dims, strict=True))


def merge_dynamic(shapes: Sequence[ArrayShape]) -> tuple[bool, ...]:
    """Which dimensions are dynamic in a result as long as all of these."""
    if not any(shape.dynamic for shape in shapes):
        return ()
    rank = shapes[0].rank
    flags = tuple(any(shape.dynamic[d] for shape in shapes if shape.dynamic) for d in range(rank))
    return flags if any(flags) else ()


def pick_dynamic(shape: ArrayShape, dimensions: Iterable[int]) -> tuple[bool, ...]:
    """The dynamic flags of some dimensions, in that order; -1 stands for a static one."""
    return trace_dynamic((shape, d) for d in dimensions)


def trace_dynamic(origins: Iterable[tuple[ArrayShape, int]]) -> tuple[bool, ...]:
    """The dynamic flags of a result whose dimensions come from those of several arrays.

    Args:
        origins: for each dimension the array that it comes from and its number there; -1 stands for a static one.
    """
    flags = tuple(d >= 0 and bool(shape.dynamic) and shape.dynamic[d] for shape, d in origins)
    return flags if any(flags) else ()


def dimension(value: int, rank: int, what: str) -> int:
    """A dimension number, checked.

    Args:
        value: the number; negative ones are refused.
        rank: dimensions that there are.
        what: the attribute, for messages.
    """
    require(0 <= value < rank, f"{what} {value} is not a dimension of an array of rank {rank}")
    return value


def distinct_dimensions(values: Sequence[int], rank: int, what: str) -> tuple[int, ...]:
    """Dimension numbers, checked to be in range and distinct.

    Args:
        values: the numbers.
        rank: dimensions that there are.
        what: the attribute, for messages.
    """
    for value in values:
        dimension(value, rank, what)
    require(len(set(values)) == len(values), f"{what}={list(values)} names a dimension twice")
    return tuple(values)


def signature(
    instruction: Instruction, computation: Computation, arguments: Sequence[Shape], result: Shape | None = None
) -> Shape:
    """Check that a computation takes these arguments (and gives that result); returns what it gives.

    Args:
        instruction: the one that calls, for messages.
        computation: what it calls.
        arguments: the shapes that it is called with.
        result: the shape that is wanted; None for any.

    Raises:
        ShapeError: it takes or gives others.
    """
    parameters = computation.parameters
    where = f"{computation.name}, called by {instruction.opcode},"
    require(
        len(parameters) == len(arguments), f"{where} has {len(parameters)} parameters but is given {len(arguments)}"
    )
    for parameter, given in zip(parameters, arguments, strict=True):
        if not agree(parameter.shape, given):
            raise ShapeError(f"{where} takes {parameter.shape} as {parameter.name} but is given {given}")
    root = computation.root.shape
    if result is not None and not agree(root, result):
        raise ShapeError(f"{where} yields {root} but {result} is needed")
    return root


def agree(left: Shape, right: Shape) -> bool:
    """Whether two shapes are the same but for layouts and for which dimensions are dynamic."""
    if left is right:
        return True
    if isinstance(left, ArrayShape) and isinstance(right, ArrayShape):
        return left.element_type is right.element_type and dims_agree(left, right)
    if isinstance(left, TupleShape) and isinstance(right, TupleShape):
        if len(left.elements) != len(right.elements):
            return False
        return all(agree(a, b) for a, b in zip(left.elements, right.elements, strict=True))
    if isinstance(left, BufferShape) and isinstance(right, BufferShape):
        return agree(left.array, right.array)
    return compatible(left, right)


def tuple_or_single(shapes: Sequence[Shape]) -> Shape:
    """The one shape, or the tuple of several: what variadic ops yield."""
    return shapes[0] if len(shapes) == 1 else TupleShape(tuple(shapes))


def like_root(root: Shape, shapes: Sequence[Shape]) -> Shape:
    """What a reduction yields whose computation yields `root`: a tuple, even of one, where that is a tuple."""
    return TupleShape(tuple(shapes)) if isinstance(root, TupleShape) else shapes[0]
