"""Every math function on this machine, against more digits than it has, and on its special values.

What runs is a loop over arrays that calls one function, compiled as kernels are.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import itertools
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.special
from exact_functions import exact

from compiler.codegen import llvm, math
from compiler.codegen.llvm_ir import I64, PTR, Builder, Module, Value, element_of, integer
from compiler.codegen.math import term
from compiler.diagnostics import UnsupportedError
from xlabench.fuzzing.causes import share_steps

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, on the special values
NAN, INF = np.nan, np.inf
TYPES = ("float", "double")
UNARY = [opcode for opcode, function in math.FUNCTIONS.items() if function.arity == 1]
ODD = ("tanh", "erf", "sinh", "asinh", "atanh", "asin", "sine", "tan", "cbrt", "exponential-minus-one", "log-plus-one")
# argument -> result, to the bit, in either format
SPECIAL: dict[str, tuple[tuple[float, float], ...]] = {
    "exponential": ((0, 1), (-0.0, 1), (INF, INF), (-INF, 0), (1e4, INF), (-1e4, 0)),
    "exponential-minus-one": ((INF, INF), (-INF, -1), (1e4, INF), (-1e4, -1)),
    "log": ((0, -INF), (-0.0, -INF), (1, 0), (-1, NAN), (INF, INF), (-INF, NAN)),
    "log-plus-one": ((-1, -INF), (-2, NAN), (INF, INF), (-INF, NAN)),
    "tanh": ((INF, 1), (-INF, -1), (100, 1), (-100, -1)),
    "logistic": ((0, 0.5), (INF, 1), (-INF, 0), (1e4, 1), (-1e4, 0)),
    "sinh": ((INF, INF), (-INF, -INF), (1e4, INF), (-1e4, -INF)),
    "cosh": ((0, 1), (-0.0, 1), (INF, INF), (-INF, INF), (1e4, INF), (-1e4, INF)),
    "asinh": ((INF, INF), (-INF, -INF)),
    "acosh": ((1, 0), (0.5, NAN), (-2, NAN), (INF, INF), (-INF, NAN)),
    "atanh": ((1, INF), (-1, -INF), (1.5, NAN), (-1e30, NAN), (INF, NAN)),
    "sine": ((INF, NAN), (-INF, NAN)),
    "cosine": ((0, 1), (-0.0, 1), (INF, NAN), (-INF, NAN)),
    "tan": ((INF, NAN), (-INF, NAN)),
    "asin": ((1.5, NAN), (-INF, NAN)),
    "acos": ((1, 0), (1.5, NAN), (INF, NAN)),
    "erf": ((INF, 1), (-INF, -1), (10, 1), (-10, -1)),
    "sqrt": ((0, 0), (-0.0, -0.0), (4, 2), (-1, NAN), (INF, INF), (-INF, NAN)),
    "rsqrt": ((0, INF), (-0.0, -INF), (4, 0.5), (-1, NAN), (INF, 0)),
    "cbrt": ((INF, INF), (-INF, -INF), (1, 1), (-8, -2)),
}


def _rsqrt(x: np.ndarray) -> np.ndarray:
    return 1 / np.sqrt(x)


NUMPY: dict[str, Callable[..., np.ndarray]] = {
    "exponential": np.exp,
    "exponential-minus-one": np.expm1,
    "log": np.log,
    "log-plus-one": np.log1p,
    "tanh": np.tanh,
    "logistic": scipy.special.expit,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sine": np.sin,
    "cosine": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan2": np.arctan2,
    "erf": scipy.special.erf,
    "sqrt": np.sqrt,
    "rsqrt": _rsqrt,
    "cbrt": np.cbrt,
    "power": np.power,
}
# Where a function of doubles is real and finite.
_DOMAINS = {
    "log": (0, np.inf),
    "log-plus-one": (-1, np.inf),
    "acosh": (1, np.inf),
    "atanh": (-1, 1),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "sqrt": (0, np.inf),
    "rsqrt": (0, np.inf),
    "exponential": (-760, 709.7),
    "exponential-minus-one": (-800, 709.7),
    "logistic": (-745, 800),
    "sinh": (-710.4, 710.4),
    "cosh": (-710.4, 710.4),
    "tanh": (-30, 30),
    "erf": (-7, 7),
}
_INTERVALS = [(0, 2), (0, 20), (0, 110), (0, 1e-4), (1, 1e-3), (-1, 1e-3), (1, 0.6), (-1, 0.6), (88.7, 0.1), (-87.4, 1)]
# Of all doubles the one nearest to a multiple of pi/2.
_HARDEST_ANGLE = 6381956970095103.0 * 2.0**797


def f32_operands(opcode: str, generator: np.random.Generator) -> list[np.ndarray]:
    """All exponents of both signs, dense samples where something happens, and multiples of pi/2 and ln2."""
    bits = generator.integers(0, 2**32, 150_000, dtype=np.uint64).astype(np.uint32)
    dense = [centre + width * generator.uniform(-1, 1, 8_000) for centre, width in [*_INTERVALS, (-103.5, 1)]]
    turns = np.concatenate([np.arange(1, 5_000), generator.integers(5_000, 90_000, 5_000)])
    multiples = [turns * (np.pi / 2), np.arange(-150, 150) * np.log(2)]
    x = np.concatenate([bits.view(np.float32), *(part.astype(np.float32) for part in dense + multiples)])
    if opcode == "atan2":
        fast = x * np.exp(3 * generator.normal(size=x.size)) * generator.choice([-1, 1], x.size)
        return [np.concatenate([x, x]), np.concatenate([generator.permutation(x), fast.astype(np.float32)])]
    if opcode == "power":
        base = np.abs(x)
        spread = generator.uniform(-155, 133, x.size) / np.log2(base.astype(np.float64))
        return [np.concatenate([x, base]), np.concatenate([generator.permutation(x), spread.astype(np.float32)])]
    return [x]


def f64_operands(opcode: str, generator: np.random.Generator) -> list[np.ndarray]:
    """About two thousand doubles in the function's domain."""
    count = 600
    signs = generator.choice([-1, 1], 2 * count)
    exponents = [generator.integers(-1074, 1024, count), generator.integers(-40, 12, count)]
    spread = np.ldexp(generator.uniform(1, 2, 2 * count), np.concatenate(exponents)) * signs
    low, high = _DOMAINS.get(opcode, (-np.inf, np.inf))
    widest = max(abs(low), abs(high)) if np.isfinite(high - low) else 700
    dense = [centre + width * generator.uniform(-1, 1, 100) for centre, width in [*_INTERVALS[:8], (0, widest)]]
    turns = np.concatenate([np.arange(1, 100), generator.integers(100, 700_000, 100)])
    x = np.concatenate([spread, *dense, turns * (np.pi / 2), [_HARDEST_ANGLE]])
    x = x[(x > low) & (x < high)]
    if opcode == "atan2":
        fast = x * np.exp(3 * generator.normal(size=x.size)) * generator.choice([-1, 1], x.size)
        return [x, np.where(generator.random(x.size) < 0.5, fast, generator.permutation(x))]
    if opcode == "power":
        base = np.abs(x)
        return [base, generator.uniform(-1077, 1024, x.size) / np.log2(base)]
    return [x]


DTYPES = {"float": np.dtype(np.float32), "double": np.dtype(np.float64)}


def loop_module(opcode: str, type_: str, *, fast: bool = False) -> Module:
    """`kernel(x, [y,] out, n)`: the function, or its form for small arguments, applied to every element."""
    module = Module()
    arity, align = math.FUNCTIONS[opcode].arity, DTYPES[element_of(type_)].itemsize
    pointers = [(f"{PTR} noalias", f"p{index}") for index in range(arity + 1)]
    kernel = module.function("kernel", "void", [*pointers, (I64, "n")])
    builder = Builder(kernel)
    *arrays, result = (Value(PTR, f"%p{index}") for index in range(arity + 1))
    with builder.loop(integer(0), Value(I64, "%n")) as loop:
        addresses = [builder.gep(type_, array, loop.index) for array in arrays]
        operands = [builder.load(type_, address, align=align) for address in addresses]
        value = math.emit(builder, opcode, operands, fast=fast)
        builder.store(value, builder.gep(type_, result, loop.index), align=align)
    builder.ret()
    return module


@functools.cache
def _compiled(opcode: str, type_: str, *, fast: bool) -> tuple[llvm.Library, ctypes._CFuncPtr]:
    target = llvm.Target.host()
    module = llvm.parse(str(loop_module(opcode, type_, fast=fast)), target, 3)
    llvm.optimise(module, target, 3)
    library = llvm.Library(module, ["kernel"], target, 3)
    arguments = [ctypes.c_void_p] * (math.FUNCTIONS[opcode].arity + 1)
    return library, library.function("kernel", None, *arguments, ctypes.c_int64)


def apply(opcode: str, type_: str, *operands: np.ndarray, fast: bool = False) -> np.ndarray:
    """The function of every element, computed by our code on this machine; vectors must fill the arrays."""
    operands = tuple(np.ascontiguousarray(operand, DTYPES[element_of(type_)]) for operand in operands)
    result = np.empty_like(operands[0])
    lanes = 1 if type_ in DTYPES else int(type_[1 : type_.index(" ")])
    _, function = _compiled(opcode, type_, fast=fast)
    function(*(array.ctypes.data for array in (*operands, result)), result.size // lanes)
    return result


def ulp_errors(result: np.ndarray, truth: np.ndarray, tail: np.ndarray | float = 0.0) -> np.ndarray:
    """Distances of the results from `truth + tail` in units of the last place of the truth, denormals' own included."""
    info = np.finfo(result.dtype)
    with np.errstate(all="ignore"):
        wide = truth.astype(np.float64)
        _, exponent = np.frexp(np.where(np.isfinite(wide), wide, 0))
        unit = np.ldexp(1.0, np.maximum(exponent - 1, info.minexp) - info.nmant)
        errors = np.abs((result.astype(np.float64) - wide) - tail) / unit
        # Beyond half a unit above the largest number, and only there, infinity is the right result.
        rounded = wide.astype(result.dtype)
        same = (np.isnan(result) & np.isnan(wide)) | (np.isinf(result) & (result == rounded))
        barely = np.isinf(result) & (np.abs(rounded) == info.max) & (np.sign(result) == np.sign(wide))
        errors = np.where(same, 0.0, np.where(barely, 1.0, errors))
    return np.where(np.isnan(errors), np.inf, errors)


@pytest.fixture
def generator() -> np.random.Generator:
    return np.random.default_rng(20)


def assert_same_bits(result: np.ndarray, expected: np.ndarray) -> None:
    """Equal values and signs of zero; every NaN equals every other one."""
    np.testing.assert_array_equal(result, expected)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(result[zero]), np.signbit(expected[zero]))


@pytest.mark.parametrize("opcode", math.FUNCTIONS)
def test_f32_results_are_within_the_bound(opcode: str, generator: np.random.Generator) -> None:
    operands = f32_operands(opcode, generator)
    result = apply(opcode, "float", *operands)
    truth = NUMPY[opcode](*(x.astype(np.float64) for x in operands))
    assert ulp_errors(result, truth).max() <= math.FUNCTIONS[opcode].ulp_f32 + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("opcode", math.FUNCTIONS)
def test_f64_results_are_within_the_bound(opcode: str, generator: np.random.Generator) -> None:
    operands = f64_operands(opcode, generator)
    result = apply(opcode, "double", *operands)
    head, tail = exact(opcode, operands)
    assert ulp_errors(result, head, tail).max() <= math.FUNCTIONS[opcode].ulp_f64 + 1e-6


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("opcode", [opcode for opcode, function in math.FUNCTIONS.items() if function.fast])
def test_the_form_for_small_arguments_gives_the_same_bits(
    opcode: str, type_: str, generator: np.random.Generator
) -> None:
    limit = math.fast_limit(opcode, type_)
    if limit is None:
        pytest.skip(f"{opcode} of {type_} has one form")
    x = (f32_operands if type_ == "float" else f64_operands)(opcode, generator)[0].astype(DTYPES[type_])
    x = np.concatenate([x[np.abs(x) < limit], np.nextafter(np.array([limit, -limit], x.dtype), x.dtype.type(0))])

    assert x.size > 1000
    assert apply(opcode, type_, x, fast=True).tobytes() == apply(opcode, type_, x).tobytes()


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("opcode", UNARY)
def test_special_values_are_exact(opcode: str, type_: str) -> None:
    dtype = DTYPES[type_]
    zeros = [(0.0, 0.0), (-0.0, -0.0)] if opcode in ODD else []
    pairs = [(NAN, NAN), *SPECIAL[opcode], *zeros]
    arguments, expected = np.array(pairs, dtype).T
    assert_same_bits(apply(opcode, type_, arguments), expected)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("opcode", [opcode for opcode in ODD if opcode != "cbrt"])
def test_denormals_near_which_a_function_is_the_identity_pass_through(opcode: str, type_: str) -> None:
    info = np.finfo(DTYPES[type_])
    x = np.arange(-5, 6, dtype=info.dtype) * info.smallest_subnormal
    x = np.concatenate([x[x != 0], [info.tiny, -info.tiny / 2]])
    factor = 2 / np.sqrt(np.pi) if opcode == "erf" else 1.0
    units = np.rint((x / info.smallest_subnormal).astype(np.float64) * factor)
    result = apply(opcode, type_, x) / info.smallest_subnormal
    assert np.abs(result - units).max() <= (np.spacing(info.tiny) / info.smallest_subnormal if opcode == "erf" else 0)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("opcode", ["power", "atan2"])
def test_binary_functions_agree_with_c99_on_all_pairs_of_special_values(opcode: str, type_: str) -> None:
    info = np.finfo(DTYPES[type_])
    magnitudes = [0, 1, 2, 3, 0.5, INF, info.max, info.tiny, info.smallest_subnormal, 1 + info.eps, 1 - info.epsneg]
    values = [NAN, *magnitudes, *(-value for value in map(float, magnitudes))]
    x, y = np.array(list(itertools.product(values, values)), info.dtype).T
    result = apply(opcode, type_, x, y)
    truth = NUMPY[opcode](x.astype(np.float64), y.astype(np.float64))
    # NumPy's own rounding of doubles counts once more.
    assert ulp_errors(result, truth).max() <= math.FUNCTIONS[opcode].ulp_f32 + (type_ == "double")
    zero = truth == 0
    assert_same_bits(result[zero], truth[zero])


@pytest.mark.parametrize("type_", TYPES)
def test_bounded_functions_stay_within_their_range(type_: str, generator: np.random.Generator) -> None:
    x = np.concatenate([generator.normal(size=50_000) * 20, np.linspace(-20, 20, 50_001)])
    for opcode, low in {"tanh": -1, "erf": -1, "sine": -1, "cosine": -1, "logistic": 0}.items():
        result = apply(opcode, type_, x)
        assert low <= result.min()
        assert result.max() <= 1


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("opcode", math.FUNCTIONS)
def test_a_loop_over_a_function_vectorises_and_calls_nothing(opcode: str, type_: str) -> None:
    target = llvm.Target.host()
    module = llvm.parse(str(loop_module(opcode, type_)), target, 3)
    llvm.optimise(module, target, 3)
    text = str(module)
    # A last operation on the bits makes LLVM store integers.
    assert re.search(rf"store <\d+ x (?:{type_}|{'i32' if type_ == 'float' else 'i64'})>", text)
    assert not re.findall(r"call [^\n]*@(?!llvm\.)", text)
    assert not re.findall(r"^\s+(?:callq?|bl)\s", llvm.assembly(module, target, 3), re.MULTILINE)


def _ptx(opcode: str, type_: str) -> str:
    target = llvm.Target.nvptx()
    module = llvm.parse(str(loop_module(opcode, type_)), target, 3)
    llvm.optimise(module, target, 3)
    return llvm.assembly(module, target, 3)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("opcode", math.FUNCTIONS)
def test_ptx_has_nothing_external_no_approximation_and_no_licence_to_fuse(opcode: str, type_: str) -> None:
    ptx = _ptx(opcode, type_)
    assert ".extern" not in ptx
    assert not re.findall(r"\.(?:approx|full|ftz)\b|(?:add|sub|mul)\.f(?:32|64)\b", ptx)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas is not installed")
@pytest.mark.parametrize("type_", TYPES)
def test_ptx_assembles(type_: str, tmp_path: Path) -> None:
    for opcode in math.FUNCTIONS:
        source = tmp_path / f"{opcode}.ptx"
        source.write_text(_ptx(opcode, type_))
        command = ["ptxas", "-arch=sm_90", "-c", "-o", str(tmp_path / "out.cubin"), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_function_is_defined_once_in_a_module() -> None:
    module = Module()
    builder = Builder(module.function("caller", "float", [("float", "x")]))
    once = math.emit(builder, "tanh", [Value("float", "%x")])
    builder.ret(math.emit(builder, "tanh", [once]))
    assert [function.name for function in module.functions] == ["caller", "math.tanh.f32"]


@pytest.mark.parametrize("opcode", math.FUNCTIONS)
def test_vectors_give_the_same_bits_as_scalars(opcode: str, generator: np.random.Generator) -> None:
    operands = [generator.normal(size=160).astype(np.float32) * 3 for _ in range(math.FUNCTIONS[opcode].arity)]
    scalars = apply(opcode, "float", *operands)
    assert_same_bits(apply(opcode, "<16 x float>", *operands), scalars)


def test_the_window_table_refuses_vectors_of_doubles() -> None:
    with pytest.raises(UnsupportedError, match="lane by lane"):
        loop_module("sine", "<8 x double>")


def test_an_unknown_function_names_the_known_ones() -> None:
    builder = Builder(Module().function("caller", "float", [("float", "x")]))
    with pytest.raises(UnsupportedError, match=r"acos, acosh, .*tanh"):
        math.emit(builder, "digamma", [Value("float", "%x")])


def test_a_half_is_refused_with_the_remedy() -> None:
    builder = Builder(Module().function("caller", "half", [("half", "x")]))
    with pytest.raises(UnsupportedError, match="convert to float or double"):
        math.emit(builder, "tanh", [Value("half", "%x")])


def _steps(function):
    """The functions of this package that one calls, and those that these call, but for what is done to terms."""
    found, waiting = set(), [function]
    while waiting:
        one = waiting.pop()
        if inspect.isfunction(one) and one not in found and one.__module__.startswith(f"{math.__name__}."):
            found.add(one)
            called = [one.__globals__.get(name) for name in one.__code__.co_names]
            modules = [value for value in called if inspect.ismodule(value)]
            waiting += called + [getattr(module, name, None) for module in modules for name in one.__code__.co_names]
    return {one for one in found if one.__module__ != term.__name__}


@pytest.mark.parametrize("name", math.FUNCTIONS)
def test_functions_that_call_the_same_steps_are_said_to_share_them(name):
    own = _steps(math.FUNCTIONS[name].emitter)
    calling = {other for other, function in math.FUNCTIONS.items() if not own.isdisjoint(_steps(function.emitter))}
    assert all(share_steps(name, other) for other in calling)
    assert len(calling) > 1 or not any(share_steps(name, other) for other in math.FUNCTIONS.keys() - {name})
