"""The rules of elementwise opcodes on real numbers: a table from opcode to emission.

Functions of real numbers that need more than an instruction come from `compiler.codegen.math`.  Where HLO's meaning
differs from LLVM's (division by zero, shifts beyond the width, saturation), the difference is emitted, branch-free.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.analysis.opcodes import MOVES
from compiler.analysis.payloads import has_short_payloads
from compiler.codegen import complex_numbers, element, math
from compiler.codegen.llvm_ir import I1, Builder, Value, element_of, floating, integer
from compiler.codegen.scalar import extrema, integer_division, rounding
from compiler.diagnostics import UnsupportedError
from compiler.ir.module import Instruction
from compiler.ir.types import BF16, F16, F32, ONE_NAN, ElementType
from compiler.ops import Trait, having

CONTRACT = "contract"
"""Flags of ordinary float arithmetic: a product may be joined with a sum, nothing else."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """One application of an opcode to scalars: where to emit, on which type, with which attributes.

    `flags` are the fast-math flags of additions and products: reductions add `reassoc` for their accumulator.
    `fast` asks for the cheaper form of what has one: `math.needs_slow_path` of none of its operands,
    or a complex result not lost.
    """

    builder: Builder
    instruction: Instruction
    element_type: ElementType
    flags: str = CONTRACT
    fast: bool = False

    @property
    def is_float(self) -> bool:
        """Whether the operands are real floating-point numbers."""
        return self.element_type.is_float

    @property
    def is_signed(self) -> bool:
        """Whether the operands are signed integers."""
        return self.element_type.is_signed


Rule = Callable[[Scalar, Sequence[Value]], Value]


_MANY = 16
"""Elements from which on an operation is done in vectors: one of AVX-512 has 16 of f32."""


def _arithmetic(float_opcode: str, integer_opcode: str, pred_opcode: str) -> Rule:
    def rule(scalar: Scalar, operands: Sequence[Value]) -> Value:
        left, right = operands
        if scalar.is_float:
            return scalar.builder.binary(float_opcode, left, right, scalar.flags)
        opcode = pred_opcode if element_of(left.type) == I1 else integer_opcode
        return scalar.builder.binary(opcode, left, right)

    return rule


def _bitwise(opcode: str) -> Rule:
    def rule(scalar: Scalar, operands: Sequence[Value]) -> Value:
        left, right = operands
        return scalar.builder.binary(opcode, left, right)

    return rule


def _function(scalar: Scalar, operands: Sequence[Value]) -> Value:
    """A function of real numbers from the math library."""
    if not scalar.is_float:
        raise UnsupportedError(
            f"{scalar.instruction.opcode} on {scalar.element_type}", "code generation", "no such function of integers"
        )
    return math.emit(scalar.builder, scalar.instruction.opcode, operands, fast=scalar.fast)


def _float_intrinsic(name: str) -> Rule:
    def rule(scalar: Scalar, operands: Sequence[Value]) -> Value:
        return scalar.builder.overloaded(name, operands)

    return rule


def _round(name: str) -> Rule:
    """Round to an integer; where f16 has no arithmetic of its own, without LLVM's intrinsic, which it takes apart."""

    def rule(scalar: Scalar, operands: Sequence[Value]) -> Value:
        if scalar.element_type is F16:
            return rounding.to_integer_f16(scalar.builder, operands[0], name)
        return _float_intrinsic(name)(scalar, operands)

    return rule


def _integer_intrinsic(name: str, *flags: str) -> Rule:
    def rule(scalar: Scalar, operands: Sequence[Value]) -> Value:
        arguments = [*operands, *(Value(I1, flag) for flag in flags)]
        return scalar.builder.overloaded(name, arguments)

    return rule


def _negate(scalar: Scalar, operands: Sequence[Value]) -> Value:
    (value,) = operands
    if scalar.is_float:
        return scalar.builder.unary("fneg", value)
    return scalar.builder.binary("sub", integer(0, value.type), value)


def _not(scalar: Scalar, operands: Sequence[Value]) -> Value:
    (value,) = operands
    ones = Value(I1, "true") if element_of(value.type) == I1 else integer(-1, value.type)
    return scalar.builder.binary("xor", value, ones)


def _abs(scalar: Scalar, operands: Sequence[Value]) -> Value:
    if scalar.is_float:
        return _float_intrinsic("fabs")(scalar, operands)
    return _integer_intrinsic("abs", "false")(scalar, operands) if scalar.is_signed else operands[0]


def _sign(scalar: Scalar, operands: Sequence[Value]) -> Value:
    builder, (value,) = scalar.builder, operands
    if scalar.is_float:
        zero = floating(0.0, value.type)
        one = builder.overloaded("copysign", [floating(1.0, value.type), value])
        # Zero keeps its sign and NaN stays NaN: both are what they are.
        return builder.select(builder.compare("one", value, zero), one, value)
    positive = builder.cast("zext", builder.compare("ne", value, integer(0, value.type)), value.type)
    if not scalar.is_signed:
        return positive
    negative = builder.compare("slt", value, integer(0, value.type))
    return builder.select(negative, integer(-1, value.type), positive)


def _is_finite(scalar: Scalar, operands: Sequence[Value]) -> Value:
    (value,) = operands
    magnitude = scalar.builder.overloaded("fabs", [value])
    return scalar.builder.compare("olt", magnitude, floating(float("inf"), value.type))


def _divide(scalar: Scalar, operands: Sequence[Value]) -> Value:
    """X / 0 is -1 (all ones); the least signed integer divided by -1 is itself."""
    left, right = operands
    if scalar.is_float:
        return scalar.builder.binary("fdiv", left, right)
    return integer_division.divide(scalar.builder, left, right, signed=scalar.is_signed, many=_is_many(scalar))


def _remainder(scalar: Scalar, operands: Sequence[Value]) -> Value:
    """X % 0 is x; the least signed integer modulo -1 is 0."""
    if scalar.is_float:
        return (math.fast_remainder if scalar.fast else math.remainder)(scalar.builder, *operands)
    return integer_division.remainder(scalar.builder, *operands, signed=scalar.is_signed, many=_is_many(scalar))


def _is_many(scalar: Scalar) -> bool:
    """Whether there are enough elements for a loop over them to become vectors."""
    return scalar.instruction.array.size >= _MANY


def _extremum(name: str) -> Rule:
    """NaN if either operand is; -0 is less than +0."""

    def rule(scalar: Scalar, operands: Sequence[Value]) -> Value:
        builder, (left, right) = scalar.builder, operands
        if scalar.is_float:
            return extrema.extremum(builder, scalar.element_type, name, (left, right), _nonstrict(scalar.flags))
        if element_of(left.type) == I1:
            return builder.binary("or" if name == "max" else "and", left, right)
        sign = "s" if scalar.is_signed else "u"
        return builder.overloaded(f"{sign}{name}", operands)

    return rule


def _nonstrict(flags: str) -> str:
    """`reassoc` says nothing about minimum and maximum; only what LLVM accepts on calls is passed on."""
    return "" if flags == CONTRACT else flags


def _clamp(scalar: Scalar, operands: Sequence[Value]) -> Value:
    low, value, high = operands
    at_least = _extremum("max")(scalar, (low, value))
    return _extremum("min")(scalar, (at_least, high))


def _shift(opcode: str) -> Rule:
    """A shift by the width or more gives 0, or for the arithmetic one the sign."""

    def rule(scalar: Scalar, operands: Sequence[Value]) -> Value:
        builder, (value, amount), element_type = scalar.builder, operands, scalar.element_type
        width = int(element_of(value.type)[1:])
        in_range = builder.compare(
            "ult", element.unsigned(builder, element_type, amount), integer(element_type.bits, value.type)
        )
        if opcode == "ashr":
            unused = integer(width - element_type.bits, value.type)
            value = builder.binary("ashr", builder.binary("shl", value, unused), unused)
            amount = builder.select(in_range, amount, integer(width - 1, value.type))
            return builder.binary("ashr", value, amount)
        value = element.unsigned(builder, element_type, value)
        # Masked rather than chosen: LLVM's NVPTX back end (22) cuts an i64 amount that it knows guarded to 32 bits.
        masked = builder.binary("and", amount, integer(width - 1, value.type))
        return builder.select(in_range, builder.binary(opcode, value, masked), integer(0, value.type))

    return rule


_FLOAT_PREDICATES = {"EQ": "oeq", "NE": "une", "LT": "olt", "LE": "ole", "GT": "ogt", "GE": "oge"}
_INTEGER_PREDICATES = {"EQ": "eq", "NE": "ne", "LT": "lt", "LE": "le", "GT": "gt", "GE": "ge"}


def _compare(scalar: Scalar, operands: Sequence[Value]) -> Value:
    builder, (left, right) = scalar.builder, operands
    direction = scalar.instruction.attributes["direction"]
    signed = scalar.is_signed
    if scalar.is_float:
        if scalar.instruction.attributes.get("type") != "TOTALORDER":
            return _compare_floats(scalar, direction, left, right)
        (left, right), signed = (_total_order(builder, value, scalar.element_type) for value in operands), True
    predicate = _INTEGER_PREDICATES[direction]
    if direction not in ("EQ", "NE"):
        predicate = ("s" if signed else "u") + predicate
    return builder.compare(predicate, left, right)


_LEAST = {"half": 2.0**-24, "bfloat": 2.0**-133, "float": 2.0**-149, "double": 2.0**-1074}


def _compare_floats(scalar: Scalar, direction: str, left: Value, right: Value) -> Value:
    """A comparison by value; of widened numbers `x > 0` is `x >=` the least number, which is the same.

    LLVM's InstCombine (22) looks through the widening: it takes a choice of 0 or x by `x > 0` for an extremum, and
    loses -0.
    """
    type_ = left.type
    zeros, least = (floating(0.0, type_), floating(-0.0, type_)), _LEAST[element_of(type_)]
    predicate = _FLOAT_PREDICATES[direction]
    if predicate in ("olt", "ogt") and any(map(_is_widened, scalar.instruction.operands)):
        loose, sign = (predicate[:2] + "e"), 1 if predicate == "ogt" else -1
        if right in zeros:
            return scalar.builder.compare(loose, left, floating(sign * least, type_))
        if left in zeros:
            return scalar.builder.compare(loose, floating(-sign * least, type_), right)
    return scalar.builder.compare(predicate, left, right)


def _is_widened(value: Instruction) -> bool:
    """Whether elements are floats that were converted from shorter ones, or are computed with in a longer type."""
    while value.opcode in MOVES and value.operands:
        value = value.operands[0]
    from_float = value.opcode == "convert" and value.operands[0].array.element_type.is_float
    return value.array.element_type.bits < 32 or from_float


def _total_order(builder: Builder, value: Value, element_type: ElementType) -> Value:
    """The integer whose order is -NaN < -inf < ... < -0 < +0 < ... < inf < NaN; an only NaN has the bits of -0."""
    type_ = "i32" if element_of(value.type) == "float" else "i64"
    width = int(type_[1:])
    if element_type in ONE_NAN:
        value = builder.select(builder.compare("uno", value, value), floating(-float("nan"), value.type), value)
    bits = builder.cast("bitcast", value, type_)
    sign = builder.binary("ashr", bits, integer(width - 1, type_))
    return builder.binary("xor", bits, builder.binary("lshr", sign, integer(1, type_)))


def _select(scalar: Scalar, operands: Sequence[Value]) -> Value:
    return scalar.builder.select(*operands)


def _convert(scalar: Scalar, operands: Sequence[Value]) -> Value:
    source, target = scalar.element_type, scalar.instruction.array.element_type
    if (source, target) == (F32, BF16) and has_short_payloads(scalar.instruction.operands[0]):
        return element.round_to(scalar.builder, target, operands[0], arithmetic=True)
    return element.convert(scalar.builder, operands[0], source, target)


def _leading_zeros(scalar: Scalar, operands: Sequence[Value]) -> Value:
    builder, element_type = scalar.builder, scalar.element_type
    bits = element.unsigned(builder, element_type, operands[0])
    count = builder.overloaded("ctlz", [bits, Value(I1, "false")])
    unused = int(element_of(bits.type)[1:]) - element_type.bits
    return builder.binary("sub", count, integer(unused, bits.type))


def _population_count(scalar: Scalar, operands: Sequence[Value]) -> Value:
    bits = element.unsigned(scalar.builder, scalar.element_type, operands[0])
    return scalar.builder.overloaded("ctpop", [bits])


def _high_product(scalar: Scalar, operands: Sequence[Value]) -> Value:
    """The upper half of the double-width product."""
    builder, type_ = scalar.builder, operands[0].type
    wide = f"i{2 * int(type_[1:])}"
    left, right = (builder.cast("sext" if scalar.is_signed else "zext", operand, wide) for operand in operands)
    product = builder.binary("mul", left, right)
    high = builder.binary("ashr" if scalar.is_signed else "lshr", product, integer(scalar.element_type.bits, wide))
    return builder.cast("trunc", high, type_)


def _reduce_precision(scalar: Scalar, operands: Sequence[Value]) -> Value:
    attributes = scalar.instruction.attributes
    exponent_bits, mantissa_bits = attributes["exponent_bits"], attributes["mantissa_bits"]
    return rounding.reduce_precision(scalar.builder, operands[0], scalar.element_type, exponent_bits, mantissa_bits)


def _stochastic_convert(scalar: Scalar, operands: Sequence[Value]) -> Value:
    target = scalar.instruction.array.element_type
    return rounding.stochastic_convert(scalar.builder, operands[0], operands[1], scalar.element_type, target)


def _imaginary(_: Scalar, operands: Sequence[Value]) -> Value:
    return floating(0.0, operands[0].type)


def _power(scalar: Scalar, operands: Sequence[Value]) -> Value:
    if scalar.is_float:
        return _function(scalar, operands)
    return _integer_power(scalar, *operands)


def _integer_power(scalar: Scalar, base: Value, exponent: Value) -> Value:
    """By squaring; a negative exponent gives 0 but for bases 1 and -1."""
    builder, type_ = scalar.builder, base.type
    one, zero = integer(1, type_), integer(0, type_)
    # Frozen, since LLVM's vectoriser asks what it takes for one number in all lanes along every path: 2^32 in squares.
    power, square = one, builder.unary("freeze", base)
    for bit in range(int(type_[1:])):
        odd = builder.binary("and", builder.binary("lshr", exponent, integer(bit, type_)), one)
        factor = builder.select(builder.compare("ne", odd, zero), square, one)
        power = builder.binary("mul", power, factor)
        square = builder.binary("mul", square, square)
    if not scalar.is_signed:
        return power
    unit = builder.binary("or", builder.compare("eq", base, one), builder.compare("eq", base, integer(-1, type_)))
    negative = builder.compare("slt", exponent, zero)
    vanishes = builder.binary("and", negative, builder.binary("xor", unit, Value(I1, "true")))
    return builder.select(vanishes, zero, power)


def _copy(_: Scalar, operands: Sequence[Value]) -> Value:
    return operands[0]


APPROXIMATE = having(Trait.APPROXIMATE)
"""Functions of real numbers that are correct to a few units in the last place, not to the bit."""

RULES: dict[str, Rule] = {
    **dict.fromkeys((*APPROXIMATE, "sqrt"), _function),
    "abs": _abs,
    "add": _arithmetic("fadd", "add", "or"),
    "and": _bitwise("and"),
    "ceil": _round("ceil"),
    "clamp": _clamp,
    "compare": _compare,
    "convert": _convert,
    "copy": _copy,
    "complex": lambda scalar, operands: complex_numbers.pair(scalar.builder, *operands),
    "count-leading-zeros": _leading_zeros,
    "divide": _divide,
    "floor": _round("floor"),
    "imag": _imaginary,
    "is-finite": _is_finite,
    "maximum": _extremum("max"),
    "minimum": _extremum("min"),
    "mulhi": _high_product,
    "multiply": _arithmetic("fmul", "mul", "and"),
    "negate": _negate,
    "not": _not,
    "or": _bitwise("or"),
    "popcnt": _population_count,
    "power": _power,
    "real": _copy,
    "reduce-precision": _reduce_precision,
    "remainder": _remainder,
    "round-nearest-afz": _round("round"),
    "round-nearest-even": _round("roundeven"),
    "select": _select,
    "shift-left": _shift("shl"),
    "shift-right-arithmetic": _shift("ashr"),
    "shift-right-logical": _shift("lshr"),
    "sign": _sign,
    "stochastic-convert": _stochastic_convert,
    "subtract": _arithmetic("fsub", "sub", "xor"),
    "xor": _bitwise("xor"),
}
"""Emission by opcode; an elementwise op that is not here is unsupported by both back ends."""
