"""Functions of real numbers as LLVM IR, for every target alike, so that CPU and GPU agree to the bit.

Each function is straight-line code out of LLVM's instructions and of intrinsics which both x86-64 and NVPTX have
as instructions (`fma`, `fabs`, `copysign`, `sqrt`, `rint`): a loop that calls it vectorises, and nothing is left
to link.  It is written into a module once, on first use, as an internal function that is always inlined.
Where a module's features have one instruction for several of them that gives the same bits, it is written instead.

f32 and f64 are computed in (f32 here and there in double); callers with smaller floats convert around the call.
Denormals count, as arguments and as results (XLA on CPUs flushes them, which is the one place where its special
values differ); NaN, infinities and signed zeros are C99's.  The bounds in `FUNCTIONS`, in units in the last place,
are what the tests measure against.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from compiler.codegen.llvm_ir import PURE, Builder, Function, Value, element_of, mangled
from compiler.codegen.math import exp_log, hyperbolic, inverse_trig, power, special, trig
from compiler.codegen.math import remainder as division
from compiler.codegen.math.remainder import fast_remainder, remainder
from compiler.codegen.math.term import Term, format_of
from compiler.diagnostics import UnsupportedError

__all__ = [
    "FUNCTIONS",
    "MathFunction",
    "emit",
    "fast_limit",
    "fast_remainder",
    "has_fast_path",
    "needs_slow_path",
    "remainder",
]


@dataclass(frozen=True, slots=True)
class MathFunction:
    """A function by its emitter, which takes and gives terms, and the largest error of its results in ULP.

    `fast` holds magnitudes, by LLVM's type, below which the argument of a cheaper form must be; the form's results are
    the same, and the emitter's argument of that name asks for it.
    """

    emitter: Callable[..., Term]
    arity: int
    ulp_f32: float
    ulp_f64: float
    fast: Mapping[str, float] = field(default_factory=dict)


FUNCTIONS = {
    "exponential": MathFunction(exp_log.exponential, 1, 1.0, 1.0),
    "exponential-minus-one": MathFunction(exp_log.exponential_minus_one, 1, 2.0, 2.0),
    "log": MathFunction(exp_log.log, 1, 1.0, 1.0),
    "log-plus-one": MathFunction(exp_log.log_plus_one, 1, 2.0, 2.0),
    "tanh": MathFunction(hyperbolic.tanh, 1, 2.0, 2.0),
    "logistic": MathFunction(hyperbolic.logistic, 1, 2.0, 2.0),
    "sinh": MathFunction(hyperbolic.sinh, 1, 2.0, 2.0),
    "cosh": MathFunction(hyperbolic.cosh, 1, 2.0, 2.0),
    "asinh": MathFunction(hyperbolic.asinh, 1, 2.0, 2.0),
    "acosh": MathFunction(hyperbolic.acosh, 1, 2.5, 2.0),
    "atanh": MathFunction(hyperbolic.atanh, 1, 2.0, 2.0),
    "sine": MathFunction(trig.sine, 1, 2.0, 1.0, trig.FAST),
    "cosine": MathFunction(trig.cosine, 1, 2.0, 1.0, trig.FAST),
    "tan": MathFunction(trig.tan, 1, 1.0, 2.0, {"double": trig.FAST["double"]}),
    "asin": MathFunction(inverse_trig.asin, 1, 2.0, 2.0),
    "acos": MathFunction(inverse_trig.acos, 1, 2.0, 2.0),
    "atan2": MathFunction(inverse_trig.atan2, 2, 2.0, 2.0),
    "erf": MathFunction(special.erf, 1, 2.0, 2.0),
    "sqrt": MathFunction(power.sqrt, 1, 0.5, 0.5),
    "rsqrt": MathFunction(power.rsqrt, 1, 1.5, 1.5),
    "cbrt": MathFunction(power.cbrt, 1, 1.0, 1.0),
    "power": MathFunction(power.power, 2, 1.0, 1.0),
}
"""Every function by its opcode."""

_INSTRUCTIONS = frozenset({"sqrt"})
"""Functions that are one instruction, or as good as one."""


def fast_limit(name: str, type_: str) -> float | None:
    """The magnitude below which the arguments of a function's cheaper form must be; None if it has none."""
    function = FUNCTIONS.get(name)
    return function.fast.get(element_of(type_)) if function else None


def has_fast_path(name: str) -> bool:
    """Whether an opcode on real numbers has a cheaper form for some operands, of one type at least."""
    return name == "remainder" or (name in FUNCTIONS and bool(FUNCTIONS[name].fast))


def needs_slow_path(builder: Builder, name: str, operands: Sequence[Value]) -> Value | None:
    """Whether operands are not those of an opcode's cheaper form; None if it has none for their type.

    Args:
        builder: where code is emitted.
        name: the opcode.
        operands: floats, or vectors of them.
    """
    type_ = operands[0].type
    if name == "remainder" and type_ in ("float", "double"):
        return division.needs_slow_path(builder, *operands)
    limit = fast_limit(name, type_)
    if limit is None:
        return None
    magnitude = Term(builder, operands[0]).abs().value
    return builder.compare("uge", magnitude, Term(builder, operands[0]).literal(limit).value)


def emit(builder: Builder, name: str, operands: Sequence[Value], *, fast: bool = False) -> Value:
    """Call the function of that opcode on floats or doubles (or vectors of them), defining it first if need be.

    Args:
        builder: where code is emitted.
        name: the opcode.
        operands: floats or doubles, or vectors of them.
        fast: whether it is the form whose argument must be below `fast_limit`.

    Raises:
        UnsupportedError: there is no function of that name.
    """
    function = FUNCTIONS.get(name)
    if function is None:
        raise UnsupportedError(name, "the math functions", f"they are {', '.join(sorted(FUNCTIONS))}")
    assert len(operands) == function.arity, f"{name} takes {function.arity} operands, not {len(operands)}"
    type_ = operands[0].type
    format_of(type_)
    emitter = partial(function.emitter, fast=True) if fast else function.emitter
    if builder.writes_out:
        return emitter(*(Term(builder, operand) for operand in operands)).value
    is_long = name not in _INSTRUCTIONS if builder.calls_routines else not fast and fast_limit(name, type_) is not None
    is_called = builder.calls_functions and is_long
    symbol = f"math.{name}.{mangled(type_)}{'.fast' * fast}{'.called' * is_called}"
    if not builder.module.has_function(symbol):
        definition = _define(builder, symbol, emitter, type_, len(operands))
        if is_called:
            definition.attributes, definition.routine = f"noinline nounwind {PURE}", symbol
    return builder.call(f"@{symbol}", type_, operands, attributes=builder.call_attributes)


def _define(builder: Builder, symbol: str, emitter: Callable[..., Term], type_: str, arity: int) -> Function:
    parameters = [(type_, f"x{index}") for index in range(arity)]
    definition = builder.module.function(
        symbol, type_, parameters, linkage="internal", attributes="nounwind willreturn alwaysinline"
    )
    body = Builder(definition)
    body.ret(emitter(*(Term(body, argument) for argument in definition.arguments)).value)
    return definition
