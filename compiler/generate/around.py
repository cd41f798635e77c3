"""What stands before and behind a kernel: conversions, slices, other kernels' results, and what is fused behind it.

What a kernel reads is at times computed, or left by another kernel, and what it yields goes into what stands behind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.generate.choices import chance, permutation, pick
from compiler.generate.combining import combiner, combiners, identity_constant
from compiler.generate.products import RECIPES as PRODUCTS
from compiler.generate.scope import Scope
from compiler.generate.seen import seen
from compiler.ir.attributes import SliceDimension
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ir.types import PRED, ElementType

_PLAIN_PERCENT, SEEN_PERCENT = 50, 15
"""How often what a kernel reads is a parameter as it is; how often what it yields is a result besides what is made of
it."""
_BEHIND = (0, 1, 1, 2)
"""How many operations stand behind a kernel."""
_MOST_TERMS = 5
"""Terms, or columns, of a product that stands before or behind a kernel."""
PRODUCT_TYPES = tuple(t for t in PRODUCTS["dot"].element_types if t.bits >= 8 and not t.is_complex)
"""What is multiplied: numbers of a byte or more."""


def read(scope: Scope, element_type: ElementType, dims: Sequence[int]) -> Instruction:
    """What a kernel reads: a parameter, or what is made of one step by step.

    Args:
        scope: where instructions are put, and the source of decisions.
        element_type: of what is read.
        dims: of what is read.
    """
    shape = ArrayShape(element_type, tuple(dims))
    if chance(scope.choices, _PLAIN_PERCENT):
        return scope.parameter(shape)
    return pick(scope.choices, _MADE)(scope, shape)


def _converted(scope: Scope, shape: ArrayShape) -> Instruction:
    others = [t for t in _others(scope, shape.element_type) if not t.is_complex]
    given = read(scope, pick(scope.choices, others), shape.dims)
    return scope.build("convert", [given], shape=shape)


def _others(scope: Scope, element_type: ElementType) -> list[ElementType]:
    """Types that the program may use, that one among them."""
    known = [t for t in scope.program.element_types if t.bits >= 8 and t is not PRED]
    return [element_type, *known]


def _turned(scope: Scope, shape: ArrayShape) -> Instruction:
    order = permutation(scope.choices, shape.rank)
    dims = [0] * shape.rank
    for position, source in enumerate(order):
        dims[source] = shape.dims[position]
    return scope.build("transpose", [read(scope, shape.element_type, dims)], dimensions=tuple(order))


def _cut(scope: Scope, shape: ArrayShape) -> Instruction:
    """The inner one of an array: its rows do not begin where vectors do."""
    given = read(scope, shape.element_type, [n + 3 for n in shape.dims])
    return scope.build("slice", [given], slice=tuple(SliceDimension(1, n + 1, 1) for n in shape.dims))


def _computed(scope: Scope, shape: ArrayShape) -> Instruction:
    return _biased(scope, scope.parameter(shape))


def multiplied(scope: Scope, shape: ArrayShape) -> Instruction:
    """What another kernel leaves, in memory that nobody reads afterwards: a kernel may write over it."""
    if not shape.rank or shape.element_type not in PRODUCT_TYPES:
        return _computed(scope, shape)
    terms, (*rows, columns) = scope.choices.integer(1, _MOST_TERMS), shape.dims
    factors = [scope.parameter(ArrayShape(shape.element_type, dims)) for dims in ((*rows, terms), (terms, columns))]
    return scope.build("dot", factors, shape=shape, lhs_contracting_dims=(len(rows),), rhs_contracting_dims=(0,))


_MADE: Sequence[Callable[[Scope, ArrayShape], Instruction]] = (_converted, _turned, _cut, _computed, multiplied, seen)
"""What may stand before a kernel."""


def _added(scope: Scope, value: Instruction) -> Instruction:
    return scope.build("add", [value, scope.parameter(value.array)])


def _biased(scope: Scope, value: Instruction) -> Instruction:
    """A number for each position of one dimension."""
    if not value.array.rank:
        return _added(scope, value)
    along = scope.choices.integer(0, value.array.rank - 1)
    line = scope.parameter(ArrayShape(value.array.element_type, (value.array.dims[along],)))
    return scope.build("add", [value, scope.build("broadcast", [line], shape=value.array, dimensions=(along,))])


def _scaled(scope: Scope, value: Instruction) -> Instruction:
    factor = scope.build("broadcast", [scope.constant(3, value.array.element_type)], shape=value.array, dimensions=())
    return scope.build("multiply", [value, factor])


def _narrowed(scope: Scope, value: Instruction) -> Instruction:
    if value.array.element_type.is_complex:
        return scope.build("negate", [value])
    kind = pick(scope.choices, [t for t in _others(scope, value.array.element_type) if not t.is_complex])
    return scope.build("convert", [value], shape=ArrayShape(kind, value.array.dims))


def _exchanged(scope: Scope, value: Instruction) -> Instruction:
    return scope.build("transpose", [value], dimensions=tuple(permutation(scope.choices, value.array.rank)))


def contracted(scope: Scope, value: Instruction) -> Instruction:
    """A product of the rows: what a kernel yields is no result then, and may lie where its operand did."""
    if not value.array.rank or value.array.element_type not in PRODUCT_TYPES:
        return _added(scope, value)
    *rows, terms = value.array.dims
    columns = scope.choices.integer(1, _MOST_TERMS)
    other = scope.parameter(ArrayShape(value.array.element_type, (terms, columns)))
    shape = ArrayShape(value.array.element_type, (*rows, columns))
    return scope.build("dot", [value, other], shape=shape, lhs_contracting_dims=(len(rows),), rhs_contracting_dims=(0,))


def _reduced(scope: Scope, shape: ArrayShape) -> Instruction:
    """What a reduction leaves, in memory that nobody reads afterwards."""
    opcode = pick(scope.choices, combiners(shape.element_type))
    given = scope.parameter(ArrayShape(shape.element_type, (scope.choices.integer(2, _MOST_TERMS), *shape.dims)))
    operands = [given, identity_constant(scope, opcode, shape.element_type)]
    reducer = combiner(scope, opcode, shape.element_type)
    return scope.build("reduce", operands, to_apply=reducer, dimensions=(0,))


def _laid_over(scope: Scope, value: Instruction) -> Instruction:
    """A sum with what another kernel has left: it may lie there, so no element of it may be computed twice."""
    other = pick(scope.choices, (multiplied, _reduced))(scope, value.array)
    operands = [value, other] if chance(scope.choices, 50) else [other, value]
    return scope.build(pick(scope.choices, ("add", "subtract")), operands)


_BEHIND_KERNELS: Sequence[Callable[[Scope, Instruction], Instruction]] = (
    _added, _laid_over, _laid_over, _biased, _scaled, _narrowed, _exchanged, contracted,
    lambda scope, value: scope.build("negate", [value]),
)  # fmt: skip
"""What may stand behind a kernel."""


def finished(scope: Scope, value: Instruction) -> Instruction:
    """What is made of the elements that a kernel yields, which are at times a result as well."""
    if chance(scope.choices, SEEN_PERCENT):
        scope.kept.append(value)
    for _ in range(pick(scope.choices, _BEHIND)):
        if value.array.element_type is not PRED:
            value = pick(scope.choices, _BEHIND_KERNELS)(scope, value)
    return value
