"""Whether a program's results are one: that its reducers mind no brackets, and its comparators are of an order.

A reduction is some binary tree over its elements in their order, and its initial value may stand anywhere in it
(StableHLO, `reduce`); a sort, and what a window selects, is by an order.  Where a computation keeps neither law two
right engines differ, and what changes programs makes such of those that keep both: another comparison, the same operand
twice, another type.  So the laws are tried by values: small ones that no type rounds, the ends of integers, numbers in
all their orders.  NaN is left out, which few comparators that people write give a place.

Updates of a scatter come in the order of their indices, on every engine of this project, and a scan says its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from compiler.diagnostics import CompilerError
from compiler.interpreter import Interpreter, flatten
from compiler.ir.combiner import binary_opcode
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.numbers import Array, integer_bounds
from compiler.ir.types import ElementType, Kind
from compiler.ops import Trait, having
from compiler.plan import device_count

_finfo: Any = ml_dtypes.finfo  # knows NumPy's own floats as well; untyped

_THREE, _MOST_CASES = 3, 512
"""As many values as a law is about, and the cases of them that are tried: all, or so many that are drawn."""
_FREE = having(Trait.COMMUTATIVE) & having(Trait.ASSOCIATIVE)
_COLLECTIVE = having(Trait.COMBINES) & having(Trait.COLLECTIVE)
_ROUNDED_OFTEN, _LEAST_DIGITS = 16, 10
"""How many units of the last place brackets may make in types of so many binary digits; in others less than one."""

Side = Sequence[Array]


def is_determined(module: Module) -> bool:
    """Whether no results of a program are up to the engine, beyond rounding."""
    known: dict[tuple[int, Callable[[Computation], bool]], bool] = {}
    for instruction in module.instructions():
        for law, computation in _laws(instruction, device_count(module)):
            key = (id(computation), law)
            if key not in known:
                known[key] = law(computation)
            if not known[key]:
                return False
    return True


def is_associative(reducer: Computation) -> bool:
    """Whether a computation of two values, or of two tuples of them, is not seen to mind brackets or ignore one."""
    if binary_opcode(reducer) in _FREE:
        return True
    if any(not one.users and one is not reducer.root for one in reducer.parameters):
        return False
    half = len(reducer.parameters) // 2

    def holds(one: Side, two: Side, three: Side) -> bool:
        def both(left: Side, right: Side) -> Side:
            return list(flatten(Interpreter().map(reducer, [*left, *right])))

        pairs = zip(both(both(one, two), three), both(one, both(two, three)), reducer.parameters, strict=False)
        return all(_are_near(left, right, value.array.element_type) for left, right, value in pairs)

    return _is_tried([value.array.element_type for value in reducer.parameters[:half]], holds)


def is_order(comparator: Computation) -> bool:
    """Whether a comparator of pairs of values is not seen to be anything but a strict weak order."""

    def before(left: Side, right: Side) -> Array:
        pairs = [value for pair in zip(left, right, strict=True) for value in pair]
        return np.asarray(Interpreter().map(comparator, pairs), np.bool_)

    def holds(one: Side, two: Side, three: Side) -> bool:
        first, second, third = before(one, two), before(two, three), before(one, three)
        is_opposed = first & before(two, one)
        is_equal = ~(first | before(two, one)) & ~(second | before(three, two))
        broken = [before(one, one), is_opposed, first & second & ~third, is_equal & (third | before(three, one))]
        return not any(np.any(cases) for cases in broken)

    return _is_tried([value.array.element_type for value in comparator.parameters[::2]], holds)


def is_selector(selector: Computation) -> bool:
    """Whether what chooses one of two values is not seen to choose another one of three if they are bracketed anew."""

    def chosen(left: Side, right: Side) -> Side:
        is_left = np.asarray(Interpreter().map(selector, [left[0], right[0]]), np.bool_)
        return [np.where(is_left, one, other) for one, other in zip(left, right, strict=True)]

    def holds(*sides: Side) -> bool:
        one, two, three = ([*side, np.full(side[0].shape, number)] for number, side in enumerate(sides))
        straight, turned = chosen(chosen(one, two), three), chosen(one, chosen(two, three))
        return bool((straight[1] == turned[1]).all())

    return _is_tried([selector.parameters[0].array.element_type], holds)


def _laws(instruction: Instruction, devices: int) -> Iterator[tuple[Callable[[Computation], bool], Computation]]:
    """The laws that computations of an instruction must keep, if there are enough values for them to show."""
    attributes, opcode = instruction.attributes, instruction.opcode
    if opcode in _COLLECTIVE and devices >= _THREE:
        yield from ((is_associative, computation) for computation in instruction.called_computations())
    elif opcode in _ALONG and _meeting(instruction) > 1:
        yield _ALONG[opcode], attributes["to_apply"]
    elif opcode == "select-and-scatter" and _meeting(instruction) > 1:
        yield is_selector, attributes["select"]
        if any(dimension.size > dimension.stride for dimension in attributes["window"]):
            yield is_associative, attributes["scatter"]


_ALONG = {"reduce": is_associative, "reduce-window": is_associative, "sort": is_order}
"""The law of what applies a computation along dimensions, or in a window."""


def _meeting(instruction: Instruction) -> int:
    """How many elements meet: those along some dimensions, or in a window."""
    if "window" in instruction.attributes:
        return math.prod(dimension.size for dimension in instruction.attributes["window"])
    return math.prod(instruction.operands[0].array.dims[axis] for axis in instruction.attributes["dimensions"])


def _is_tried(types: Sequence[ElementType], holds: Callable[..., bool]) -> bool:
    """Whether a law holds of three values of each type, in all cases or in many, or nobody can run it.

    Args:
        types: of the values of one side.
        holds: the law, of three sides with many cases each.
    """
    values = [_values(kind) for kind in types]
    if not all(map(len, values)):
        return True
    numbers = [range(len(found)) for found in values] * _THREE
    if math.prod(map(len, numbers)) <= _MOST_CASES:
        cases = np.array(list(itertools.product(*numbers))).T
    else:
        rng = np.random.default_rng(0)
        cases = np.array([rng.integers(len(found), size=_MOST_CASES) for found in numbers])
    sides = [
        [found[case] for found, case in zip(values, cases[at : at + len(values)], strict=True)]
        for at in range(0, len(cases), len(values))
    ]
    try:
        with np.errstate(all="ignore"):
            return holds(*sides)
    except CompilerError:
        return True


def _values(kind: ElementType) -> Array:
    """Values of a type; none of types that have no numbers."""
    if kind.kind is Kind.OPAQUE:
        return np.empty(0)
    if kind.is_integer:
        low, high = integer_bounds(kind)
        found = sorted({number for number in (0, 1, 2, 3, -1, low, high) if low <= number <= high})
        return np.array(found, np.int64 if low < 0 else np.uint64).astype(kind.dtype)
    return np.array(_BY_KIND[kind.kind]).astype(kind.dtype)


_BY_KIND: Mapping[Kind, Sequence[complex]] = {
    Kind.PRED: (0, 1),
    Kind.FLOAT: (0.0, 1.0, -1.0, 2.0),
    Kind.COMPLEX: (0, 1, -1, 1j, 2),
}
"""Values whose sums and products of three the narrowest types hold, all but a few."""


def _are_near(left: Array, right: Array, kind: ElementType) -> bool:
    """Whether results are equal, or floats that rounding brings about."""
    left, right = np.asarray(left), np.asarray(right)
    if not (kind.is_float or kind.is_complex):
        return bool(np.array_equal(left, right))
    wide = np.complex128 if kind.is_complex else np.float64
    one, other = left.astype(wide), right.astype(wide)
    is_same = (one == other) | (np.isnan(one) & np.isnan(other))
    size = np.maximum(np.abs(one), np.abs(other))
    return bool((is_same | (np.abs(one - other) < _unit(kind) * np.maximum(size, 1))).all())


def _unit(kind: ElementType) -> float:
    """How far apart rounding may set numbers near 1."""
    about = _finfo(np.empty(0, kind.dtype).real.dtype if kind.is_complex else kind.dtype)
    return float(about.eps) * (_ROUNDED_OFTEN if about.nmant >= _LEAST_DIGITS else 1)
