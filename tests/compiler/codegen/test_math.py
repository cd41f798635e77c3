from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from compiler.codegen import llvm, math
from compiler.codegen.llvm_ir import Builder, Module, Value
from compiler.diagnostics import UnsupportedError
from tests.compiler.codegen import math_kernel, math_truth

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
    operands = math_truth.f32_operands(opcode, generator)
    result = math_kernel.apply(opcode, "float", *operands)
    truth = math_truth.NUMPY[opcode](*(x.astype(np.float64) for x in operands))
    assert math_kernel.ulp_errors(result, truth).max() <= math.FUNCTIONS[opcode].ulp_f32 + 1e-6


@pytest.mark.parametrize("opcode", math.FUNCTIONS)
def test_f64_results_are_within_the_bound(opcode: str, generator: np.random.Generator) -> None:
    operands = math_truth.f64_operands(opcode, generator)
    result = math_kernel.apply(opcode, "double", *operands)
    head, tail = math_truth.exact(opcode, operands)
    assert math_kernel.ulp_errors(result, head, tail).max() <= math.FUNCTIONS[opcode].ulp_f64 + 1e-6


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("opcode", UNARY)
def test_special_values_are_exact(opcode: str, type_: str) -> None:
    dtype = math_kernel.DTYPES[type_]
    zeros = [(0.0, 0.0), (-0.0, -0.0)] if opcode in ODD else []
    pairs = [(NAN, NAN), *SPECIAL[opcode], *zeros]
    arguments, expected = np.array(pairs, dtype).T
    assert_same_bits(math_kernel.apply(opcode, type_, arguments), expected)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("opcode", [opcode for opcode in ODD if opcode != "cbrt"])
def test_denormals_near_which_a_function_is_the_identity_pass_through(opcode: str, type_: str) -> None:
    info = np.finfo(math_kernel.DTYPES[type_])
    x = np.arange(-5, 6, dtype=info.dtype) * info.smallest_subnormal
    x = np.concatenate([x[x != 0], [info.tiny, -info.tiny / 2]])
    factor = 2 / np.sqrt(np.pi) if opcode == "erf" else 1.0
    units = np.rint((x / info.smallest_subnormal).astype(np.float64) * factor)
    result = math_kernel.apply(opcode, type_, x) / info.smallest_subnormal
    assert np.abs(result - units).max() <= (np.spacing(info.tiny) / info.smallest_subnormal if opcode == "erf" else 0)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("opcode", ["power", "atan2"])
def test_binary_functions_agree_with_c99_on_all_pairs_of_special_values(opcode: str, type_: str) -> None:
    info = np.finfo(math_kernel.DTYPES[type_])
    magnitudes = [0, 1, 2, 3, 0.5, INF, info.max, info.tiny, info.smallest_subnormal, 1 + info.eps, 1 - info.epsneg]
    values = [NAN, *magnitudes, *(-value for value in map(float, magnitudes))]
    x, y = np.array(list(itertools.product(values, values)), info.dtype).T
    result = math_kernel.apply(opcode, type_, x, y)
    truth = math_truth.NUMPY[opcode](x.astype(np.float64), y.astype(np.float64))
    # NumPy's own rounding of doubles counts once more.
    assert math_kernel.ulp_errors(result, truth).max() <= math.FUNCTIONS[opcode].ulp_f32 + (type_ == "double")
    zero = truth == 0
    assert_same_bits(result[zero], truth[zero])


@pytest.mark.parametrize("type_", TYPES)
def test_bounded_functions_stay_within_their_range(type_: str, generator: np.random.Generator) -> None:
    x = np.concatenate([generator.normal(size=50_000) * 20, np.linspace(-20, 20, 50_001)])
    for opcode, low in {"tanh": -1, "erf": -1, "sine": -1, "cosine": -1, "logistic": 0}.items():
        result = math_kernel.apply(opcode, type_, x)
        assert low <= result.min()
        assert result.max() <= 1


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("opcode", math.FUNCTIONS)
def test_a_loop_over_a_function_vectorises_and_calls_nothing(opcode: str, type_: str) -> None:
    target = llvm.Target.host()
    module = llvm.parse(str(math_kernel.loop_module(opcode, type_)), target, 3)
    llvm.optimise(module, target, 3)
    text = str(module)
    # A last operation on the bits makes LLVM store integers.
    assert re.search(rf"store <\d+ x (?:{type_}|{'i32' if type_ == 'float' else 'i64'})>", text)
    assert not re.findall(r"call [^\n]*@(?!llvm\.)", text)
    assert not re.findall(r"^\s+(?:callq?|bl)\s", llvm.assembly(module, target, 3), re.MULTILINE)


def _ptx(opcode: str, type_: str) -> str:
    target = llvm.Target.nvptx()
    module = llvm.parse(str(math_kernel.loop_module(opcode, type_)), target, 3)
    llvm.optimise(module, target, 3)
    return llvm.assembly(module, target, 3)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("opcode", math.FUNCTIONS)
def test_ptx_has_nothing_external_no_approximation_and_no_licence_to_fuse(opcode: str, type_: str) -> None:
    ptx = _ptx(opcode, type_)
    assert ".extern" not in ptx
    assert not re.findall(r"\.(?:approx|full|ftz)\b|(?:add|sub|mul)\.f(?:32|64)\b", ptx)


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
    scalars = math_kernel.apply(opcode, "float", *operands)
    assert_same_bits(math_kernel.apply(opcode, "<16 x float>", *operands), scalars)


def test_the_window_table_refuses_vectors_of_doubles() -> None:
    with pytest.raises(UnsupportedError, match="lane by lane"):
        math_kernel.loop_module("sine", "<8 x double>")


def test_an_unknown_function_names_the_known_ones() -> None:
    builder = Builder(Module().function("caller", "float", [("float", "x")]))
    with pytest.raises(UnsupportedError, match=r"acos, acosh, .*tanh"):
        math.emit(builder, "digamma", [Value("float", "%x")])


def test_a_half_is_refused_with_the_remedy() -> None:
    builder = Builder(Module().function("caller", "half", [("half", "x")]))
    with pytest.raises(UnsupportedError, match="convert to float or double"):
        math.emit(builder, "tanh", [Value("half", "%x")])
