"""exp, expm1, log, log1p, and the reductions that the hyperbolic functions and erf build on.

The exponential (Cody and Waite's scheme): x = n*ln2 + r with |r| <= ln2/2, where n is x/ln2 rounded by adding
1.5*2^m, so that the low bits of the sum hold n; ln2 is split into a head with trailing zeros, so that n*head is
exact, and a tail; e^r - 1 = r + r^2 q(r).  The logarithm: x = 2^e * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)),
one integer subtraction on the bits; e*head is exact again and its sum with f is compensated.  In f32 log(1 + f) =
f + f^2 q(f); in f64 that would need twenty terms, and s = f / (2 + f), log(1 + f) = 2 atanh(s), needs seven and a
division.

All coefficients are minimax (Remez exchange at 40 digits, weighted for relative error of the function,
coefficients rounded one by one with the remaining ones fitted again); the comment beside each gives the error.
"""

from __future__ import annotations

from compiler.codegen.llvm_ir import integer, mangled
from compiler.codegen.math.term import Format, Term, polynomial, squared_polynomial

_LOG2_E = 1.4426950408889634
"""log2(e), rounded to f64."""
LN2 = 0.6931471805599453
"""The natural logarithm of 2, rounded to f64."""
_LN2_HEAD_TAIL = {
    "float": (0.693145751953125, 1.428606765330187e-06),
    "double": (0.693147180559663, 2.8235290563031577e-13),
}
# (e^r - 1 - r) / r^2 for |r| <= ln2/2: 2^-26.1 and 2^-56.4 of e^r - 1.
_EXP = {
    "float": (0.49999997, 0.16666539, 0.041667756, 0.008367122, 0.0013836017),
    "double": (
        0.5, 0.16666666666666677, 0.0416666666666667, 0.008333333333321782, 0.0013888888888872663,
        0.0001984126988405768, 2.480158730784574e-05, 2.755724881563535e-06, 2.7557352009982705e-07,
        2.5106295031684817e-08, 2.085973842821779e-09,
    ),
}  # fmt: skip
# (log(1+f) - f) / f^2 for sqrt(1/2) <= 1+f <= sqrt(2): 2^-27.1 of log(1+f).
_LOG_F32 = (
    -0.49999988, 0.33333337, -0.2500164, 0.20001204, -0.16606697, 0.14196162, -0.13281427, 0.12821187, -0.07408742,
)  # fmt: skip
# (2 atanh(s)/s - 2) / s^2 as a polynomial of s^2: 2^-59.5 of log(1+f).
_LOG_F64 = (
    0.6666666666666734, 0.39999999999416186, 0.2857142874219927, 0.222221985819643, 0.1818356429010147,
    0.15314042706386294, 0.14796102878401365,
)  # fmt: skip
# Beyond these the exponential is zero or infinite, and so is the scaling by two halves of 2^n.
_EXP_RANGE = {"float": (-104.0, 90.0), "double": (-746.0, 711.0)}
_FAR = {"float": -1000.0, "double": -10000.0}
"""What an x below the range counts as: scaling to zero from near the denormals takes CPUs as long as to one of them."""


def _reduce(x: Term, *, bias: int = 0, exact: bool = True) -> tuple[Term, Term]:
    """(n + bias in the low bits of an integer, r) with x = n*ln2 + r; r - x is n times a rounded ln2 if not `exact`."""
    magic, (head, tail) = x.format.magic + bias, _LN2_HEAD_TAIL[x.format.type]
    shifted = x.fma(_LOG2_E, magic)
    n = shifted - magic
    return shifted.bits(), n.fma(-tail, n.fma(-head, x)) if exact else n.fma(-LN2, x)


def exp_reduced(r: Term) -> Term:
    """e^r for |r| <= ln2/2."""
    return polynomial(r, (1.0, 1.0, *_EXP[r.format.type]))


def _exp_minus_one_reduced(r: Term) -> Term:
    """e^r - 1 for |r| <= ln2/2."""
    return (r * r).fma(polynomial(r, _EXP[r.format.type]), r)


def scale(p: Term, n: Term, *, minus: int = 0, where: Term | None = None) -> Term:
    """Compute p * 2^(n - minus), rounded once into the denormals, from n in the low bits of a sum with `magic`.

    Whole vectors may be zero elsewhere than `where`.  AVX-512 does that in one instruction, which LLVM makes of its
    intrinsic too, in loops that it makes vectors of.
    """
    format_ = p.format
    if not _scales(p):
        return _scale_by_factors(p, n - minus if minus else n)
    if p.type in _VECTORS:
        exponent = n.real() - format_.magic
        return _native("scalef", p, exponent - float(minus) if minus else exponent, where=where)
    exponent = n - (format_.magic_bits + minus)
    if format_.integer == "i64":
        exponent = exponent.cast("trunc", "i32")
    return Term(
        p.builder, p.builder.intrinsic(f"ldexp.{mangled(p.type)}.{mangled(exponent.type)}", [p.value, exponent.value])
    )


def _scale_by_factors(p: Term, n: Term) -> Term:
    format_ = p.format
    whole = n << format_.mantissa
    half = (whole >> 1) & -(1 << format_.mantissa)
    return p * (half + format_.one).real() * (whole - half + format_.one).real()


_VECTORS = {"<16 x float>": ("ps", "i16"), "<8 x double>": ("pd", "i8")}
"""Vectors that fill a register of AVX-512: the end of its instructions' names, and the type of a mask."""
_ROUND_AS_SET = 4
"""`_MM_FROUND_CUR_DIRECTION`: an operand of AVX-512's instructions (Intel's intrinsics)."""
_LESSER_MAGNITUDE = 2
"""The operand of `vrangeps` that asks for the absolute minimum (Intel's instruction set reference)."""


def _scales(x: Term) -> bool:
    """Whether the target multiplies by powers of two; others do it by two factors, with the same bits."""
    return {"avx512f", "avx512vl", "avx512dq"} <= x.builder.module.features


def _native(name: str, x: Term, y: Term, *options: int, where: Term | None = None) -> Term:
    """An instruction of AVX-512 on two whole vectors, or zero elsewhere than `where`."""
    end, mask = _VECTORS[x.type]
    lanes = integer(-1, mask) if where is None else x.builder.emit(mask, f"bitcast {where.value} to {mask}")
    last = [x.value if where is None else x.literal(0.0).value, lanes, integer(_ROUND_AS_SET, "i32")]
    arguments = [x.value, y.value, *(integer(option, "i32") for option in options), *last]
    return Term(x.builder, x.builder.intrinsic(f"x86.avx512.mask.{name}.{end}.512", arguments))


def exp_scaled(x: Term, *, minus: int = 0) -> Term:
    """e^x * 2^-minus for a small `minus`, without overflow before the result's own."""
    low, high = _EXP_RANGE[x.format.type]
    if x.type in _VECTORS and _scales(x):
        # Whatever is left of an x beyond the range, n makes the result infinite or NaN of a number.
        n, r = _reduce(x)
        r = _native("range", r, r.literal(LN2), _LESSER_MAGNITUDE)
        return scale(exp_reduced(r), n, minus=minus, where=x.compare("uge", "sge", low))
    if _scales(x):
        x = (x < low).where(x.literal(_FAR[x.format.type]), x)
        n, r = _reduce(x.at_most(high))
    else:
        n, r = _reduce(x.at_most(high).at_least(low))
    return scale(exp_reduced(r), n, minus=minus)


def exponential(x: Term) -> Term:
    """e^x: Cody-Waite reduction, polynomial of degree 6 (f32) or 12 (f64)."""
    return exp_scaled(x)


def power_of_two_and_rest(x: Term, *, minus: int = 0, exact: bool = True) -> tuple[Term, Term]:
    """(s, w) with e^x = 2^minus * s * (1 + w), s a power of two, normal; `exact` is that of `_reduce`."""
    format_ = x.format
    # With the exponent's bias in n, a shift makes the power of it.
    n, r = _reduce(x, bias=(format_.one >> format_.mantissa) - minus, exact=exact)
    return (n << format_.mantissa).real(), _exp_minus_one_reduced(r)


def expm1_moderate(x: Term) -> Term:
    """e^x - 1 for x <= 0 where 2^n is a normal number; no -0."""
    format_ = x.format
    # The more n there is for ln2 to be wrong by, the less is left of the power.
    n, r = _reduce(x, bias=format_.one >> format_.mantissa, exact=False)
    power, square = (n << format_.mantissa).real(), r * r
    return square.fma(squared_polynomial(r, _EXP[format_.type]), r).fma(power, power - 1.0)


def exponential_minus_one(x: Term) -> Term:
    """e^x - 1 = 2 * (2^(n-1) (e^r - 1) + (2^(n-1) - 1/2)): the halves keep 2^n finite for the largest x."""
    low = {"float": -18.0, "double": -40.0}[x.format.type]
    half, p = power_of_two_and_rest(x.at_most(_EXP_RANGE[x.format.type][1] - 1.0).at_least(low), minus=1)
    result = p.fma(half, half - 0.5) * 2.0
    # Small x, its denormals and -0 among them, would lose a bit or the sign in the halves.
    return (x.abs() < 2.0 ** -(x.format.mantissa + 2)).where(x, result)


def _log_of_scaled(e: Term, f: Term) -> Term:
    """log(2^e * (1 + f)), e an integer as a float."""
    head, tail = _LN2_HEAD_TAIL[f.format.type]
    whole = e * head
    total = whole + f
    rest = e.fma(tail, f - (total - whole))
    if f.format.type == "float":
        return total + (f * f).fma(polynomial(f, _LOG_F32), rest)
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    return total + (s.fma(z.fma(polynomial(z, _LOG_F64), half), rest) - half)


def split_exponent(x: Term) -> tuple[Term, Term]:
    """(e as an integer, 1 + f) with x = 2^e * (1 + f) for a positive normal x."""
    format_ = x.format
    offset = x.bits() - format_.sqrt_half
    significand = ((offset & ((1 << format_.mantissa) - 1)) + format_.sqrt_half).real()
    return offset >> format_.mantissa, significand


def integer_to_real(e: Term, format_: Format) -> Term:
    """A small integer as a float; for f64 without the conversion of i64 that AVX2 lacks."""
    if format_.type == "float":
        return e.cast("sitofp", "float")
    return (e + format_.magic_bits).real() - format_.magic


def _logarithm_edges(x: Term, result: Term, zero: float) -> Term:
    """Infinity and NaN as they are, -infinity where x is `zero`, NaN below."""
    result = (x < float("inf")).where(result, x)
    below = x.equals(zero).where(x.literal(float("-inf")), float("nan"))
    return x.compare("ugt", "sgt", zero).where(result, below)


def log(x: Term) -> Term:
    """Natural logarithm: polynomial of degree 10 (f32), atanh series (f64), compensated e*ln2 + f."""
    format_ = x.format
    denormal = x < format_.smallest
    shift = format_.mantissa + 1
    e, significand = split_exponent(denormal.where(x * 2.0**shift, x))
    e = denormal.where(e - shift, e)
    return _logarithm_edges(x, _log_of_scaled(integer_to_real(e, format_), significand - 1.0), 0.0)


def log_plus_one(x: Term) -> Term:
    """log(1 + x) as log; f = 2^-e x + (2^-e - 1) keeps what 1 + x rounds away, and is x itself where e = 0."""
    format_ = x.format
    offset = (x + 1.0).bits() - format_.sqrt_half
    exponent_bits = offset & -(1 << format_.mantissa)
    # 2^-e is denormal for the largest e, so its bits are made four times as large.
    four = format_.one + (2 << format_.mantissa)
    inverse = (exponent_bits.literal(four) - exponent_bits).real() * 0.25
    f = x.fma(inverse, inverse - 1.0)
    result = _log_of_scaled(integer_to_real(offset >> format_.mantissa, format_), f)
    return _logarithm_edges(x, result, -1.0).copysign(x)
