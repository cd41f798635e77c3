"""Functions of two numbers, element by element; arrays of different sizes are spread over each other.

Where TensorFlow's kernels on CPUs and XLA differ, these are XLA's: an integer divided by 0 is -1 (the kernels refuse
it), and its remainder the number that was divided.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from compiler.expansion.expression import Expression
from compiler.expansion.matrices import conjugate
from compiler.ir.types import F32, PRED, TYPES
from compiler.tf2xla.broadcasting import together
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import Lower, Record, record, sized, table

Formula = Callable[[Expression, Expression], Expression]


def opcode(name: str) -> Formula:
    """The lowering of an op that is an opcode of HLO on two inputs."""
    return lambda x, y: x.apply(name, y)


def of_two(formula: Formula, first: str = "x", second: str = "y") -> Lower:
    """A formula on two inputs, spread over each other.

    Args:
        formula: of two arrays of the same sizes.
        first: the name of the first input.
        second: that of the second.
    """

    def lower(operation: Operation) -> Expression:
        x, y = together(operation, operation[first], operation[second])
        return formula(x, y)

    return lower


def _zero(x: Expression) -> Expression:
    return x.literal(0).spread(x.dims, ())


def _floor_div(x: Expression, y: Expression) -> Expression:
    """The quotient rounded down."""
    if x.type.is_float:
        return (x / y).apply("floor")
    if not x.type.is_signed:
        return x / y
    # Truncation rounds towards 0: down, unless the quotient is negative and not whole.
    quotient = x / y
    rest = x.apply("remainder", y)
    lower = rest.compare("NE", 0) & rest.compare("LT", 0).compare("NE", y.compare("LT", 0)) & y.compare("NE", 0)
    return lower.where(quotient - 1, quotient)


def _truncate_div(x: Expression, y: Expression) -> Expression:
    """The quotient rounded towards 0; that of complex numbers as it is."""
    quotient = x / y
    if not x.type.is_float:
        return quotient
    return quotient.compare("LT", 0).where(quotient.apply("ceil"), quotient.apply("floor"))


def _floor_mod(x: Expression, y: Expression) -> Expression:
    """The remainder with the sign of the divisor."""
    rest = x.apply("remainder", y)
    if not (x.type.is_float or x.type.is_signed):
        return rest
    other = rest.compare("NE", 0) & rest.compare("LT", 0).compare("NE", y.compare("LT", 0))
    return (other & y.compare("NE", 0) if x.type.is_integer else other).where(rest + y, rest)


def _squared_difference(x: Expression, y: Expression) -> Expression:
    difference = x - y
    return conjugate(difference) * difference


def _unless_zero(chosen: int) -> Callable[[Formula], Formula]:
    """A formula that is 0 where one of its arguments, 0 or 1, is."""

    def made(formula: Formula) -> Formula:
        def lower(x: Expression, y: Expression) -> Expression:
            return (x, y)[chosen].compare("EQ", 0).where(_zero(x), formula(x, y))

        return lower

    return made


def _compared(direction: str) -> Formula:
    return lambda x, y: x.compare(direction, y)


def _shifted(opcode_signed: str, opcode_unsigned: str) -> Formula:
    """A shift; by as many bits as there are or more, it is one by all of them but the last."""

    def lower(x: Expression, y: Expression) -> Expression:
        by = y.literal(0).apply("clamp", y, x.type.bits - 1)
        return x.apply(opcode_signed if x.type.is_signed else opcode_unsigned, by)

    return lower


def _next_after(x: Expression, y: Expression) -> Expression:
    """The nearest other number on the way from one to another, by their bits; y where both are zeros."""
    kind, top = TYPES[f"u{x.type.bits}"], 1 << (x.type.bits - 1)
    a, b = x.bits_as(kind), y.bits_as(kind)
    size_a, size_b = a & (top - 1), b & (top - 1)
    is_less = size_a.compare("GT", size_b) | (a & top).compare("NE", b & top)
    moved = is_less.where(a - 1, a + 1)
    moved = size_a.compare("EQ", 0).where(size_b.compare("EQ", 0).where(b, (b & top) | 1), moved)
    moved = a.compare("EQ", b).where(b, moved)
    is_nan = x.compare("NE", x) | y.compare("NE", y)
    return is_nan.where(x.literal(math.nan), moved.bits_as(x.type))


def _is_near(operation: Operation) -> Expression:
    x, y = operation["x"], operation["y"]
    operation.require(x.dims == y.dims, lambda: f"{list(x.dims)} and {list(y.dims)} must be the same sizes")
    apart = x.compare("GT", y).where(x - y, y - x) if not x.type.is_signed else (x - y).apply("abs")
    if not apart.type.is_float:
        apart = apart.to(F32)
    return apart.compare("LE", operation.attribute("tolerance"))


def _binary(name: str, types: str, formula: Formula, doc: str) -> Record:
    return record(name, f"x: T, y: T -> z: T; T: {{{types}}}", of_two(formula), doc)


def _comparison(name: str, types: str, direction: str, doc: str) -> Record:
    return record(name, f"x: T, y: T -> z: bool; T: {{{types}}}", of_two(_compared(direction)), doc)


def _equality(name: str, direction: str, doc: str) -> Record:
    def lower(operation: Operation) -> Expression:
        x, y = operation["x"], operation["y"]
        if not operation.attribute("incompatible_shape_error") and not _fit(x, y):
            return operation.full(direction == "NE", PRED, ())
        return of_two(_compared(direction))(operation)  # type: ignore[return-value]  # one tensor

    text = "x: T, y: T -> z: bool; T: {any}; incompatible_shape_error: bool = true"
    return record(name, text, lower, doc)


def _fit(x: Expression, y: Expression) -> bool:
    pairs = zip(reversed(x.dims), reversed(y.dims), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)


def _logical(name: str, name_in_hlo: str, doc: str) -> Record:
    return record(name, "x: bool, y: bool -> z: bool", of_two(opcode(name_in_hlo)), doc)


_BITS = "ints uints"
RECORDS = table(
    *sized(
        _binary("Add", "floats complexes ints uint8", opcode("add"), "x + y, under its older name."),
        _binary("AddV2", "numbers", opcode("add"), "x + y."),
        _binary("Sub", "numbers", opcode("subtract"), "x - y."),
        _binary("Mul", "numbers", opcode("multiply"), "x * y."),
        _binary("Div", "numbers", opcode("divide"), "x / y; of integers, the quotient rounded towards 0."),
        _binary("RealDiv", "numbers", opcode("divide"), "x / y."),
        _binary("TruncateDiv", "numbers", _truncate_div, "The quotient rounded towards 0."),
        _binary("FloorDiv", "reals", _floor_div, "The quotient rounded down."),
        _binary("FloorMod", "reals", _floor_mod, "The remainder with the sign of y."),
        _binary(
            "Mod", "floats int32 int64", opcode("remainder"), "The remainder with the sign of x, under its older name."
        ),
        _binary("TruncateMod", "floats int32 int64", opcode("remainder"), "The remainder with the sign of x."),
        _binary("Pow", "floats complexes ints", opcode("power"), "x to the power of y."),
        _binary("Maximum", "reals", opcode("maximum"), "The greater, NaN if one is."),
        _binary("Minimum", "reals", opcode("minimum"), "The lesser, NaN if one is."),
        _binary("SquaredDifference", "floats complexes int32 int64", _squared_difference, "(x - y) (x - y)*."),
        record(
            "Atan2",
            "y: T, x: T -> z: T; T: {floats}",
            of_two(opcode("atan2"), "y", "x"),
            "The angle of the point (x, y).",
        ),
        _binary("DivNoNan", "floats complexes", _unless_zero(1)(opcode("divide")), "x / y, 0 where y is."),
        _binary("MulNoNan", "floats complexes", _unless_zero(1)(opcode("multiply")), "x * y, 0 where y is."),
        _binary("Xdivy", "floats complexes", _unless_zero(0)(opcode("divide")), "x / y, 0 where x is."),
        _binary(
            "Xlogy", "floats complexes", _unless_zero(0)(lambda x, y: x * y.apply("log")), "x log(y), 0 where x is."
        ),
        _binary(
            "Xlog1py",
            "floats complexes",
            _unless_zero(0)(lambda x, y: x * y.apply("log-plus-one")),
            "x log(1 + y), 0 where x is.",
        ),
        _equality("Equal", "EQ", "Whether both are the same number."),
        _equality("NotEqual", "NE", "Whether they are not."),
        _comparison("Less", "reals", "LT", "x < y."),
        _comparison("LessEqual", "reals", "LE", "x <= y."),
        _comparison("Greater", "reals", "GT", "x > y."),
        _comparison("GreaterEqual", "reals", "GE", "x >= y."),
        _logical("LogicalAnd", "and", "Whether both are true."),
        _logical("LogicalOr", "or", "Whether one is true."),
        _binary("BitwiseAnd", _BITS, opcode("and"), "The bits that both have."),
        _binary("BitwiseOr", _BITS, opcode("or"), "The bits that one has."),
        _binary("BitwiseXor", _BITS, opcode("xor"), "The bits that exactly one has."),
        _binary(
            "LeftShift", _BITS, _shifted("shift-left", "shift-left"), "x shifted towards its highest bit by y bits."
        ),
        _binary(
            "RightShift",
            _BITS,
            _shifted("shift-right-arithmetic", "shift-right-logical"),
            "x shifted towards its lowest bit.",
        ),
        record(
            "NextAfter",
            "x1: T, x2: T -> output: T; T: {float32 float64} = float32",
            of_two(_next_after, "x1", "x2"),
            "The nearest other number on the way from x1 to x2.",
        ),
        record(
            "ApproximateEqual",
            "x: T, y: T -> z: bool; T: {numbers}; tolerance: float = 1e-5",
            _is_near,
            "Whether both are nearly the same number.",
        ),
    )
)
