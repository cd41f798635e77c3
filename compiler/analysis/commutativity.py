"""Commutativity of reducers: whether one gives the same of two values whichever comes first.

A reduction is some binary tree over its elements *in their order* (StableHLO's specification, `reduce`; XLA's semantics
of Reduce say that it may be reassociated), so associativity may be used and nothing else: what lets lanes or threads
have elements that are far apart exchanges operands, and needs this as well.  It is known where

- a reducer that is written with its operands exchanged is the same formula, or
- it only compares the values and chooses among them.  Then what it gives depends on how they are ordered alone; there
  are few cases, and all of them are tried: either order of two numbers, equal ones, zeros of either sign, NaN.

Values that come with their numbers, as those of an argmax, are never equal in these; an initial value may be, but where
it takes part is open.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.interpreter import Interpreter, flatten
from compiler.ir.combiner import COMBINERS
from compiler.ir.module import Computation, Instruction
from compiler.ir.numbers import Array, integer_bounds
from compiler.ir.shape import ArrayShape
from compiler.ir.types import ElementType, Kind

Form = tuple[Any, ...]

_TURNED = {"GT": "LT", "GE": "LE"}
_SYMMETRIC = frozenset({"EQ", "NE"})
_MOST_VALUES = 2
"""Values of each side: the cases are multiplied."""
_THREE = 3
"""As many values as it takes to combine them in another order."""


def in_any_order(reduce: Instruction) -> bool:
    """Whether a reduction is known to give the same if it combines elements that are not neighbours."""
    return is_commutative(reduce.attributes["to_apply"], frozenset(numbers_of(reduce)))


def numbers_of(reduce: Instruction) -> list[int]:
    """Which of the arrays that a reduction combines are its elements' numbers in the one dimension that is reduced."""
    dimensions = reduce.attributes["dimensions"]
    arrays = reduce.operands[: len(reduce.operands) // 2]
    return [position for position, one in enumerate(arrays) if len(dimensions) == 1 and counts(one, dimensions[0])]


def counts(numbers: Instruction, along: int) -> bool:
    """Whether values are the elements' numbers in a dimension, none of them too large for its type."""
    source, dimension = numbers, along
    if numbers.opcode == "broadcast":
        if along not in numbers.attributes["dimensions"]:
            return False
        source, dimension = numbers.operands[0], numbers.attributes["dimensions"].index(along)
    if source.opcode != "iota" or source.attributes["iota_dimension"] != dimension:
        return False
    element_type = source.array.element_type
    return element_type.is_integer and source.array.dims[dimension] - 1 <= integer_bounds(element_type)[1]


def is_commutative(reducer: Computation, distinct: frozenset[int] = frozenset()) -> bool:
    """Whether a computation of two values, or of two tuples of them, is known not to mind which comes first.

    Args:
        reducer: the computation.
        distinct: places of values that are never equal to each other.
    """
    half, odd = divmod(len(reducer.parameters), 2)
    if odd or not all(isinstance(p.shape, ArrayShape) and not p.shape.dims for p in reducer.parameters):
        return False
    if _written(reducer, 0) == _written(reducer, half):
        return True
    return half <= _MOST_VALUES and chooses(reducer) and _is_indifferent(reducer, distinct)


def chooses(reducer: Computation) -> bool:
    """Whether a reducer does nothing but compare its values, each with those in its own place, and choose."""
    half, root = len(reducer.parameters) // 2, reducer.root
    sources = _sources(reducer, half)
    results = root.operands if root.opcode == "tuple" else (root,)
    return all(_is_choice(instruction, sources[instruction]) for instruction in reducer.instructions) and all(
        result.array.element_type.kind is Kind.PRED or sources[result] == {position}
        for position, result in enumerate(results)
    )


def goes_by_numbers(reducer: Computation, *, is_value_used: bool) -> bool:
    """Whether a reducer that chooses among values with numbers gives the same in whatever order they are combined.

    Of any two the one of the lesser number comes first.  A choice that is no order of the values, as where NaN is
    neither less nor greater and one of its sides is taken, depends on which two are compared: of three values all cases
    are tried.

    Args:
        reducer: of two values and their numbers.
        is_value_used: whether anybody sees the value, and with it the sign of a zero, which no comparison tells.
    """
    kind, numbers = (parameter.array.element_type for parameter in reducer.parameters[:2])
    values = _values(kind) if kind.is_float or kind.is_complex else np.arange(_THREE).astype(kind.dtype)
    if not len(values):
        return False
    cases = np.array(list(itertools.product(range(len(values)), repeat=_THREE))).T
    first, second, third = (
        [values[case], np.full(case.shape, number, numbers.dtype)] for number, case in enumerate(cases)
    )

    def chosen(left: Sequence[Array], right: Sequence[Array]) -> Sequence[Array]:
        is_turned = left[1] > right[1]
        pairs = [np.where(is_turned, two, one) for one, two in zip(left, right, strict=True)]
        others = [np.where(is_turned, one, two) for one, two in zip(left, right, strict=True)]
        return list(flatten(Interpreter().map(reducer, [*pairs, *others])))

    with np.errstate(all="ignore"):
        expected = chosen(chosen(first, second), third)
        trees = (chosen(first, chosen(second, third)), chosen(chosen(first, third), second))
        wanted = expected if is_value_used else _unsigned(expected)
        found = trees if is_value_used else map(_unsigned, trees)
        return all(_alike(one, other) for tree in found for one, other in zip(tree, wanted, strict=True))


def _unsigned(results: Sequence[Array]) -> Sequence[Array]:
    """Results with zeros of one sign."""
    return [np.where(one == 0, np.zeros_like(one), one) for one in results]


def _is_choice(instruction: Instruction, sources: frozenset[int]) -> bool:
    if not isinstance(instruction.shape, ArrayShape):
        return instruction.opcode == "tuple"
    if instruction.opcode == "compare":
        return len(sources) < _MOST_VALUES
    if instruction.array.element_type.kind is Kind.PRED:  # combiners are logic there
        return instruction.opcode in COMBINERS or instruction.opcode in ("parameter", "select", "not", "constant")
    is_one_of_two = instruction.opcode in ("parameter", "select", "minimum", "maximum")
    return is_one_of_two and len(sources) == 1


def _sources(reducer: Computation, half: int) -> dict[Instruction, frozenset[int]]:
    """The positions of the parameters that each instruction's values come from."""
    known: dict[Instruction, frozenset[int]] = {}
    for instruction in reducer.instructions:
        values = instruction.operands[1:] if instruction.opcode == "select" else instruction.operands
        own = {instruction.parameter_number % half} if instruction.opcode == "parameter" else ()
        known[instruction] = frozenset(own).union(*(known[value] for value in values))
    return known


def _written(reducer: Computation, shift: int) -> Form:
    """The formula, with the parameters that many places further on, in a form that is one for equal formulas."""
    known: dict[Instruction, Form] = {}
    for instruction in reducer.instructions:
        operands = [known[operand] for operand in instruction.operands]
        known[instruction] = _form(instruction, operands, shift, len(reducer.parameters))
    return known[reducer.root]


def _form(instruction: Instruction, operands: list[Form], shift: int, count: int) -> Form:
    opcode, attributes = instruction.opcode, dict(instruction.attributes)
    if opcode == "parameter":
        return opcode, (instruction.parameter_number + shift) % count
    if opcode == "constant":
        array = instruction.literal.array
        return opcode, str(instruction.shape), instruction if array is None else array.tobytes()
    direction = attributes.get("direction", "")
    if opcode == "compare" and direction in _TURNED:
        attributes["direction"], operands = _TURNED[direction], operands[::-1]
    if opcode in COMBINERS or direction in _SYMMETRIC:
        operands = sorted(operands, key=repr)
    return opcode, str(instruction.shape), tuple(sorted(attributes.items(), key=repr)), tuple(operands)


def _is_indifferent(reducer: Computation, distinct: frozenset[int]) -> bool:
    """Whether a reducer that chooses gives the same for all cases of two values in either order."""
    half = len(reducer.parameters) // 2
    values = [_values(parameter.array.element_type) for parameter in reducer.parameters[:half]]
    if not all(len(found) for found in values):
        return False
    numbers = [range(len(found)) for found in values]
    cases = np.array(list(itertools.product(*numbers, *numbers))).T
    for position in distinct:
        cases = cases[:, cases[position] != cases[half + position]]
    left, right = (
        [found[at] for found, at in zip(values, piece, strict=True)] for piece in (cases[:half], cases[half:])
    )
    with np.errstate(all="ignore"):
        straight, turned = (flatten(Interpreter().map(reducer, pair)) for pair in ([*left, *right], [*right, *left]))
        return all(_alike(one, other) for one, other in zip(straight, turned, strict=True))


def _values(element_type: ElementType) -> Array:
    """Values that are ordered in every way there is; none of types that this does not look at."""
    if element_type.is_complex or element_type.kind is Kind.OPAQUE:
        return np.empty(0)
    if not element_type.is_float:
        return np.array([0, 1]).astype(element_type.dtype)
    if element_type.bits < _LEAST_BITS:
        return np.empty(0)
    found = np.array([0.0, -0.0, 1.0, -1.0, np.nan, -np.nan]).astype(element_type.dtype)
    # A NaN of other bits, which a total order tells from the first.
    bits = found.view(f"u{element_type.dtype.itemsize}")
    others = (bits ^ bits.dtype.type(1)).view(element_type.dtype)
    return np.concatenate([found, others[np.isnan(others)]])


_LEAST_BITS = 8
"""Floats of fewer bits are not looked at."""


def _alike(left: Array, right: Array) -> bool:
    """Whether arrays are equal to the bit, but for NaN, whose bits the language leaves open."""
    left, right = np.asarray(left), np.asarray(right)
    if not _is_float(left):
        return bool(np.array_equal(left, right))
    nan = np.isnan(left)
    one, other = (array.astype(np.float64).view(np.uint64)[~nan] for array in (left, right))
    return bool(np.array_equal(nan, np.isnan(right)) and np.array_equal(one, other))


def _is_float(array: Array) -> bool:
    """Whether elements are floats, of NumPy's own types or of others."""
    return array.dtype.kind == "f" or (array.dtype.kind == "V" and "float" in array.dtype.name)
