"""reduce-window, scans and gradients of pooling against the reference."""

import ml_dtypes
import numpy as np
import pytest

import compiler
from compiler.ir.types import TYPES

NUMPY = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "s32": np.int32, "s8": np.int8}
NUMPY |= {"c64": np.complex64, "pred": np.bool_}
ONES = {"c64": "(1, 0)", "pred": "true", "s1": "-1"}

# Array, result, combiner and the window.
WINDOWS = {
    "pool": ("f32[2,8,8,5]", "f32[2,4,4,5]", "maximum", "size=1x2x2x1 stride=1x2x2x1"),
    "pool, features first": ("f32[2,5,8,18]", "f32[2,5,4,9]", "maximum", "size=1x1x2x2 stride=1x1x2x2"),
    "padded pool": ("f32[2,9,9,5]", "f32[2,5,5,5]", "maximum", "size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x1_1x0_0"),
    "padded, features first": (
        "f32[2,3,9,9]",
        "f32[2,3,5,5]",
        "add",
        "size=1x1x3x3 stride=1x1x2x2 pad=0_0x0_0x1_1x1_1",
    ),
    "all dimensions": ("f32[4,5]", "f32[3,4]", "add", "size=2x2"),
    "negative padding": ("f32[9,7]", "f32[6,5]", "add", "size=3x3 pad=-1_0x0_0"),
    "holes in the window": ("f32[9,7]", "f32[5,7]", "add", "size=3x1 rhs_dilate=2x1"),
    "holes in the array": ("f32[5,7]", "f32[7,7]", "add", "size=3x1 lhs_dilate=2x1"),
    "long window": ("f32[3,80]", "f32[3,41]", "add", "size=1x40"),
    "long rows": ("f32[2,3000]", "f32[2,3000]", "add", "size=2x3 pad=0_1x1_1"),
    "beyond the edge": ("f32[3]", "f32[9]", "add", "size=2 pad=4_3"),
    "scan": ("f32[19,33]", "f32[19,33]", "add", "size=1x33 pad=0_0x32_0"),
    "scan of few rows": ("f32[2,3,33]", "f32[2,3,33]", "maximum", "size=1x1x33 pad=0_0x0_0x32_0"),
    "scan from the end": ("f32[19,33]", "f32[19,33]", "add", "size=1x33 pad=0_0x0_32"),
    "scan of a long row": ("f32[20001]", "f32[20001]", "add", "size=20001 pad=20000_0"),
    "scan of long rows from the end": ("f32[3,8192]", "f32[3,8192]", "maximum", "size=1x8192 pad=0_0x0_8191"),
    "scan down": ("f32[19,600]", "f32[19,600]", "add", "size=19x1 pad=18_0x0_0"),
    "scan down few columns": ("f32[400,130]", "f32[400,130]", "add", "size=400x1 pad=399_0x0_0"),
    "scan up a column more": ("f32[400,65]", "f32[400,65]", "maximum", "size=400x1 pad=0_399x0_0"),
    "scan up": ("f32[2,19,33]", "f32[2,19,33]", "minimum", "size=1x19x1 pad=0_0x0_18x0_0"),
    "bf16": ("bf16[9,33]", "bf16[9,33]", "add", "size=1x33 pad=0_0x32_0"),
    "doubles": ("f64[4,8]", "f64[4,4]", "add", "size=1x2 stride=1x2"),
    "bytes": ("s8[9,33]", "s8[9,33]", "add", "size=1x33 pad=0_0x32_0"),
    "integers": ("s32[6,6]", "s32[6,6]", "maximum", "size=3x3 pad=1_1x1_1"),
    "complex numbers": ("c64[20001]", "c64[20001]", "add", "size=20001 pad=20000_0"),
    "predicates": ("pred[40,33]", "pred[40,33]", "xor", "size=40x1 pad=39_0x0_0"),
    "empty": ("f32[0,4]", "f32[0,4]", "add", "size=1x1"),
}


def window_text(case):
    array, out, opcode, window = case
    type_ = array.partition("[")[0]
    return (
        f"HloModule m\n\nc {{\n  a = {type_}[] parameter(0)\n  b = {type_}[] parameter(1)\n"
        f"  ROOT c = {type_}[] {opcode}(a, b)\n}}\n\nENTRY e {{\n  x = {array} parameter(0)\n"
        f"  i = {type_}[] constant({ONES.get(type_, 1)})\n"
        f"  ROOT r = {out} reduce-window(x, i), window={{{window}}}, to_apply=c\n}}\n"
    )


def inputs(module):
    generator = np.random.default_rng(7)
    arrays = [parameter.array for parameter in module.entry.parameters]
    return [generator.integers(-4, 5, array.dims).astype(NUMPY[array.element_type.name]) for array in arrays]


def check(source, arguments):
    expected = np.asarray(compiler.interpret(compiler.parse(source), *arguments)[0])
    for threads in (1, 2):
        executable = compiler.compile(source, options=compiler.CompileOptions(threads=threads))
        np.testing.assert_array_equal(np.asarray(executable(*arguments)[0]), expected)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [65, 130, 600])
def test_columns_are_shared_without_changing_a_bit(columns):
    dims = f"f32[400,{columns}]"
    text = window_text((dims, dims, "add", "size=400x1 pad=399_0x0_0"))
    array = np.random.default_rng(3).standard_normal((400, columns)).astype(np.float32)
    options = [compiler.CompileOptions(threads=threads) for threads in (1, 2, 3)]
    results = [compiler.compile(text, "cpu", one)(array)[0].tobytes() for one in options]
    assert results[1:] == results[:1] * 2


@pytest.mark.parametrize("name", WINDOWS)
def test_a_window_combines_what_it_covers(name):
    source = window_text(WINDOWS[name])
    check(source, inputs(compiler.parse(source)))


# What keeps a row of accumulators in scratch memory, with rows that fill all of it: the dimensions, and the window.
HELD = {
    "scan down": ("[9,600]", "size=9x1 pad=8_0x0_0"),
    "padded": ("[2,1100]", "size=2x2 pad=0_1x0_1"),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", HELD)
@pytest.mark.parametrize("element_type", [t for t in TYPES.values() if t.is_float or t.is_integer], ids=str)
def test_accumulators_have_room_in_every_type(element_type, name, threads):
    dims, window = HELD[name]
    array = f"{element_type.name}{dims}"
    source = window_text((array, array, "maximum", window))
    module = compiler.parse(source)
    least, end = (1, 5) if element_type.is_float else (0, min(2, element_type.bits))
    drawn = np.random.default_rng(7).integers(least, end, module.entry.parameters[0].array.dims)
    argument = drawn.astype(element_type.dtype)
    expected = compiler.interpret(module, argument)[0]
    options = compiler.CompileOptions(threads=threads, share_all=True, check_bounds=True)
    (result,) = compiler.compile(source, "cpu", options)(argument)
    assert np.asarray(result).tobytes() == expected.tobytes()


def test_a_nan_spreads_to_every_maximum_behind_it():
    source = window_text(("f32[1,5]", "f32[1,5]", "maximum", "size=1x5 pad=0_0x4_0"))
    check(source, [np.array([[3, 1, np.nan, 7, 2]], np.float32)])


# Array, source and the window.
GRADIENTS = {
    "side by side": ("f32[3,8,6,5]", "f32[3,4,2,5]", "size=1x2x3x1 stride=1x2x3x1"),
    "something left over": ("f32[3,9,7,5]", "f32[3,4,2,5]", "size=1x2x3x1 stride=1x2x3x1"),
    "features first": ("f32[2,5,9,9]", "f32[2,5,4,4]", "size=1x1x2x2 stride=1x1x2x2"),
    "overlapping": ("f32[2,9,9,3]", "f32[2,4,4,3]", "size=1x3x3x1 stride=1x2x2x1"),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_each_window_gives_to_the_element_that_it_picks(name):
    array, source, window = GRADIENTS[name]
    text = (
        "HloModule m\n\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n\n"
        "ge {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = pred[] compare(a, b), direction=GE\n}\n\n"
        f"ENTRY e {{\n  x = {array} parameter(0)\n  s = {source} parameter(1)\n  i = f32[] constant(2)\n"
        f"  ROOT r = {array} select-and-scatter(x, s, i), window={{{window}}}, select=ge, scatter=add\n}}\n"
    )
    check(text, inputs(compiler.parse(text)))
