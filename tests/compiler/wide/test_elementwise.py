"""Bounds of ops whose results depend on the type's own digits, over every float type, denormals in front."""

from __future__ import annotations

import operator

import ml_dtypes
import mpmath
import numpy as np
import pytest
from exact_functions import MPMATH
from wide_results import wide

import compiler
from compiler.generate import PAIRS
from compiler.ir.types import TYPES, Kind
from compiler.ops import OPS, Trait, having

FLOATS = [name for name, kind in TYPES.items() if kind.kind is Kind.FLOAT and kind.bits >= 8]
REAL_FUNCTIONS = sorted(
    opcode
    for opcode in having(Trait.ELEMENTWISE) & {opcode for opcode, kind in PAIRS if kind == "f32"}
    if OPS[opcode].operands == (1, 1) and not OPS[opcode].required and opcode not in ("convert", "is-finite")
)
FORMATS = [(5, 2), (4, 3), (2, 1), (8, 7), (3, 0), (11, 1)]


def numbers(name: str) -> np.ndarray:
    """All of a type of 8 bits; of others denormals first, then any."""
    dtype = TYPES[name].dtype
    bits = np.dtype(f"u{dtype.itemsize}")
    if dtype.itemsize == 1:
        return np.arange(256, dtype=bits).view(dtype)
    rng = np.random.default_rng(0)
    digits = {2: 7, 4: 23, 8: 52}[dtype.itemsize]
    few, any_ = rng.integers(0, 1 << digits, 100), rng.integers(0, 1 << 8 * dtype.itemsize - 1, 156)
    return np.concatenate([few, any_]).astype(bits).view(dtype)


@pytest.mark.parametrize("name", FLOATS)
def test_numbers_of_fewer_digits_are_within_their_bounds(name: str) -> None:
    x = numbers(name)
    for exponent, mantissa in FORMATS:
        module = compiler.parse(
            f"HloModule m\nENTRY e {{ x = {name}[256] parameter(0)  ROOT r = {name}[256] reduce-precision(x), "
            f"exponent_bits={exponent}, mantissa_bits={mantissa} }}"
        )
        (found,), (bound,) = compiler.interpret(module, x), compiler.interpret(module, x, wide=True)
        assert bound.allows(found).all(), (exponent, mantissa)


@pytest.mark.parametrize(("dtype", "bits"), [("f8e4m3fn", "u8"), ("bf16", "s16"), ("f8e4m3fn", "f8e5m2fnuz")])
def test_the_bits_of_a_nan_are_undecided(dtype: str, bits: str) -> None:
    lines = (f"x = {dtype}[2] parameter(0)", f"y = {dtype}[2] add(x, x)")
    end = f"ROOT r = {bits}[2] bitcast-convert(y)"
    kind = ml_dtypes.bfloat16 if dtype == "bf16" else ml_dtypes.float8_e4m3fn
    (result,) = wide(*lines, end, inputs=(np.array([np.nan, 1], kind),))
    assert result.undecided.tolist() == [True, False]


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_an_infinity_times_what_may_be_taken_for_zero_is_undecided(dtype: str) -> None:
    lines = (f"x = {dtype}[2,1] parameter(0)", f"y = {dtype}[1] parameter(1)")
    end = f"ROOT r = {dtype}[2] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"
    kind = ml_dtypes.bfloat16 if dtype == "bf16" else np.float32
    (result,) = wide(*lines, end, inputs=(np.array([[np.inf], [1]], kind), np.array([1e-39], kind)))
    assert result.undecided.tolist() == [True, False]


@pytest.mark.parametrize("line", ["divide(x, z)", "add(i, x)", "subtract(x, i)", "multiply(i, x)", "sqrt(i)"])
@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16"])
def test_an_infinity_that_nothing_rounded_to_is_known_in_every_type(line: str, dtype: str) -> None:
    lines = [f"{name} = {dtype}[2] parameter({number})" for number, name in enumerate("xzi")]
    kind = TYPES[dtype].dtype
    inputs = (np.array([1, -2], kind), np.array([0.0, -0.0], kind), np.array([np.inf, np.inf], kind))
    (result,) = wide(*lines, f"ROOT r = {dtype}[2] {line}", inputs=inputs)
    assert np.isinf(result.value).all()
    assert not result.bound.any()


def test_infinity_that_something_may_have_overflowed_to_is_open() -> None:
    lines = ("x = f64[2] parameter(0)", "ROOT r = f64[2] multiply(x, x)")
    (result,) = wide(*lines, inputs=(np.array([np.sqrt(np.finfo(np.float64).max), 2]),))
    assert result.undecided.tolist() == [True, False]


LOST = ("multiply(d, z)", "dot(d, z), lhs_contracting_dims={}, rhs_contracting_dims={}", "reduce(b, one), PRODUCT")


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
@pytest.mark.parametrize("product", LOST)
def test_an_infinity_times_what_rounding_makes_zero_is_undecided(product: str, infinity: float) -> None:
    (result,) = wide(
        "x = f32[] parameter(0)",
        "big = f32[] parameter(1)",
        "z = f32[] parameter(2)",
        "s = f32[] add(x, big)",
        "d = f32[] subtract(s, big)",
        "t = f32[1] reshape(d)",
        "u = f32[1] reshape(z)",
        "b = f32[2] concatenate(t, u), dimensions={0}",
        "one = f32[] constant(1)",
        f"ROOT r = f32[] {product.replace('PRODUCT', 'to_apply=times, dimensions={0}')}",
        inputs=tuple(map(np.float32, (1, 1e8, infinity))),
        computations="times { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] multiply(a, b) }",
    )
    assert result.undecided


def test_the_remainder_by_what_may_be_zero_is_undecided() -> None:
    lines = ("x = f32[3] parameter(0)", "one = f32[3] constant({1, 1, 1})", "a = f32[3] cosine(x)")
    lines += ("d = f32[3] subtract(a, one)", "ROOT r = f32[3] remainder(x, d)")
    (result,) = wide(*lines, inputs=(np.array([1e-9, 0.0, 1.0], np.float32),))
    assert result.undecided.tolist() == [True, True, False]


def test_an_extremum_of_what_may_be_nan_is_undecided() -> None:
    less = "less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT, "
    less += "type=TOTALORDER }\nmost { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }"
    lines = ("x = f32[2] parameter(0)", "y = f32[2] sqrt(x)", "least = f32[] constant(-inf)")
    lines += ("s = f32[2] sort(y), dimensions={0}, to_apply=less", "t = f32[2,1] reshape(s)")
    lines += ("n = f32[2,1] constant({{nan}, {nan}})", "u = f32[2,2] concatenate(t, n), dimensions={1}")
    lines += ("a = f32[2] reduce(t, least), dimensions={1}, to_apply=most",)
    lines += ("b = f32[2] reduce(u, least), dimensions={1}, to_apply=most", "ROOT r = (f32[2], f32[2]) tuple(a, b)")
    some, every = wide(*lines, inputs=(np.array([-1, 4], np.float32),), computations=less)
    assert some.undecided.all()  # the NaN has either sign, and so either place
    assert np.isnan(every.value).all()
    assert not every.undecided.any()


@pytest.mark.parametrize("opcode", REAL_FUNCTIONS)
def test_what_an_interval_far_across_a_domain_may_hold_is_allowed(opcode: str) -> None:
    """Results of all numbers within a bound are within the result's, where both ends and the middle make NaN, too."""
    shift = 2.0**26
    x = np.array([-40.3, -3.7, -1.5, -1.05, -0.3, 0.01, 0.6, 1.05, 2.2, 5.5, 77.7], np.float32)
    dims = f"f32[{x.size}]"
    lines = (f"x = {dims} parameter(0)", f"s = {dims} constant({{{', '.join([str(shift)] * x.size)}}})")
    lines += (f"up = {dims} add(x, s)", f"y = {dims} subtract(up, s)", f"r = {dims} {opcode}(y)")
    given, found = wide(*lines, f"ROOT t = ({dims}, {dims}) tuple(y, r)", inputs=(x,))
    assert (given.bound > 2).all()
    one = compiler.parse(f"ENTRY e {{ x = f64[41] parameter(0) ROOT r = f64[41] {opcode}(x) }}")
    for at, (middle, error) in enumerate(zip(given.value, given.bound, strict=True)):
        (results,) = compiler.interpret(one, middle + error * np.linspace(-1 + 1e-9, 1 - 1e-9, 41))
        value, bound = found.value[at], found.bound[at]
        same = (results == value) | (np.isnan(results) & np.isnan(value))
        assert found.undecided[at] or (same | (np.abs(results - value) <= bound)).all(), (middle, error, value, bound)


UNITS = {**dict.fromkeys(MPMATH, 8), "sqrt": 2, "power": 16, "add": 1, "subtract": 1, "multiply": 1, "divide": 1}
"""How many roundings of its result one op may be off by, on operands that are known."""
COMPLEX_UNITS = {"add": 1, "subtract": 1, "multiply": 4, "divide": 12}
ARITHMETIC = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv}
DOMAINS = {"acosh": (1.1, 9), "atanh": (-0.95, 0.95), "asin": (-0.95, 0.95), "acos": (-0.95, 0.95)}
BINARY = frozenset({*ARITHMETIC, "atan2", "power"})


def bounded(opcode: str, name: str, inputs: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    dims = f"{name}[{inputs[0].size}]"
    given = [f"p{number} = {dims} parameter({number})" for number in range(len(inputs))]
    names = ", ".join(f"p{number}" for number in range(len(inputs)))
    (result,) = wide(*given, f"ROOT r = {dims} {opcode}({names})", inputs=tuple(inputs))
    return result.value, result.bound


@pytest.mark.parametrize("name", ["f64", "f32", "f16", "bf16"])
@pytest.mark.parametrize("opcode", UNITS)
def test_the_bound_of_one_op_holds_what_is_exact_and_is_no_more_than_its_roundings(opcode: str, name: str) -> None:
    generator, dtype = np.random.default_rng(len(opcode)), TYPES[name].dtype
    ends = DOMAINS.get(opcode, (0.1, 3) if opcode in BINARY or opcode.endswith(("sqrt", "log")) else (-0.9, 3))
    inputs = [generator.uniform(*ends, 30).astype(dtype) for _ in range(2 if opcode in BINARY else 1)]
    function = ARITHMETIC.get(opcode) or MPMATH[opcode]
    truth = [function(*row) for row in zip(*([mpmath.mpf(float(x)) for x in array] for array in inputs), strict=True)]
    value, bound = bounded(opcode, name, inputs)
    info = ml_dtypes.finfo(dtype)
    unit = float(info.eps) / (1 if name == "f64" else 2)
    assert all(abs(exact - float(v)) <= b for exact, v, b in zip(truth, value, bound, strict=True))
    assert (bound <= UNITS[opcode] * unit * np.abs(value) * (1 + 1e-9) + 2 * float(info.tiny)).all()


@pytest.mark.parametrize("name", ["c64", "c128"])
@pytest.mark.parametrize("opcode", COMPLEX_UNITS)
def test_the_bound_of_complex_arithmetic_holds_what_its_steps_round_to(opcode: str, name: str) -> None:
    """By modulus: of some numbers the terms of a part cancel."""
    generator, dtype = np.random.default_rng(len(opcode)), TYPES[name].dtype
    left, right = (generator.normal(size=(2, 60)) @ np.diag(2.0 ** generator.integers(-9, 9, 60)) for _ in "ab")
    inputs = [(a[0] + 1j * a[1]).astype(dtype) for a in (left, right)]
    truth = [ARITHMETIC[opcode](*map(mpmath.mpmathify, row)) for row in zip(*(x.tolist() for x in inputs), strict=True)]
    value, bound = bounded(opcode, name, inputs)
    in_steps = ARITHMETIC[opcode](*inputs).tolist()
    unit = float(np.finfo(dtype).eps) / (1 if name == "c128" else 2)
    for found in (value, in_steps):
        assert all(
            abs(exact - mpmath.mpmathify(complex(v))) <= b for exact, v, b in zip(truth, found, bound, strict=True)
        )
    assert (bound <= COMPLEX_UNITS[opcode] * unit * np.abs(value) * (1 + 1e-9) + 1e-30).all()


@pytest.mark.parametrize("element_type", ["f8e4m3fn", "bf16", "f16", "f32"])
def test_what_may_be_one_or_zero_makes_one_of_a_power_of_nan(element_type: str) -> None:
    """The cosine of a small number is 1 when it is rounded, and 1 to the power of NaN is 1."""
    t = f"{element_type}[3]"
    small = np.array([0.0078125, 1.0, 0.0]).astype(TYPES[element_type].dtype)
    lines = (
        f"x = {t} parameter(0)",
        f"n = {t} negate(x)",
        f"c = {t} cosine(x)",
        f"r = {t} log(n)",
        f"ROOT p = {t} power(c, r)",
    )
    (result,) = wide(*lines, inputs=(small,))
    assert not result.undecided[1]
    assert result.undecided[0] or element_type == "f32"


@pytest.mark.parametrize(
    ("between", "is_open"),
    [
        ([], True),
        (["n = TYPE[2] convert(m)"], True),
        (["c = TYPE[2] convert(m)", "n = TYPE[2] copy(c)"], True),
        (["h = f16[2] convert(m)", "n = TYPE[2] convert(h)"], False),
    ],
)
def test_a_product_that_is_converted_to_its_own_type_may_be_added_before_it_is_rounded(between, is_open):
    last = "n" if between else "m"
    parameters = [f"{name} = TYPE[2] parameter({number})" for number, name in enumerate("xyz")]
    lines = [*parameters, "m = TYPE[2] multiply(x, y)", *between, f"ROOT r = TYPE[2] add({last}, z)"]
    inputs = [np.array(numbers, np.float32) for numbers in ([3e38, 1], [2, 1], [-3e38, 1])]
    (result,) = wide(*(line.replace("TYPE", "f32") for line in lines), inputs=inputs)
    assert list(np.isinf(result.bound)) == [is_open, False]
