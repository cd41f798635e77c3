"""Rows reduced in lanes find what a row at a time finds, at every length around the lanes' number."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.backends.cpu.kernels.vectors.lanes import Lanes
from compiler.backends.cpu.runtime import guarded
from compiler.codegen.llvm import Target
from compiler.ir.shape import ArrayShape
from compiler.ir.types import TYPES

PLUS = """plus {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}"""
ARGMAX = """HloModule m
greater {{
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  above = pred[] compare(a, b), direction=GT
  equal = pred[] compare(a, b), direction=EQ
  earlier = pred[] compare(i, j), direction=LT
  first = pred[] and(equal, earlier)
  chosen = pred[] or(above, first)
  value = f32[] select(chosen, a, b)
  index = s32[] select(chosen, i, j)
  ROOT both = (f32[], s32[]) tuple(value, index)
}}
ENTRY e {{
  x = f32[{rows},{length}] parameter(0)
  i = s32[{rows},{length}] iota(), iota_dimension=1
  least = f32[] constant(-inf)
  none = s32[] constant(0)
  ROOT r = (f32[{rows}], s32[{rows}]) reduce(x, i, least, none), dimensions={{1}}, to_apply=greater
}}
"""


@pytest.mark.parametrize("rows", [5, 64, 72])
@pytest.mark.parametrize("length", [1, 4, 10, 16, 17, 63, 127, 128, 129, 191, 192, 1000, 4097])
def test_argmax_takes_the_first_of_the_greatest(length, rows):
    x = np.random.default_rng(length).integers(-20, 20, (rows, length)).astype(np.float32)
    x[1] = -np.inf
    x[2, -1] = np.inf

    values, indices = compiler.compile(ARGMAX.format(rows=rows, length=length))(x)

    assert np.array_equal(values, x.max(1))
    assert np.array_equal(indices, x.argmax(1))


ROW = """HloModule m
most {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  ROOT c = {t}[] maximum(a, b)
}}
least {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  ROOT c = {t}[] minimum(a, b)
}}
{plus}
ENTRY e {{
  x = {t}[{rows},{row}] parameter(0)
  g = {t}[{row}] parameter(1)
  floor = {t}[] constant(-inf)
  roof = {t}[] constant(inf)
  zero = f32[] constant(0)
  high = {t}[{rows}] reduce(x, floor), dimensions={{{along}}}, to_apply=most
  low = {t}[{rows}] reduce(x, roof), dimensions={{{along}}}, to_apply=least
  highs = {t}[{rows},{row}] broadcast(high), dimensions={{0}}
  below = {t}[{rows},{row}] subtract(x, highs)
  power = {t}[{rows},{row}] exponential(below)
  wide = f32[{rows},{row}] convert(power)
  place = s32[{rows},{row}] iota(), iota_dimension={last}
  odd = s32[] constant(3)
  odds = s32[{rows},{row}] broadcast(odd), dimensions={{}}
  far = pred[{rows},{row}] compare(place, odds), direction=GE
  none = f32[{rows},{row}] broadcast(zero), dimensions={{}}
  some = f32[{rows},{row}] select(far, wide, none)
  total = f32[{rows}] reduce(some, zero), dimensions={{{along}}}, to_apply=plus
  one = f32[] constant(1)
  ones = f32[{rows}] broadcast(one), dimensions={{}}
  more = f32[{rows}] add(total, ones)
  mores = f32[{rows},{row}] broadcast(more), dimensions={{0}}
  part = f32[{rows},{row}] divide(wide, mores)
  narrow = {t}[{rows},{row}] convert(part)
  gs = {t}[{rows},{row}] broadcast(g), dimensions={{{along}}}
  y = {t}[{rows},{row}] multiply(narrow, gs)
  ROOT r = ({t}[{rows},{row}], {t}[{rows}], f32[{rows}]) tuple(y, low, total)
}}
"""
TOLERANCES = {"bf16": 1e-2, "f16": 2e-3, "f32": 1e-5, "f64": 1e-5}


@pytest.mark.slow
@pytest.mark.parametrize("row", [(1,), (3,), (4,), (7,), (16,), (31,), (100,), (1000,), (3, 37), (21, 2), (5, 4, 9)])
@pytest.mark.parametrize("name", TOLERANCES)
@pytest.mark.parametrize("rows", [3, 64])
def test_rows_of_any_length_are_what_the_reference_says(name, row, rows):
    dims = {"row": ",".join(map(str, row)), "along": ",".join(str(d + 1) for d in range(len(row)))}
    text = ROW.format(plus=PLUS, t=name, rows=rows, last=len(row), **dims)
    module = compiler.parse(text)
    kinds = [parameter.array.element_type.dtype for parameter in module.entry.parameters]
    random = np.random.default_rng(len(row))
    inputs = [
        (4 * random.standard_normal(shape)).astype(kind) for shape, kind in zip([(rows, *row), row], kinds, strict=True)
    ]

    for found, expected in zip(compiler.compile(module)(*inputs), compiler.interpret(module, *inputs), strict=True):
        np.testing.assert_allclose(
            found.astype(np.float64), expected.astype(np.float64), rtol=TOLERANCES[name], atol=TOLERANCES[name] / 50
        )


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "length"), [(128, 40), (132, 100), (66, 777), (97, 900), (64, 5000)])
def test_rows_in_steps_are_the_same_on_any_number_of_threads(rows, length):
    text = ROW.format(plus=PLUS, t="f32", rows=rows, row=length, last=1, along=1)
    random = np.random.default_rng(rows)
    inputs = [random.standard_normal(dims).astype(np.float32) for dims in ((rows, length), (length,))]

    found = [
        compiler.compile(text, options=compiler.CompileOptions(threads=threads))(*inputs) for threads in (1, 2, 3, 7)
    ]

    for several in found[1:]:
        for one, other in zip(found[0], several, strict=True):
            assert np.array_equal(one, other)
    expected = compiler.interpret(compiler.parse(text), *inputs)
    for one, other in zip(found[0], expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


EXTREMUM = """HloModule m
most {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  ROOT c = {t}[] {opcode}(a, b)
}}
ENTRY e {{
  x = {t}[{dims}] parameter(0)
  first = {t}[] constant({start})
  ROOT r = {t}[7] reduce(x, first), dimensions={{{axis}}}, to_apply=most
}}
"""


@pytest.mark.parametrize("length", [4, 16, 37, 1024, 30001])
@pytest.mark.parametrize(("opcode", "start"), [("maximum", "-inf"), ("minimum", "inf")])
@pytest.mark.parametrize("name", TOLERANCES)
@pytest.mark.parametrize("axis", [0, 1])
def test_an_extremum_keeps_nan_and_the_sign_of_zero(name, opcode, start, length, axis):
    dims = f"7,{length}" if axis else f"{length},7"
    text = EXTREMUM.format(t=name, opcode=opcode, start=start, dims=dims, axis=axis)
    module = compiler.parse(text)
    x = np.random.default_rng(length).standard_normal((7, length))
    place = length * 2 // 3
    x[0] = np.abs(x[0]) if opcode == "minimum" else -np.abs(x[0])
    x[1, place] = np.nan
    x[2, place] = -np.nan
    x[3] = -np.abs(x[3])
    x[3, place] = 0.0
    x[4] = -0.0
    x[5] = np.where(np.arange(length) == place, 0.0, -0.0)
    x[6] = np.where(np.arange(length) == place, -0.0, 0.0)
    x = x.astype(module.entry.parameters[0].array.element_type.dtype)

    (found,) = (result.astype(np.float64) for result in compiler.compile(module)(x if axis else x.T.copy()))

    expected = np.append(x.astype(np.float64), np.full((7, 1), float(start)), axis=1)
    expected = expected.max(1) if opcode == "maximum" else expected.min(1)
    assert np.array_equal(found, expected, equal_nan=True)
    wanted_sign = np.signbit(x[4:]).all(1) if opcode == "maximum" else np.signbit(x[4:]).any(1)
    assert np.array_equal(np.signbit(found[4:]), wanted_sign)


PAIRS = """HloModule m
{plus}
ENTRY e {{
  p = f32[{rows},{columns}] parameter(0)
  q = f32[{length},{columns}] parameter(1)
  w = f32[{length}] parameter(2)
  ps = f32[{rows},{length},{columns}] broadcast(p), dimensions={{0,2}}
  qs = f32[{rows},{length},{columns}] broadcast(q), dimensions={{1,2}}
  ws = f32[{rows},{length},{columns}] broadcast(w), dimensions={{1}}
  away = f32[{rows},{length},{columns}] subtract(ps, qs)
  heavy = f32[{rows},{length},{columns}] multiply(away, ws)
  zero = f32[] constant(0)
  ROOT r = f32[{rows},{columns}] reduce(heavy, zero), dimensions={{1}}, to_apply=plus
}}
"""


@pytest.mark.parametrize("columns", [2, 3, 4])
@pytest.mark.parametrize(("rows", "length"), [(1, 5000), (4, 16), (6, 17), (7, 100)])
def test_few_columns_are_reduced_side_by_side(rows, length, columns):
    generator = np.random.default_rng(length)
    p, q, w = (generator.integers(-9, 9, s).astype(np.float32) for s in ((rows, columns), (length, columns), length))

    (sums,) = compiler.compile(PAIRS.format(plus=PLUS, rows=rows, length=length, columns=columns))(p, q, w)

    assert np.array_equal(sums, ((p[:, None] - q) * w[:, None]).sum(1))


HALVES = """HloModule m
{plus}
ENTRY e {{
  x = bf16[{rows},{length}] parameter(0)
  g = {scale}[{length}] parameter(1)
  w = bf16[{rows},{twice}] parameter(2)
  v = f32[{rows},{length}] convert(x)
  zero = f32[] constant(0)
  sum = f32[{rows}] reduce(v, zero), dimensions={{1}}, to_apply=plus
  sums = f32[{rows},{length}] broadcast(sum), dimensions={{0}}
  above = f32[{rows},{length}] subtract(v, sums)
  place = s32[{rows},{length}] iota(), iota_dimension=1
  places = f32[{rows},{length}] convert(place)
  moved = f32[{rows},{length}] add(above, places)
  narrow = bf16[{rows},{length}] convert(moved)
  scale = bf16[{length}] convert(g)
  gs = bf16[{rows},{length}] broadcast(scale), dimensions={{1}}
  scaled = bf16[{rows},{length}] multiply(narrow, gs)
  every = bf16[{rows},{length}] slice(w), slice={{[0:{rows}], [1:{twice}:2]}}
  ROOT y = bf16[{rows},{length}] add(scaled, every)
}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("length", [3, 31, 32, 33, 63, 64, 65, 100, 1000])
@pytest.mark.parametrize("rows", [5, 256])
@pytest.mark.parametrize("scale", ["bf16", "f32"])
def test_halves_of_words_are_taken_in_pairs(rows, length, scale):
    module = compiler.parse(HALVES.format(plus=PLUS, rows=rows, length=length, scale=scale, twice=2 * length))
    random = np.random.default_rng(length)
    # Small whole numbers, whose sums are exact in any order.
    inputs = [random.integers(-4, 5, p.array.dims).astype(p.array.element_type.dtype) for p in module.entry.parameters]

    (found,), (expected,) = compiler.compile(module)(*inputs), compiler.interpret(module, *inputs)
    assert np.array_equal(found, expected)
    full = Lanes.choose(Target.host().has, [ArrayShape(TYPES["f32"], (1,))], 1 << 20).width
    (decided,) = compiler.decide(module).kernels
    assert decided.details.get("paired", False) == (length >= 2 * full)


@pytest.mark.parametrize("at_end", [True, False])
def test_one_element_that_is_left_over_is_all_that_is_stored(at_end):
    text = """HloModule m
below { a = bf16[] parameter(0)  b = bf16[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT }
ENTRY e { x = bf16[33] parameter(0)  ROOT s = bf16[33] sort(x), dimensions={0}, to_apply=below }"""
    given = np.arange(33, 0, -1).astype(TYPES["bf16"].dtype)
    (found,) = guarded.call(compiler.compile(text)._entry.snapshot(), given, at_end=at_end)
    assert np.array_equal(found, given[::-1])
