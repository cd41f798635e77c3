"""What each elementwise opcode does to one element of each operand: a table from opcode to emission.

Functions of real numbers that need more than an instruction come from `compiler.codegen.math`.  Where HLO's meaning
differs from LLVM's (division by zero, shifts beyond the width, saturation), the difference is emitted, branch-free.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.codegen import element, math
from compiler.codegen.llvm_ir import I1, Builder, Value, floating, integer
from compiler.diagnostics import UnsupportedError
from compiler.ir.module import Instruction
from compiler.ir.types import ElementType

CONTRACT = "contract"
"""Flags of ordinary float arithmetic: a product may be joined with a sum, nothing else."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """One application of an opcode to scalars: where to emit, on which type, with which attributes.

    `flags` are the fast-math flags of additions and products: reductions add `reassoc` for their accumulator.
    """

    builder: Builder
    instruction: Instruction
    element_type: ElementType
    flags: str = CONTRACT

    @property
    def is_float(self) -> bool:
        """Whether the operands are real floating-point numbers."""
        return self.element_type.is_float

    @property
    def is_signed(self) -> bool:
        """Whether the operands are signed integers."""
        return element.is_signed(self.element_type)


Rule = Callable[[Scalar, Sequence[Value]], Value]


def emit(builder: Builder, instruction: Instruction, operands: Sequence[Value], *, flags: str = CONTRACT) -> Value:
    """The value of an elementwise instruction from the values of its operands, rounded to the result's type."""
    opcode = instruction.opcode
    source = instruction.operands[-1 if opcode == "select" else 0].array.element_type
    rule = RULES.get(opcode)
    if rule is None or source.is_complex or instruction.array.element_type.is_complex:
        raise UnsupportedError(f"{opcode} on {source}", "code generation", "no scalar form of it yet")
    if source.is_integer and source.bits < 8:
        raise UnsupportedError(f"{opcode} on {source}", "code generation", "no sub-byte arithmetic yet")
    value = rule(Scalar(builder, instruction, source, flags), operands)
    result = instruction.array.element_type
    return value if opcode in _EXACT else element.round_to(builder, result, value)


_EXACT = frozenset({"select", "convert", "copy", "negate", "abs", "maximum", "minimum", "clamp", "compare"})


def _arithmetic(float_opcode: str, integer_opcode: str, pred_opcode: str) -> Rule:
    def rule(scalar: Scalar, operands: Sequence[Value]) -> Value:
        left, right = operands
        if scalar.is_float:
            return scalar.builder.binary(float_opcode, left, right, scalar.flags)
        opcode = pred_opcode if left.type == I1 else integer_opcode
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
    return math.emit(scalar.builder, scalar.instruction.opcode, operands)


def _float_intrinsic(name: str) -> Rule:
    def rule(scalar: Scalar, operands: Sequence[Value]) -> Value:
        return scalar.builder.intrinsic(f"{name}.{_suffix(operands[0])}", operands)

    return rule


def _suffix(value: Value) -> str:
    return {"float": "f32", "double": "f64"}.get(value.type, value.type)


def _integer_intrinsic(name: str, *flags: str) -> Rule:
    def rule(scalar: Scalar, operands: Sequence[Value]) -> Value:
        arguments = [*operands, *(Value(I1, flag) for flag in flags)]
        return scalar.builder.intrinsic(f"{name}.{operands[0].type}", arguments)

    return rule


def _negate(scalar: Scalar, operands: Sequence[Value]) -> Value:
    (value,) = operands
    if scalar.is_float:
        return scalar.builder.unary("fneg", value)
    return scalar.builder.binary("sub", integer(0, value.type), value)


def _not(scalar: Scalar, operands: Sequence[Value]) -> Value:
    (value,) = operands
    ones = Value(I1, "true") if value.type == I1 else integer(-1, value.type)
    return scalar.builder.binary("xor", value, ones)


def _abs(scalar: Scalar, operands: Sequence[Value]) -> Value:
    if scalar.is_float:
        return _float_intrinsic("fabs")(scalar, operands)
    return _integer_intrinsic("abs", "false")(scalar, operands) if scalar.is_signed else operands[0]


def _sign(scalar: Scalar, operands: Sequence[Value]) -> Value:
    builder, (value,) = scalar.builder, operands
    if scalar.is_float:
        zero = floating(0.0, value.type)
        one = builder.intrinsic(f"copysign.{_suffix(value)}", [floating(1.0, value.type), value])
        # Zero keeps its sign and NaN stays NaN: both are what they are.
        return builder.select(builder.compare("one", value, zero), one, value)
    positive = builder.cast("zext", builder.compare("ne", value, integer(0, value.type)), value.type)
    if not scalar.is_signed:
        return positive
    negative = builder.compare("slt", value, integer(0, value.type))
    return builder.select(negative, integer(-1, value.type), positive)


def _is_finite(scalar: Scalar, operands: Sequence[Value]) -> Value:
    (value,) = operands
    magnitude = scalar.builder.intrinsic(f"fabs.{_suffix(value)}", [value])
    return scalar.builder.compare("olt", magnitude, floating(float("inf"), value.type))


def _divide(scalar: Scalar, operands: Sequence[Value]) -> Value:
    """X / 0 is -1 (all ones); the least signed integer divided by -1 is itself."""
    builder, (left, right) = scalar.builder, operands
    if scalar.is_float:
        return builder.binary("fdiv", left, right)
    ones = integer(-1, left.type)
    by_zero = builder.compare("eq", right, integer(0, left.type))
    safe = builder.select(by_zero, integer(1, left.type), right)
    if not scalar.is_signed:
        return builder.select(by_zero, ones, builder.binary("udiv", left, safe))
    overflow = _overflows(scalar, left, right)
    safe = builder.select(overflow, integer(1, left.type), safe)
    return builder.select(by_zero, ones, builder.binary("sdiv", left, safe))


def _remainder(scalar: Scalar, operands: Sequence[Value]) -> Value:
    """X % 0 is x; the least signed integer modulo -1 is 0."""
    builder, (left, right) = scalar.builder, operands
    if scalar.is_float:
        return builder.binary("frem", left, right)
    by_zero = builder.compare("eq", right, integer(0, left.type))
    safe = builder.select(by_zero, integer(1, left.type), right)
    if not scalar.is_signed:
        return builder.select(by_zero, left, builder.binary("urem", left, safe))
    safe = builder.select(_overflows(scalar, left, right), integer(1, left.type), safe)
    return builder.select(by_zero, left, builder.binary("srem", left, safe))


def _overflows(scalar: Scalar, left: Value, right: Value) -> Value:
    builder = scalar.builder
    least = integer(-(1 << (int(left.type[1:]) - 1)), left.type)
    both = builder.compare("eq", left, least), builder.compare("eq", right, integer(-1, left.type))
    return builder.binary("and", *both)


def _extremum(name: str) -> Rule:
    """NaN if either operand is; -0 is less than +0."""

    def rule(scalar: Scalar, operands: Sequence[Value]) -> Value:
        builder, (left, right) = scalar.builder, operands
        if scalar.is_float:
            return builder.intrinsic(f"{name}imum.{_suffix(left)}", operands, flags=_nonstrict(scalar.flags))
        if left.type == I1:
            return builder.binary("or" if name == "max" else "and", left, right)
        sign = "s" if scalar.is_signed else "u"
        return builder.intrinsic(f"{sign}{name}.{left.type}", operands)

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
        builder, (value, amount) = scalar.builder, operands
        width = int(value.type[1:])
        in_range = builder.compare("ult", amount, integer(width, value.type))
        if opcode == "ashr":
            amount = builder.select(in_range, amount, integer(width - 1, value.type))
            return builder.binary("ashr", value, amount)
        safe = builder.select(in_range, amount, integer(0, value.type))
        return builder.select(in_range, builder.binary(opcode, value, safe), integer(0, value.type))

    return rule


_FLOAT_PREDICATES = {"EQ": "oeq", "NE": "une", "LT": "olt", "LE": "ole", "GT": "ogt", "GE": "oge"}
_INTEGER_PREDICATES = {"EQ": "eq", "NE": "ne", "LT": "lt", "LE": "le", "GT": "gt", "GE": "ge"}


def _compare(scalar: Scalar, operands: Sequence[Value]) -> Value:
    builder, (left, right) = scalar.builder, operands
    direction = scalar.instruction.attributes["direction"]
    signed = scalar.is_signed
    if scalar.is_float:
        if scalar.instruction.attributes.get("type") != "TOTALORDER":
            return builder.compare(_FLOAT_PREDICATES[direction], left, right)
        left, right, signed = _total_order(builder, left), _total_order(builder, right), True
    predicate = _INTEGER_PREDICATES[direction]
    if direction not in ("EQ", "NE"):
        predicate = ("s" if signed else "u") + predicate
    return builder.compare(predicate, left, right)


def _total_order(builder: Builder, value: Value) -> Value:
    """The integer whose order is -NaN < -inf < ... < -0 < +0 < ... < inf < NaN."""
    type_ = "i32" if value.type == "float" else "i64"
    width = int(type_[1:])
    bits = builder.cast("bitcast", value, type_)
    sign = builder.binary("ashr", bits, integer(width - 1, type_))
    return builder.binary("xor", bits, builder.binary("lshr", sign, integer(1, type_)))


def _select(scalar: Scalar, operands: Sequence[Value]) -> Value:
    return scalar.builder.select(*operands)


def _convert(scalar: Scalar, operands: Sequence[Value]) -> Value:
    target = scalar.instruction.array.element_type
    return element.convert(scalar.builder, operands[0], scalar.element_type, target)


def _bitcast_convert(scalar: Scalar, operands: Sequence[Value]) -> Value:
    source, target = scalar.element_type, scalar.instruction.array.element_type
    narrow = {source.name, target.name} & {"bf16", "f16", "pred"}
    if source.bits != target.bits or narrow:
        raise UnsupportedError(
            f"bitcast-convert from {source} to {target}", "code generation", "only 8, 32 and 64-bit types of one width"
        )
    return scalar.builder.cast("bitcast", operands[0], element.value_type(target))


def _power(scalar: Scalar, operands: Sequence[Value]) -> Value:
    if scalar.is_float:
        return _function(scalar, operands)
    return _integer_power(scalar, *operands)


def _integer_power(scalar: Scalar, base: Value, exponent: Value) -> Value:
    """By squaring; a negative exponent gives 0 but for bases 1 and -1."""
    builder, type_ = scalar.builder, base.type
    one, zero = integer(1, type_), integer(0, type_)
    power, square = one, base
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


RULES: dict[str, Rule] = {
    "abs": _abs,
    "add": _arithmetic("fadd", "add", "or"),
    "and": _bitwise("and"),
    "bitcast-convert": _bitcast_convert,
    "ceil": _float_intrinsic("ceil"),
    "clamp": _clamp,
    "compare": _compare,
    "convert": _convert,
    "copy": _copy,
    "count-leading-zeros": _integer_intrinsic("ctlz", "false"),
    "divide": _divide,
    "floor": _float_intrinsic("floor"),
    "is-finite": _is_finite,
    "maximum": _extremum("max"),
    "minimum": _extremum("min"),
    "multiply": _arithmetic("fmul", "mul", "and"),
    "negate": _negate,
    "not": _not,
    "or": _bitwise("or"),
    "popcnt": _integer_intrinsic("ctpop"),
    "power": _power,
    "real": _copy,
    "remainder": _remainder,
    "round-nearest-afz": _float_intrinsic("round"),
    "round-nearest-even": _float_intrinsic("roundeven"),
    "select": _select,
    "shift-left": _shift("shl"),
    "shift-right-arithmetic": _shift("ashr"),
    "shift-right-logical": _shift("lshr"),
    "sign": _sign,
    "subtract": _arithmetic("fsub", "sub", "xor"),
    "xor": _bitwise("xor"),
    **dict.fromkeys(
        (
            "acos",
            "acosh",
            "asin",
            "asinh",
            "atan2",
            "atanh",
            "cbrt",
            "cosh",
            "cosine",
            "erf",
            "exponential",
            "exponential-minus-one",
            "log",
            "log-plus-one",
            "logistic",
            "rsqrt",
            "sine",
            "sinh",
            "sqrt",
            "tan",
            "tanh",
        ),
        _function,
    ),
}
"""Emission by opcode; an elementwise op that is not here is unsupported by both back ends."""
