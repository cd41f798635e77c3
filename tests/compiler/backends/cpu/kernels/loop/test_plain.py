"""Loops of several vectors at once, and of cheaper forms for small arguments: each element as if it were alone."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import compiler
from compiler.backends.cpu import program
from compiler.backends.cpu.machine import Machine
from compiler.codegen import compile_units, llvm
from compiler.codegen.math import fast_limit
from compiler.pipeline import PIPELINES, run


def _tanh(size: int) -> str:
    return f"ENTRY e {{ x = f32[{size}] parameter(0)  ROOT y = f32[{size}] tanh(x) }}"


@pytest.mark.parametrize("size", [255, 256, 257, 271, 272, 319, 320, 1000, 20_001])
def test_an_element_does_not_depend_on_where_it_stands(size):
    x = np.random.default_rng(size).normal(size=size).astype(np.float32)
    alone = compiler.compile(_tanh(1))

    found = compiler.compile(_tanh(size), options=compiler.CompileOptions(threads=2))(x)[0]

    for place in (0, 1, size // 2, size - 17, size - 1):
        assert found[place] == alone(x[place : place + 1])[0][0]
    assert np.allclose(found, np.tanh(x), rtol=3e-7)


@pytest.mark.parametrize(("type_", "dtype"), [("f32", np.float32), ("f64", np.float64), ("bf16", ml_dtypes.bfloat16)])
@pytest.mark.parametrize("opcode", ["sine", "cosine", "tan"])
@pytest.mark.parametrize("size", [5000, 7168], ids=["part of a block", "whole blocks"])
def test_large_arguments_change_nothing_for_their_neighbours(size, opcode, type_, dtype):
    generator = np.random.default_rng(1)
    x = (generator.normal(size=size) * 50).astype(dtype)
    mixed = x.copy()
    places = np.array([0, 7, 2047, 2048, 4999])
    mixed[places] = np.array([1e7, np.inf, -3e30, np.nan, -131072.0]).astype(dtype)
    text = f"ENTRY e {{ x = {type_}[{size}] parameter(0)  ROOT y = {type_}[{size}] {opcode}(x) }}"
    executable = compiler.compile(text, options=compiler.CompileOptions(threads=2))

    plain, found = executable(x)[0], executable(mixed)[0]

    others = np.ones(size, bool)
    others[places] = False
    assert plain[others].tobytes() == found[others].tobytes()
    want = compiler.interpret(compiler.parse(text), mixed)[0]
    assert np.allclose(found.astype(float), np.asarray(want).astype(float), rtol=1e-2, equal_nan=True)
    assert np.array_equal(np.isnan(found.astype(float)), np.isnan(mixed.astype(float)) | np.isinf(mixed.astype(float)))


@pytest.mark.slow
@pytest.mark.parametrize(("type_", "dtype"), [("f32", np.float32), ("f64", np.float64), ("bf16", ml_dtypes.bfloat16)])
def test_an_element_alone_is_what_it_is_among_others(type_, dtype):
    x = np.array([0.0, -0.0, 1e-45, 0.5, 1e5, 131072, -131073, 1048577, 1e7, -3e30, np.inf, np.nan]).astype(dtype)
    t, n = type_, len(x)
    text = f"""ENTRY e {{ x = {t}[N] parameter(0)  y = {t}[N] parameter(1)  s = {t}[N] sine(x)  c = {t}[N] cosine(x)
      t = {t}[N] tan(x)  r = {t}[N] remainder(x, y)  ROOT all = ({t}[N], {t}[N], {t}[N], {t}[N]) tuple(s, c, t, r) }}"""
    alone, together = (compiler.compile(text.replace("[N]", size)) for size in ("[]", f"[{n}]"))

    want = together(x, np.full(n, 0.3, dtype))

    for place in range(n):
        found = alone(x[place], np.array(0.3, dtype))
        assert [value.tobytes() for value in found] == [values[place].tobytes() for values in want]


@pytest.mark.parametrize("type_", ["c64", "c128"])
@pytest.mark.parametrize("size", [5000, 7168], ids=["part of a block", "whole blocks"])
def test_quotients_by_zero_change_nothing_for_their_neighbours(size, type_):
    t = f"{type_}[{size}]"
    text = f"ENTRY e {{ x = {t} parameter(0)  y = {t} parameter(1)  ROOT z = {t} divide(x, y) }}"
    module = compiler.parse(text)
    dtype = module.entry.parameters[0].array.element_type.dtype
    x, y = (np.random.default_rng(1).normal(size=(2, size, 2)) @ [1, 1j]).astype(dtype)
    specials = [0, 1 + 1j, complex(np.inf, 1), complex(1, -np.inf), complex(np.nan, 0), complex(np.nan, np.inf)]
    pairs = np.array([(a, b) for a in specials for b in specials], dtype)
    places = np.linspace(2048, size - 1, len(pairs)).astype(int)
    mixed = x.copy(), y.copy()
    mixed[0][places], mixed[1][places] = pairs.T
    executable = compiler.compile(module, options=compiler.CompileOptions(threads=2))

    plain, found = executable(x, y)[0], executable(*mixed)[0]

    others = np.ones(size, bool)
    others[places] = False
    assert plain[others].tobytes() == found[others].tobytes()
    alone = compiler.compile(text.replace(f"[{size}]", f"[{len(pairs)}]"))(*pairs.T.copy())[0]
    assert np.array_equal(
        found[places].view(dtype.type().real.dtype), alone.view(dtype.type().real.dtype), equal_nan=True
    )


PIECES = {
    "concatenate": "s = {t}[4094] slice(y), slice={{[2:4096]}}"
    "  ROOT r = {t}[4096] concatenate(few, s), dimensions={{0}}",
    "dynamic-update-slice": "u = {t}[4096] dynamic-update-slice(x, few, i)  ROOT r = {t}[4096] subtract(u, y)",
    "pad": "ROOT r = {t}[4096] pad(y, o), padding=-7_7",
}
"""Loops of whole blocks that run in pieces, which are not."""


@pytest.mark.slow
@pytest.mark.parametrize("start", [3, 4094])
@pytest.mark.parametrize("move", PIECES)
@pytest.mark.parametrize(("opcode", "type_"), [("sine", "f32"), ("cosine", "f64"), ("divide", "c64")])
def test_pieces_of_whole_blocks_read_nothing_behind_them(opcode, type_, move, start):
    operands, zero = ("x, x", "(0, 0)") if type_ == "c64" else ("x", "0")
    module = compiler.parse(f"""ENTRY e {{
      x = {type_}[4096] parameter(0)  few = {type_}[2] parameter(1)  i = s32[] parameter(2)
      o = {type_}[] constant({zero})
      y = {type_}[4096] {opcode}({operands})  {PIECES[move].format(t=type_)} }}""")
    dtype = module.entry.parameters[0].array.element_type.dtype
    x, few = (np.random.default_rng(start).normal(size=size).astype(dtype) for size in (4096, 2))
    expected = compiler.interpret(module, x, few, np.int32(start))[0]
    for threads in (1, 2):
        options = compiler.CompileOptions(threads=threads, check_bounds=True)
        found = compiler.compile(module, options=options)(x, few, np.int32(start))[0]
        assert np.allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_functions_of_unlike_arguments_in_one_loop_and_in_branches():
    text = """ENTRY e {
      x = f64[3000] parameter(0)
      y = f32[3000] parameter(1)
      zero = f64[] constant(0)
      s = f64[3000] sine(x)
      c = f32[3000] cosine(y)
      w = f64[3000] convert(c)
      p = f64[3010] pad(s, zero), padding=4_6
      q = f64[3010] pad(w, zero), padding=7_3
      t = f64[3010] sine(p)
      ROOT r = f64[3010] add(t, q)
    }"""
    x, y = np.linspace(-1e3, 1e8, 3000), np.linspace(0, 1e6, 3000).astype(np.float32)

    found = compiler.compile(text)(x, y)[0]

    want = np.sin(np.pad(np.sin(x), (4, 6))) + np.pad(np.cos(y.astype(np.float64)), (7, 3))
    assert np.allclose(found, want, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("opcodes", [("sine", "cosine"), ("cosine", "tan"), ("tan", "sine")])
def test_functions_of_large_arguments_are_called_and_compiled_once_for_all_programs(opcodes, type_):
    dtype = {"f32": np.float32, "f64": np.float64}[type_]
    first, second = opcodes
    text = f"""ENTRY e {{ x = {type_}[2048] parameter(0)  y = {type_}[2048] parameter(1)
      s = {type_}[2048] {first}(x)  c = {type_}[2048] {second}(y)  ROOT r = {type_}[2048] subtract(s, c) }}"""
    x, y = (np.random.default_rng(seed).normal(size=2048).astype(dtype) * dtype(1e8) for seed in (1, 2))

    executable = compiler.compile(text, options=compiler.CompileOptions(threads=1))

    written = executable.artifacts["ir-no-opt.ll"]
    for opcode in opcodes:
        if fast_limit(opcode, {"f32": "float", "f64": "double"}[type_]) is not None:
            assert written.count(f"call {'float' if type_ == 'f32' else 'double'} @math.{opcode}.{type_}.called(") == 1
    alone = compiler.compile(text.replace("[2048]", "[1]"))
    found = executable(x, y)[0]
    for place in (0, 1, 1023, 1024, 2047):
        assert found[place] == alone(x[place : place + 1], y[place : place + 1])[0][0]
    routines = [_routines(text), _routines(text.replace("2048", "4096").replace("subtract", "add"))]
    assert routines[0] == routines[1]
    assert routines[0]


def _routines(text: str) -> set[str]:
    """What a program has of routines, but for the one that threads are given work by."""
    module = compiler.parse(text)
    run(module, PIPELINES["compile"], compiler.CompileOptions())
    units = compile_units.cut(program.build(module, Machine.of(llvm.Target.host()), 1).ir)
    return {unit.text for unit in units if unit.routine.startswith("math")}


def test_functions_of_the_same_arguments_share_their_work():
    text = """ENTRY e { x = f32[2048] parameter(0)  s = f32[2048] sine(x)  c = f32[2048] cosine(x)
      ROOT r = f32[2048] add(s, c) }"""
    assert not _routines(text)


@pytest.mark.parametrize("opcode", ["add", "subtract", "multiply", "divide"])
def test_every_bf16_is_rounded_and_nan_stays_nan(opcode):
    bits = np.arange(65536, dtype=np.uint16)
    x = bits.view(ml_dtypes.bfloat16)
    y = np.random.default_rng(3).permutation(bits).view(ml_dtypes.bfloat16)
    text = f"""ENTRY e {{
      x = bf16[65536] parameter(0)
      y = bf16[65536] parameter(1)
      r = bf16[65536] {opcode}(x, y)
      ROOT s = bf16[65536] {opcode}(r, x)
    }}"""

    found = compiler.compile(text)(x, y)[0].astype(np.float32)

    want = np.asarray(compiler.interpret(compiler.parse(text), x, y)[0]).astype(np.float32)
    assert np.array_equal(found, want, equal_nan=True)
    assert np.array_equal(np.signbit(found[want == 0]), np.signbit(want[want == 0]))


@pytest.mark.parametrize("opcode", ["floor", "ceil", "round-nearest-even", "round-nearest-afz"])
def test_every_f16_is_rounded_to_an_integer(opcode):
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    text = f"ENTRY e {{ x = f16[65536] parameter(0)  ROOT r = f16[65536] {opcode}(x) }}"

    found, want = compiler.compile(text)(x)[0], np.asarray(compiler.interpret(compiler.parse(text), x)[0])

    same = found.view(np.uint16) == want.view(np.uint16)
    assert np.all(same | (np.isnan(found) & np.isnan(want)))


@pytest.mark.slow
@pytest.mark.parametrize("dims", ["1", "7", "1000", "4097", "300,5", "3,2,700"])
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_normal_numbers_are_those_of_the_reference(type_, dims):
    text = f"""ENTRY e {{
      mean = {type_}[] parameter(0)
      deviation = {type_}[] parameter(1)
      ROOT r = {type_}[{dims}] rng(mean, deviation), distribution=rng_normal
    }}"""
    inputs = [{"f32": np.float32, "f64": np.float64}[type_](value) for value in (1, 3)]

    found = compiler.compile(text, options=compiler.CompileOptions(threads=2))(*inputs)[0]

    want = np.asarray(compiler.interpret(compiler.parse(text), *inputs)[0])
    assert np.allclose(found, want, rtol=1e-6)
    assert compiler.compile(text, options=compiler.CompileOptions(threads=1))(*inputs)[0].tobytes() == found.tobytes()


@pytest.mark.parametrize(("type_", "dtype"), [("f32", np.float32), ("f64", np.float64), ("f16", np.float16)])
def test_remainders_are_exact_whatever_the_quotient(type_, dtype):
    size = 20_000
    generator = np.random.default_rng(4)
    y = generator.integers(1, 9, size).astype(dtype)
    x = (y.astype(np.float64) * generator.integers(-9, 999, size)).astype(dtype)
    x[::3] += generator.choice([1e-3, -1e-7, 0.5], x[::3].size).astype(dtype)
    places = [0, 900, 901, 5000, 5001, 9000, 9001, 9002, 9003, 19_999]
    x[places] = np.array([min(1e30, float(np.finfo(dtype).max)), np.inf, 3, np.nan, 3, 7, -7, -0.0, 5, 60_000]).astype(
        dtype
    )
    y[places] = np.array([1e-4, 1, 0, 1, np.nan, np.inf, -np.inf, 2, -0.0, 7e-5]).astype(dtype)
    text = f"""ENTRY e {{
      x = {type_}[{size}] parameter(0)
      y = {type_}[{size}] parameter(1)
      ROOT r = {type_}[{size}] remainder(x, y)
    }}"""

    found, want = compiler.compile(text)(x, y)[0], np.asarray(compiler.interpret(compiler.parse(text), x, y)[0])

    assert np.array_equal(found, want, equal_nan=True)
    assert np.array_equal(np.signbit(found[want == 0]), np.signbit(want[want == 0]))


@pytest.mark.parametrize("terms", [1, 3, 8])
@pytest.mark.parametrize("opcode", ["add", "maximum"])
@pytest.mark.parametrize("type_", ["f32", "f64", "s32", "bf16"])
def test_sums_of_few_terms_are_those_of_the_reference(type_, opcode, terms):
    """Distances between points: what is summed is nowhere in memory."""
    module = compiler.parse(f"""
      f {{ a = {type_}[] parameter(0)  b = {type_}[] parameter(1)  ROOT c = {type_}[] {opcode}(a, b) }}
      ENTRY e {{
        x = {type_}[21,{terms}] parameter(0)  y = {type_}[33,{terms}] parameter(1)  zero = {type_}[] constant(0)
        p = {type_}[21,33,{terms}] broadcast(x), dimensions={{0,2}}
        q = {type_}[21,33,{terms}] broadcast(y), dimensions={{1,2}}
        d = {type_}[21,33,{terms}] subtract(p, q)  m = {type_}[21,33,{terms}] multiply(d, d)
        r = {type_}[21,33] reduce(m, zero), dimensions={{2}}, to_apply=f
        ROOT s = {type_}[21,33] negate(r)
      }}""")
    dtype = module.entry.parameters[0].array.element_type.dtype
    random = np.random.default_rng(terms)
    inputs = [random.integers(-9, 9, (count, terms)).astype(dtype) for count in (21, 33)]

    np.testing.assert_array_equal(compiler.compile(module)(*inputs)[0], compiler.interpret(module, *inputs)[0])


SHORT_ROWS = """ENTRY e {{ x = s32[{rows},{n}] parameter(0)  y = s32[{rows},{n}] parameter(1)  seven = s32[] constant(7)
  front = s32[{rows},{less}] slice(x), slice={{[0:{rows}], [0:{less}]}}
  back = s32[{rows},{less}] slice(y), slice={{[0:{rows}], [1:{n}]}}
  both = s32[{rows},{less}] multiply(front, back)
  before = s32[{rows},{n}] pad(both, seven), padding=0_0x1_0
  behind = s32[{rows},{n}] pad(both, seven), padding=0_0x0_1
  last = s32[{rows},1] slice(x), slice={{[0:{rows}], [{less}:{n}]}}
  ends = s32[{rows},{n}] concatenate(back, last), dimensions={{1}}
  sum = s32[{rows},{n}] subtract(before, behind)  ROOT z = s32[{rows},{n}] xor(sum, ends) }}"""


@pytest.mark.parametrize("length", [2, 3, 4, 7, 8, 15, 16, 17, 32, 64])
@pytest.mark.parametrize("rows", [1, 3, 100])
@pytest.mark.parametrize("opt", [0, 3])
def test_short_rows_have_their_edges_and_read_nothing_beside_the_arrays(length, rows, opt):
    module = compiler.parse(SHORT_ROWS.format(rows=rows, n=length, less=length - 1))
    arrays = np.random.default_rng(length).integers(-9, 9, (2, rows, length)).astype(np.int32)
    expected = compiler.interpret(module, *arrays)[0]
    for checked in (False, True):
        options = compiler.CompileOptions(opt=opt, check_memory=checked)
        assert np.array_equal(compiler.compile(module, options=options)(*arrays)[0], expected)
