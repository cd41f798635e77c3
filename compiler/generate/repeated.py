"""Several kernels that go over the same squares, one after the other, in a row or in a loop whose states change roles.

What one kernel leaves the next one reads, in memory that others had before; who must wait for whom, which array may be
written over, and what becomes one launch is decided between kernels.  In a loop all of that is done again and again,
and what was one state's memory is another's then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.generate import bodies, regimes
from compiler.generate.around import PRODUCT_TYPES, SEEN_PERCENT, read
from compiler.generate.choices import chance, permutation, pick
from compiler.generate.combining import combiner, combiners, identity_constant, running
from compiler.generate.counters import counter
from compiler.generate.loops import of_many_elements
from compiler.generate.regimes import sizes
from compiler.generate.scope import Scope
from compiler.generate.sorting import sort
from compiler.ir.attributes import SliceDimension
from compiler.ir.module import Instruction
from compiler.ir.shape import TupleShape
from compiler.ir.types import PRED, ElementType, Kind
from compiler.ops.build import build

_MOST_KERNELS, _STATES = 4, (1, 2, 2, 3)
"""Kernels in a row, and how many squares there are."""
_BOUNDED_PERCENT, _BOUND = 60, 3
"""How often what a kernel leaves is brought back to small numbers, and to which: sums of their products are exact."""
_EXCHANGED_PERCENT = 50
"""How often states are other ones in the next iteration."""

Through = Callable[[Scope, Instruction, Instruction], Instruction]


def _product(scope: Scope, value: Instruction, other: Instruction) -> Instruction:
    if value.array.element_type not in PRODUCT_TYPES:
        return _added(scope, value, other)
    sides = (scope.choices.integer(0, 1), scope.choices.integer(0, 1))
    return scope.build("dot", [value, other], lhs_contracting_dims=sides[:1], rhs_contracting_dims=sides[1:])


def _added(scope: Scope, value: Instruction, other: Instruction) -> Instruction:
    return scope.build(pick(scope.choices, ("add", "subtract")), [value, other])


def _turned(scope: Scope, value: Instruction, other: Instruction) -> Instruction:
    turned = scope.build("transpose", [value], dimensions=(1, 0))
    return _added(scope, turned, other) if chance(scope.choices, 50) else turned


def _reduced(scope: Scope, value: Instruction, _: Instruction) -> Instruction:
    """Rows, or columns, each with what it is reduced to."""
    kind, along = value.array.element_type, scope.choices.integer(0, 1)
    opcode = pick(scope.choices, combiners(kind)[:3])
    operands = [value, identity_constant(scope, opcode, kind)]
    line = scope.build("reduce", operands, to_apply=combiner(scope, opcode, kind), dimensions=(along,))
    return _added(scope, value, scope.build("broadcast", [line], shape=value.array, dimensions=(1 - along,)))


def _sorted(scope: Scope, value: Instruction, other: Instruction) -> Instruction:
    if value.array.element_type.is_complex:
        return _added(scope, value, other)
    operands = [value, other] if chance(scope.choices, 50) else [value]
    return sort(scope, operands, scope.choices.integer(0, 1))[-1]


def _moved(scope: Scope, value: Instruction, other: Instruction) -> Instruction:
    """The first rows behind the others."""
    (rows, columns), cut = value.array.dims, scope.choices.integer(1, value.array.dims[0] - 1)
    whole = SliceDimension(0, columns, 1)
    pieces = [SliceDimension(cut, rows, 1), SliceDimension(0, cut, 1)]
    sides = zip((value, pick(scope.choices, (value, other))), pieces, strict=True)
    return scope.build("concatenate", [scope.build("slice", [s], slice=(p, whole)) for s, p in sides], dimensions=(0,))


def _updated(scope: Scope, value: Instruction, other: Instruction) -> Instruction:
    """Some rows of another square in a square."""
    rows, columns = value.array.dims
    count = scope.choices.integer(1, rows - 1)
    piece = scope.build("slice", [other], slice=(SliceDimension(0, count, 1), SliceDimension(0, columns, 1)))
    kind = scope.index_type()
    starts = [scope.constant(scope.choices.integer(0, rows - count), kind), scope.constant(0, kind)]
    return scope.build("dynamic-update-slice", [value, piece, *starts])


_KERNELS: Sequence[Through] = (
    _product, _product, _added, _turned, _reduced, _reduced, _sorted, _moved, _updated,
    lambda scope, value, _: running(scope, value),
)  # fmt: skip
"""What makes a square of a square and another one."""


def _bounded(scope: Scope, value: Instruction) -> Instruction:
    kind = value.array.element_type
    if kind.is_complex or kind is PRED or not chance(scope.choices, _BOUNDED_PERCENT):
        return value
    least = 0 if kind.kind is Kind.UNSIGNED else -_BOUND
    return scope.build("clamp", [scope.constant(least, kind), value, scope.constant(_BOUND, kind)])


def _through(scope: Scope, values: Sequence[Instruction]) -> list[Instruction]:
    """The squares behind a few kernels, each of which leaves one instead of another."""
    left, drawn = list(values), 0
    while not drawn or scope.choices.more(drawn, _MOST_KERNELS):
        drawn += 1
        at, beside = (scope.choices.integer(0, len(left) - 1) for _ in range(2))
        left[at] = _bounded(scope, pick(scope.choices, _KERNELS)(scope, left[at], left[beside]))
    return left


def _squares(scope: Scope, element_type: ElementType) -> list[Instruction]:
    (side,) = sizes(scope.choices, regimes.SQUARES)
    return [read(scope, element_type, (side, side)) for _ in range(pick(scope.choices, _STATES))]


def in_a_row(scope: Scope, element_type: ElementType) -> Instruction:
    """What a few kernels make of squares.

    Args:
        scope: where instructions are put, and the source of decisions.
        element_type: of the squares.
    """
    found = _through(scope, _squares(scope, element_type))
    scope.kept += [value for value in found[:-1] if not value.users or chance(scope.choices, SEEN_PERCENT)]
    return found[-1]


def in_a_loop(scope: Scope, element_type: ElementType) -> Instruction:
    """What a loop of a few kernels makes of squares, all of which are results.

    Args:
        scope: where instructions are put, and the source of decisions.
        element_type: of the squares.
    """
    squares, counted = _squares(scope, element_type), counter(scope)
    shape = TupleShape((counted.start.array, *(value.array for value in squares)))
    state = scope.build("tuple", [counted.start, *squares])
    inner = bodies.inner_of(scope, "condition")
    inner.computation.root = counted.goes_on(inner, bodies.unpacked(inner, shape)[0])
    body = bodies.inner_of(scope, "body")
    number, *states = bodies.unpacked(body, shape)
    left = _through(body, states)
    if chance(scope.choices, _EXCHANGED_PERCENT):
        left = [left[k] for k in permutation(scope.choices, len(left))]
    body.computation.root = build(body.computation, "tuple", [counted.following(body, number), *left])
    done = scope.build("while", [state], condition=inner.computation, body=body.computation)
    found = [scope.build("get-tuple-element", [done], index=1 + k) for k in range(len(squares))]
    scope.kept += found[:-1]
    return found[-1]


def in_each_element(scope: Scope, element_type: ElementType) -> Instruction:
    """What a loop makes of many elements, each of which iterates on its own.

    Args:
        scope: where instructions are put, and the source of decisions.
        element_type: of the elements.
    """
    return of_many_elements(scope, read(scope, element_type, sizes(scope.choices, regimes.FLAT)))
