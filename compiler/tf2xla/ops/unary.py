"""Functions of one number, element by element.

What HLO has an opcode for is that; the others are XLA's formulas.  bf16 and f16 go through f32 where a formula has
several steps, so that they are rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from compiler.expansion.expression import Expression
from compiler.ir.types import BF16, F16, F32, F64, U8
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import Lower, Record, record, sized, table

Formula = Callable[[Expression], Expression]

_FLOATS, _ANALYTIC = "floats", "floats complexes"
_SIGNED = "floats complexes ints"
SELU, SELU_ALPHA = 1.0507009873554804934193349852946, 1.7580993408473768599402175208123
"""Selu's scale, and that times its alpha (Klambauer et al., arXiv:1706.02515)."""


def opcode(name: str) -> Formula:
    """The lowering of an op that is an opcode of HLO on one input."""
    return lambda x: x.apply(name)


def in_f32(formula: Formula) -> Formula:
    """A formula of several steps, which numbers of 16 bits go through in f32."""

    def widened(x: Expression) -> Expression:
        return formula(x.to(F32)).to(x.type) if x.type in (BF16, F16) else formula(x)

    return widened


def _of(formula: Formula, name: str = "x") -> Lower:
    return lambda operation: formula(operation[name])


def _round(operation: Operation) -> Expression:
    x = operation["x"]
    if x.type.is_complex:
        raise operation.unsupported("no kernel says what the nearest whole number of a complex one is")
    return x if x.type.is_integer else x.apply("round-nearest-even")


def _reciprocal(x: Expression) -> Expression:
    return x.literal(1).spread(x.dims, ()) / x


def _softplus(x: Expression) -> Expression:
    """log(1 + e^x), which is x or e^x where the other term is below the precision."""
    threshold = math.log(float(np.finfo(np.float32 if x.type is F32 else np.float64).eps)) + 2
    grown = x.apply("exponential")
    small, large = x.compare("LT", threshold), x.compare("GT", -threshold)
    return large.where(x, small.where(grown, grown.apply("log-plus-one")))


def _atan(x: Expression) -> Expression:
    return x.apply("atan2", x.literal(1))


def _softsign(x: Expression) -> Expression:
    return x / (x.apply("abs") + 1)


def _relu(x: Expression) -> Expression:
    return x.apply("maximum", 0)


def _relu6(x: Expression) -> Expression:
    return x.literal(0).apply("clamp", x, 6)


def _elu(x: Expression) -> Expression:
    return x.compare("GT", 0).where(x, x.apply("exponential-minus-one"))


def _selu(x: Expression) -> Expression:
    return x.compare("GT", 0).where(x * SELU, x.apply("exponential-minus-one") * SELU_ALPHA)


def _leaky_relu(operation: Operation) -> Expression:
    x = operation["features"]
    return x.compare("GT", 0).where(x, x * operation.attribute("alpha"))


def _is_nan(x: Expression) -> Expression:
    return x.compare("NE", x)


def _is_infinite(x: Expression) -> Expression:
    return x.apply("abs").compare("EQ", math.inf)


def polynomial(x: Expression, coefficients: Sequence[float]) -> Expression:
    """The value of a polynomial, its highest coefficient first."""
    value = x.literal(coefficients[0]).spread(x.dims, ())
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


# Cephes's approximations of erfc(x) / exp(-x^2) beyond 1: for f32 by powers of 1/x^2, for f64 by quotients.
_NEAR_F32 = (
    *(2.326819970068386e-2, -1.387039388740657e-1, 3.687424674597105e-1, -5.824733027278666e-1, 6.210004621745983e-1),
    *(-4.944515323274145e-1, 3.404879937665872e-1, -2.741127028184656e-1, 5.638259427386472e-1),
)
_FAR_F32 = (
    *(-1.047766399936249e1, 1.297719955372516e1, -7.495518717768503e0, 2.921019019210786e0, -1.015265279202700e0),
    *(4.218463358204948e-1, -2.820767439740514e-1, 5.641895067754075e-1),
)
_NEAR_P = (
    *(2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687, 4.86371970985681366614e1),
    *(1.96520832956077098242e2, 5.26445194995477358631e2, 9.34528527171957607540e2, 1.02755188689515710272e3),
    5.57535335369399327526e2,
)
_NEAR_Q = (
    *(1.0, 1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2, 9.75708501743205489753e2),
    *(1.82390916687909736289e3, 2.24633760818710981792e3, 1.65666309194161350182e3, 5.57535340817727675546e2),
)
_FAR_P = (
    *(5.64189583547755073984e-1, 1.27536670759978104416, 5.01905042251180477414, 6.16021097993053585195),
    *(7.40974269950448939160, 2.97886665372100240670),
)
_FAR_Q = (
    *(1.0, 2.26052863220117276590, 9.39603524938001434673, 1.20489539808096656605e1, 1.70814450747565897222e1),
    *(9.60896809063285878198, 3.36907645100081516050),
)
_LARGEST_LOG = {F32: 88.72283905206835, F64: 7.09782712893383996843e2}


def _erfc(x: Expression) -> Expression:
    """1 - erf(x), without the loss of digits where erf(x) is nearly 1."""
    size = x.apply("abs")
    decay = -(x * x)
    if x.type is F64:
        near = polynomial(size, _NEAR_P) / polynomial(size, _NEAR_Q)
        far = polynomial(size, _FAR_P) / polynomial(size, _FAR_Q)
        tail = decay.apply("exponential") * size.compare("LT", 8).where(near, far)
    else:
        inverse = _reciprocal(size)
        square = inverse * inverse
        polynomial_ = size.compare("LT", 2).where(polynomial(square, _NEAR_F32), polynomial(square, _FAR_F32))
        tail = decay.apply("exponential") * inverse * polynomial_
    none = x.literal(0).spread(x.dims, ())
    tail = decay.compare("LT", -_LARGEST_LOG[x.type]).where(none, tail)
    mirrored = x.compare("LT", 0).where(-tail + 2, tail)
    return size.compare("GT", 1).where(mirrored, -x.apply("erf") + 1)


# Lanczos's approximation of the gamma function with g = 7 and nine terms.
_LANCZOS_FIRST = 0.99999999999980993227684700473478
_LANCZOS = (
    *(676.520368121885098567009190444019, -1259.13921672240287047156078755283, 771.3234287776530788486528258894),
    *(-176.61502916214059906584551354, 12.507343278686904814458936853, -0.13857109526572011689554707),
    *(9.984369578019570859563e-6, 1.50563273514931155834e-7),
)
_G = 7.5
"""The g of Lanczos' approximation, with half added: that of TensorFlow's lgamma, whose coefficients are for it (XLA,
math.cc)."""


def lgamma(x: Expression) -> Expression:
    """The logarithm of |gamma(x)|: Lanczos's approximation, and Euler's reflection below a half."""
    reflected = x.compare("LT", 0.5)
    z = reflected.where(-x, x - 1)
    series = x.literal(_LANCZOS_FIRST).spread(x.dims, ())
    for number, coefficient in enumerate(_LANCZOS, 1):
        series = series + x.literal(coefficient).spread(x.dims, ()) / (z + number)
    t = z + _G
    log_t = (z / _G).apply("log-plus-one") + math.log(_G)
    log_y = (z + 0.5 - t / log_t) * log_t + math.log(2 * math.pi) / 2 + series.apply("log")
    size = x.apply("abs")
    fraction = size - size.apply("floor")
    mirrored = fraction.compare("GT", 0.5).where(-fraction + 1, fraction)
    log_sine = (mirrored * math.pi).apply("sine").apply("log")
    reflection = log_sine.apply("is-finite").where(-log_sine + math.log(math.pi) - log_y, -log_sine)
    infinite = x.literal(math.inf).spread(x.dims, ())
    return _is_infinite(x).where(infinite, reflected.where(reflection, log_y))


def digamma(x: Expression) -> Expression:
    """The derivative of log |gamma(x)|, by the same series; NaN at whole numbers that are not positive."""
    reflected = x.compare("LT", 0.5)
    z = reflected.where(-x, x - 1)
    above = x.literal(0).spread(x.dims, ())
    below = x.literal(_LANCZOS_FIRST).spread(x.dims, ())
    for number, coefficient in enumerate(_LANCZOS, 1):
        polynomial_ = x.literal(coefficient).spread(x.dims, ()) / (z + number)
        above, below = above - polynomial_ / (z + number), below + polynomial_
    t = z + _G
    log_t = (z / _G).apply("log-plus-one") + math.log(_G)
    y = log_t + above / below - x.literal(_G - 0.5).spread(x.dims, ()) / t
    angle = (x + (x + 0.5).apply("floor").apply("abs")) * math.pi
    mirrored = y - angle.apply("cosine") * math.pi / angle.apply("sine")
    pole = x.compare("LE", 0) & x.compare("EQ", x.apply("floor"))
    return pole.where(x.literal(math.nan), reflected.where(mirrored, y))


def _population(x: Expression) -> Expression:
    return x.apply("popcnt").to(U8)


def _unary(name: str, types: str, formula: Formula, doc: str, port: str = "x", result: str = "y") -> Record:
    return record(name, f"{port}: T -> {result}: T; T: {{{types}}}", _of(formula, port), doc)


def _predicate(name: str, formula: Formula, doc: str) -> Record:
    return record(name, f"x: T -> y: bool; T: {{{_FLOATS}}}", _of(formula), doc)


def _activation(name: str, types: str, formula: Formula, doc: str) -> Record:
    return _unary(name, types, formula, doc, "features", "activations")


RECORDS = table(
    *sized(
        _unary("Abs", "floats ints", opcode("abs"), "|x|; of the least integer that integer."),
        _unary("Neg", _SIGNED, opcode("negate"), "-x."),
        _unary("Sign", _SIGNED, opcode("sign"), "-1, 0 or 1; x / |x| of a complex number; NaN of NaN."),
        _unary("Exp", _ANALYTIC, opcode("exponential"), "e^x."),
        _unary("Expm1", _ANALYTIC, opcode("exponential-minus-one"), "e^x - 1."),
        _unary("Log", _ANALYTIC, opcode("log"), "The natural logarithm."),
        _unary("Log1p", _ANALYTIC, opcode("log-plus-one"), "log(1 + x)."),
        _unary("Sin", _ANALYTIC, opcode("sine"), "The sine."),
        _unary("Cos", _ANALYTIC, opcode("cosine"), "The cosine."),
        _unary("Tan", _ANALYTIC, opcode("tan"), "The tangent."),
        _unary("Sinh", _ANALYTIC, opcode("sinh"), "The hyperbolic sine."),
        _unary("Cosh", _ANALYTIC, opcode("cosh"), "The hyperbolic cosine."),
        _unary("Tanh", _ANALYTIC, opcode("tanh"), "The hyperbolic tangent."),
        _unary("Asin", _ANALYTIC, opcode("asin"), "The inverse of the sine."),
        _unary("Acos", _ANALYTIC, opcode("acos"), "The inverse of the cosine."),
        _unary("Atan", _ANALYTIC, _atan, "The inverse of the tangent."),
        _unary("Asinh", _ANALYTIC, opcode("asinh"), "The inverse of the hyperbolic sine."),
        _unary("Acosh", _ANALYTIC, opcode("acosh"), "The inverse of the hyperbolic cosine."),
        _unary("Atanh", _ANALYTIC, opcode("atanh"), "The inverse of the hyperbolic tangent."),
        _unary("Sqrt", _ANALYTIC, opcode("sqrt"), "The square root."),
        _unary("Rsqrt", _ANALYTIC, opcode("rsqrt"), "1 / sqrt(x)."),
        _unary("Square", _SIGNED + " uints", lambda x: x * x, "x * x."),
        _unary("Reciprocal", _SIGNED, _reciprocal, "1 / x."),
        _unary("Inv", _SIGNED, _reciprocal, "1 / x, under its older name."),
        _unary("Floor", _FLOATS, opcode("floor"), "The greatest whole number that is not greater."),
        _unary("Ceil", _FLOATS, opcode("ceil"), "The least whole number that is not less."),
        record(
            "Round",
            f"x: T -> y: T; T: {{{_SIGNED}}}",
            _round,
            "The nearest whole number, of two the even one.",
        ),
        _unary("Rint", _FLOATS, opcode("round-nearest-even"), "The nearest whole number, of two the even one."),
        _unary("Erf", _FLOATS, opcode("erf"), "The error function."),
        _unary("Erfc", _FLOATS, in_f32(_erfc), "1 - erf(x)."),
        _unary("Lgamma", _FLOATS, in_f32(lgamma), "log |gamma(x)|."),
        _unary("Digamma", _FLOATS, in_f32(digamma), "The derivative of log |gamma(x)|."),
        _unary("Sigmoid", _ANALYTIC, opcode("logistic"), "1 / (1 + e^-x)."),
        _activation("Softplus", _FLOATS, in_f32(_softplus), "log(1 + e^x)."),
        _activation("Softsign", _FLOATS, _softsign, "x / (1 + |x|)."),
        _activation("Relu", "reals", _relu, "max(x, 0), NaN of NaN."),
        _activation("Relu6", "reals", _relu6, "min(max(x, 0), 6), NaN of NaN."),
        _activation("Elu", _FLOATS, _elu, "x above 0, e^x - 1 elsewhere."),
        _activation("Selu", _FLOATS, _selu, "s x above 0, s a (e^x - 1) elsewhere."),
        record(
            "LeakyRelu",
            "features: T -> activations: T; alpha: float = 0.2; T: {floats} = float32",
            _leaky_relu,
            "x above 0, alpha x elsewhere.",
        ),
        _predicate("IsNan", _is_nan, "Whether it is not a number."),
        _predicate("IsInf", _is_infinite, "Whether it is an infinity."),
        _predicate("IsFinite", opcode("is-finite"), "Whether it is a number."),
        record("LogicalNot", "x: bool -> y: bool", _of(opcode("not")), "Whether it is false."),
        _unary("Invert", "ints uints", opcode("not"), "All bits flipped."),
        record("PopulationCount", "x: T -> y: uint8; T: {ints uints}", _of(_population), "How many bits are set."),
    )
)
