"""Sizes known at run time: what back ends make of such a program is what the reference says, for every size."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.diagnostics import InputError, UnsupportedError
from compiler.expansion.sized_rules import RULES
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import leaves
from compiler.ir.types import F64, TYPES, ElementType, Kind
from compiler.ops import OPS
from compiler.ops.conversion import convert
from compiler.pipeline import PASSES

ADD = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }"
LATER = "later { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=GT }"
FIRST = """first {
  a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] parameter(3)
  g = pred[] compare(a, b), direction=GE v = f32[] select(g, a, b) k = s32[] select(g, i, j)
  ROOT t = (f32[], s32[]) tuple(v, k) }"""
SUMS = """sums {
  a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] parameter(3)
  v = f32[] add(a, b) k = s32[] add(i, j)
  ROOT t = (f32[], s32[]) tuple(v, k) }"""
LENGTHS = """lengths {
  a = f32[] parameter(0) b = f32[] parameter(1) one = f32[] constant(1) s = f32[] add(a, b)
  ROOT r = f32[] add(s, one) }"""
LOOP = """
cond { p = (f32[<=6,3], s32[]) parameter(0) i = s32[] get-tuple-element(p), index=1 n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT }
body { p = (f32[<=6,3], s32[]) parameter(0) x = f32[<=6,3] get-tuple-element(p), index=0
  i = s32[] get-tuple-element(p), index=1 y = f32[<=6,3] add(x, x) s = s32[] get-dimension-size(x), dimensions={0}
  one = s32[] constant(1) t = s32[] subtract(s, one) z = f32[<=6,3] set-dimension-size(y, t), dimensions={0}
  j = s32[] add(i, one) ROOT r = (f32[<=6,3], s32[]) tuple(z, j) }"""
BRANCHES = """
twice { x = f32[<=6,3] parameter(0) ROOT y = f32[<=6,3] add(x, x) }
cut { x = f32[<=6,3] parameter(0) n = s32[] constant(1)
  ROOT y = f32[<=6,3] set-dimension-size(x, n), dimensions={0} }"""

X = "x = f32[<=6,3] parameter(0)\n"
PROGRAMS: dict[str, tuple[str, str]] = {
    "elementwise": ("", "e = f32[<=6,3] exponential(x) ROOT r = f32[<=6,3] multiply(e, x)"),
    "get-dimension-size": ("", "ROOT r = s32[] get-dimension-size(x), dimensions={0}"),
    "set-dimension-size": ("", "n = s32[] constant(2) ROOT r = f32[<=6,3] set-dimension-size(x, n), dimensions={0}"),
    "growing": ("", "n = s32[] constant(9) ROOT r = f32[<=6,3] set-dimension-size(x, n), dimensions={0}"),
    "broadcast": ("", "ROOT r = f32[2,3,<=6] broadcast(x), dimensions={2,1}"),
    "transpose": ("", "ROOT r = f32[3,<=6] transpose(x), dimensions={1,0}"),
    "reverse": ("", "ROOT r = f32[<=6,3] reverse(x), dimensions={0,1}"),
    "reduce": (ADD, "z = f32[] constant(2) ROOT r = f32[3] reduce(x, z), dimensions={0}, to_apply=add"),
    "reduce of the rest": (ADD, "z = f32[] constant(0) ROOT r = f32[<=6] reduce(x, z), dimensions={1}, to_apply=add"),
    "reduce of two": (
        FIRST,
        (
            "i = s32[<=6,3] convert(x) l = f32[] constant(-inf) z = s32[] constant(0)\n"
            "ROOT r = (f32[3], s32[3]) reduce(x, i, l, z), dimensions={0}, to_apply=first"
        ),
    ),
    "reduce of two from what changes both": (
        SUMS,
        (
            "i = s32[<=6,3] convert(x) l = f32[] constant(5) z = s32[] constant(3)\n"
            "ROOT r = (f32[3], s32[3]) reduce(x, i, l, z), dimensions={0}, to_apply=sums"
        ),
    ),
    "reduce by what changes everything": (
        LENGTHS,
        "z = f32[] constant(5) ROOT r = f32[<=6] reduce(x, z), dimensions={1}, to_apply=lengths",
    ),
    "reduce all by what changes everything": (
        LENGTHS,
        "z = f32[] constant(5) ROOT r = f32[] reduce(x, z), dimensions={0,1}, to_apply=lengths",
    ),
    "reduce-window of two from what changes both": (
        SUMS,
        (
            "i = s32[<=6,3] convert(x) l = f32[] constant(5) z = s32[] constant(3)\n"
            "ROOT r = (f32[<=6,3], s32[<=6,3]) reduce-window(x, i, l, z), window={size=3x1 pad=1_1x0_0}, to_apply=sums"
        ),
    ),
    "reduce-window by what changes everything": (
        LENGTHS,
        (
            "z = f32[] constant(5)\n"
            "ROOT r = f32[<=3,3] reduce-window(x, z), window={size=3x1 stride=2x1 pad=1_0x0_0}, to_apply=lengths"
        ),
    ),
    "reduce-window": (
        ADD,
        "z = f32[] constant(0)\nROOT r = f32[<=6,3] reduce-window(x, z), window={size=3x1 pad=1_1x0_0}, to_apply=add",
    ),
    "reduce-window with strides": (
        ADD,
        "z = f32[] constant(0)\nROOT r = f32[<=3,2] reduce-window(x, z), window={size=2x2 stride=2x1}, to_apply=add",
    ),
    "reduce-window of one place": (
        ADD,
        (
            "z = f32[] constant(0)\n"
            "ROOT r = f32[<=1,3] reduce-window(x, z), window={size=1x1 stride=4294967296x1}, to_apply=add"
        ),
    ),
    "reduce-window that fits nowhere": (
        ADD,
        (
            "z = f32[] constant(0)\n"
            "ROOT r = f32[<=0,3] reduce-window(x, z), window={size=3x1 rhs_dilate=9223372036854775807x1}, to_apply=add"
        ),
    ),
    "pad by steps that only many make": (
        "",
        "z = f32[] constant(-1) ROOT r = f32[<=2,3] pad(x, z), padding=0_-21474836474_4294967294x0_0",
    ),
    "dot over it": ("", "ROOT r = f32[3,3] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
    "dot": ("", "ROOT r = f32[<=6,<=6] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}"),
    "convolution": (
        "",
        (
            "w = f32[2,1,1] constant({{{1}}, {{-2}}}) y = f32[1,<=6,3] reshape(x) t = f32[3,<=6,1] reshape(y)\n"
            "s = f32[3,<=6] transpose(x), dimensions={1,0} u = f32[3,<=6,1] reshape(s)\n"
            "ROOT r = f32[3,<=7,1] convolution(u, w), window={size=2 pad=1_1}, dim_labels=b0f_0io->b0f"
        ),
    ),
    "concatenate": ("", "ROOT r = f32[<=18,3] concatenate(x, x, x), dimensions={0}"),
    "concatenate beside it": ("", "ROOT r = f32[<=6,6] concatenate(x, x), dimensions={1}"),
    "slice": ("", "ROOT r = f32[<=2,2] slice(x), slice={[1:5:2],[1:3]}"),
    "pad": ("", "z = f32[] constant(-1) ROOT r = f32[<=14,4] pad(x, z), padding=1_2_1x0_1"),
    "reshape": ("", "ROOT r = f32[<=18] reshape(x)"),
    "reshape with ones": ("", "ROOT r = f32[1,<=6,1,3] reshape(x)"),
    "dynamic-reshape": (
        "",
        (
            "n = s32[] get-dimension-size(x), dimensions={0} t = s32[] constant(3) o = s32[] constant(1)\n"
            "ROOT r = f32[3,<=6] dynamic-reshape(x, t, n)"
        ),
    ),
    "sort": (LATER, "ROOT r = f32[<=6,3] sort(x), dimensions={0}, to_apply=later"),
    "dynamic-slice": (
        "",
        (
            "i = s32[] constant(4) z = s32[] constant(0)\n"
            "ROOT r = f32[1,2] dynamic-slice(x, i, z), dynamic_slice_sizes={1,2}"
        ),
    ),
    "dynamic-update-slice": (
        "",
        (
            "i = s32[] constant(4) z = s32[] constant(0) u = f32[1,2] constant({{7, 8}})\n"
            "ROOT r = f32[<=6,3] dynamic-update-slice(x, u, i, z)"
        ),
    ),
    "gather": (
        "",
        (
            "w = f32[4,2] constant({{1,2},{3,4},{5,6},{7,8}}) i = s32[<=6,3] convert(x)\n"
            "ROOT r = f32[<=6,3,2] gather(w, i), offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0}, "
            "index_vector_dim=2, slice_sizes={1,2}"
        ),
    ),
    "scatter": (
        ADD,
        (
            "w = f32[4] constant({1,2,3,4}) i = s32[<=6,3] convert(x)\n"
            "ROOT r = f32[4] scatter(w, i, x), update_window_dims={}, inserted_window_dims={0}, "
            "scatter_dims_to_operand_dims={0}, index_vector_dim=2, to_apply=add"
        ),
    ),
    "map": (ADD, "ROOT r = f32[<=6,3] map(x, x), dimensions={0,1}, to_apply=add"),
    "loop": (
        LOOP,
        (
            "z = s32[] constant(0) t = (f32[<=6,3], s32[]) tuple(x, z)\n"
            "ROOT r = (f32[<=6,3], s32[]) while(t), condition=cond, body=body"
        ),
    ),
    "conditional": (
        BRANCHES,
        (
            "n = s32[] get-dimension-size(x), dimensions={0} k = s32[] constant(3)\n"
            "c = pred[] compare(n, k), direction=GT\n"
            "ROOT r = f32[<=6,3] conditional(c, x, x), true_computation=twice, false_computation=cut"
        ),
    ),
}


def parsed(name: str) -> compiler.Module:
    computations, lines = PROGRAMS[name]
    module = compiler.parse(f"HloModule m\n{computations}\nENTRY e {{\n{X}{lines}\n}}")
    compiler.verify(module)
    return module


def given(size: int) -> np.ndarray:
    return (np.arange(3 * size, dtype=np.float32).reshape(size, 3) * 7) % 5 - 1


def test_every_rule_has_a_program() -> None:
    assert set(RULES) <= set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_shape_inference_gives_the_dynamic_dimensions_that_are_stated(name: str) -> None:
    for instruction in parsed(name).instructions():
        assert str(OPS[instruction.opcode].infer(instruction)) == str(instruction.shape), instruction.name


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_padded_program_is_static_and_valid(name: str) -> None:
    module = parsed(name)
    assert PASSES["dynamic-padder"](module, Fuel(None, "dynamic-padder"))
    compiler.verify(module)
    assert not any(leaf.is_dynamic for i in module.instructions() for leaf in leaves(i.shape))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("backend", ["cpu", "nvptx"])
def test_back_ends_compute_what_the_reference_does_for_every_size(name: str, backend: str) -> None:
    module = parsed(name)
    options = compiler.CompileOptions(verify_each=True, device="sim" if backend == "nvptx" else "")
    executable = compiler.compile(module, backend, options)
    for size in (6, 4, 3) if name in ("loop", "dynamic-slice", "dynamic-update-slice") else (6, 4, 1, 0):
        x = given(size)
        expected, results = compiler.interpret(module, x), executable(x)
        assert [r.shape for r in results] == [e.shape for e in expected], f"of size {size}"
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, wanted, rtol=2e-6)


@pytest.mark.parametrize("element_type", [t for t in TYPES.values() if t.kind is not Kind.OPAQUE], ids=str)
def test_every_combiner_of_every_type_passes_over_what_lies_beyond_the_size(element_type: ElementType) -> None:
    opcodes = ["add", "multiply"]
    opcodes += [] if element_type.is_complex else ["maximum", "minimum"]
    opcodes += ["and", "or", "xor"] if element_type.is_integer or element_type.kind is Kind.PRED else []
    t = str(element_type)
    computations = [
        f"c.{o} {{ a = {t}[] parameter(0) b = {t}[] parameter(1) ROOT r = {t}[] {o}(a, b) }}" for o in opcodes
    ]
    lines = [f"{o} = {t}[] reduce(x, z), dimensions={{0}}, to_apply=c.{o}" for o in opcodes]
    result = f"ROOT r = ({', '.join([f'{t}[]'] * len(opcodes))}) tuple({', '.join(opcodes)})"
    entry = ["ENTRY e {", f"x = {t}[<=6] parameter(0) z = {t}[] parameter(1)", *lines, result, "}"]
    module = compiler.parse("\n".join([*computations, *entry]))
    executable = compiler.compile(module)
    for numbers in ([2.0, 1.0], [-3.0, -2.0], [-0.0], []):
        x, z = (convert(np.array(given), F64, element_type) for given in (numbers, [*numbers, 0.0][0]))
        for expected, result in zip(compiler.interpret(module, x, z), executable(x, z), strict=True):
            wanted, got = (value.astype(np.complex128) for value in (expected, result))
            np.testing.assert_array_equal(got, wanted)
            np.testing.assert_array_equal(np.signbit(got.real), np.signbit(wanted.real))


def test_a_convolution_without_a_window_may_have_a_batch_of_any_size() -> None:
    lines = "w = f32[3,2] constant({{1,2},{3,4},{5,6}}) ROOT r = f32[<=6,2] convolution(x, w), dim_labels=bf_io->bf"
    module = compiler.parse(f"HloModule m\nENTRY e {{\n{X}{lines}\n}}")
    np.testing.assert_array_equal(compiler.compile(module)(given(4))[0], compiler.interpret(module, given(4))[0])


def test_what_does_not_fit_the_bounds_is_refused() -> None:
    executable = compiler.compile(parsed("elementwise"))
    for wrong in (np.zeros((7, 3), np.float32), np.zeros((2, 4), np.float32), np.zeros(3, np.float32)):
        with pytest.raises(InputError, match=r"parameter 0 is f32\[<=6,3\], given float32"):
            executable(wrong)
    with pytest.raises(InputError, match="given 2 inputs, the program takes 1"):
        executable(given(1), given(1))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ROOT r = f32[6,3] negate(x)", "the size of dimension 0 of f32\\[6,3\\] is known at run time only"),
        ("ROOT r = f32[<=6,3] topk(x), k=3, largest=true", "known at run time only"),
        ("ROOT r = f32[<=9,<=2] reshape(x)", "does not tell the sizes"),
        (
            (
                "w = f32[3,2] constant({{1,2},{3,4},{5,6}})\n"
                "ROOT r = f32[<=3,2] convolution(x, w), dim_labels=bf_io->bf, batch_group_count=2"
            ),
            "known at run time",
        ),
        (
            (
                "y = f32[3] constant({1,2,3}) k = s32[6,0] iota(), iota_dimension=0\n"
                "n = s32[] get-dimension-size(x), dimensions={0}\n"
                "i = s32[<=6,0] set-dimension-size(k, n), dimensions={0}\n"
                "ROOT r = f32[3] scatter(y, i, x), update_window_dims={1}, inserted_window_dims={}, "
                "scatter_dims_to_operand_dims={}, index_vector_dim=1, to_apply=add"
            ),
            "no index keeps out the updates",
        ),
    ],
)
def test_what_has_no_meaning_or_no_rule_is_refused(line: str, message: str) -> None:
    module = compiler.parse(f"HloModule m\n{ADD}\nENTRY e {{\n{X}{line}\n}}")
    with pytest.raises(UnsupportedError, match=message):
        PASSES["dynamic-padder"](module, Fuel(None, "dynamic-padder"))


def test_devices_may_have_arrays_of_different_sizes() -> None:
    text = f"""HloModule m, replica_count=2
{ADD}
ENTRY e {{
  {X} z = f32[] constant(0)
  s = f32[3] reduce(x, z), dimensions={{0}}, to_apply=add
  a = f32[3] all-reduce(s), to_apply=add
  ROOT t = (f32[3], f32[<=6,3]) tuple(a, x)
}}"""
    inputs = [given(2), given(5)]
    expected = compiler.interpret(compiler.parse(text), *inputs)
    results = compiler.compile(text)(*inputs)
    assert [r.tobytes() for r in results] == [e.tobytes() for e in expected]


UPDATED = {
    "array": ("f32[8,3]", "w = f32[8,3] iota(), iota_dimension=0"),
    "sized array": (
        "f32[<=8,3]",
        "v = f32[8,3] iota(), iota_dimension=0  w = f32[<=8,3] set-dimension-size(v, m), dimensions={0}",
    ),
}
"""What an update of a size known at run time only goes into, with its shape."""


@pytest.mark.parametrize("backend", ["cpu", "nvptx"])
@pytest.mark.parametrize("kind", UPDATED)
def test_an_update_of_a_size_known_at_run_time_leaves_what_lies_behind_it(kind: str, backend: str) -> None:
    shape, into = UPDATED[kind]
    text = f"""ENTRY e {{ u = f32[6,3] parameter(0) n = s32[] parameter(1) m = s32[] parameter(2) i = s32[] parameter(3)
      x = f32[<=6,3] set-dimension-size(u, n), dimensions={{0}} z = s32[] constant(0) {into}
      ROOT r = {shape} dynamic-update-slice(w, x, i, z) }}"""
    module = compiler.parse(text)
    compiler.verify(module)
    options = compiler.CompileOptions(verify_each=True, device="sim" if backend == "nvptx" else "")
    executable, update = compiler.compile(module, backend, options), given(6) + 10
    for size, of, start in ((6, 8, 0), (6, 8, 5), (2, 8, 6), (2, 7, 9), (2, 3, 1), (2, 2, -4), (0, 4, 3), (1, 1, 100)):
        inputs = [update, *(np.array(number, np.int32) for number in (size, of, start))]
        (wanted,), (result,) = compiler.interpret(module, *inputs), executable(*inputs)
        np.testing.assert_array_equal(result, wanted, err_msg=f"{size} into {of} at {start}")
