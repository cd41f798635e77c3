"""Recipes of elementwise opcodes; which element types one takes is found by asking its record's shape rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from compiler.diagnostics import ShapeError
from compiler.generate.choices import chance, pick
from compiler.generate.constants import beside_an_end, power_of_two
from compiler.generate.recipe import COMPLEX, FLOATS, NUMBERS, Recipe, narrowed
from compiler.generate.scope import Scope
from compiler.ir.attributes import VOCABULARY
from compiler.ir.module import Computation, Instruction
from compiler.ir.numbers import integer_bounds
from compiler.ir.shape import ArrayShape
from compiler.ir.types import F32, F64, PRED, TYPES, ElementType, Kind
from compiler.ops import OPS
from compiler.ops.build import build, parameter

DOMAINS: Mapping[str, tuple[float, float]] = {
    "exponential": (-8, 8),
    "exponential-minus-one": (-8, 8),
    "sinh": (-8, 8),
    "cosh": (-8, 8),
    "log": (0.0625, 100),
    "log-plus-one": (-0.75, 100),
    "sqrt": (0, 100),
    "rsqrt": (0.0625, 100),
    "power": (0.125, 8),
    "divide": (0.125, 64),
    "remainder": (0.125, 64),
    "asin": (-0.875, 0.875),
    "acos": (-0.875, 0.875),
    "atanh": (-0.875, 0.875),
    "acosh": (1.125, 64),
    "tan": (-1.25, 1.25),
    "sine": (-64, 64),
    "cosine": (-64, 64),
}
"""Where functions are defined and well conditioned; of binary ones, the domain of the last operand."""

_POSITIONS_PERCENT = 12
"""How often what is compared is positions, as in masks, which may be counted in fewer bits where these hold them."""
_SCALED_PERCENT = 8
"""How often floats meet a single power of two: dividing by it may be multiplying, or may not."""
_EXTREMUM_PERCENT = 20
"""How often an extremum is beside a comparison of the same two, as where values are cut off and it is told which."""
_BOTH_OPERANDS = frozenset({"power"})

_LEAST, _GREATEST, _BITS = "least", "greatest", "bits"
_QUOTIENTS = ((_LEAST, -1), (1, 0))
_SHIFTS = ((-1, _BITS), (_LEAST, _BITS), (_GREATEST, 1), (1, -1))
EDGES: Mapping[str, Sequence[tuple[str | int, ...]]] = {
    "divide": _QUOTIENTS,
    "remainder": _QUOTIENTS,
    "shift-left": _SHIFTS,
    "shift-right-arithmetic": _SHIFTS,
    "shift-right-logical": _SHIFTS,
    "add": ((_GREATEST, 1), (_LEAST, -1), (_LEAST, _LEAST)),
    "subtract": ((_LEAST, 1), (0, _LEAST), (_GREATEST, -1)),
    "multiply": ((_LEAST, -1), (_GREATEST, _GREATEST)),
    "mulhi": ((_LEAST, _LEAST), (_LEAST, -1), (_GREATEST, _GREATEST)),
    "power": ((0, 0), (_LEAST, 1), (-1, _GREATEST), (0, -1)),
    "abs": ((_LEAST,),),
    "negate": ((_LEAST,),),
    "sign": ((_LEAST,),),
}
"""Operands of integers with which an operation yields what its name does not say: where it wraps, or has no result.

Drawn one by one they would hardly ever meet."""

_ANY_EDGE_PERCENT = 40  # of operands none of which was thought of
_WITH_ENDS = 16  # bits of floats that are powers of two up to infinity
_FEW, _FEW_PERCENT = 8, 50  # elements that are too few for a vector, which machines compute by other instructions


@cache
def takes(opcode: str) -> tuple[ElementType, ...]:
    """The element types whose arrays an opcode accepts as all of its operands."""
    op = OPS[opcode]
    found = []
    for element_type in NUMBERS:
        scratch = Computation("scratch")
        operands = [parameter(scratch, k, ArrayShape(element_type, ())) for k in range(op.operands[0])]
        try:
            build(scratch, opcode, operands)
        except ShapeError:
            continue
        found.append(element_type)
    return tuple(found)


def guarded(scope: Scope, value: Instruction, low: float, high: float) -> Instruction:
    """Mostly the value clamped into a range.

    Args:
        scope: where instructions are added.
        value: an array.
        low: the least value of the range.
        high: the greatest.
    """
    element_type = value.array.element_type
    fits = element_type.is_float and element_type.bits >= 16
    if not fits or not chance(scope.choices, scope.program.space.guard_percent):
        return value
    return scope.build("clamp", [scope.constant(low, element_type), value, scope.constant(high, element_type)])


def _on_edge(scope: Scope, opcode: str, operands: list[Instruction]) -> list[Instruction]:
    """The operands with those of an edge in some places, all in the same ones."""
    shape = operands[0].array
    low, high = integer_bounds(shape.element_type)
    known = {_LEAST: low, _GREATEST: high, _BITS: shape.element_type.bits}
    edge = [known[value] if isinstance(value, str) else value for value in pick(scope.choices, EDGES[opcode])]
    if chance(scope.choices, _ANY_EDGE_PERCENT):
        edge = [pick(scope.choices, (-1, 0, 1, -2, 2, -3, 3, low, low + 1, high, high - 1)) for _ in operands]
    is_edge = scope.unknown(ArrayShape(PRED, shape.dims))
    return [
        scope.build("select", [is_edge, _constants(scope, _wrapped(value, low, high), shape), operand])
        for value, operand in zip(edge, operands, strict=True)
    ]


def _wrapped(value: int, low: int, high: int) -> int:
    """The integer of a type with the same last bits."""
    return (value - low) % (high - low + 1) + low


def _constants(scope: Scope, value: int, shape: ArrayShape) -> Instruction:
    """A scalar constant, as an array of a shape."""
    return spread(scope, scope.constant(value, shape.element_type), shape)


def spread(scope: Scope, value: Instruction, shape: ArrayShape) -> Instruction:
    """A scalar, as an array of a shape.

    Args:
        scope: where instructions are added.
        value: a scalar.
        shape: whose dimensions and type the array gets.
    """
    return scope.build("broadcast", [value], shape=ArrayShape(shape.element_type, shape.dims), dimensions=())


def _draw(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    arity = OPS[opcode].operands[0]
    is_on_edge = element_type.is_integer and opcode in EDGES and chance(scope.choices, scope.program.space.edge_percent)
    first = scope.array(element_type, size=_FEW if is_on_edge and chance(scope.choices, _FEW_PERCENT) else 0)
    operands = [first, *(scope.like(first.array, beside=first) for _ in range(arity - 1))]
    if is_on_edge:
        operands = _on_edge(scope, opcode, operands)
    has_ends = element_type.is_float and element_type.bits >= _WITH_ENDS
    if has_ends and arity == 2 and chance(scope.choices, _SCALED_PERCENT):
        factor = scope.constant(power_of_two(scope.choices, element_type), element_type)
        return scope.build(opcode, [first, spread(scope, factor, first.array)])
    if opcode in DOMAINS:
        operands[-1] = guarded(scope, operands[-1], *DOMAINS[opcode])
        if opcode in _BOTH_OPERANDS:
            operands[0] = guarded(scope, operands[0], *DOMAINS[opcode])
    return scope.build(opcode, operands)


def _compare(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    first = scope.array(element_type)
    if element_type.is_integer and first.array.rank and chance(scope.choices, _POSITIONS_PERCENT):
        return _compared_positions(scope, opcode, first.array)
    is_complex = element_type.kind is Kind.COMPLEX
    direction = pick(scope.choices, ("EQ", "NE") if is_complex else VOCABULARY["direction"])
    attributes: dict[str, Any] = {"direction": direction}
    if element_type.is_float and chance(scope.choices, 25):
        attributes["type"] = "TOTALORDER"
    other = scope.like(first.array, beside=first)
    extremum = pick(scope.choices, ("maximum", "minimum"))
    if scope.program.space.allows(extremum, element_type) and chance(scope.choices, _EXTREMUM_PERCENT):
        scope.give([build(scope.computation, extremum, [first, other])], are_kept=True)
    return scope.build(opcode, [first, other], **attributes)


def _compared_positions(scope: Scope, opcode: str, shape: ArrayShape) -> Instruction:
    """Positions along a dimension, counted from a number at the end of a type, compared with one that is near that."""
    kind, end = shape.element_type, beside_an_end(scope.choices, shape.element_type)
    low, high = integer_bounds(kind)
    along = scope.choices.integer(0, shape.rank - 1)
    counted = build(scope.computation, "iota", shape=ArrayShape(kind, shape.dims), iota_dimension=along)
    first, limit = max(low, end - scope.choices.integer(0, 3)), min(high, end + scope.choices.integer(0, 2))
    positions = scope.build("add", [counted, _constants(scope, first, shape)])
    pair = [positions, _constants(scope, limit, shape)]
    is_turned = chance(scope.choices, 50)
    return scope.build(
        opcode, pair[::-1] if is_turned else pair, direction=pick(scope.choices, VOCABULARY["direction"])
    )


def _select(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    first = scope.array(element_type)
    dims = () if chance(scope.choices, 15) else first.array.dims
    return scope.build(opcode, [scope.like(ArrayShape(PRED, dims)), first, scope.like(first.array, beside=first)])


def _clamp(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    value = scope.array(element_type)
    bounds = [
        scope.small_constant(element_type) if chance(scope.choices, 60) else scope.like(value.array, beside=value)
        for _ in range(2)
    ]
    return scope.build(opcode, [bounds[0], value, bounds[1]])


def _convert(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    """To the type, from any that a value has."""
    value = scope.array(pick(scope.choices, scope.program.element_types))
    return scope.build(opcode, [value], shape=ArrayShape(element_type, value.array.dims))


def _bitcast_convert(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    bits = element_type.bits
    others = [t for t in narrowed(NUMBERS, scope) if t.kind is not Kind.COMPLEX and t.bits >= 8]
    if bits < 8 or not others:
        return None
    target = pick(scope.choices, others)
    if target.bits > bits:
        value = _of_rows(scope, element_type, target.bits // bits)
        dims = value.array.dims[:-1]
    else:
        value = scope.array(element_type)
        dims = (*value.array.dims, bits // target.bits) if target.bits < bits else value.array.dims
    return scope.build(opcode, [value], shape=ArrayShape(target, dims)) if scope.fits(dims) else None


def _of_rows(scope: Scope, element_type: ElementType, length: int) -> Instruction:
    """A value with so many elements in its last dimension: one that is there, mostly by a reshape, or a new one."""
    value = scope.find(lambda shape: shape.element_type is element_type and shape.rank > 0 and shape.size % length == 0)
    if value is None or not value.array.size:
        return scope.fresh(ArrayShape(element_type, (*scope.dims(0, 2, size=64), length)))
    if value.array.dims[-1] == length:
        return value
    return scope.build("reshape", [value], shape=ArrayShape(element_type, (value.array.size // length, length)))


def _reduce_precision(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    exponent, mantissa = pick(scope.choices, ((8, 7), (5, 10), (8, 23), (11, 52), (4, 3), (5, 2), (8, 0)))
    return scope.build(opcode, [scope.array(element_type)], exponent_bits=exponent, mantissa_bits=mantissa)


def _stochastic_convert(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
    value = scope.array(element_type)
    targets = [t for t in narrowed(NUMBERS, scope) if t.is_signed and t.bits >= 8]
    random = TYPES.get(f"u{element_type.bits}")
    if not targets or random is None:
        return None
    bits = scope.like(ArrayShape(random, value.array.dims))
    return scope.build(opcode, [value, bits], shape=ArrayShape(pick(scope.choices, targets), value.array.dims))


def _uniform() -> dict[str, Recipe]:
    """Rows of opcodes whose operands are alike and that need no attributes."""
    special = {"complex", "compare", "select", "clamp", "convert", "stochastic-convert", "reduce-precision"}
    plain = [op for op in OPS.values() if op.elementwise and op.evaluate and not op.required and op.operands[0]]
    return {op.opcode: Recipe(takes(op.opcode), _draw) for op in plain if op.opcode not in special}


RECIPES: dict[str, Recipe] = {
    **_uniform(),
    "complex": Recipe((F32, F64), _draw),
    "compare": Recipe(NUMBERS, _compare),
    "select": Recipe(NUMBERS, _select),
    "clamp": Recipe(tuple(t for t in NUMBERS if t not in COMPLEX), _clamp),
    "convert": Recipe(NUMBERS, _convert),
    "bitcast-convert": Recipe(
        tuple(t for t in NUMBERS if t.kind not in (Kind.COMPLEX, Kind.PRED) and t.bits >= 8), _bitcast_convert
    ),
    "reduce-precision": Recipe(FLOATS, _reduce_precision),
    "stochastic-convert": Recipe(tuple(t for t in FLOATS if t.bits >= 8), _stochastic_convert),
}
