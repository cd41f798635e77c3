"""Equations that hold exactly, for every value: each rule replaces an instruction by a simpler equal.

Floating point keeps NaN, infinities and the sign of zero, so `x * 0 -> 0` or `x + 0 -> x` are not here for floats;
`x * 1`, `x - 0`, `x + (-0)`, `x / 1` and `max(x, -inf)` are.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from compiler.ir import combiner
from compiler.ir.literal import Literal
from compiler.ir.module import Instruction, Module
from compiler.ir.rewrite import Fuel, Rule, apply_rules
from compiler.ir.shape import without_layout
from compiler.ir.types import S32, Kind
from compiler.ops import Trait, having, narrowing
from compiler.ops.build import build, constant


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    return apply_rules(RULES, module, fuel)


def scalar_of(instruction: Instruction) -> np.generic | None:
    """The one value that every element of a constant, or of a broadcast one, has."""
    while instruction.opcode in ("broadcast", "reshape"):
        instruction = instruction.operands[0]
    if instruction.opcode != "constant" or instruction.literal.array is None or instruction.literal.array.size != 1:
        return None
    value: np.generic = instruction.literal.array.reshape(-1)[0]
    return value


def _is(instruction: Instruction, number: complex | None) -> bool:
    value, element_type = scalar_of(instruction), instruction.array.element_type
    if value is None or number is None or value != number:
        return False
    pairs = [(value.real, number.real)]
    if element_type.is_complex:
        pairs.append((value.imag, number.imag))
    elif not element_type.is_float:
        return True
    return all(math.copysign(1.0, float(mine)) == math.copysign(1.0, its) for mine, its in pairs)


def _is_numeric(instruction: Instruction) -> bool:
    return instruction.array.element_type.kind is not Kind.PRED


def _identity(instruction: Instruction) -> Instruction | None:
    """`x + 0 -> x`, with -0 for floats, and so for every other commutative opcode: `max(x, -inf)`, `p and true`."""
    element_type = instruction.array.element_type
    function = combiner.ufunc_of(instruction.opcode, element_type)
    number = None if function is None else combiner.identity(function, element_type)
    for operand, other in (instruction.operands, instruction.operands[::-1]):
        if _is(other, number):
            return operand
    return None


def _absorber(instruction: Instruction) -> Instruction | None:
    """`i * 0 -> 0`, and so for every other commutative opcode on integers and pred that has such a value."""
    element_type = instruction.array.element_type
    function = combiner.ufunc_of(instruction.opcode, element_type)
    number = None if function is None else combiner.absorber(function, element_type)
    return next((other for other in instruction.operands if _is(other, number)), None)


def _subtract_zero(instruction: Instruction) -> Instruction | None:
    """`x - 0 -> x`."""
    left, right = instruction.operands
    return left if _is_numeric(instruction) and _is(right, 0.0) else None


def _divide_one(instruction: Instruction) -> Instruction | None:
    """`x / 1 -> x`."""
    left, right = instruction.operands
    return left if _is_numeric(instruction) and _is(right, 1) else None


def _divide_by_power_of_two(instruction: Instruction) -> Instruction | None:
    """`x / 2**k -> x * 2**-k` for floats: both are exact, or round in the same way."""
    left, right = instruction.operands
    value = scalar_of(right)
    element_type = instruction.array.element_type
    if value is None or not element_type.is_float or element_type.bits < 16:
        return None
    mantissa, exponent = math.frexp(float(value))
    if abs(mantissa) != 0.5 or not -100 < exponent < 100 or (element_type.bits == 16 and abs(exponent) > 12):
        return None
    literal = Literal(right.array.with_dims(()), np.asarray(1.0 / float(value), element_type.dtype))
    computation = instruction.computation
    reciprocal = constant(computation, literal)
    shape = without_layout(right.shape)
    if right.array.rank:
        reciprocal = build(computation, "broadcast", [reciprocal], shape=shape, dimensions=())
    return build(computation, "multiply", [left, reciprocal], name=instruction.name)


def _small_power(instruction: Instruction) -> Instruction | None:
    """`x ** 1 -> x`, and of at most 32 bits `x ** 2 -> x * x` and `x ** -1 -> 1 / x`: an f64 between rounds nothing."""
    base, exponent = instruction.operands
    computation, element_type = instruction.computation, instruction.array.element_type
    if not element_type.is_float:
        return None
    if _is(exponent, 1):
        return base
    if element_type.bits <= 32 and _is(exponent, 2):
        return build(computation, "multiply", [base, base], name=instruction.name)
    if 16 <= element_type.bits <= 32 and _is(exponent, -1):
        one = constant(computation, Literal(base.array.with_dims(()), np.asarray(1, element_type.dtype)))
        ones = build(computation, "broadcast", [one], shape=without_layout(base.shape), dimensions=())
        return build(computation, "divide", [ones, base], name=instruction.name)
    return None


def _negate_negate(instruction: Instruction) -> Instruction | None:
    """`-(-x) -> x`, but of floats without a sign, of which every negative is NaN."""
    (operand,) = instruction.operands
    element_type = instruction.array.element_type
    has_negatives = element_type.is_signed_float or not element_type.is_float
    return operand.operands[0] if operand.opcode == "negate" and has_negatives else None


_ODD = having(Trait.ODD) & having(Trait.APPROXIMATE)
_EVEN = having(Trait.EVEN) & having(Trait.APPROXIMATE)
"""Of the others, exact ones, negation is no less work than they are."""


def _is_negated(instruction: Instruction) -> bool:
    """Whether a value is a negative of floats that have one, and a NaN whose sign does not matter."""
    element_type = instruction.array.element_type
    return instruction.opcode == "negate" and element_type.is_signed_float and element_type.has_nan


def _odd_of_negated(instruction: Instruction) -> Instruction | None:
    """`f(-x) -> -f(x)` for real odd functions, so that both are computed once where both are needed."""
    (operand,) = instruction.operands
    if not _is_negated(operand):
        return None
    plain = build(instruction.computation, instruction.opcode, operand.operands)
    return build(instruction.computation, "negate", [plain])


def _even_of_negated(instruction: Instruction) -> Instruction | None:
    """`f(-x) -> f(x)` for real even functions."""
    (operand,) = instruction.operands
    negated = _is_negated(operand)
    return build(instruction.computation, instruction.opcode, operand.operands) if negated else None


def _factor_negated(instruction: Instruction) -> Instruction | None:
    """`(-x) * y -> -(x * y)` for floats, and so for division and for y."""
    left, right = instruction.operands
    if not _is_negated(left) and not _is_negated(right):
        return None
    operands = [left.operands[0], right] if _is_negated(left) else [left, right.operands[0]]
    return build(instruction.computation, "negate", [build(instruction.computation, instruction.opcode, operands)])


def _not_not(instruction: Instruction) -> Instruction | None:
    """`not(not(x)) -> x`."""
    (operand,) = instruction.operands
    return operand.operands[0] if operand.opcode == "not" else None


def _abs_abs(instruction: Instruction) -> Instruction | None:
    """`abs(abs(x)) -> abs(x)`."""
    (operand,) = instruction.operands
    return operand if operand.opcode == "abs" and operand.shape == instruction.shape else None


def _same_operands(instruction: Instruction) -> Instruction | None:
    """`max(x, x) -> x`, and so for min, and, or."""
    left, right = instruction.operands
    return left if left is right else None


def _select_constant(instruction: Instruction) -> Instruction | None:
    """`select(true, a, b) -> a`, `select(false, a, b) -> b`."""
    condition, then, otherwise = instruction.operands
    value = scalar_of(condition)
    return None if value is None else then if value else otherwise


def _select_same(instruction: Instruction) -> Instruction | None:
    """`select(p, a, a) -> a`."""
    _, then, otherwise = instruction.operands
    return then if then is otherwise else None


def _select_truth(instruction: Instruction) -> Instruction | None:
    """`select(p, true, false) -> p`, `select(p, false, true) -> not p`."""
    condition, *values = instruction.operands
    if _is_numeric(instruction) or condition.array.dims != instruction.array.dims:
        return None
    then, otherwise = (scalar_of(value) for value in values)
    if then is None or otherwise is None or then == otherwise:
        return None
    return condition if then else build(instruction.computation, "not", [condition], name=instruction.name)


def _convert_to_same(instruction: Instruction) -> Instruction | None:
    """`convert(x) -> x` when the type stays."""
    (operand,) = instruction.operands
    return operand if operand.array.element_type is instruction.array.element_type else None


def _reduce_nothing(instruction: Instruction) -> Instruction | None:
    """`reduce(x), dimensions={d of size 1} by + -> reshape(x)`, where the initial value is the identity."""
    if len(instruction.operands) != 2:
        return None
    operand, initial = instruction.operands
    sizes = [operand.array.dims[d] for d in instruction.attributes["dimensions"]]
    adds = _adds_its_parameters(instruction.attributes["to_apply"].root)
    if math.prod(sizes) != 1 or not adds:
        return None
    # Adding +0 would turn -0 into +0, so only an initial -0 is an identity of floats.
    if not _is(initial, -0.0 if instruction.array.element_type.is_float else 0):
        return None
    return build(instruction.computation, "reshape", [operand], shape=without_layout(instruction.shape))


_FOLDABLE = having(Trait.ASSOCIATIVE)


def _reduce_one(instruction: Instruction) -> Instruction | None:
    """`reduce(x), dimensions={d of size 1} by f -> f(broadcast(initial), reshape(x))` of one of the usual functions."""
    if len(instruction.operands) != 2:
        return None
    operand, initial = instruction.operands
    sizes = [operand.array.dims[d] for d in instruction.attributes["dimensions"]]
    root = instruction.attributes["to_apply"].root
    if math.prod(sizes) != 1 or root.opcode not in _FOLDABLE or not _takes_its_parameters(root):
        return None
    shape, computation = without_layout(instruction.shape), instruction.computation
    start = build(computation, "broadcast", [initial], shape=shape, dimensions=())
    element = build(computation, "reshape", [operand], shape=shape)
    return build(computation, root.opcode, [start, element], shape=shape)


def _takes_its_parameters(root: Instruction) -> bool:
    return len(set(root.operands)) == 2 and {o.opcode for o in root.operands} == {"parameter"}


def _adds_its_parameters(root: Instruction) -> bool:
    return root.opcode == "add" and _takes_its_parameters(root)


_EXTREMES = {"GT": "maximum", "LE": "maximum", "LT": "minimum", "GE": "minimum"}


def _compare_extreme(instruction: Instruction) -> Instruction | None:
    """`x > c -> max(x, c) > c` where that maximum is there anyway: often nothing else needs an array `x` any more."""
    left, right = instruction.operands
    extreme = _EXTREMES.get(instruction.attributes["direction"])
    is_total = instruction.attributes.get("type") == "TOTALORDER" and left.array.element_type.is_float
    if extreme is None or is_total or not left.array.rank or scalar_of(right) is None:
        return None
    for user in left.users:
        if user.opcode == extreme and set(user.operands) == {left, right} and left is not right:
            attributes = dict(instruction.attributes)
            return build(instruction.computation, "compare", [user, right], name=instruction.name, **attributes)
    return None


_NARROW = 1 << 31
"""One more than the greatest s32."""
_PASSING = narrowing(Trait.MOVES, "broadcast reshape transpose")
"""What keeps every element that it takes, so that a bound of what it makes is a bound of what it takes."""


def _compare_positions(instruction: Instruction) -> Instruction | None:
    """`s64 compare(a, b) -> s32 compare(a, b)` of iotas, and sums of them and constants, that are small enough.

    Masks of attention are such, where a program counts in 64 bits.
    """
    left, right = instruction.operands
    element_type = left.array.element_type
    if not element_type.is_integer or element_type.bits != 64 or not left.array.rank:
        return None
    if _bounds(left) is None or _bounds(right) is None or None not in (scalar_of(left), scalar_of(right)):
        return None
    direction = instruction.attributes["direction"]
    operands = [_narrowed(left), _narrowed(right)]
    return build(instruction.computation, "compare", operands, name=instruction.name, direction=direction)


def _bounds(value: Instruction, most: int = 16) -> tuple[int, int] | None:
    """The least and the largest element of what `_narrowed` can make of 32 bits; None of anything else."""
    if not most:
        return None
    if value.opcode in _PASSING:
        return _bounds(value.operands[0], most - 1)
    if value.opcode == "iota":
        low, high = 0, max(0, value.array.dims[value.attributes["iota_dimension"]] - 1)
    elif value.opcode == "add" and any(scalar_of(operand) is not None for operand in value.operands):
        bounds = [_bounds(operand, most - 1) for operand in value.operands]
        if bounds[0] is None or bounds[1] is None:
            return None
        low, high = (one + other for one, other in zip(*bounds, strict=True))
    else:
        scalar = scalar_of(value)
        if scalar is None:
            return None
        low = high = int(scalar)
    fits = low >= -_NARROW and high < _NARROW and (low >= 0 or value.array.element_type.is_signed)
    return (low, high) if fits else None


def _narrowed(value: Instruction) -> Instruction:
    """The same numbers in 32 bits."""
    shape = replace(value.array, element_type=S32, layout=None)
    if value.opcode == "constant":
        return constant(value.computation, Literal(shape, np.asarray(value.literal.array).astype(np.int32)))
    operands = [_narrowed(operand) for operand in value.operands]
    return build(value.computation, value.opcode, operands, shape=shape, **value.attributes)


RULES: dict[str, tuple[Rule, ...]] = {
    **dict.fromkeys(_ODD, (_odd_of_negated,)),
    **dict.fromkeys(_EVEN, (_even_of_negated,)),
    "abs": (_abs_abs,),
    "add": (_identity, _absorber),
    "and": (_same_operands, _identity, _absorber),
    "compare": (_compare_extreme, _compare_positions),
    "convert": (_convert_to_same,),
    "divide": (_divide_one, _divide_by_power_of_two, _factor_negated),
    "maximum": (_same_operands, _identity, _absorber),
    "minimum": (_same_operands, _identity, _absorber),
    "multiply": (_identity, _absorber, _factor_negated),
    "negate": (_negate_negate,),
    "not": (_not_not,),
    "or": (_same_operands, _identity, _absorber),
    "power": (_small_power,),
    "reduce": (_reduce_nothing, _reduce_one),
    "select": (_select_constant, _select_same, _select_truth),
    "subtract": (_subtract_zero,),
    "xor": (_identity,),
}
"""Rules by the opcode that they look at."""
