"""Reductions by every combiner, over any dimensions, of one value and of two, against the interpreter."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import compiler
from compiler import CompileOptions
from tests.compiler.backends.cpu.kernels.forms import check, kept, listed, reducer, shape, values

COMBINERS = [
    *itertools.product(
        ("add", "multiply", "maximum", "minimum"), ("f32", "bf16", "f16", "f64", "s32", "u8", "s64", "pred")
    ),
    *itertools.product(("and", "or", "xor"), ("pred", "s8", "u32", "u64")),
    *itertools.product(("add", "multiply"), ("c64", "c128")),
    ("add", "f8e4m3fn"),
    ("maximum", "s4"),
]


DIMS = (5, 17, 6)
REDUCED = ([2], [0], [1], [0, 2], [0, 1, 2], [])


@pytest.mark.slow
@pytest.mark.parametrize(("opcode", "element_type"), COMBINERS)
def test_reductions_by_every_combiner(opcode: str, element_type: str) -> None:
    text = reducer(opcode, element_type)
    results = []
    text += f"ENTRY e {{ x = {shape(element_type, DIMS)} parameter(0)  i = {element_type}[] parameter(1)\n"
    for number, reduced in enumerate(REDUCED):
        dims = kept(DIMS, reduced)
        text += f"r{number} = {shape(element_type, dims)} reduce(x, i), dimensions={listed(reduced)}, to_apply=f\n"
        results.append(f"r{number}")
    shapes = [shape(element_type, kept(DIMS, reduced)) for reduced in REDUCED]
    text += f"ROOT t = ({', '.join(shapes)}) tuple({', '.join(results)}) }}"
    array = values(element_type, DIMS)
    if opcode == "multiply" and element_type[0] in "bfc":
        # Near 1, so that products of all elements neither vanish nor overflow.
        array = (1 + array.astype(np.complex128 if element_type[0] == "c" else np.float64) * 0.01).astype(array.dtype)
    check(text, [array, values(element_type, (), 7)])


SIZES = [
    ((0,), [0]),
    ((3, 0), [1]),
    ((3, 0), [0]),
    ((2, 3, 0), [1]),
    ((1,), [0]),
    ((16,), [0]),
    ((17,), [0]),
    ((63, 65), [1]),
    ((65, 63), [0]),
    ((513, 5), [0]),
    ((5, 513), [1]),
    ((3, 1030), [0]),
    ((70000,), [0]),
    ((2, 40000), [1]),
    ((300, 400), [0]),
    ((300, 400), [0, 1]),
    ((460, 2300), [0]),
    ((7, 130, 9, 11), [1, 3]),
    ((40, 3, 1000), [0, 2]),
    ((4, 600, 33), [1]),
    ((70, 1, 64), [0, 1]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("dims", "reduced"), SIZES)
def test_reductions_of_every_form_with_producer_and_epilogue(dims: tuple[int, ...], reduced: list[int]) -> None:
    result = shape("f32", kept(dims, reduced))
    text = f"""{reducer("add", "f32")}
        ENTRY e {{ x = {shape("f32", dims)} parameter(0)  i = f32[] constant(2.5)
          y = {shape("f32", dims)} multiply(x, x)
          r = {result} reduce(y, i), dimensions={listed(reduced)}, to_apply=f
          n = {result} negate(r)  s = {result} sine(n)
          m = {result} reduce(x, i), dimensions={listed(reduced)}, to_apply=f
          ROOT t = ({result}, {result}) tuple(s, m) }}"""
    # Whole numbers, whose sums are exact in any order.
    check(text, [np.round(values("f32", dims))])


def test_threads_that_share_columns_do_not_change_their_sums() -> None:
    text = f"""HloModule m\n{reducer("add", "f32")}
        ENTRY e {{ x = f32[460,2300] parameter(0)
          ROOT r = f32[2300] reduce(x, f32[] constant(0)), dimensions={{0}}, to_apply=f }}"""
    found = [compiler.compile(text, "cpu", CompileOptions(threads=n, opt=1)) for n in (1, 2, 3)]
    x = values("f32", (460, 2300))
    assert len({executable(x)[0].tobytes() for executable in found}) == 1
    assert all(executable.memory_bytes == (0, 0) for executable in found)


ARGMAX = """f { v = f32[] parameter(0)  i = s32[] parameter(1)  w = f32[] parameter(2)  j = s32[] parameter(3)
      g = pred[] compare(v, w), direction=GT  e = pred[] compare(v, w), direction=EQ
      l = pred[] compare(i, j), direction=LT
      el = pred[] and(e, l)  k = pred[] or(g, el)
      x = f32[] select(k, v, w)  y = s32[] select(k, i, j)  ROOT r = (f32[], s32[]) tuple(x, y) }\n"""


@pytest.mark.parametrize(
    ("dims", "reduced"), [((7, 33), [1]), ((33, 7), [0]), ((50000,), [0]), ((3, 4, 5), [0, 2]), ((0, 3), [0])]
)
def test_a_reduction_of_two_values_finds_the_first_maximum(dims: tuple[int, ...], reduced: list[int]) -> None:
    outs = [shape(t, kept(dims, reduced)) for t in ("f32", "s32")]
    text = f"""{ARGMAX}
        ENTRY e {{ x = {shape("f32", dims)} parameter(0)  n = {shape("s32", dims)} iota(), iota_dimension={reduced[0]}
          a = f32[] constant(-inf)  b = s32[] constant(2147483647)
          ROOT r = ({outs[0]}, {outs[1]}) reduce(x, n, a, b), dimensions={listed(reduced)}, to_apply=f }}"""
    check(text, [np.round(values("f32", dims))])


@pytest.mark.parametrize(
    ("opcode", "initial", "sign"), [("add", "-0", -1), ("maximum", "-inf", 1), ("minimum", "inf", -1)]
)
def test_a_reduction_of_zeros_keeps_their_sign(opcode: str, initial: str, sign: int) -> None:
    text = f"""HloModule m
        {reducer(opcode, "f32")}
        ENTRY e {{ x = f32[200] parameter(0)  i = f32[] constant({initial})
          ROOT r = f32[] reduce(x, i), dimensions={{0}}, to_apply=f }}"""
    zeros = np.where((np.arange(200) % 3 == 0) & (opcode != "add"), 0.0, -0.0).astype(np.float32)
    (result,) = compiler.compile(text)(zeros)
    assert np.copysign(1, result) == sign


@pytest.mark.slow
@pytest.mark.parametrize("length", [511, 512, 2048], ids=["side by side", "one by one", "longer"])
def test_rows_of_what_is_in_no_cache_are_summed_alike_by_all_threads(length):
    rows = -(-(1 << 20) // length // 16) * 16
    text = f"""add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }}
    ENTRY e {{ x = f32[{rows},{length}] parameter(0)  z = f32[] constant(0)
      ROOT r = f32[{rows}] reduce(x, z), dimensions={{1}}, to_apply=add }}"""
    x = np.random.default_rng(0).normal(size=(rows, length)).astype(np.float32)

    one, two = (compiler.compile(text, options=compiler.CompileOptions(threads=n))(x)[0] for n in (1, 2))

    assert one.tobytes() == two.tobytes()
    assert np.allclose(one, x.sum(axis=1, dtype=np.float64), atol=1e-4)


def test_columns_of_a_slice_whose_rows_are_found_by_division_are_read_one_by_one():
    text = f"""{reducer("add", "f32")}
    ENTRY e {{ x = f32[8,67,83] parameter(0)  s = f32[5,64,80] slice(x), slice={{[1:6],[1:65],[1:81]}}
      z = f32[] constant(0)  ROOT r = f32[64,80] reduce(s, z), dimensions={{0}}, to_apply=f }}"""
    check(text, [np.round(values("f32", (8, 67, 83)))])


@pytest.mark.parametrize("begin", ["negate(given)", "copy(given)", "constant(3)", "constant(0)", "constant(-2)"])
@pytest.mark.parametrize("reducer", ["minimum(a, c)", "maximum(a, c)", "add(a, c)"])
def test_numbers_of_elements_meet_whatever_the_reduction_begins_with(reducer, begin):
    """Only what begins before the first element, and is some element's number ever after, is known to be less."""
    text = f"""several {{ a = s32[] parameter(0) b = s32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3)
      m = s32[] {reducer} n = s32[] minimum(a, c) o = s32[] maximum(b, d) p = pred[] compare(a, c), direction=GT
      q = s32[] select(p, n, o) ROOT t = (s32[], s32[]) tuple(m, q) }}
    ENTRY e {{ given = s32[] parameter(0) i = s32[5] iota(), iota_dimension=0 s = s32[] {begin}
      ROOT r = (s32[], s32[]) reduce(i, i, s, s), to_apply=several, dimensions={{0}} }}"""
    module, given = compiler.parse(text), np.array(7, np.int32)
    expected = compiler.interpret(module, given)
    for one, other in zip(compiler.compile(module, backend="cpu")(given), expected, strict=True):
        assert np.array_equal(one, other)
