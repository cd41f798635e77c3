"""Sorts by network: every width of vectors by itself, then whole programs around each threshold; bit for bit."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compiler
from compiler import CompileOptions
from compiler.backends.cpu.kernels.sort.network import Network
from compiler.codegen import llvm
from compiler.codegen.llvm_ir import Builder, Module, integer
from compiler.codegen.sort_key import sort_key
from tests.compiler.backends.cpu.kernels.sort.test_kernel import JAX, Array, check, plain, sort_text, values

LENGTHS = (2, 3, 5, 16, 17, 63, 65, 200, 1000, 2049, 5000)


def ascending(element_type: str) -> str:
    floats = element_type[0] in "bf"
    return JAX.format(t=element_type, order="f, j", direction="LT") if floats else plain("LT")


@pytest.mark.slow
@pytest.mark.parametrize("record", ["i16", "i32", "i64"])
@pytest.mark.parametrize("features", [(), ("avx2",), ("avx2", "avx512f")])
def test_a_network_of_any_width_sorts(record: str, features: tuple[str, ...]) -> None:
    rng = np.random.default_rng(5)
    dtype = np.dtype(f"u{int(record[1:]) // 8}")
    module, networks = Module(frozenset(features)), []
    for length in LENGTHS:
        network = Network(module, record, length, 1)
        builder = Builder(module.function(f"sort{length}", "void", [("ptr", "records")]))
        (records,) = builder.function.arguments
        network.pad(builder, records, length, integer(0))
        network.sort(builder, records, integer(0), network.whole, integer(0))
        builder.ret()
        networks.append(network)
    target, names = llvm.Target.host(), [f"sort{length}" for length in LENGTHS]
    library = llvm.Library(llvm.parse(str(module), target, 1), names, target, 1)
    for length, network in zip(LENGTHS, networks, strict=True):
        sort = library.function(f"sort{length}", None, ctypes.c_void_p)
        for most in (2, 7, np.iinfo(dtype).max):
            records = np.zeros(network.bytes // dtype.itemsize, dtype)
            records[:length] = given = rng.integers(0, most, length, dtype, endpoint=most > 7)
            sort(records.ctypes.data)
            assert np.array_equal(records[:length], np.sort(given))
            assert (records[length : network.padded] == np.iinfo(dtype).max).all()


@pytest.mark.slow
@pytest.mark.parametrize("length", [8191, 33000, 70001])
def test_lines_that_all_threads_sort(length: int) -> None:
    text = sort_text("f32", (length,), 0, ascending("f32"), ())
    programs = [compiler.compile(text, "cpu", CompileOptions(threads=threads, opt=1)) for threads in (1, 2)]
    for array in (values("f32", (length,)), values("f32", (length,)) + np.float32(0)):
        (expected,) = compiler.interpret(compiler.parse(text), array)
        for program in programs:
            assert program(array)[0].tobytes() == expected.tobytes()


@pytest.mark.parametrize("element_type", ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "f16", "bf16", "f64"])
def test_long_lines_of_every_type(element_type: str) -> None:
    comparator = ascending(element_type).replace("direction=LT", "direction=GT")
    check(sort_text(element_type, (2, 17000), 1, comparator, ()), [values(element_type, (2, 17000))])


@pytest.mark.parametrize("element_type", ["pred", "s4", "u8", "s16", "bf16", "f16", "f32", "u32"])
@pytest.mark.parametrize("length", [300, 30000])
def test_equal_keys_stay_in_order(element_type: str, length: int) -> None:
    keys = values(element_type, (length,))
    if keys.dtype.kind in "iu" and element_type != "s4":
        keys = keys % 13
    numbers = np.arange(length, dtype=np.int32)
    check(sort_text(element_type, (length,), 0, ascending(element_type), ("s32",)), [keys, numbers])


@pytest.mark.slow
@pytest.mark.parametrize("element_type", ["f32", "f64", "bf16"])
@pytest.mark.parametrize("dims", [(3, 100), (20000,)])
def test_zeros_and_nans_that_are_alike_keep_their_order(element_type: str, dims: tuple[int, ...]) -> None:
    rng = np.random.default_rng(8)
    array = values(element_type, dims, nan=False)
    bits = array.view(f"u{array.dtype.itemsize}")
    sign = 1 << (8 * array.dtype.itemsize - 1)
    zeros, nans = rng.random(dims) < 0.3, rng.random(dims) < 0.3
    bits[zeros] = np.where(rng.random(dims) < 0.5, 0, sign).astype(bits.dtype)[zeros]
    quiet = int(np.array(np.nan, array.dtype).view(bits.dtype))
    bits[nans] = (quiet | rng.integers(0, 60, dims).astype(bits.dtype) | (bits & sign))[nans]
    comparator = JAX.format(t=element_type, order="f, j", direction="LT")
    for order in (comparator, comparator.replace("direction=LT", "direction=GT")):
        check(sort_text(element_type, dims, len(dims) - 1, order, ()), [array])


@pytest.mark.slow
@pytest.mark.parametrize("dims", [(4, 300), (30000,)])
def test_lines_sort_by_an_order_that_has_no_place_for_nan(dims: tuple[int, ...]) -> None:
    array = values("f32", dims, nan=False)
    text = sort_text("f32", dims, len(dims) - 1, plain("GT"), ())
    check(text, [array])
    array.reshape(-1)[7:99:3] = -np.nan
    array.reshape(-1)[8:99:3] = np.nan
    check(text, [array])


CANONICAL = [
    (JAX.format(t="f32", order="f, j", direction="LT"), True),
    (plain("LT", "TOTALORDER"), True),
    (JAX.format(t="f32", order="f, j", direction="LT").replace("constant(0)", "constant(1)"), False),
    (JAX.format(t="f32", order="f, j", direction="LT").replace("constant(nan)", "constant(1)"), False),
    (JAX.format(t="f32", order="f, j", direction="LT").replace("direction=EQ", "direction=GE"), False),
    ("  n = f32[] negate(a)  m = f32[] negate(b)  ROOT r = pred[] compare(n, m), direction=LT", False),
    ("  n = f32[] abs(a)  m = f32[] abs(b)  ROOT r = pred[] compare(n, m), direction=LT, type=TOTALORDER", False),
]


@pytest.mark.parametrize(("comparator", "canonical"), CANONICAL)
def test_keys_out_of_which_elements_can_be_made(comparator: str, canonical: bool) -> None:  # noqa: FBT001
    text = sort_text("f32", (500,), 0, comparator, ())
    (sort,) = [i for i in compiler.parse(text).entry.instructions if i.opcode == "sort"]
    key = sort_key(sort.attributes["to_apply"])
    assert key is not None
    assert key.canonical == canonical
    check(text, [values("f32", (500,))])


@pytest.mark.slow
@settings(max_examples=12)
@given(
    data=st.data(),
    element_type=st.sampled_from(["f32", "bf16", "s32", "u8", "f64"]),
    count=st.integers(1, 3),
    length=st.integers(1, 600),
    payload=st.booleans(),
)
def test_any_lines_sort(data: st.DataObject, element_type: str, count: int, length: int, payload: bool) -> None:  # noqa: FBT001
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 30)))
    few = np.array([-3, -1, -0.0, 0.0, 1, 2, 5])
    pool: Array = few if element_type[0] in "bf" else np.abs(few)
    keys = rng.choice(pool, (count, length)).astype(values(element_type, (1,)).dtype)
    numbers = rng.integers(0, 100, (count, length)).astype(np.int16)
    text = sort_text(element_type, (count, length), 1, ascending(element_type), ("s16",) if payload else ())
    check(text, [keys, numbers] if payload else [keys])
