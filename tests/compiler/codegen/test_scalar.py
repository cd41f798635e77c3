"""Every elementwise opcode on every type that it takes, on special values, natively against the interpreter."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import compiler
from compiler import CompileOptions
from compiler.codegen import scalar
from compiler.codegen.scalar import complex_functions
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.shape import ArrayShape
from compiler.ir.types import F8E8M0, S32, TYPES, ElementType, Kind
from compiler.ops import OPS
from compiler.ops.build import build, parameter

Array = np.ndarray[Any, np.dtype[Any]]
CONVERTED = [t for t in TYPES.values() if t.kind is not Kind.OPAQUE]
OPERAND_TYPES = (
    "pred",
    "s4",
    "u4",
    "s8",
    "u8",
    "s16",
    "u16",
    "s32",
    "u32",
    "s64",
    "u64",
    "f8e4m3fn",
    "f8e8m0fnu",
    "bf16",
    "f16",
    "f32",
    "f64",
)
NOT_HERE = {"convert", "complex", "select", "compare", "stochastic-convert", "reduce-precision"}
FLOATS = (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 0.1, -0.7, 1e-3, 1e-40, -1e-40, 5e-324, 1e-8, 123.456, -87.3,
    88.8, 1e4, 65504.0, 65520.0, -1e30, 3.4e38, 2147483648.0, 9.3e18, np.pi, np.inf, -np.inf, np.nan,
)  # fmt: skip
# What numpy itself gets only nearly right, or where libraries differ by a unit.
MOST_ULPS = 4


def specials(element_type: ElementType) -> Array:
    """Values at the edges of a type, and ordinary ones."""
    if element_type.kind is Kind.PRED:
        return np.array([False, True])
    if element_type.is_complex:
        parts = (0.0, -0.0, 1.0, -1.5, 0.3, 1e-6, 20.0, -40.0)
        return np.array([complex(a, b) for a in parts for b in parts]).astype(element_type.dtype)
    if element_type.is_float:
        with np.errstate(all="ignore"):
            return np.array(FLOATS).astype(element_type.dtype)
    bits = element_type.bits
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if element_type.is_signed else (0, (1 << bits) - 1)
    numbers = {low, low + 1, high, high - 1, 0, 1, 2, 3, 5, bits - 1, bits, bits + 1, -1, -2, -3, high // 3, low // 3}
    kept = sorted(n for n in numbers if low <= n <= high)
    return np.array(kept, np.uint64 if high > np.iinfo(np.int64).max else np.int64).astype(element_type.dtype)


def operands(element_type: ElementType, arity: int) -> list[Array]:
    """All combinations of special values."""
    values = specials(element_type)
    if arity == 3:
        values = values[:: max(1, len(values) // 9)]
    columns = np.meshgrid(*[np.arange(len(values))] * arity, indexing="ij")
    return [values[column.reshape(-1)] for column in columns]


def module_of(instruction_of: Any, inputs: list[Array], types: list[ElementType]) -> Module:
    """A module of one instruction on parameters."""
    module, computation = Module("m"), Computation("e")
    module.add_computation(computation)
    module.entry = computation
    made = [
        parameter(computation, number, ArrayShape(type_, value.shape))
        for number, (value, type_) in enumerate(zip(inputs, types, strict=True))
    ]
    computation.root = instruction_of(computation, made)
    return module


def cases() -> Iterator[Any]:
    for opcode, name in itertools.product(sorted(set(scalar.RULES) & set(OPS) - NOT_HERE), OPERAND_TYPES):
        arity = OPS[opcode].operands[0]
        if accepts(opcode, TYPES[name], arity):
            yield pytest.param(opcode, TYPES[name], arity, id=f"{opcode}-{name}")


@functools.cache
def accepts(opcode: str, element_type: ElementType, arity: int) -> bool:
    try:
        shape = ArrayShape(element_type, (1,))
        OPS[opcode].infer(Instruction(opcode, shape, [Instruction("parameter", shape) for _ in range(arity)]))
    except compiler.CompilerError:
        return False
    return True


def run_both(module: Module, inputs: list[Array]) -> tuple[Array, Array]:
    (expected,) = compiler.interpret(module, *inputs)
    (actual,) = compiler.compile(module, "cpu", CompileOptions(threads=1, opt=1))(*inputs)
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    return expected, actual


def assert_same(expected: Array, actual: Array, inputs: list[Array]) -> None:
    """Equal to the bit, but for the bits of NaN."""
    if np.issubdtype(expected.dtype, np.inexact) or expected.dtype.name.startswith(("bfloat", "float")):
        nan = np.isnan(expected)
        same = (nan & np.isnan(actual)) | (bits_of(expected) == bits_of(actual))
    else:
        same = expected.astype(np.int8) == actual.astype(np.int8) if expected.dtype.kind == "V" else expected == actual
    wrong = np.flatnonzero(~same)[:5]
    assert not wrong.size, [([str(i[w]) for i in inputs], str(expected[w]), str(actual[w])) for w in wrong]


def bits_of(value: Array) -> Array:
    return value.view(f"u{value.dtype.itemsize}") if value.dtype.kind != "c" else value


def assert_near(expected: Array, actual: Array, inputs: list[Array], ulps: int) -> None:
    """As NaN, infinite or zero as expected, and otherwise within units in the last place."""
    wide, got = expected.astype(np.float64), actual.astype(np.float64)
    unit = spacing(expected)
    with np.errstate(all="ignore"):
        near = (wide == got) | (np.isnan(wide) & np.isnan(got)) | (np.abs(wide - got) <= ulps * unit)
    if expected.dtype == F8E8M0.dtype:  # it has no zero: what stands for one is open
        near |= (wide == float(np.finfo(np.float32).tiny) / 2) & np.isnan(got)
    wrong = np.flatnonzero(~near)[:5]
    assert not wrong.size, [([str(i[w]) for i in inputs], str(expected[w]), str(actual[w])) for w in wrong]


def spacing(value: Array) -> Array:
    with np.errstate(all="ignore"):
        if value.dtype.kind == "f":
            return np.abs(np.spacing(np.abs(value))).astype(np.float64)
        return np.maximum(np.abs(value.astype(np.float64)) / 2.0**7, 1e-40)


@pytest.mark.parametrize(("opcode", "element_type", "arity"), list(cases()))
def test_an_opcode_means_what_the_interpreter_says(opcode: str, element_type: ElementType, arity: int) -> None:
    inputs = operands(element_type, arity)
    module = module_of(lambda computation, made: build(computation, opcode, made), inputs, [element_type] * arity)
    expected, actual = run_both(module, inputs)
    if opcode in scalar.APPROXIMATE and element_type.is_float:
        assert_near(expected, actual, inputs, MOST_ULPS)
    else:
        assert_same(expected, actual, inputs)


@pytest.mark.slow
@pytest.mark.parametrize("source", CONVERTED, ids=str)
def test_conversions_round_saturate_and_wrap(source: ElementType) -> None:
    value = specials(source)
    module = module_of(
        lambda computation, made: build(
            computation,
            "tuple",
            [build(computation, "convert", made, shape=ArrayShape(t, value.shape)) for t in CONVERTED],
        ),
        [value],
        [source],
    )
    results = zip(
        CONVERTED,
        compiler.interpret(module, value),
        compiler.compile(module, "cpu", CompileOptions(threads=1, opt=1))(value),
        strict=True,
    )
    for target, expected, actual in results:
        assert expected.dtype == actual.dtype == target.dtype
        assert_same(expected, actual, [value])


@pytest.mark.parametrize("element_type", [t for t in CONVERTED if t.is_float and t.bits <= 8], ids=str)
def test_every_minifloat_survives_and_every_float_rounds_to_one(element_type: ElementType) -> None:
    codes = np.arange(1 << element_type.bits, dtype=np.uint8).view(element_type.dtype)
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        exact = codes.astype(np.float32)
        finite = exact[np.isfinite(exact)]
        between = (finite[:, None] * np.float32([0.99, 1.01, 1.03125, 1.0625, 1.125, 1.25, 1.5])).reshape(-1)
        floats = np.concatenate([exact, between, rng.standard_normal(500).astype(np.float32) * 4, np.float32(FLOATS)])
    for value, source, target in ((codes, element_type, TYPES["f32"]), (floats, TYPES["f32"], element_type)):
        shape = ArrayShape(target, value.shape)
        module = module_of(lambda c, made, shape=shape: build(c, "convert", made, shape=shape), [value], [source])
        expected, actual = run_both(module, [value])
        assert_same(expected, actual, [value])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["s32", "u32", "s64", "u64"])
def test_integers_are_rounded_once_to_narrow_floats(name: str) -> None:
    source = TYPES[name]
    limits = np.iinfo(source.dtype)
    near = np.arange(max(-70_000, limits.min), 140_000, 7)
    far = np.random.default_rng(0).integers(limits.min, limits.max, 500, dtype=source.dtype, endpoint=True)
    ends = np.array([limits.min, limits.max], source.dtype)
    value = np.concatenate([near.astype(source.dtype), far, ends])
    targets = [t for t in CONVERTED if t.is_float and t.bits <= 16]

    def body(computation: Any, made: Any) -> Any:
        shapes = [ArrayShape(target, value.shape) for target in targets]
        return build(computation, "tuple", [build(computation, "convert", made, shape=shape) for shape in shapes])

    module = module_of(body, [value], [source])
    results = compiler.compile(module, "cpu", CompileOptions(threads=1))(value)
    for expected, actual in zip(compiler.interpret(module, value), results, strict=True):
        assert_same(expected, actual, [value])


@pytest.mark.parametrize("element_type", [t for t in CONVERTED if t.is_float and t.bits <= 8], ids=str)
def test_what_moves_minifloats_keeps_every_code(element_type: ElementType) -> None:
    codes = np.arange(1 << element_type.bits, dtype=np.uint8).view(element_type.dtype)
    module = module_of(lambda c, made: build(c, "reverse", made, dimensions=(0,)), [codes], [element_type])
    (moved,) = compiler.compile(module, "cpu")(codes)
    assert moved.tobytes() == codes[::-1].tobytes()


@pytest.mark.parametrize("direction", ["EQ", "NE", "LT", "LE", "GT", "GE"])
@pytest.mark.parametrize("name", OPERAND_TYPES)
def test_comparisons_order_nan_and_zeros(name: str, direction: str) -> None:
    element_type = TYPES[name]
    inputs = operands(element_type, 2)
    for order in (None, "TOTALORDER") if element_type.is_float and element_type.bits > 8 else (None,):
        attributes = {"direction": direction} | ({"type": order} if order else {})
        module = module_of(
            lambda c, made, attributes=attributes: build(c, "compare", made, **attributes), inputs, [element_type] * 2
        )
        assert_same(*run_both(module, inputs), inputs)


@pytest.mark.parametrize("name", [*OPERAND_TYPES, "c64", "c128"])
def test_select_takes_whole_values(name: str) -> None:
    left, right = operands(TYPES[name], 2)
    choice = np.arange(left.size) % 3 == 0
    inputs = [choice, left, right]
    module = module_of(lambda c, made: build(c, "select", made), inputs, [TYPES["pred"], TYPES[name], TYPES[name]])
    assert_same(*run_both(module, inputs), inputs)


FORMATS = [(8, 7), (5, 10), (5, 2), (4, 3), (8, 0), (2, 0), (11, 52), (1, 5)]


@pytest.mark.parametrize(("exponent", "mantissa"), FORMATS)
@pytest.mark.parametrize("name", ["bf16", "f16", "f32", "f64", "f8e5m2fnuz"])
def test_reduce_precision_rounds_to_nearest_even(name: str, exponent: int, mantissa: int) -> None:
    value = specials(TYPES[name])
    module = module_of(
        lambda c, made: build(c, "reduce-precision", made, exponent_bits=exponent, mantissa_bits=mantissa),
        [value],
        [TYPES[name]],
    )
    assert_same(*run_both(module, [value]), [value])


@pytest.mark.parametrize("target", ["s8", "u8", "s32", "f16"])
def test_stochastic_convert_goes_by_the_random_bits(target: str) -> None:
    value, random = (
        column.reshape(-1)
        for column in np.meshgrid(np.float32(FLOATS), np.uint32([0, 1 << 30, 1 << 31, -1 & 0xFFFFFFFF]))
    )
    shape = ArrayShape(TYPES[target], value.shape)
    module = module_of(
        lambda c, made: build(c, "stochastic-convert", made, shape=shape), [value, random], [TYPES["f32"], TYPES["u32"]]
    )
    assert_same(*run_both(module, [value, random]), [value, random])


@pytest.mark.parametrize(("source", "bits"), [("f16", "u16"), ("bf16", "u16"), ("f32", "u32"), ("f64", "u64")])
def test_bits_that_are_next_to_a_fraction_are_told_apart(source: str, bits: str) -> None:
    half = 1 << TYPES[bits].bits - 1
    value = np.array([3.5, 3.5, -3.5, -3.5], TYPES[source].dtype)
    random = np.array([half - 1, half, half - 1, half], TYPES[bits].dtype)
    shape = ArrayShape(S32, value.shape)
    module = module_of(
        lambda c, made: build(c, "stochastic-convert", made, shape=shape), [value, random], [TYPES[source], TYPES[bits]]
    )
    for result in run_both(module, [value, random]):
        assert result.tolist() == [4, 3, -4, -3]


COMPLEX_OPCODES = sorted({*complex_functions.EXACT, *complex_functions.WIDE, "abs", "real", "imag"})


def of_complex(opcode: str, name: str) -> list[Array]:
    """The operands of an opcode on complex numbers."""
    inputs = operands(TYPES[name], OPS[opcode].operands[0])
    if opcode == "atan2":
        # Which side of the cut a result is on hangs on the sign of a zero that rounding makes.
        off_the_cut = inputs[1].real > 0.1
        inputs = [value[off_the_cut] for value in inputs]
    return inputs


def assert_near_as_complex(expected: Array, actual: Array, inputs: list[Array], opcode: str) -> None:
    """Within some units of the number's size."""
    # An error in the logarithm of a power is multiplied by the exponent.
    unit = np.finfo(expected.dtype).eps * (1024 if opcode == "power" else 16)
    with np.errstate(all="ignore"):
        size = np.abs(expected) + (1.0 if opcode == "atan2" else 0.0)
        near = np.abs(expected - actual) <= unit * size
    same = near | (expected == actual) | (np.isnan(expected) & np.isnan(actual)) | np.isnan(expected)
    same |= ~np.isfinite(expected) & ~np.isfinite(actual)
    wrong = np.flatnonzero(~same)[:5]
    assert not wrong.size, [([str(i[w]) for i in inputs], str(expected[w]), str(actual[w])) for w in wrong]


@pytest.mark.parametrize("name", ["c64", "c128"])
@pytest.mark.parametrize("opcode", COMPLEX_OPCODES)
def test_complex_opcodes_agree_with_the_interpreter(opcode: str, name: str) -> None:
    inputs = of_complex(opcode, name)
    module = module_of(lambda c, made: build(c, opcode, made), inputs, [TYPES[name]] * len(inputs))
    assert_near_as_complex(*run_both(module, inputs), inputs, opcode)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["c64", "c128"])
def test_a_gpu_means_the_same_by_complex_opcodes(gpu: Any, name: str) -> None:
    given = {opcode: of_complex(opcode, name) for opcode in COMPLEX_OPCODES}
    arrays = [value for inputs in given.values() for value in inputs]

    def everything(c: Computation, made: list[Instruction]) -> Instruction:
        rest = iter(made)
        return build(c, "tuple", [build(c, opcode, [next(rest) for _ in given[opcode]]) for opcode in given])

    module = module_of(everything, arrays, [TYPES[name]] * len(arrays))
    for opcode, expected, actual in zip(given, compiler.interpret(module, *arrays), gpu(module, *arrays), strict=True):
        assert_near_as_complex(expected, actual, given[opcode], opcode)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERAND_TYPES)
def test_a_gpu_means_the_same_by_every_opcode(gpu: Any, name: str) -> None:
    element_type = TYPES[name]
    opcodes = {case.values[0]: case.values[2] for case in cases() if case.values[1] is element_type}
    inputs = [operands(element_type, arity) for arity in (1, 2, 3)]
    first = {arity: sum(len(values) for values in inputs[: arity - 1]) for arity in (1, 2, 3)}
    module = module_of(
        lambda c, made: build(
            c, "tuple", [build(c, opcode, made[first[n] : first[n] + n]) for opcode, n in opcodes.items()]
        ),
        [value for values in inputs for value in values],
        [element_type] * 6,
    )
    arrays = [value for values in inputs for value in values]
    results = zip(opcodes.items(), compiler.interpret(module, *arrays), gpu(module, *arrays), strict=True)
    for (opcode, arity), expected, actual in results:
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), opcode
        approximate = opcode in scalar.APPROXIMATE and element_type.is_float
        check = functools.partial(assert_near, ulps=MOST_ULPS) if approximate else assert_same
        check(expected, actual, inputs[arity - 1])


@pytest.mark.slow
@pytest.mark.parametrize("name", [*OPERAND_TYPES, "c64", "c128"])
def test_a_gpu_compares_selects_and_rounds_the_same(gpu: Any, name: str) -> None:
    element_type = TYPES[name]
    inputs = operands(element_type, 2)
    inputs.append(np.arange(inputs[0].size) % 3 == 0)
    orders = [{}, {"type": "TOTALORDER"}] if element_type.is_float and element_type.bits > 8 else [{}]
    relations = ["EQ", "NE"] if element_type.is_complex else ["EQ", "NE", "LT", "LE", "GT", "GE"]

    def everything(c: Computation, made: list[Instruction]) -> Instruction:
        results = [build(c, "compare", made[:2], direction=r, **order) for r in relations for order in orders]
        results.append(build(c, "select", [made[2], *made[:2]]))
        for exponent, mantissa in FORMATS if element_type.is_float else ():
            results.append(build(c, "reduce-precision", made[:1], exponent_bits=exponent, mantissa_bits=mantissa))
        return build(c, "tuple", results)

    module = module_of(everything, inputs, [element_type, element_type, TYPES["pred"]])
    for expected, actual in zip(compiler.interpret(module, *inputs), gpu(module, *inputs), strict=True):
        assert_same(expected, actual, inputs)


@pytest.mark.slow
@pytest.mark.parametrize("source", CONVERTED, ids=str)
def test_a_gpu_converts_the_same(gpu: Any, source: ElementType) -> None:
    value = specials(source)
    module = module_of(
        lambda c, made: build(
            c, "tuple", [build(c, "convert", made, shape=ArrayShape(t, value.shape)) for t in CONVERTED]
        ),
        [value],
        [source],
    )
    for expected, actual in zip(compiler.interpret(module, value), gpu(module, value), strict=True):
        assert expected.dtype == actual.dtype
        assert_same(expected, actual, [value])
