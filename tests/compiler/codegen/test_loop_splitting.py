"""Loops in pieces: what is padded or put together is exact at every edge, and its inside is free of comparisons."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import compiler
from compiler.ir.types import TYPES

STENCIL = """HloModule m
ENTRY e {{
  x = f64[{n},{m}] parameter(0)
  zero = f64[] constant(0)
  p = f64[{np},{mp}] pad(x, zero), padding={low}_1x{low}_2
  up = f64[{n},{m}] slice(p), slice={{[0:{n}], [{low}:{m_low}]}}
  down = f64[{n},{m}] slice(p), slice={{[{low_1}:{n_low_1}], [2:{m_2}]}}
  ROOT r = f64[{n},{m}] add(up, down)
}}
"""

EDGES = """HloModule m
ENTRY e {
  x = f32[6,40] parameter(0)
  top = f32[1,40] slice(x), slice={[0:1], [0:40]}
  tall = f32[8,40] concatenate(top, x, top), dimensions={0}
  first = f32[8,1] slice(tall), slice={[0:8], [0:1]}
  last = f32[8,2] slice(tall), slice={[0:8], [38:40]}
  ROOT r = f32[8,43] concatenate(first, tall, last), dimensions={1}
}
"""

MIRRORED = """HloModule m
ENTRY e {
  x = s32[3,50] parameter(0)
  y = s32[3,21] parameter(1)
  c = s32[3,71] concatenate(x, y), dimensions={1}
  ROOT r = s32[3,71] reverse(c), dimensions={0,1}
}
"""


def _run(text: str, *inputs: np.ndarray, threads: int = 1) -> np.ndarray:
    return compiler.compile(text, options=compiler.CompileOptions(threads=threads))(*inputs)[0]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("n", "m", "low"), [(1, 1, 2), (2, 3, 0), (5, 33, 1), (300, 70, 3), (7, 333, 2)])
def test_a_padded_stencil_is_exact(n, m, low, threads):
    low_1 = max(low, 1)
    text = STENCIL.format(
        n=n, m=m, low=low, np=n + low + 1, mp=m + low + 2, m_low=m + low, low_1=low_1, n_low_1=n + low_1, m_2=m + 2
    )
    x = np.random.default_rng(0).random((n, m))
    p = np.pad(x, ((low, 1), (low, 2)))

    want = p[:n, low : m + low] + p[low_1 : n + low_1, 2 : m + 2]
    assert np.array_equal(_run(text, x, threads=threads), want)


@pytest.mark.parametrize("threads", [1, 2])
def test_edges_repeated_in_both_dimensions_are_exact(threads):
    x = np.arange(240, dtype=np.float32).reshape(6, 40)
    tall = np.concatenate([x[:1], x, x[:1]])

    assert np.array_equal(_run(EDGES, x, threads=threads), np.concatenate([tall[:, :1], tall, tall[:, 38:]], 1))


def test_pieces_of_a_mirrored_array_are_told_apart():
    x, y = np.arange(150, dtype=np.int32).reshape(3, 50), -np.arange(63, dtype=np.int32).reshape(3, 21)

    assert np.array_equal(_run(MIRRORED, x, y), np.concatenate([x, y], 1)[::-1, ::-1])


@pytest.mark.slow
def test_pads_of_every_amount_are_exact():
    for low, high in itertools.product((-3, -1, 0, 1, 4), repeat=2):
        size = 7 + low + high
        text = f"""HloModule m
ENTRY e {{
  x = f32[7] parameter(0)
  c = f32[] constant(9)
  ROOT p = f32[{size}] pad(x, c), padding={low}_{high}
}}
"""
        x = np.arange(7, dtype=np.float32)
        cut = x[max(0, -low) : 7 - max(0, -high)]
        want = np.pad(cut, (max(0, low), max(0, high)), constant_values=9)
        assert np.array_equal(_run(text, x), want), (low, high)


INTERIOR = [(0, 0, 1), (1, 3, 1), (2, 0, 2), (-1, 4, 2), (-3, -2, 3), (3, -1, 5), (7, 1, 8), (-20, -30, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dims", [(60,), (5, 41), (300, 70)])
def test_elements_set_apart_are_exact(dims, threads):
    array = f"f32[{','.join(map(str, dims))}]"
    lines, names, shapes = [f"  x = {array} parameter(0)", "  c = f32[] constant(9)"], [], []
    for number, (low, high, interior) in enumerate(INTERIOR):
        parts = [(low, high, interior), (1, 2, 1)][: len(dims)][::-1]
        size = [n + a + b + (n - 1) * i for n, (a, b, i) in zip(dims, parts, strict=True)]
        shapes.append(f"f32[{','.join(map(str, size))}]")
        padding = "x".join("_".join(map(str, part)) for part in parts)
        names.append(f"p{number}")
        lines.append(f"  p{number} = {shapes[-1]} pad(x, c), padding={padding}")
    lines.append(f"  ROOT t = ({', '.join(shapes)}) tuple({', '.join(names)})")
    text = "\n".join(["HloModule m", "ENTRY e {", *lines, "}"])
    x = np.random.default_rng(0).random(dims).astype(np.float32)

    got = compiler.compile(text, options=compiler.CompileOptions(threads=threads))(x)
    for one, want in zip(got, compiler.interpret(compiler.parse(text), x), strict=True):
        assert np.array_equal(one, want)


FILLERS = {"f32": "-0", "f64": "0", "bf16": "nan", "c64": "(-0, 0)", "s32": "0", "pred": "false", "f16": "-inf"}
"""What interleaved arrays are padded with, by their type."""
COMBINERS = {
    "f32": "add",
    "f64": "maximum",
    "bf16": "minimum",
    "c64": "add",
    "s32": "xor",
    "pred": "or",
    "f16": "maximum",
}
"""By what they are combined: -0 and -0 is -0, -0 and 0 is 0, and a NaN beside is one."""


def _woven(type_: str, dims: tuple[int, ...], axis: int, count: int, *, cut: int) -> str:
    """A program that has the lines of so many arrays come in turn, all but the last `cut`, also from the end."""

    def shape(size: int) -> str:
        return f"{type_}[{','.join(str(size if d == axis else n) for d, n in enumerate(dims))}]"

    whole = count * dims[axis] - cut
    lines = [f"  c = {type_}[] constant({FILLERS[type_]})"]
    for number in range(count):
        sizes = [(number, count - 1 - number - cut, count - 1) if d == axis else (0, 0, 0) for d in range(len(dims))]
        padding = "x".join(f"{low}_{high}_{interior}" for low, high, interior in sizes)
        lines.append(f"  x{number} = {shape(dims[axis])} parameter({number})")
        lines.append(f"  p{number} = {shape(whole)} pad(x{number}, c), padding={padding}")
        if number:
            before = "p0" if number == 1 else f"r{number - 1}"
            lines.append(f"  r{number} = {shape(whole)} {COMBINERS[type_]}({before}, p{number})")
    last, results = f"r{count - 1}", f"({shape(whole)}, {shape(whole)})"
    lines.append(f"  back = {shape(whole)} reverse({last}), dimensions={{{axis}}}")
    lines.append(f"  ROOT t = {results} tuple({last}, back)")
    return "\n".join(["HloModule m", "ENTRY e {", *lines, "}"])


def _special(type_: str, dims: tuple[int, ...], seed: int) -> np.ndarray:
    """Numbers among which infinities, NaN and zeros of both signs are."""
    random, dtype = np.random.default_rng(seed), TYPES[type_].dtype
    if type_ in ("s32", "pred"):
        return random.integers(-9, 9, dims).astype(dtype)
    real, imaginary = random.choice([0.0, -0.0, 1.5, -2.25, np.inf, -np.inf, np.nan], (2, *dims))
    return np.stack([real, imaginary], -1).view("c16")[..., 0].astype(dtype) if type_ == "c64" else real.astype(dtype)


@pytest.mark.parametrize("type_", FILLERS)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("dims", "axis", "count", "cut"),
    [
        ((90,), 0, 2, 0),
        ((5001,), 0, 2, 1),
        ((400,), 0, 3, 2),
        ((70,), 0, 5, 1),
        ((7, 33), 1, 2, 1),
        ((41, 3), 0, 2, 1),
        ((2, 9, 5), 1, 4, 1),
        ((3, 24, 40), 1, 2, 0),
        ((1, 1), 1, 2, 1),
    ],
    ids=str,
)
def test_interleaved_lines_are_exact(type_, dims, axis, count, cut, threads):
    text = _woven(type_, dims, axis, count, cut=cut)
    inputs = [_special(type_, dims, number) for number in range(count)]

    got = compiler.compile(text, options=compiler.CompileOptions(threads=threads))(*inputs)
    for one, want in zip(got, compiler.interpret(compiler.parse(text), *inputs), strict=True):
        assert np.array_equal(np.isnan(one), np.isnan(want))
        assert np.where(np.isnan(one), 0, one).tobytes() == np.where(np.isnan(want), 0, want).tobytes()


@pytest.mark.parametrize("axis", [0, 1])
def test_interleaved_lines_are_found_without_a_division(axis):
    text = _woven("f32", (31, 41), axis, 2, cut=1)
    ir = compiler.compile(text, options=compiler.CompileOptions(threads=1)).artifacts["ir-no-opt.ll"]
    assert "urem" not in ir
    assert "udiv" not in ir


CROPPED = """HloModule m
ENTRY e {{
  x = f32[3,{n},5] parameter(0)
  spread = f32[3,{first},{second},5] broadcast(x), dimensions={{0,{kept},3}}
  lines = f32[3,{whole},5] reshape(spread)
  inner = f32[3,{cut},5] slice(lines), slice={{[0:3], [1:{end}], [0:5]}}
  flat = f32[3,{all}] reshape(spread)
  ends = f32[3,{most}] slice(flat), slice={{[0:3], [1:{all}]}}
  back = f32[3,{most}] reverse(ends), dimensions={{1}}
  ROOT t = (f32[3,{cut},5], f32[3,{most}]) tuple(inner, back)
}}
"""
"""Each line, or all of them, several times, without the first."""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("repeated", [True, False])
@pytest.mark.parametrize(("size", "copies"), [(1, 3), (7, 2), (40, 2), (31, 3), (9, 70), (70, 9), (500, 4)], ids=str)
def test_what_is_repeated_and_cropped_is_exact(size, copies, repeated, threads):
    first, second = (size, copies) if repeated else (copies, size)
    whole, kept = size * copies, 1 if repeated else 2
    text = CROPPED.format(
        n=size, first=first, second=second, kept=kept, whole=whole, cut=whole - 2, end=whole - 1, all=5 * whole,
        most=5 * whole - 1,
    )  # fmt: skip
    x = np.random.default_rng(0).random((3, size, 5), np.float32)

    lines = np.repeat(x, copies, 1) if repeated else np.tile(x, (1, copies, 1))
    inner, back = compiler.compile(text, options=compiler.CompileOptions(threads=threads))(x)
    assert np.array_equal(inner, lines[:, 1:-1])
    assert np.array_equal(back, lines.reshape(3, -1)[:, :0:-1])


@pytest.mark.parametrize("dimensions", ["0,1", "0,2"])
def test_cropped_rows_are_found_without_a_division(dimensions):
    copies = (9, 3) if dimensions == "0,1" else (2, 9)
    text = f"""HloModule m
ENTRY e {{
  x = f32[30,9] parameter(0)
  spread = f32[30,{copies[0]},{copies[1]}] broadcast(x), dimensions={{{dimensions}}}
  rows = f32[30,{copies[0] * copies[1]}] reshape(spread)
  ROOT r = f32[30,{copies[0] * copies[1] - 2}] slice(rows), slice={{[0:30], [1:{copies[0] * copies[1] - 1}]}}
}}
"""
    ir = compiler.compile(text, options=compiler.CompileOptions(threads=1)).artifacts["ir-no-opt.ll"]
    assert "urem" not in ir
    assert "udiv" not in ir


MOVED = """HloModule m
ENTRY e {{
  x = f32[{n},{m}] parameter(0)
  u = f32[3,20] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  zero = f32[] constant(0)
  none = s32[] constant(0)
  rows = f32[{n2},{m}] concatenate(x, x), dimensions={{0}}
  rolled = f32[{n},{m}] dynamic-slice(rows, i, none), dynamic_slice_sizes={{{n},{m}}}
  columns = f32[{n},{m2}] concatenate(x, x), dimensions={{1}}
  turned = f32[{n},{m}] dynamic-slice(columns, none, j), dynamic_slice_sizes={{{n},{m}}}
  wide = f32[{np},{mp}] pad(x, zero), padding=4_4x5_5
  cropped = f32[{n},{m}] dynamic-slice(wide, i, j), dynamic_slice_sizes={{{n},{m}}}
  updated = f32[{n},{m}] dynamic-update-slice(x, u, i, j)
  doubled = f32[{n},{m}] add(updated, updated)
  ROOT t = (f32[{n},{m}], f32[{n},{m}], f32[{n},{m}], f32[{n},{m}]) tuple(rolled, turned, cropped, doubled)
}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("n", "m"), [(4, 23), (90, 310)])
def test_places_that_start_indices_move_are_exact(n, m, threads):
    text = MOVED.format(n=n, m=m, n2=2 * n, m2=2 * m, np=n + 8, mp=m + 10)
    run = compiler.compile(text, options=compiler.CompileOptions(threads=threads))
    module = compiler.parse(text)
    random = np.random.default_rng(0)
    x, u = random.random((n, m)).astype(np.float32), random.random((3, 20)).astype(np.float32)
    for i, j in [(0, 0), (1, 7), (3, m), (n - 1, 1), (n, m - 1), (-5, 3 * m), (2 * n, -1)]:
        inputs = x, u, np.int32(i), np.int32(j)
        for one, want in zip(run(*inputs), compiler.interpret(module, *inputs), strict=True):
            assert np.array_equal(one, want), (i, j)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("dims", [(5, 40, 7, 24), (3, 2, 300, 16), (2, 3, 4, 900)])
def test_outer_loops_shared_as_one_are_walked_once(dims, threads):
    a, b, c, d = dims
    text = f"""HloModule m
ENTRY e {{
  x = f32[{a},{b},{c},{d}] parameter(0)
  t = f32[{a},{c},{b},{d}] transpose(x), dimensions={{0,2,1,3}}
  ROOT r = f32[{a},{c},{b},{d}] add(t, t)
}}
"""
    x = np.random.default_rng(0).random(dims).astype(np.float32)

    assert np.array_equal(_run(text, x, threads=threads), 2 * x.transpose(0, 2, 1, 3))


ROLLED = """HloModule m
ENTRY e {{
  x = {t}[300,{n}] parameter(0)
  last = {t}[300,{k}] slice(x), slice={{[0:300], [{start}:{n}]}}
  rest = {t}[300,{start}] slice(x), slice={{[0:300], [0:{start}]}}
  ROOT r = {t}[300,{n}] concatenate(last, rest), dimensions={{1}}
}}
"""


@pytest.mark.parametrize("length", [3, 17])
@pytest.mark.parametrize(("type_", "dtype", "copied"), [("f32", "f4", True), ("s8", "i1", True), ("c64", "c8", False)])
def test_short_rows_that_are_only_copied_are_not_masked(type_, dtype, copied, length):
    text = ROLLED.format(t=type_, n=length, k=length // 3, start=length - length // 3)
    executable = compiler.compile(text, options=compiler.CompileOptions(threads=1))
    assert ("urem" in executable.artifacts["ir-no-opt.ll"]) != copied
    x = np.arange(300 * length).reshape(300, length).astype(dtype)
    assert np.array_equal(executable(x)[0], np.roll(x, length // 3, axis=1))
