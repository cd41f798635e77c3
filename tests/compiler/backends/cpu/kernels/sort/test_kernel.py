"""Sorts by key and by comparator, of every type, length and direction, against the interpreter; bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler import CompileOptions
from compiler.codegen.sort_key import sort_key
from compiler.ir.types import TYPES

Array = np.ndarray[Any, np.dtype[Any]]
SPECIAL = (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40)

JAX = """  c = {t}[] constant(nan)  z = {t}[] constant(0)
  m = pred[] compare(a, a), direction=NE  d = pred[] compare(a, z), direction=EQ
  e = {t}[] select(d, z, a)  f = {t}[] select(m, c, e)
  g = pred[] compare(b, b), direction=NE  h = pred[] compare(b, z), direction=EQ
  i = {t}[] select(h, z, b)  j = {t}[] select(g, c, i)
  ROOT r = pred[] compare({order}), direction={direction}, type=TOTALORDER"""


def values(element_type: str, dims: tuple[int, ...], *, nan: bool = True) -> Array:
    rng = np.random.default_rng(11)
    dtype = TYPES[element_type].dtype
    if element_type == "pred":
        return rng.integers(0, 2, dims).astype(bool)
    if element_type[0] in "su":
        few = rng.integers(0, 5, dims) if element_type.endswith("4") else rng.integers(-(1 << 62), 1 << 62, dims)
        return few.astype(dtype)
    array = np.round(rng.standard_normal(dims) * 8).astype(dtype)
    flat = array.reshape(-1)
    special = np.array(SPECIAL if nan else SPECIAL[2:])[: flat.size]
    flat[rng.permutation(flat.size)[: special.size]] = special.astype(dtype)
    return array


def sort_text(element_type: str, dims: tuple[int, ...], along: int, comparator: str, payloads: tuple[str, ...]) -> str:
    extra = "".join(
        f"  p{n} = {t}[] parameter({2 * n + 2})  q{n} = {t}[] parameter({2 * n + 3})\n" for n, t in enumerate(payloads)
    )
    size = ",".join(map(str, dims))
    types = [f"{t}[{size}]" for t in (element_type, *payloads)]
    given = "".join(f"  x{n} = {t} parameter({n})\n" for n, t in enumerate(types))
    names = ", ".join(f"x{n}" for n in range(len(types)))
    result = f"({', '.join(types)})" if payloads else types[0]
    return f"""HloModule m
lt {{
  a = {element_type}[] parameter(0)  b = {element_type}[] parameter(1)
{extra}{comparator}
}}
ENTRY e {{
{given}  ROOT r = {result} sort({names}), dimensions={{{along}}}, to_apply=lt, is_stable=true
}}"""


def check(text: str, inputs: list[Array], threads: int = 2) -> None:
    module = compiler.parse(text)
    expected = compiler.interpret(module, *inputs)
    actual = compiler.compile(module, "cpu", CompileOptions(threads=threads, opt=1))(*inputs)
    for want, got in zip(expected, actual, strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert got.tobytes() == np.ascontiguousarray(want).tobytes()


def plain(direction: str, kind: str = "") -> str:
    return f"  ROOT r = pred[] compare(a, b), direction={direction}{kind and f', type={kind}'}"


INTEGERS = ("s8", "u8", "s16", "u32", "s32", "s64", "u64", "s4", "u4", "pred")


@pytest.mark.slow
@pytest.mark.parametrize("element_type", INTEGERS)
def test_integers_sort_alone(element_type: str) -> None:
    for direction in ("LT", "GT"):
        text = sort_text(element_type, (2, 1000), 1, plain(direction), ())
        check(text, [values(element_type, (2, 1000))])


@pytest.mark.slow
@pytest.mark.parametrize("element_type", ["bf16", "f16", "f32", "f64"])
@pytest.mark.parametrize("form", ["JAX", "TOTALORDER", "FLOAT"])
def test_floats_sort_with_payloads(element_type: str, form: str) -> None:
    for direction, order in (("GT", "a, b"), ("LT", "b, a")):
        comparator = (
            JAX.format(t=element_type, order={"a, b": "f, j", "b, a": "j, f"}[order], direction=direction)
            if form == "JAX"
            else plain(direction, form).replace("a, b", order)
        )
        text = sort_text(element_type, (2, 777), 1, comparator, ("c64",))
        payload = np.arange(1554).reshape(2, 777).astype(np.complex64)
        check(text, [values(element_type, (2, 777)), payload])


@pytest.mark.parametrize("length", [0, 1, 2, 15, 17, 64, 65, 1000, 20000])
def test_every_length_sorts(length: int) -> None:
    comparator = JAX.format(t="f32", order="f, j", direction="LT")
    check(sort_text("f32", (length,), 0, comparator, ()), [values("f32", (length,))], threads=1)
    inputs = [values("f32", (length,)), values("s8", (length,))]
    check(sort_text("f32", (length,), 0, plain("GT", "TOTALORDER"), ("s8",)), inputs)


@pytest.mark.parametrize("along", [0, 1, 2])
def test_lines_lie_along_any_dimension(along: int) -> None:
    dims = (70, 66, 67)
    check(sort_text("s16", dims, along, plain("LT"), ("f32",)), [values("s16", dims), values("f32", dims)])


@pytest.mark.slow
@pytest.mark.parametrize("length", [300, 5000, 40000])
@pytest.mark.parametrize("payloads", [(), ("s32",), ("s64", "f64")])
def test_nan_that_a_comparator_leaves_unordered_comes_last(length: int, payloads: tuple[str, ...]) -> None:
    lines = np.round(np.random.default_rng(3).standard_normal((4, length)) * 9).astype(np.float32)
    lines[2, 5::7] = np.nan
    lines[3, ::3] = -np.nan
    numbers = np.arange(4 * length).reshape(4, length)
    for direction, key in (("LT", "a, b"), ("GT", "a, b"), ("LT", "b, a")):
        text = sort_text("f32", (4, length), 1, plain(direction).replace("a, b", key), payloads)
        check(text, [lines, *(numbers.astype(TYPES[payload].dtype) for payload in payloads)])


COMPARATORS = [
    (plain("LT"), True),
    (plain("LE"), False),
    ("  n = s32[] negate(a)  m = s32[] negate(b)  ROOT r = pred[] compare(n, m), direction=LT", True),
    ("  n = s32[] add(a, p0)  m = s32[] add(b, q0)  ROOT r = pred[] compare(m, n), direction=GT", True),
    (
        "  n = s32[] not(a), metadata={source_line=1}  m = s32[] not(b)  ROOT r = pred[] compare(n, m), direction=LT",
        True,
    ),
    ("  n = s32[] add(a, q0)  m = s32[] add(b, p0)  ROOT r = pred[] compare(n, m), direction=LT", False),
    ("  n = s32[] negate(a)  ROOT r = pred[] compare(n, b), direction=LT", False),
    ("  ROOT r = pred[] compare(a, a), direction=LT", False),
    ("  n = pred[] compare(a, b), direction=LT  ROOT r = pred[] and(n, n)", False),
]


@pytest.mark.parametrize(("comparator", "has_key"), COMPARATORS)
def test_a_key_is_the_same_expression_on_both_sides(comparator: str, has_key: bool) -> None:  # noqa: FBT001
    text = sort_text("s32", (500,), 0, comparator, ("s32",))
    module = compiler.parse(text)
    (sort,) = [i for i in module.entry.instructions if i.opcode == "sort"]
    assert (sort_key(sort.attributes["to_apply"]) is not None) == has_key
    if has_key:
        check(text, [values("s32", (500,)) // 1000, values("s32", (500,)) % 999])


@pytest.mark.slow
@pytest.mark.parametrize(("length", "k"), [(4, 1), (100, 25), (1000, 1), (999, 16), (1031, 33), (256, 64)])
@pytest.mark.parametrize("element_type", ["f32", "s32", "u8", "s4", "bf16", "pred"])
def test_the_first_few_are_selected(element_type: str, length: int, k: int) -> None:
    for largest in ("true", "false"):
        check(top_text(element_type, length, k, largest), [values(element_type, (3, length))])


@pytest.mark.parametrize(("length", "k"), [(500, 12), (9000, 100)])
def test_selection_of_lines_that_are_all_alike_or_in_the_worst_order(length: int, k: int) -> None:
    ascending = np.arange(length, dtype=np.float32)
    constants = [np.full(length, value, np.float32) for value in (0, np.nan, -np.inf)]
    lines = np.stack([ascending, ascending[::-1], values("f32", (length,)), *constants])
    check(top_text("f32", length, k, "true").replace("[3,", "[6,"), [lines])


ALIKE = {
    "of a constant": "c = {t}[] constant(1)  x = {t}[3,{n}] broadcast(c), dimensions={{}}",
    "of the line's number": "x = {t}[3,{n}] iota(), iota_dimension=0",
    "of an operand's element": "v = {t}[3] parameter(0)  x = {t}[3,{n}] broadcast(v), dimensions={{0}}",
    "of what is computed of it": "v = {t}[3] parameter(0)  w = {t}[3] negate(v)"
    "  x = {t}[3,{n}] broadcast(w), dimensions={{0}}",
}


@pytest.mark.parametrize("elements", ALIKE)
@pytest.mark.parametrize("element_type", ["s8", "u16", "s32", "f16", "f32"])
def test_selection_of_lines_that_a_kernel_computes_whose_elements_are_all_alike(
    element_type: str, elements: str
) -> None:
    made = ALIKE[elements].format(t=element_type, n=128)
    for largest in ("true", "false"):
        _, selecting = top_text(element_type, 128, 17, largest).split("\n  ROOT")
        inputs = [values(element_type, (3,))] if "parameter" in made else []
        check(f"HloModule m\nENTRY e {{ {made}\n  ROOT{selecting}", inputs)


def top_text(element_type: str, length: int, k: int, largest: str) -> str:
    return f"""HloModule m
ENTRY e {{ x = {element_type}[3,{length}] parameter(0)
  ROOT r = ({element_type}[3,{k}], s32[3,{k}]) topk(x), k={k}, largest={largest} }}"""


@pytest.mark.parametrize("result", ["s", "n"])
def test_what_is_read_as_a_whole_is_sorted_as_a_whole(result: str) -> None:
    comparator = plain("LT", "TOTALORDER")
    text = f"""HloModule m
lt {{ a = f32[] parameter(0)  b = f32[] parameter(1) {comparator} }}
ENTRY e {{ x = f32[2,300] parameter(0)  s = f32[2,300] sort(x), dimensions={{1}}, to_apply=lt
  p = f32[2,5] slice(s), slice={{[0:2], [0:5]}}  q = f32[2,5] slice(s), slice={{[0:2], [1:6]}}
  n = f32[2,5] add(p, q)  ROOT t = (f32[2,5], {"f32[2,300]" if result == "s" else "f32[2,5]"}) tuple(p, {result}) }}"""
    check(text, [values("f32", (2, 300))])


BY_BOTH = "  s = s32[] add(a, p0)  t = s32[] add(b, q0)  ROOT r = pred[] compare(s, t), direction=LT"


@pytest.mark.parametrize("comparator", [plain("LT"), BY_BOTH], ids=["key", "comparator"])
@pytest.mark.parametrize(("dims", "along"), [((2, 90), 1), ((80, 3), 0), ((1, 9000), 1)])
def test_only_what_is_read_is_written(dims: tuple[int, ...], along: int, comparator: str) -> None:
    few = [70 if d == along else size for d, size in enumerate(dims)]
    full, cut = (f"s32[{','.join(map(str, sizes))}]" for sizes in (dims, few))
    limits = ", ".join(f"[0:{size}]" for size in few)
    start = sort_text("s32", dims, along, comparator, ("s32",)).replace("ROOT r = (", "z = (").rstrip("}\n")
    pieces = "".join(f"\n  v{n} = {full} get-tuple-element(z), index={n}" for n in (0, 1))
    slices = "".join(f"\n  c{n} = {cut} slice(v{n}), slice={{{limits}}}" for n in (0, 1))
    inputs = [values("s32", dims) >> 24, values("s32", dims)[::-1] >> 24]
    for rest in (f"{pieces}{slices}\n  ROOT y = ({cut}, {cut}) tuple(c1, c0)", pieces.replace("v1", "ROOT v1")):
        check(f"{start}{rest}\n}}", inputs)


NUMBERED = ["u4", "s8", "u16", "s32", "u64", "f8e4m3fn", "bf16", "f16", "f32", "f64", "c64", "c128"]


@pytest.mark.parametrize("element_type", NUMBERED)
@pytest.mark.parametrize("length", [4, 100])
def test_what_is_known_by_its_number_is_made_of_any_type(element_type: str, length: int) -> None:
    text = f"""less {{ a = f32[] parameter(0)  b = f32[] parameter(1)  c = {element_type}[] parameter(2)
      d = {element_type}[] parameter(3)  ROOT r = pred[] compare(a, b), direction=LT }}
    ENTRY e {{ x = f32[{length}] parameter(0)  n = {element_type}[{length}] iota(), iota_dimension=0
      s = (f32[{length}], {element_type}[{length}]) sort(x, n), dimensions={{0}}, to_apply=less
      ROOT r = {element_type}[{length}] get-tuple-element(s), index=1 }}"""
    x = np.random.default_rng(length).permutation(length).astype(np.float32)
    (found,), (expected,) = compiler.compile(text)(x), compiler.interpret(compiler.parse(text), x)
    assert found.tobytes() == expected.tobytes()
